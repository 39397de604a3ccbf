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

// watchRounds is how many turns of a case are watched at most, fewRounds how many at least, one if
// less time is given than hereTime, and warmRounds how many go before, or as many as there is time for.
const watchRounds, fewRounds, warmRounds = 60, 5, 12

// watch measures each operation of a turn of c on rank 0: of several turns what all but the slower
// two thirds take, for whatever else runs on a machine only adds time.
func (b *bench) watch(ctx context.Context, c hereCase) ([]runtime.Watched, error) {
	one := *b
	one.transport = c.transport
	var w *runtime.Watch
	one.seen = func(r *runtime.Rank) {
		if r.ID() == 0 {
			w = r.Watch()
		}
	}
	m, err := one.newMeter(ctx, &benchCase{ranks: c.ranks, before: c.before, body: c.body})
	if err != nil {
		return nil, err
	}
	defer m.close()
	total, few := min(b.time, hereTime), fewRounds
	if b.time < hereTime {
		few = 1
	}
	for i, since := 0, time.Now(); i == 0 || i < warmRounds && time.Since(since) < total; i++ {
		if _, err := m.turns(ctx, 1); err != nil {
			return nil, err
		}
	}
	var turns [][]runtime.Watched
	for since := time.Now(); len(turns) < watchRounds && (len(turns) < few || time.Since(since) < total); {
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

// kernelPart and hostPart are the parts of a turn's time from which on what is alike is a
// sample of its own, beside the whole.
const kernelPart, hostPart = 0.02, 0.2

// kernelSamples are the seconds of operations in a turn of one of so many ranks: of all, and of
// each that is much of it.
func kernelSamples(turn []runtime.Watched, ranks int) []fit.Sample {
	return turnSamples(turn, kernelPart,
		func(w runtime.Watched) plan.Operation { return w.Operation },
		func(w runtime.Watched) float64 { return w.Ran },
		func(m *hardware.Machine, some []runtime.Watched) (seconds float64) {
			one := m.Among(ranks)
			for _, w := range some {
				seconds += one.Operation(w.Operation.Operation)
			}
			return seconds
		})
}

// hostSamples are the seconds of the host in a turn: all, and those before operations that are
// alike, where they are much of it.
func hostSamples(turn []runtime.Watched) []fit.Sample {
	type kind struct{ views, script, placed, recorded, backward bool }
	return turnSamples(turn, hostPart,
		func(w runtime.Watched) kind {
			h := w.Hosting
			return kind{h.Views > 0, h.Instructions > 0, h.Placed, h.Recorded, h.Backward}
		},
		func(w runtime.Watched) float64 { return w.Host },
		func(m *hardware.Machine, some []runtime.Watched) (seconds float64) {
			for _, w := range some {
				seconds += m.Host(w.Hosting)
			}
			return seconds
		})
}

// turnSamples are samples of what was watched in a turn, in which each takes the seconds that of
// returns and predict foretells: of all, and of those of a kind that take at least part of it.
func turnSamples[K comparable](turn []runtime.Watched, part float64, kind func(runtime.Watched) K, of func(runtime.Watched) float64,
	predict func(m *hardware.Machine, some []runtime.Watched) float64) []fit.Sample {
	alike := map[K]int{} // where a kind is in lists
	lists := [][]runtime.Watched{turn}
	for _, w := range turn {
		k := kind(w)
		if alike[k] == 0 {
			alike[k] = len(lists)
			lists = append(lists, nil)
		}
		lists[alike[k]] = append(lists[alike[k]], w)
	}
	whole := 0.0
	var out []fit.Sample
	for i, list := range lists {
		seconds := 0.0
		for _, w := range list {
			seconds += of(w)
		}
		if i == 0 {
			whole = seconds
		}
		if seconds >= part*whole {
			out = append(out, fit.Sample{Seconds: seconds, Predict: func(m *hardware.Machine) (float64, float64) { return predict(m, list), 0 }})
		}
	}
	return out
}
