package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// A family is what the schedules of one name have in common.
type family struct {
	name   string
	others []string // names that papers and PyTorch give it
	chunks int      // how many a stage has; 0: as many as one likes
	shape  shape
	split  bool                            // backward passes are split
	orders func(s *Schedule) [][]Action    // by stage, the computations in order, without the exchanges between
	needs  func(stages, micro int) *Misfit // what else the sizes must be; nil for nothing
}

// families are all that there are, in the order in which they are listed.
var families = []*family{
	{name: "gpipe", others: []string{"GPipe", "ScheduleGPipe"}, chunks: 1, orders: byStage(gpipe)},
	{name: "1f1b", others: []string{"1F1B", "Schedule1F1B"}, chunks: 1, orders: byStage(oneForwardOneBackward)},
	{name: "interleaved", others: []string{"Interleaved1F1B", "ScheduleInterleaved1F1B"}, orders: byStage(interleaved), needs: groups},
	{name: "zb1p", others: []string{"ZB1P", "ZB-H1", "ZBH1", "InterleavedZeroBubble", "ScheduleInterleavedZeroBubble"}, chunks: 1, split: true, orders: byStage(zeroBubble1)},
	{name: "zb2p", others: []string{"ZB2P", "ZB-H2", "ZBH2"}, chunks: 1, split: true, orders: byStage(zeroBubble2)},
	{name: "zbv", others: []string{"ZBV", "ZB-V", "V-ZB", "ZBVZeroBubble", "ScheduleZBVZeroBubble"}, chunks: 2, shape: vee, split: true, orders: byStage(zeroBubbleV)},
	{name: "vhalf", others: []string{"V-Half"}, chunks: 2, shape: vee, split: true, orders: vHalf},
	{name: "vmin", others: []string{"V-Min"}, chunks: 2, shape: vee, split: true, orders: vMin},
	{name: "dualpipe", others: []string{"DualPipe"}, chunks: 2, shape: twoWay, split: true, orders: byStage(dualPipe), needs: twoWays},
	{name: "dualpipev", others: []string{"DualPipeV", "ScheduleDualPipeV"}, chunks: 2, shape: vee, split: true, orders: byStage(dualPipeV), needs: fullV},
}

// byStage makes the orders of a function of a single stage.
func byStage(order func(s *Schedule, stage int) []Action) func(s *Schedule) [][]Action {
	return func(s *Schedule) [][]Action {
		list := make([][]Action, s.Stages)
		for stage := range list {
			list[stage] = order(s, stage)
		}
		return list
	}
}

// streams returns how many copies of the model there are, between which micro-batches are
// divided.
func (f *family) streams() int {
	if f.shape == twoWay {
		return 2
	}
	return 1
}

// Names returns the names of the schedules.
func Names() []string {
	var list []string
	for _, f := range families {
		list = append(list, f.name)
	}
	return list
}

// AllNames returns the names of the schedules, and the others that Canonical takes.
func AllNames() []string {
	var list []string
	for _, f := range families {
		list = append(append(list, f.name), f.others...)
	}
	return list
}

// plain returns name in lower case, without what stands between its words.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// familyOf returns the family called name, nil for none.
func familyOf(name string) *family {
	name = plain(name)
	for _, f := range families {
		if f.name == name || slices.ContainsFunc(f.others, func(other string) bool { return plain(other) == name }) {
			return f
		}
	}
	return nil
}

// Canonical returns which of Names is meant by name: itself, as papers write it ("ZB-H1") or as PyTorch
// calls its class ("ScheduleZBVZeroBubble"), in upper or lower case; not ok if none is.
func Canonical(name string) (canonical string, ok bool) {
	f := familyOf(name)
	if f == nil {
		return "", false
	}
	return f.name, true
}

// ChunksOf returns how many chunks a stage has in the schedule called name, one of Names; 0 if as many as one
// likes.
func ChunksOf(name string) int { return familyOf(name).chunks }

// A Misfit says which size of a schedule cannot be.
type Misfit struct {
	Of   string // "stages", "micro-batches" or "chunks"
	Want string // instead
	Rule string // why
}

func (m *Misfit) Error() string { return fmt.Sprintf("%s: want %s (%s)", m.Of, m.Want, m.Rule) }

// Misfits returns what keeps sizes from being those of the schedule called name, one of Names; nil if nothing does.
func Misfits(name string, stages, micro, chunks int) *Misfit {
	f := familyOf(name)
	switch {
	case stages < 1:
		return &Misfit{"stages", "1 or more", "there is a stage at least"}
	case micro < 1:
		return &Misfit{"micro-batches", "1 or more", "there is a micro-batch at least"}
	case chunks < 1 || f.chunks > 0 && chunks != f.chunks:
		return &Misfit{"chunks", fmt.Sprint(max(1, f.chunks)), "so many parts of the model are on a stage"}
	case f.needs != nil:
		return f.needs(stages, micro)
	}
	return nil
}

// groups is what interleaved schedules need.
func groups(stages, micro int) *Misfit {
	if micro%stages != 0 {
		return &Misfit{"micro-batches", fmt.Sprintf("a multiple of %d", stages), "an interleaved schedule takes them by groups of the number of stages"}
	}
	return nil
}

// twoWays is what DualPipe needs.
func twoWays(stages, micro int) *Misfit {
	switch {
	case stages%2 != 0:
		return &Misfit{"stages", "an even number of stages", "dualpipe has the model twice, and the two meet in the middle"}
	case micro%2 != 0 || micro < 2*stages:
		return &Misfit{"micro-batches", fmt.Sprintf("an even number, %d or more", 2*stages), "dualpipe fills every stage from both ends"}
	}
	return nil
}

// fullV is what DualPipeV needs.
func fullV(stages, micro int) *Misfit {
	if micro < 2*stages {
		return &Misfit{"micro-batches", fmt.Sprintf("%d or more", 2*stages), "dualpipev wants one for each of the two chunks of each stage"}
	}
	return nil
}
