package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
// runs on a machine only adds time. Of many short ones, which are to tell what a step of a program
// takes, the one that a third of them beat counts: how ranks come late to each other is part of it.
const rounds, shortRounds = 5, 80

// idleRounds is how many rounds without a turn are measured, and leastIdles how many times as
// long a round with turns takes at least: processes hear of a round in half a millisecond and more.
const idleRounds, leastIdles = 10, 10

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
// each, and checks what it computes. What a round takes without a turn, for ranks to
// hear of it and to tell that they are done, is no part of a turn.
func (m *meter) measure(ctx context.Context, c *benchCase, f *figures, total time.Duration) error {
	idle, err := m.often(ctx, 0, idleRounds)
	if err != nil {
		return err
	}
	share := max(total/time.Duration(m.rounds), leastIdles*idle)
	for n, took := 1, time.Duration(0); took < share; n = moreTurns(n, took, share) {
		if took, err = m.turns(ctx, n); err != nil {
			return err
		}
		f.turns = n
	}
	took, err := m.often(ctx, f.turns, int(max(total/share, 1)))
	if err != nil {
		return err
	}
	f.seconds = max(took-idle, took/2).Seconds() / float64(f.turns)
	if c.check == "" {
		return nil
	}
	return m.do(ctx, c.check)
}

// often returns how long n turns take, of so many tries: of few rounds the least, of many what a third of them beat.
func (m *meter) often(ctx context.Context, n, tries int) (time.Duration, error) {
	var all []time.Duration
	for range tries {
		took, err := m.turns(ctx, n)
		if err != nil {
			return 0, err
		}
		all = append(all, took)
	}
	slices.Sort(all)
	if m.rounds < shortRounds {
		return all[0], nil
	}
	return all[len(all)/3], nil
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
