package pipeline

import (
	"cmp"
	"slices"
)

// Schedules made of a building block: the passes of one micro-batch through all stages, which is repeated
// every six units of time, as many as a stage has passes for a micro-batch (two chunks, forward, inputs
// and weights). How long a micro-batch stays on a stage, over six, is what the stage holds.
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024.

// interval is how many units of time lie between micro-batches.
const interval = 6

// A block says when a micro-batch goes through stage s, in units of time: forward through chunk 0 at
// down*s and through chunk 1 at forward-s, backward through chunk 1 at turn+down*s and through chunk 0 at back-s.
type block struct{ down, forward, turn, back int }

// newBlock returns the shortest block in which the passes of a stage fall on different units of the interval.
func newBlock(stages, down int) block {
	last := stages - 1
	for more := 0; ; more++ { // units of waiting, divided between the three turns
		for a := 0; a <= more; a++ {
			for b := 0; a+b <= more; b++ {
				k := block{down: down}
				k.forward = (down+1)*last + 1 + a
				k.turn = k.forward + 1 + b
				k.back = k.turn + (down+1)*last + 1 + more - a - b
				if k.regular(stages) {
					return k
				}
			}
		}
	}
}

// passes returns the passes of a micro-batch through a stage, and when they are.
func (k block) passes(stage int) (list [4]Action, at [4]int) {
	return [4]Action{{Do: Forward}, {Do: Forward, Chunk: 1}, {Do: BackwardInput, Chunk: 1}, {Do: BackwardInput}},
		[4]int{k.down * stage, k.forward - stage, k.turn + k.down*stage, k.back - stage}
}

// regular reports whether block after block a stage does one pass at a time.
func (k block) regular(stages int) bool {
	for stage := range stages {
		_, at := k.passes(stage)
		var taken [interval]bool
		for _, t := range at {
			if taken[t%interval] {
				return false
			}
			taken[t%interval] = true
		}
	}
	return true
}

// order returns the passes of all micro-batches through a stage, without those of weights.
func (k block) order(stage, micro int) []Action {
	type timed struct {
		Action
		at int
	}
	var all []timed
	list, at := k.passes(stage)
	for m := range micro {
		for i, a := range list {
			a.Micro = m
			all = append(all, timed{a, at[i] + interval*m})
		}
	}
	slices.SortFunc(all, func(x, y timed) int { return cmp.Compare(x.at, y.at) })
	order := make([]Action, len(all))
	for i, x := range all {
		order[i] = x.Action
	}
	return order
}

// vHalf is V-Half: half of what 1F1B holds at most, and one micro-batch more, with half of its bubble. What
// comes down the stages takes two units for each, what goes up one.
func vHalf(s *Schedule) [][]Action { return s.squeezed(newBlock(s.Stages, 2), s.Stages+2) }

// vMin is V-Min: a third of what 1F1B holds at most, and one micro-batch more, with two thirds of its bubble
// and a unit more or less. Every stage takes a unit.
func vMin(s *Schedule) [][]Action { return s.squeezed(newBlock(s.Stages, 1), 2*((s.Stages+1)/3+1)) }

// squeezed returns the orders of blocks one after another, whose passes are done as soon as they can be. Backward
// passes of weights go where a stage would wait, or would hold more than most micro-batches in its chunks.
func (s *Schedule) squeezed(k block, most int) [][]Action {
	q := &squeeze{s: s, most: most, done: map[Action]int{}}
	left := 0
	for stage := range s.Stages {
		q.plan = append(q.plan, k.order(stage, s.Micro))
		left += len(q.plan[stage]) * 3 / 2
	}
	q.orders, q.weights, q.held = make([][]Action, s.Stages), make([][]Action, s.Stages), make([]int, s.Stages)
	for ; left > 0; q.now++ {
		before := left
		for stage := range s.Stages {
			if q.step(stage) {
				left--
			}
		}
		if left == before {
			panic("pipeline: no stage of " + s.Title() + " can go on")
		}
	}
	return q.orders
}

// A squeeze is the making of squeezed's orders, a unit of time after another.
type squeeze struct {
	s      *Schedule
	most   int
	now    int
	plan   [][]Action     // by stage, what is to be done yet
	done   map[Action]int // by pass, whose chunk is its position: when it had ended
	orders [][]Action     // by stage, what has been done

	weights [][]Action // by stage, what has been put off
	held    []int      // by stage
}

// step does what stage does at this time, and reports whether it does anything.
func (q *squeeze) step(stage int) bool {
	if len(q.plan[stage]) > 0 && q.may(stage, q.plan[stage][0]) {
		a := q.plan[stage][0]
		q.plan[stage] = q.plan[stage][1:]
		q.done[q.placed(stage, a)] = q.now + 1
		q.orders[stage] = append(q.orders[stage], a)
		if a.Do == Forward {
			q.held[stage]++
		} else {
			q.weights[stage] = append(q.weights[stage], Action{BackwardWeight, a.Micro, a.Chunk})
		}
		return true
	}
	if len(q.weights[stage]) == 0 {
		return false
	}
	q.orders[stage] = append(q.orders[stage], q.weights[stage][0])
	q.weights[stage] = q.weights[stage][1:]
	q.held[stage]--
	return true
}

// placed returns a with its position in place of its chunk.
func (q *squeeze) placed(stage int, a Action) Action {
	a.Chunk = q.s.Position(stage, a.Chunk)
	return a
}

// may reports whether stage can do a at this time.
func (q *squeeze) may(stage int, a Action) bool {
	before := q.placed(stage, a)
	switch {
	case a.Do == Forward && q.held[stage] == q.most:
		return false
	case a.Do == Forward && before.Chunk == 0:
		return true
	case a.Do == Forward:
		before.Chunk--
	case before.Chunk == q.s.Positions()-1:
		before.Do = Forward
	default:
		before.Chunk++
	}
	end, ok := q.done[before]
	return ok && end <= q.now
}
