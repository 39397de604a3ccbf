package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tpsh/lang"
)

// A meter is a set of ranks that turn a loop around the body of a case.
type meter struct {
	ranks  *ranks
	s      *lang.Session
	rounds int
}

// rounds is how often a case is measured. The fastest counts: whatever else
// runs on a machine only adds time. Many short ones find a moment when little does.
const rounds, shortRounds = 5, 80

// newMeter starts the ranks of c and prepares its loop. The caller closes the
// meter.
func (b *bench) newMeter(ctx context.Context, c *benchCase) (*meter, error) {
	r, err := (&starter{limits: &limits{kernels: b.kernels, quiet: true}, ranks: c.ranks, transport: b.transport, seen: b.seen}).start(ctx)
	if err != nil {
		return nil, err
	}
	m := &meter{r, lang.NewSession(r.conns, lang.Options{}), rounds}
	if b.short {
		m.rounds = shortRounds
	}
	loop := fmt.Sprintf("%s\ndef turns(n):\n    for _ in range(n):\n        %s\n", c.before, c.body)
	if err := m.do(ctx, loop); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// do runs a piece of script on all ranks.
func (m *meter) do(ctx context.Context, source string) error {
	o, err := m.s.Run(ctx, lang.Program{Path: "bench.star", Source: source, Chunk: true})
	if err == nil && !o.OK() {
		var report strings.Builder
		o.Report(&report)
		err = errors.New(strings.TrimSpace(report.String()))
	}
	return err
}

// turns returns how long n turns of the loop take.
func (m *meter) turns(ctx context.Context, n int) (time.Duration, error) {
	since := time.Now()
	err := m.do(ctx, fmt.Sprintf("turns(%d)", n))
	return time.Since(since), err
}

// measure measures c, whose ranks m has, in rounds that take a share of total
// each, and checks what it computes.
func (m *meter) measure(ctx context.Context, c *benchCase, f *figures, total time.Duration) error {
	share := total / time.Duration(m.rounds)
	for n, took := 1, time.Duration(0); took < share; n = moreTurns(n, took, share) {
		var err error
		if took, err = m.turns(ctx, n); err != nil {
			return err
		}
		f.turns = n
	}
	best := math.Inf(1)
	for range m.rounds {
		took, err := m.turns(ctx, f.turns)
		if err != nil {
			return err
		}
		best = min(best, took.Seconds())
	}
	f.seconds = best / float64(f.turns)
	if c.check == "" {
		return nil
	}
	return m.do(ctx, c.check)
}

// moreTurns returns how many turns to try after n took less than share: a fifth
// more than seem needed, and at least one more and at most a hundred times.
func moreTurns(n int, took, share time.Duration) int {
	need := float64(n) * 1.2 * float64(share) / float64(max(took, 1))
	return int(min(max(need, float64(n+1)), float64(100*n)))
}

// close ends the ranks.
func (m *meter) close() {
	m.s.Close()
	m.ranks.stop()
}
