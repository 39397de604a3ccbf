package main

import (
	"cmp"
	"fmt"
	"slices"

	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

// A stepPart is a part of a step, and what makes it less.
type stepPart struct {
	seconds float64
	try     string
}

// tryAlso is the part of a step from which on the second of its costs is worth a line.
const tryAlso = 0.2

// advice says what costs most, and what would lower it; of time also what comes next, where that
// is much. What communication and the starts of operations cost is what a step without them has shown.
func advice(f *plan.Figures, m *hardware.Machine) []string {
	switch {
	case !f.Memory.Fits && f.Memory.Activations >= max(f.Memory.Parameters, f.Memory.Optimizer):
		return []string{"it does not fit: activations are the most; checkpoint recomputes them, smaller micro-batches or more ranks along tp keep fewer"}
	case !f.Memory.Fits:
		return []string{"it does not fit: parameters and what belongs to them are the most; fully_shard, or more ranks along tp or pp, share them"}
	}
	if f.Without.Starts <= 0 && len(f.Communication) == 0 { // no more than the loop around nothing
		return []string{idleAdvice(f)}
	}
	parts := partsOf(f, m)
	slices.SortStableFunc(parts, func(a, b stepPart) int { return cmp.Compare(b.seconds, a.seconds) })
	lines := []string{parts[0].try}
	if parts[1].seconds >= tryAlso*f.StepSeconds {
		lines = append(lines, parts[1].try)
	}
	return lines
}

// idleAdvice is what to do where a step takes no time.
func idleAdvice(f *plan.Figures) string {
	if f.Steps > 0 {
		return fmt.Sprintf("nothing is computed or sent in step %d, the last whole one: mark_step() ends a step, and belongs behind what it does", f.Steps)
	}
	return "the script computes nothing and sends nothing"
}

// partsOf returns the parts of a step.
func partsOf(f *plan.Figures, m *hardware.Machine) []stepPart {
	starts, communication := f.StepSeconds-f.Without.Starts, f.StepSeconds-f.Without.Communication
	arithmetic := max(0, f.Seconds.Arithmetic-starts)
	parts := []stepPart{
		{arithmetic, arithmeticAdvice(f, arithmetic)},
		{starts, startsAdvice(f, m)},
		{f.Seconds.Bubble, portion(f, f.Seconds.Bubble) + " is the pipeline's bubble: smaller micro-batches and more of them, a schedule that has less of it (interleaved, zb1p, zbv) or fewer stages make it smaller"},
		{f.Seconds.Waiting, portion(f, f.Seconds.Waiting) + " is waiting for other ranks: the work is not divided evenly"},
	}
	if len(f.Communication) > 0 {
		r := f.Communication[0]
		parts = append(parts, stepPart{communication, fmt.Sprintf("%s is communication, %s along %s at %s before all: fewer ranks along that dim, or a faster link for it; without any a step would take %s",
			portion(f, communication), r.Op, r.Dims, r.Where, seconds(f.Without.Communication))})
	}
	return parts
}

// portion returns which part of a step so many seconds are.
func portion(f *plan.Figures, s float64) string {
	return fmt.Sprintf("%.0f %% of the step", 100*s/max(f.StepSeconds, 1e-30))
}

// startsAdvice is what to do where operations are too small for what begins them.
func startsAdvice(f *plan.Figures, m *hardware.Machine) string {
	what := "the host, that issues them, the start of each and the loop around them"
	if m.Shared() {
		what = "the interpreter, and what begins each of them"
	}
	return fmt.Sprintf("%s is lost between operations, which are too small: to %s; without that a step would take %s; larger micro-batches, or fewer ranks that share a layer, make fewer and larger ones",
		portion(f, f.StepSeconds-f.Without.Starts), what, seconds(f.Without.Starts))
}

// recomputedMuch is the part of the arithmetic from which on recomputing is worth a word.
const recomputedMuch = 0.05

// arithmeticAdvice is what to do where the device computes.
func arithmeticAdvice(f *plan.Figures, arithmetic float64) string {
	text := portion(f, arithmetic) + " is arithmetic: more ranks, or a lower precision, make it less"
	if part := 1 - f.MFU/max(f.HFU, 1e-30); f.HFU > 0 && part > recomputedMuch {
		text += fmt.Sprintf("; %.0f %% of the FLOPs are recomputed for backward: recompute less, if memory has room", 100*part)
	}
	return text
}
