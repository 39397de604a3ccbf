package commtest

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm"
)

// Agree checks that programs drawn at random do the same on every transport,
// errors included: whatever they come to, a mismatch or a deadlock too, does
// not depend on timing.
func Agree(t *testing.T, transports ...Opener) {
	rapid.Check(t, func(draw *rapid.T) {
		p := drawProgram(draw)
		want := p.run(t, transports[0])
		for _, open := range transports[1:] {
			if got := p.run(t, open); got != want {
				draw.Fatalf("%v\ngot:\n%s\nwant:\n%s", p, got, want)
			}
		}
	})
}

// A program lists the deeds of each rank.
type program [][]deed

// A deed is one thing that a rank of a program does.
type deed struct {
	do    string // "run", "issue", "wait", "send", "recv" or "catch"
	kind  comm.Kind
	group int // see programGroups
	peer  int
	tag   int
}

// programGroups returns the groups that programs of so many ranks use; every
// rank is a member of the first.
func programGroups(size int) [][]int {
	return [][]int{upTo(size), {size - 1, 0}, upTo(size)[1:]}
}

func drawProgram(t *rapid.T) program {
	p := make(program, rapid.IntRange(2, 4).Draw(t, "ranks"))
	for r := range p {
		p[r] = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed {
			return deed{
				do:    rapid.SampledFrom([]string{"run", "run", "issue", "wait", "send", "send", "recv", "catch"}).Draw(t, "do"),
				kind:  rapid.SampledFrom([]comm.Kind{comm.Barrier, comm.AllReduce}).Draw(t, "kind"),
				group: rapid.IntRange(0, 2).Draw(t, "group"),
				peer:  rapid.IntRange(0, len(p)-1).Draw(t, "peer"),
				tag:   rapid.IntRange(0, 1).Draw(t, "tag"),
			}
		}), 0, 6).Draw(t, "deeds")
	}
	return p
}

// run runs p and returns all that came of it.
func (p program) run(t *testing.T, open Opener) string {
	fabric := open(len(p))
	defer fabric.Close()
	logs := make([]strings.Builder, len(p))
	succeed(t, runOn(t, fabric, func(r *rank) error {
		a := actor{rank: r, log: &logs[r.Rank()]}
		for _, d := range p[r.Rank()] {
			a.act(d)
		}
		for len(a.works) > 0 {
			a.wait()
		}
		return nil
	}))
	var all strings.Builder
	for r := range logs {
		fmt.Fprintf(&all, "rank %d:\n%s", r, logs[r].String())
	}
	fmt.Fprintln(&all, fabric.Unreceived())
	return all.String()
}

// An actor carries out the deeds of a rank.
type actor struct {
	*rank
	log   *strings.Builder
	works []func() // wait for calls that were issued, and log their results
}

func (a *actor) act(d deed) {
	groups := programGroups(a.size)
	g := a.group(groups[d.group], "")
	if g.Rank() < 0 {
		g = a.world
	}
	switch d.do {
	case "run":
		op, out := a.op(d.kind)
		_, err := g.Run(a.ctx, op)
		a.note(d, out, err)
	case "issue":
		op, out := a.op(d.kind)
		work := g.Issue(op)
		a.works = append(a.works, func() {
			_, err := work.Wait(a.ctx)
			a.note(d, out, err)
		})
	case "catch":
		a.NoteCaught("no")
	case "wait":
		if len(a.works) > 0 {
			a.wait()
		}
	case "send":
		m := comm.Message{Data: []byte{byte(a.log.Len())}}
		a.note(d, nil, g.Send(d.peer%g.Size(), d.tag, m, fmt.Sprint("send of ", a.Rank())))
	case "recv":
		m, err := g.Recv(a.ctx, d.peer%g.Size(), d.tag, nil)
		a.note(d, m.Data, err)
	}
}

// wait waits for the call that was issued first.
func (a *actor) wait() {
	first := a.works[0]
	a.works = a.works[1:]
	first()
}

func (a *actor) op(k comm.Kind) (*comm.Op, []byte) {
	if k == comm.Barrier {
		return barrier(), nil
	}
	return allReduce(floats(float32(1 + a.Rank())))
}

func (a *actor) note(d deed, result []byte, err error) {
	if err != nil {
		result = nil
	}
	fmt.Fprintf(a.log, "  %s %d: %v %v\n", d.do, d.kind, result, err)
}
