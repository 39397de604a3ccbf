package pipeline

import (
	"fmt"
	"strings"
)

// String draws the schedule: a line for each stage, a column for each unit of
// time, in which a pass, forward or backward, is done. F3 is the forward pass
// of micro-batch 3, B3 its backward pass, and a dot an idle unit. With several
// chunks a letter says which: F3b is in the second one. In a schedule that splits
// backward passes I3 makes the gradients of the inputs and W3 those of the weights, and
// B3, which makes both, takes two units.
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
			for i := range p.length {
				cells[p.start+i] = s.cell(p.Action)
			}
		}
		line := fmt.Sprintf("stage %-*d ", len(fmt.Sprint(s.Stages-1)), stage)
		for _, c := range cells {
			line += fmt.Sprintf(" %-*s", width, c)
		}
		fmt.Fprint(&b, "\n", strings.TrimRight(line, " "))
	}
	return b.String()
}

// letters are the passes in pictures.
var letters = map[Kind]byte{Forward: 'F', Backward: 'B', BackwardInput: 'I', BackwardWeight: 'W'}

// Cell writes a as String does; "" of an exchange.
func (s *Schedule) Cell(a Action) string {
	if letters[a.Do] == 0 {
		return ""
	}
	return s.cell(a)
}

// cell writes a pass.
func (s *Schedule) cell(a Action) string {
	text := fmt.Sprintf("%c%d", letters[a.Do], a.Micro)
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

// Notation returns what stage computes, in order, as PyTorch writes it: 3I0 makes the gradients of the inputs
// of position 3 for micro-batch 0, and F, B and W are as in String.
func (s *Schedule) Notation(stage int) []string {
	var list []string
	for _, a := range s.Actions[stage] {
		if letter := letters[a.Do]; letter != 0 {
			list = append(list, fmt.Sprintf("%d%c%d", s.Position(stage, a.Chunk), letter, a.Micro))
		}
	}
	return list
}
