package optest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// The tests of table_placed_*_test.go apply every operator to tensors that the
// ranks of a job hold together, placed in every way, and compare what the ranks
// get with what the operator gives on the whole: results, the layouts of them,
// gradients, and what is written in place.

var (
	everyCase = flag.Bool("full", false, "run all cases of the table of placed tensors, not a sample")
	sample    = flag.Int("sample", 1, "how many times as many cases of TestPlaced to draw")
)

// A ring is the ranks on which cases are run: those of a mesh of the given
// sizes, and some outside it.
type ring struct {
	sizes   []int
	outside int
}

func (g ring) ranks() int { return product(g.sizes) + g.outside }

func product(sizes []int) int {
	n := 1
	for _, s := range sizes {
		n *= s
	}
	return n
}

func (g ring) String() string { return newMesh(g.sizes...).Short() }

// A verdict is what one rank has to say about a case.
type verdict struct {
	rank  int
	lies  string // the layouts of the results
	wrong string // what is not as it should be, or ""
	err   error  // of the call
	traffic
}

// traffic is what the call of a traced case sends.
type traffic struct {
	sent    int            // bytes, by this rank
	gathers bool           // an input that is cut goes to every rank
	to      []*mesh.Placed // how the results lie
}

// A team is the ranks of a job that run cases, all the same one at a time.
type team struct {
	job      *runtime.Job
	work     []chan *ringCase
	verdicts chan verdict
}

