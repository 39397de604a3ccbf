package pipeline

import (
	"fmt"
	"strings"
)

// String draws the schedule: a line for each stage, a column for each unit of
// time, in which a pass, forward or backward, is done. F3 is the forward pass
// of micro-batch 3, B3 its backward pass, and a dot an idle unit. With several
// chunks a letter says which: F3b is in the second one.
//
//	1f1b: stages 2, micro-batches 3, bubble 25.0%
//	stage 0  F0 F1 .  B0 F2 B1 .  B2
//	stage 1  .  F0 B0 F1 B1 F2 B2 .
//
// It panics if the schedule does not pass Check.
func (s *Schedule) String() string {
	r, err := s.run()
	if err != nil {
		panic(err)
	}
	width, length := 0, 0
	for stage, passes := range r.passes {
		length = max(length, r.clock[stage])
		for _, p := range passes {
			width = max(width, len(s.cell(p.Action)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, bubble %.1f%%", s.Title(), 100*s.Bubble())
	for stage, passes := range r.passes {
		cells := make([]string, length)
		for i := range cells {
			cells[i] = "."
		}
		for _, p := range passes {
			cells[p.start] = s.cell(p.Action)
		}
		line := fmt.Sprintf("stage %-*d ", len(fmt.Sprint(s.Stages-1)), stage)
		for _, c := range cells {
			line += fmt.Sprintf(" %-*s", width, c)
		}
		fmt.Fprint(&b, "\n", strings.TrimRight(line, " "))
	}
	return b.String()
}

// cell writes a pass.
func (s *Schedule) cell(a Action) string {
	text := fmt.Sprintf("%c%d", "FB"[a.Do/Backward], a.Micro)
	if s.Chunks > 1 {
		text += chunkLetters(a.Chunk)
	}
	return text
}

// chunkLetters writes a chunk: a to z, and then aa, ab and so on.
func chunkLetters(chunk int) string {
	text := string(rune('a' + chunk%26))
	if chunk >= 26 {
		return chunkLetters(chunk/26-1) + text
	}
	return text
}
