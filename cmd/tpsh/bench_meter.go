package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tpsh/lang"
)

// A meter is a set of ranks that turn a loop around the body of a case.
type meter struct {
	ranks *ranks
	s     *lang.Session
}

// rounds is how often a case is measured. The fastest counts: whatever else
// runs on a machine only adds time.
const rounds = 5

// newMeter starts the ranks of c and prepares its loop. The caller closes the
// meter.
func (b *bench) newMeter(ctx context.Context, c *benchCase) (*meter, error) {
	r, err := (&starter{limits: &limits{quiet: true}, ranks: c.ranks, transport: b.transport}).start(ctx)
	if err != nil {
		return nil, err
	}
	m := &meter{r, lang.NewSession(r.conns, lang.Options{})}
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

// fastest returns a number of turns that takes a round's share of total, and
// the time of one turn in the fastest round.
func (m *meter) fastest(ctx context.Context, total time.Duration) (n int, turn time.Duration, err error) {
	share := total / rounds
	n = 1
	for {
		took, err := m.turns(ctx, n)
		if err != nil {
			return 0, 0, err
		}
		if took >= share {
			break
		}
		n = moreTurns(n, took, share)
	}
	best := time.Duration(0)
	for i := range rounds {
		took, err := m.turns(ctx, n)
		if err != nil {
			return 0, 0, err
		}
		if i == 0 || took < best {
			best = took
		}
	}
	return n, best / time.Duration(n), nil
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
