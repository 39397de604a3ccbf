package lang

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A sink is the front end's side of the output sections of one run: it writes
// a section when all ranks' lines for it have come.
type sink struct {
	out  io.Writer
	mode Mode
	err  error // of out; nothing is written after it

	open   [][][]Line // by rank: its sections that are not written, oldest first
	closed []bool     // by rank: it sends no more
}

// newSink returns the sink of a run on some of size ranks.
func newSink(out io.Writer, mode Mode, ranks []int, size int) *sink {
	s := &sink{out: out, mode: mode, open: make([][][]Line, size), closed: make([]bool, size)}
	for rank := range size {
		s.closed[rank] = !slices.Contains(ranks, rank)
	}
	return s
}

// add takes lines from a rank.
func (s *sink) add(rank int, m *linesMsg) {
	if m.Stream {
		s.stream(rank, m.Lines)
		return
	}
	s.open[rank] = append(s.open[rank], m.Lines)
	s.flush()
}

// close says that a rank has sent all its lines.
func (s *sink) close(rank int) {
	s.closed[rank] = true
	s.flush()
}

// stream writes lines at once.
func (s *sink) stream(rank int, lines []Line) {
	mark := ""
	if s.mode == Raw {
		mark = fmt.Sprintf("[%d]", rank)
	}
	var b strings.Builder
	for _, l := range lines {
		writeMarked(&b, mark, string(l.Text))
	}
	s.write(b.String())
}

// flush writes the sections that are complete.
func (s *sink) flush() {
	for {
		section := make([][]Line, len(s.open))
		some := false
		for rank, queue := range s.open {
			switch {
			case len(queue) > 0:
				section[rank] = queue[0]
				some = true
			case !s.closed[rank]:
				return
			}
		}
		if !some {
			return
		}
		for rank, queue := range s.open {
			s.open[rank] = queue[min(1, len(queue)):]
		}
		s.write(merge(section))
	}
}

func (s *sink) write(text string) {
	if text == "" || s.err != nil {
		return
	}
	_, s.err = io.WriteString(s.out, text)
}
