package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"tpsh/runtime"
)

// What obeys the model is fitted exactly, and noise does not make it negative.
func TestFitCost(t *testing.T) {
	for _, want := range []runtime.Cost{{Alpha: 1e-6, Beta: 1e-10}, {Alpha: 3e-5, Beta: 2e-9}} {
		var sizes, seconds []float64
		for _, size := range fitSizes {
			sizes, seconds = append(sizes, float64(size)), append(seconds, want.Predict(size))
		}
		got := fitCost(sizes, seconds)
		if math.Abs(got.Alpha/want.Alpha-1) > 1e-6 || math.Abs(got.Beta/want.Beta-1) > 1e-6 {
			t.Errorf("fitted %v to what costs %v", got, want)
		}
	}
	for _, seconds := range [][]float64{{1e-3, 1e-6}, {0, 0}, {1e-6, 1e-6}} {
		if got := fitCost([]float64{8, 4096}, seconds); got.Alpha <= 0 || got.Beta <= 0 {
			t.Errorf("fitted %v to %v, want positive costs", got, seconds)
		}
	}
	if got := fitCost([]float64{8}, []float64{2e-6}); got.Alpha != 2e-6 {
		t.Errorf("one point of 2 µs fits %v, want an Alpha of 2 µs", got)
	}
}

// Turns grow until they take long enough, by at least one and not without end.
func TestMoreTurns(t *testing.T) {
	for _, c := range []struct {
		n           int
		took, share time.Duration
		want        int
	}{
		{1, time.Millisecond, 10 * time.Millisecond, 12},
		{1, 0, time.Second, 100},
		{10, 999 * time.Millisecond, time.Second, 12},
		{1, 999 * time.Millisecond, time.Second, 2},
	} {
		if got := moreTurns(c.n, c.took, c.share); got != c.want {
			t.Errorf("moreTurns(%d, %v, %v) = %d, want %d", c.n, c.took, c.share, got, c.want)
		}
	}
}

// Names of cases are distinct for each number of ranks, and every suite has some.
func TestBenchCases(t *testing.T) {
	b := &bench{ranks: 4, maxBytes: 1 << 30}
	seen, of := map[string]bool{}, map[string]bool{}
	for _, c := range b.cases() {
		key := c.name + string(rune('0'+c.ranks))
		if seen[key] {
			t.Errorf("case %s stands twice for %d ranks", c.name, c.ranks)
		}
		if strings.ContainsAny(c.name, " \t") {
			t.Errorf("case %q: benchstat takes names without spaces", c.name)
		}
		seen[key], of[c.suite] = true, true
	}
	for _, s := range suites {
		if !of[s] {
			t.Errorf("suite %s has no case", s)
		}
	}
}

// What a step must keep is counted by hand for a small network on two ranks.
func TestStepCost(t *testing.T) {
	got := stepCost(2, 3, 5, 8, 7)
	params := 5*8 + 8 + 8*7 + 2*7
	activations := 2*3*(5+3*7) + 3*3*8
	if want := 4 * (2*params + activations + 2*3*7); got.memory != want {
		t.Errorf("memory is %d, want %d", got.memory, want)
	}
	if want := 2.0 * 3 * (5*8 + 8*7 + 5*8 + 8*7 + 8*7); got.flops != want { // forward, weights, values
		t.Errorf("flops are %v, want %v", got.flops, want)
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int]string{8: "8B", 64 << 10: "64KiB", 1 << 20: "1MiB", 3 << 29: "1536MiB", 1000: "1000B"} {
		if got := sizeText(n); got != want {
			t.Errorf("sizeText(%d) = %q, want %q", n, got, want)
		}
	}
}