func newTeam(t *testing.T, g ring) *team {
	t.Helper()
	n := g.ranks()
	c := &team{work: make([]chan *ringCase, n), verdicts: make(chan verdict, n)}
	for i := range c.work {
		c.work[i] = make(chan *ringCase, 1)
	}
	var err error
	c.job, err = runtime.Start(context.Background(), runtime.Config{Size: n, Transport: "inproc", Poison: true, Guard: true}, func(ctx context.Context, r *runtime.Rank) {
		r.Begin(ctx)
		var err error
		for pc := range c.work[r.ID()] {
			v := pc.onRank(r)
			if err == nil && v.err != nil && (pc.tr.err != nil || !refusal(v.err)) {
				err = r.End(v.err)
			}
			c.verdicts <- v
		}
		if err == nil {
			r.End(nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refusal reports whether err says that an argument does not fit.
func refusal(err error) bool {
	var bad *op.ArgError
	return errors.As(err, &bad)
}

// stop ends the ranks.
func (c *team) stop() {
	for _, w := range c.work {
		close(w)
	}
	c.job.Stop()
}

// patience is how long the ranks may take for one case.
const patience = 2 * time.Minute

// try has every rank run pc and returns what they say; fewer verdicts than
// ranks if some do not come back.
func (c *team) try(pc *ringCase) []verdict {
	for _, w := range c.work {
		w <- pc
	}
	var all []verdict
	late := time.NewTimer(patience)
	defer late.Stop()
	for range c.work {
		select {
		case v := <-c.verdicts:
			all = append(all, v)
		case <-late.C:
			return all
		}
	}
	return all
}

// judge returns what is wrong with a case that ended with these verdicts of so
// many ranks, "" for nothing, and whether the ranks may go on.
func judge(pc *ringCase, all []verdict, ranks int) (wrong string, sound bool) {
	if pc.tr.err != nil {
		return judgeRefusal(pc, all, ranks)
	}
	if len(all) < ranks {
		return fmt.Sprintf("only %d of %d ranks come back: %+v", len(all), ranks, all), false
	}
	refused := 0
	for _, v := range all {
		if refusal(v.err) {
			refused++
		} else if v.err != nil {
			return fmt.Sprintf("rank %d: %v", v.rank, v.err), false
		}
	}
	switch {
	case refused == ranks:
		return pc.mayRefuse(all[0].err), true
	case refused > 0:
		for _, v := range all {
			if v.err != nil {
				return fmt.Sprintf("rank %d refuses the call, others do not: %v", v.rank, v.err), false
			}
		}
	}
	for _, v := range all {
		if v.wrong != "" {
			return fmt.Sprintf("rank %d: %s", v.rank, v.wrong), true
		}
		if v.lies != all[0].lies {
			return fmt.Sprintf("rank %d has %s, rank %d %s", v.rank, v.lies, all[0].rank, all[0].lies), true
		}
	}
	return "", true
}

// judgeRefusal is judge of a call that the whole refuses. A rank that sees what
// is wrong in its block refuses it, and ends; others may wait for it then, and
// fail on its account, or have nothing to do with it.
func judgeRefusal(pc *ringCase, all []verdict, ranks int) (wrong string, sound bool) {
	refused := 0
	for _, v := range all {
		if refusal(v.err) {
			refused++
		}
	}
	if len(all) < ranks || refused == 0 {
		return fmt.Sprintf("got %+v, want what the whole gives: %v", all, pc.tr.err), false
	}
	return "", false
}

// A tally counts cases.
type tally struct{ cases, refused, gradients, seconds int }

func (n *tally) add(m tally) {
	n.cases += m.cases
	n.refused += m.refused
	n.gradients += m.gradients
	n.seconds += m.seconds
}

func (n tally) String() string {
	return fmt.Sprintf("%d cases, %d of them refused by an error, %d with gradients, %d with second gradients", n.cases, n.refused, n.gradients, n.seconds)
}

// maxFaults is how many cases of one operator may fail before the others of it
// are left out.
const maxFaults = 3

// runCases runs what list gives for each operator on a team of g.
func runCases(t *testing.T, g ring, list func(d *op.Def) []*ringCase) (n tally) {
	c := newTeam(t, g)
	defer func() { c.stop() }()
	for _, d := range ofReals() {
		faults := 0
		for _, pc := range list(d) {
			all := c.try(pc)
			n.add(pc.count(all))
			wrong, sound := judge(pc, all, g.ranks())
			if wrong != "" {
				t.Errorf("%v: %s", pc, firstLines(wrong))
				faults++
			}
			if !sound {
				c.stop()
				c = newTeam(t, g)
			}
			if faults == maxFaults {
				t.Logf("%s: further cases on %v left out", d.Name, g)
				break
			}
		}
	}
	return n
}

// firstLines returns as much of s as a failure shows.
func firstLines(s string) string {
	lines := strings.SplitAfterN(s, "\n", 31)
	return strings.Join(lines[:min(len(lines), 30)], "")
}

// rings are those on which every operator is run.
var rings = []ring{{sizes: []int{1}}, {sizes: []int{2}}, {sizes: []int{3}}, {sizes: []int{4}}, {sizes: []int{2, 2}}}

// Every operator gives on tensors that ranks hold together what it gives on the
// whole, however they are placed.
func TestPlaced(t *testing.T) {
	var all tally
	for _, g := range rings {
		t.Run(g.String(), func(t *testing.T) {
			n := runCases(t, g, func(d *op.Def) []*ringCase { return casesOf(t, d, g) })
			t.Logf("%v", n)
			all.add(n)
		})
	}
	t.Logf("%v", all)
}

// A rank outside the mesh has the shapes, dtypes and layouts that the others
// have, and waits for nobody.
func TestPlacedOutside(t *testing.T) {
	g := ring{sizes: []int{2}, outside: 1}
	n := runCases(t, g, func(d *op.Def) []*ringCase {
		var list []*ringCase
		for i, ex := range examples[d.Name] {
			dt, ok := base(t, d, ex)
			if !ok || ofRegions[d.Name] || standIns(newTrial(d, ex, dt)).ByValue() {
				continue // the shape of the result is not known outside
			}
			list = append(list, sampleCases(newRingTrial(d, ex, dt), g, uint64(i), limit(2, 30))...)
		}
		return list
	})
	t.Logf("%v", n)
}

// limit returns how many cases to draw: some, or with -full many.
func limit(some, many int) int {
	if *everyCase {
		return many
	}
	return some
}

// casesOf returns the cases of d on g: of each example those in its own sizes
// and dtype, those with a size exchanged for an empty, even or uneven one, and
// those in other dtypes.
func casesOf(t *testing.T, d *op.Def, g ring) []*ringCase {
	var list []*ringCase
	pairs := 1 // of placements there are so many more
	if len(g.sizes) > 1 {
		pairs = 4
	}
	for i, ex := range examples[d.Name] {
		dt, ok := base(t, d, ex)
		if !ok || len(ex.in) == 0 || ofRegions[d.Name] {
			continue
		}
		seed := uint64(i)
		list = append(list, sampleCases(newRingTrial(d, ex, dt), g, seed, limit(max(1, 2**sample/pairs), 400))...)
		sizes, dtypes := sizeTrials(d, ex, dt), dtypeTrials(d, ex, dt)
		if !*everyCase {
			sizes, dtypes = oneOf(sizes, g, seed), oneOf(dtypes, g, seed)
		}
		for k, make := range sizes {
			list = append(list, sampleCases(make(), g, seed+uint64(k)<<16, limit(*sample, 40/pairs))...)
		}
		for k, make := range dtypes {
			list = append(list, sampleCases(make(), g, seed+uint64(k)<<24, limit(*sample, 16/pairs))...)
		}
	}
	return list
}

// ofRegions lists the operators that speak of a tensor's storage. Those of
// placed tensors speak of blocks: TestPlacedViews has the recorder use them.
var ofRegions = set2("region_get", "region_set", "region_spread", "lattice_view")

// oneOf returns one of list, or none of an empty one.
func oneOf(list []func() *ringTrial, g ring, seed uint64) []func() *ringTrial {
	if len(list) == 0 {
		return nil
	}
	k := (int(seed)*5 + g.ranks()*7 + len(g.sizes)*11) % len(list)
	return list[k : k+1]
}

// sizeTrials returns ex with each of its sizes, and all of them, exchanged for
// others. They are made when they are needed.
func sizeTrials(d *op.Def, ex example, dt dtype.DType) []func() *ringTrial {
	var list []func() *ringTrial
	for _, from := range sizesOf(ex) {
		for _, to := range []int{0, 1, 4, 7} {
			list = append(list, func() *ringTrial { return newRingTrial(d, ex.resized(from, to), dt) })
		}
	}
	return list
}

// dtypeTrials returns ex in the dtypes other than dt that the operator takes. Of the
// limited ones, the test's summands are not exact, or have no reduction.
func dtypeTrials(d *op.Def, ex example, dt dtype.DType) []func() *ringTrial {
	var list []func() *ringTrial
	for _, other := range dtype.Reals {
		if other.Limited() {
			continue
		}
		if _, err := newTrial(d, ex, other).apply(); err == nil && other != dt {
			list = append(list, func() *ringTrial { return newRingTrial(d, ex, other) })
		}
	}
	return list
}
