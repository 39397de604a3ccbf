package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tpsh/runtime"
	"tpsh/runtime/hardware"
	"tpsh/runtime/hardware/fit"
	"tpsh/runtime/plan"
)

// watchRounds is how many turns of a case are watched at most, and warmRounds how many go
// before.
const watchRounds, warmRounds = 60, 12

// watch measures each operation of a turn of c: of several turns what all but the slower
// two thirds take, for whatever else runs on a machine only adds time.
func (b *bench) watch(ctx context.Context, c hereCase) ([]runtime.Watched, error) {
	one := *b
	one.transport = c.transport
	var w *runtime.Watch
	one.seen = func(r *runtime.Rank) { w = r.Watch() }
	m, err := one.newMeter(ctx, &benchCase{ranks: 1, before: c.before, body: c.body})
	if err != nil {
		return nil, err
	}
	defer m.close()
	if _, err := m.turns(ctx, warmRounds); err != nil {
		return nil, err
	}
	var turns [][]runtime.Watched
	for since := time.Now(); len(turns) < watchRounds && (len(turns) < 5 || time.Since(since) < hereTime); {
		w.Take()
		w.On = true
		if _, err := m.turns(ctx, 2); err != nil {
			return nil, err
		}
		w.On = false
		all := w.Take()
		if len(all)%2 != 0 {
			return nil, fmt.Errorf("got %d operations in two turns, want an even number", len(all))
		}
		turns = append(turns, all[len(all)/2:]) // the first begins with what starts a program
	}
	return typical(turns)
}

// typical returns the operations of a turn with what each takes in a fast one.
func typical(turns [][]runtime.Watched) ([]runtime.Watched, error) {
	out := slices.Clone(turns[0])
	times := make([]float64, len(turns))
	third := func(of func(runtime.Watched) float64, i int) float64 {
		for k, t := range turns {
			times[k] = of(t[i])
		}
		slices.Sort(times)
		return times[len(times)/3]
	}
	for _, t := range turns {
		if len(t) != len(out) {
			return nil, fmt.Errorf("got %d operations in a turn and %d in another", len(t), len(out))
		}
	}
	for i := range out {
		out[i].Host = third(func(w runtime.Watched) float64 { return w.Host }, i)
		out[i].Ran = third(func(w runtime.Watched) float64 { return w.Ran }, i)
	}
	return out, nil
}

// kernelPart is the part of all operations' time in a turn from which on one is a sample of
// its own, beside the whole.
const kernelPart = 0.02

// kernelSamples are the seconds of operations in a turn: of all, and of each that is much
// of it.
func kernelSamples(turn []runtime.Watched) []fit.Sample {
	by := map[plan.Operation]*kernelSum{}
	all := &kernelSum{}
	order := []*kernelSum{all}
	for _, w := range turn {
		if by[w.Operation] == nil {
			by[w.Operation] = &kernelSum{}
			order = append(order, by[w.Operation])
		}
		by[w.Operation].add(w)
		all.add(w)
	}
	var out []fit.Sample
	for _, s := range order {
		if s.seconds >= kernelPart*all.seconds {
			out = append(out, fit.Sample{Seconds: s.seconds, Predict: s.predict})
		}
	}
	return out
}

// A kernelSum is operations and the seconds they took.
type kernelSum struct {
	seconds float64
	ops     []hardware.Operation
}

func (s *kernelSum) add(w runtime.Watched) {
	s.seconds, s.ops = s.seconds+w.Ran, append(s.ops, w.Operation.Operation)
}

// predict implements fit.Sample.Predict.
func (s *kernelSum) predict(m *hardware.Machine) (seconds, bytes float64) {
	one := m.Among(1)
	for _, o := range s.ops {
		seconds += one.Operation(o)
	}
	return seconds, 0
}

// largePart is the part of the host's time in a turn from which on what is alike is a sample
// of its own, beside the whole.
const largePart = 0.2

// hostSamples are the seconds of the host in a turn: all, and those before operations that are
// alike, where they are much of it.
func hostSamples(turn []runtime.Watched) []fit.Sample {
	type key struct{ views, script, placed, recorded, backward bool }
	by := map[key]*hostSum{}
	all := &hostSum{}
	order := []*hostSum{all}
	for _, w := range turn {
		h := w.Hosting
		k := key{h.Views > 0, h.Instructions > 0, h.Placed, h.Recorded, h.Backward}
		if by[k] == nil {
			by[k] = &hostSum{}
			order = append(order, by[k])
		}
		by[k].add(w)
		all.add(w)
	}
	var out []fit.Sample
	for _, s := range order {
		if s.seconds >= largePart*all.seconds {
			out = append(out, fit.Sample{Seconds: s.seconds, Predict: s.predict})
		}
	}
	return out
}

// A hostSum is work of the host and the seconds it took.
type hostSum struct {
	seconds float64
	work    []hardware.Hosting
}

func (s *hostSum) add(w runtime.Watched) {
	s.seconds, s.work = s.seconds+w.Host, append(s.work, w.Hosting)
}

// predict implements fit.Sample.Predict.
func (s *hostSum) predict(m *hardware.Machine) (seconds, bytes float64) {
	for _, h := range s.work {
		seconds += m.Host(h)
	}
	return seconds, 0
}
