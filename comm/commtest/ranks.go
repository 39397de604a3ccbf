package commtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
)

// An Opener returns a new Fabric of size ranks.
type Opener func(size int) *comm.Fabric

// Suite runs all tests on fabrics that open returns.
func Suite(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Opener)
	}{
		{"Collectives", testCollectives},
		{"Huge", testHuge},
		{"Rounding", testRounding},
		{"Members", testMembers},
		{"PrepareFails", testPrepareFails},
		{"Panics", testPanics},
		{"Groups", testGroups},
		{"Arguments", testArguments},
		{"Join", testJoin},
		{"Async", testAsync},
		{"Messages", testMessages},
		{"Unreceived", testUnreceived},
		{"Contract", testContract},
		{"Deadlock", testDeadlock},
		{"Recovery", testRecovery},
		{"Caught", testCaught},
		{"Failure", testFailure},
		{"Rest", testRest},
		{"Cancel", testCancel},
		{"Notice", testNotice},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

// patience is after how long a test that should not hang is taken to.
const patience = 2 * time.Minute

var errHangs = errors.New("the test hangs")

// A rank runs the function of a test.
type rank struct {
	*comm.Endpoint
	t     testing.TB
	ctx   context.Context
	size  int
	world *comm.Group
}

// runRanks runs f on every rank of a new fabric, ends each with the error that
// f returns, and returns these errors.
func runRanks(t testing.TB, open Opener, size int, f func(r *rank) error) []error {
	t.Helper()
	fabric := open(size)
	defer fabric.Close()
	return runOn(t, fabric, f)
}

// runOn is runRanks on a fabric that the caller closes. It runs the ranks that
// are in this process.
func runOn(t testing.TB, fabric *comm.Fabric, f func(r *rank) error) []error {
	t.Helper()
	return goOn(t, fabric, func(r *rank) error {
		err := f(r)
		r.End(err)
		return err
	})
}

// goOn is runOn, but no rank ends with f: all can do more.
func goOn(t testing.TB, fabric *comm.Fabric, f func(r *rank) error) []error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errHangs)
	defer cancel()
	errs := make([]error, fabric.Size())
	var wg sync.WaitGroup
	for _, i := range fabric.Local() {
		r := newRank(ctx, t, fabric, i)
		wg.Go(func() { errs[i] = f(r) })
	}
	wg.Wait()
	for i, err := range errs {
		if errors.Is(err, errHangs) {
			t.Fatalf("rank %d hangs", i)
		}
	}
	return errs
}

// newRank returns rank i of a fabric, whose source line is "rank i".
func newRank(ctx context.Context, t testing.TB, fabric *comm.Fabric, i int) *rank {
	r := &rank{Endpoint: fabric.Endpoint(i), t: t, ctx: ctx, size: fabric.Size()}
	r.world = r.group(upTo(r.size), "")
	r.Where(func() string { return fmt.Sprintf("line of %d", i) })
	return r
}

// succeed fails the test if one of the ranks has failed.
func succeed(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", i, err)
		}
	}
}

// group returns a group that is known to be valid.
func (r *rank) group(ranks []int, instance string) *comm.Group {
	g, err := r.Group(ranks, instance)
	if err != nil {
		panic(err)
	}
	return g
}

func (r *rank) barrier(g *comm.Group) error {
	_, err := g.Run(r.ctx, barrier())
	return err
}

// upTo returns 0, 1, ..., n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// line returns a function that tells a source line.
func line(text string) func() string { return func() string { return text } }
