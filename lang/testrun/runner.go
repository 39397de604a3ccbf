package testrun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"tpsh/lang"
)

// A runner runs the tests of some files.
type runner struct {
	Options
	out  *outlet // Out
	tell tellers

	mu          sync.Mutex
	totals      totals
	cover       lang.Cover
	interrupted bool
	stopped     bool // a test has failed, and FailFast ends the rest
}

func (r *runner) run(ctx context.Context, files []*file) int {
	if r.Parallel > 1 {
		r.parallel(ctx, files)
	} else {
		for _, f := range files {
			r.file(ctx, f, r.tell)
		}
	}
	err := r.tell.end(r.totals)
	if r.Cover != "" && err == nil {
		err = r.tellCover()
	}
	return r.status(ctx, err)
}

// status returns the exit status. err is of writing the results.
func (r *runner) status(ctx context.Context, err error) int {
	lost, cause := r.out.lost()
	switch {
	case cause != nil:
		fmt.Fprintln(r.Err, cause)
		return lang.StatusJob
	case lost || r.interrupted || ctx.Err() != nil:
		return lang.StatusInterrupted
	case err != nil:
		fmt.Fprintln(r.Err, err)
		return lang.StatusJob
	case r.totals.failed > 0:
		return lang.StatusFailed
	}
	return lang.StatusOK
}

// parallel runs several files at a time, and tells of them in their order.
func (r *runner) parallel(ctx context.Context, files []*file) {
	records := make([]*record, len(files))
	room := make(chan struct{}, r.Parallel)
	var all sync.WaitGroup
	for i := range files {
		records[i] = &record{done: make(chan struct{})}
	}
	all.Go(func() {
		for i, f := range files {
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				defer close(records[i].done)
				r.file(ctx, f, tellers{records[i]})
			})
		}
	})
	for _, rec := range records {
		<-rec.done
		rec.replay(r.tell)
	}
	all.Wait()
}

// A record is a teller that keeps its news until it is its turn.
type record struct {
	done   chan struct{} // closed when all is told
	events []func(tellers)
}

func (r *record) begin(c *testCase) { r.events = append(r.events, func(t tellers) { t.begin(c) }) }
func (r *record) test(c *testCase)  { r.events = append(r.events, func(t tellers) { t.test(c) }) }
func (r *record) file(res *fileResult) {
	r.events = append(r.events, func(t tellers) { t.file(res) })
}
func (r *record) end(totals) error { return nil }

func (r *record) replay(t tellers) {
	for _, e := range r.events {
		e(t)
	}
}

// over reports whether no more tests are to be begun.
func (r *runner) over(ctx context.Context) bool {
	lost, _ := r.out.lost()
	r.mu.Lock()
	defer r.mu.Unlock()
	return lost || r.interrupted || r.stopped || ctx.Err() != nil
}

// count counts tests that have ended.
func (r *runner) count(t totals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.totals.add(t)
	r.stopped = r.stopped || r.FailFast && t.failed > 0
}

// shuffle puts files, and the tests of each, in a random order, and says how to
// get it again.
func (r *runner) shuffle(files []*file) {
	g := rand.New(rand.NewPCG(uint64(*r.Shuffle), 0))
	g.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, f := range files {
		g.Shuffle(len(f.tests), func(i, j int) { f.tests[i], f.tests[j] = f.tests[j], f.tests[i] })
	}
	fmt.Fprintf(r.Err, "shuffled: --shuffle=%d gives this order again\n", *r.Shuffle)
}

// list names the tests that would be run. A file that cannot be run counts as failed.
func (r *runner) list(files []*file) {
	for _, f := range files {
		if f.mistake != "" {
			fmt.Fprintln(r.Out, f.mistake) // it begins with the path
			r.totals.failed++
			continue
		}
		for _, c := range r.cases(f) {
			fmt.Fprintf(r.Out, "%s:%d: %s\n", f.path, c.line, c.label())
		}
	}
}

// cases returns the runs of the tests of a file: of each on every number of ranks
// and every transport.
func (r *runner) cases(f *file) []*testCase {
	var cases []*testCase
	for _, t := range f.matching(r.Match) {
		for _, n := range f.allowed(r.Ranks) {
			for _, transport := range r.Transports {
				cases = append(cases, &testCase{test: t, path: f.path, n: n, transport: transport})
			}
		}
	}
	return cases
}
