package commtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"tpsh/comm"
)

// testMessages checks the promises of Send and Recv.
func testMessages(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		size int
		run  func(r *rank) error
	}{
		{"in order of source, tag and group", 3, messagesInOrder},
		{"short and long", 3, messagesOfAllLengths},
		{"a large one does not wait", 2, messagesDoNotWait},
		{"into memory that is there", 2, messagesInto},
		{"to itself", 1, messagesToItself},
		{"round a ring", 5, messagesRound},
	} {
		t.Run(test.name, func(t *testing.T) { succeed(t, runRanks(t, open, test.size, test.run)) })
	}
}

// messagesInOrder has ranks 1 and 2 send to rank 0 under two tags on two
// groups, mixed; rank 0 asks for them in another order.
func messagesInOrder(r *rank) error {
	const count = 20
	groups := []*comm.Group{r.world, r.group([]int{2, 1, 0}, "")}
	if r.Rank() != 0 {
		for i := range count {
			for j, g := range groups {
				for tag := range 2 {
					m := comm.Message{Meta: []byte{byte(r.Rank()), byte(j), byte(tag)}, Data: []byte{byte(i)}}
					if err := g.Send(slices.Index(g.Ranks(), 0), tag, m, ""); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	for tag := 1; tag >= 0; tag-- {
		for j, g := range groups {
			for _, src := range []int{2, 1} {
				for i := range count {
					m, err := g.Recv(r.ctx, slices.Index(g.Ranks(), src), tag, nil)
					if err != nil {
						return err
					}
					want := []byte{byte(src), byte(j), byte(tag), byte(i)}
					if got := append(slices.Clone(m.Meta), m.Data...); !slices.Equal(got, want) {
						return fmt.Errorf("got %v, want %v", got, want)
					}
				}
			}
		}
	}
	return nil
}

// messagesOfAllLengths has every rank send messages of very different lengths to
// all, itself among them, on two groups; each receives them from the last rank
// and tag to the first, every other one into memory of its own.
func messagesOfAllLengths(r *rank) error {
	groups := []*comm.Group{r.world, r.group([]int{2, 0, 1}, "")}
	lengths := []int{300 << 10, 1, 140 << 10, 0, 9000}
	content := func(src, dst, group, tag, i int) []byte {
		b := bytes.Repeat([]byte{byte(src), byte(dst), byte(group), byte(tag), byte(i)}, 1+lengths[(i+tag)%len(lengths)]/5)
		return append(b, byte(i))
	}
	for i := range lengths {
		for tag := range 2 {
			for j, g := range groups {
				for dst := range r.size {
					if err := g.Send(dst, tag, comm.Message{Meta: []byte{byte(i)}, Data: content(g.Rank(), dst, j, tag, i)}, ""); err != nil {
						return err
					}
				}
			}
		}
	}
	for src := r.size - 1; src >= 0; src-- {
		for tag := 1; tag >= 0; tag-- {
			for j, g := range groups {
				for i := range lengths {
					var place comm.Allocate
					if i%2 == 0 {
						place = func(_ []byte, n int) ([]byte, error) { return make([]byte, n), nil }
					}
					m, err := g.RecvInto(r.ctx, src, tag, nil, place)
					if err != nil {
						return err
					}
					if want := content(src, g.Rank(), j, tag, i); !slices.Equal(m.Data, want) || !slices.Equal(m.Meta, []byte{byte(i)}) {
						return fmt.Errorf("message %d from %d with tag %d on %v: got %d bytes after %v, want %d others", i, src, tag, g, len(m.Data), m.Meta, len(want))
					}
					m.Release()
				}
			}
		}
	}
	return nil
}

var errNoPlace = errors.New("no room")

// messagesInto has rank 0 receive into memory of its own, from rank 1 and from
// itself. A message that has no place is received nevertheless.
func messagesInto(r *rank) error {
	for _, n := range []int{12, 512 << 10} {
		for i := range 3 {
			m := comm.Message{Meta: []byte{byte(i)}, Data: pattern(r.Rank(), i, n/4)}
			if err := r.world.Send(0, 0, m, ""); err != nil {
				return err
			}
		}
		for src := 0; src < 2 && r.Rank() == 0; src++ {
			for i := range 3 {
				room := make([]byte, n)
				place := func(meta []byte, length int) ([]byte, error) {
					if length != n || !slices.Equal(meta, []byte{byte(i)}) {
						return nil, fmt.Errorf("a place for %d bytes and %v, want %d and %d", length, meta, n, i)
					}
					if i == 1 {
						return nil, errNoPlace
					}
					return room, nil
				}
				m, err := r.world.RecvInto(r.ctx, src, 0, nil, place)
				switch {
				case i == 1 && errors.Is(err, errNoPlace):
				case i == 1 || err != nil:
					return fmt.Errorf("message %d of %d bytes: got %v", i, n, err)
				case &m.Data[0] != &room[0] || !slices.Equal(room, pattern(src, i, n/4)):
					return fmt.Errorf("message %d of %d bytes: it is not in its place", i, n)
				}
			}
		}
	}
	return nil
}

// messagesDoNotWait has both ranks send before either receives.
func messagesDoNotWait(r *rank) error {
	data := slices.Repeat([]byte{byte(r.Rank())}, 3<<20)
	if err := r.world.Send(1-r.Rank(), 7, comm.Message{Data: data}, ""); err != nil {
		return err
	}
	m, err := r.world.Recv(r.ctx, 1-r.Rank(), 7, nil)
	if err == nil && !slices.Equal(m.Data, slices.Repeat([]byte{byte(1 - r.Rank())}, 3<<20)) {
		err = fmt.Errorf("got %d other bytes", len(m.Data))
	}
	return err
}

func messagesToItself(r *rank) error {
	for i := range 3 {
		if err := r.world.Send(0, -1, comm.Message{Data: []byte{byte(i)}}, ""); err != nil {
			return err
		}
	}
	for i := range 3 {
		if m, err := r.world.Recv(r.ctx, 0, -1, nil); err != nil || m.Data[0] != byte(i) {
			return fmt.Errorf("got %v and %v, want %d", m, err, i)
		}
	}
	return nil
}

// messagesRound passes a number on from rank to rank.
func messagesRound(r *rank) error {
	next, previous := (r.Rank()+1)%r.size, (r.Rank()+r.size-1)%r.size
	for round := range 50 {
		if r.Rank() == 0 {
			if err := r.world.Send(next, round, comm.Message{Data: []byte{1}}, ""); err != nil {
				return err
			}
		}
		m, err := r.world.Recv(r.ctx, previous, round, nil)
		if err != nil {
			return err
		}
		if r.Rank() != 0 {
			err = r.world.Send(next, round, comm.Message{Data: []byte{m.Data[0] + 1}}, "")
		} else if int(m.Data[0]) != r.size {
			err = fmt.Errorf("got %d, want %d", m.Data[0], r.size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// testUnreceived checks that messages that nobody receives are listed, in a
// fixed order.
func testUnreceived(t *testing.T, open Opener) {
	fabric := open(3)
	defer fabric.Close()
	succeed(t, runOn(t, fabric, func(r *rank) error {
		reverse := r.group([]int{2, 1, 0}, "")
		for tag := 2; tag >= 0; tag-- {
			for dst := range 3 {
				if err := r.world.Send(dst, tag, comm.Message{Data: make([]byte, tag*200<<10)}, fmt.Sprintf("line %d", tag)); err != nil {
					return err
				}
			}
		}
		if err := reverse.Send(0, 0, comm.Message{}, "reverse"); err != nil {
			return err
		}
		for src := range 3 {
			if _, err := r.world.Recv(r.ctx, src, 1, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	var want []comm.Unreceived
	for dst := range 3 {
		for src := range 3 {
			if dst == 2 {
				want = append(want, comm.Unreceived{Src: src, Dst: dst, Group: "group [2, 1, 0]", Tag: 0, Where: "reverse"})
			}
			for _, tag := range []int{0, 2} {
				want = append(want, comm.Unreceived{Src: src, Dst: dst, Group: "world", Tag: tag, Where: fmt.Sprintf("line %d", tag)})
			}
		}
	}
	if got := fabric.Unreceived(); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
