package lang

import (
	"fmt"
	"io"
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
	due    int        // ranks that are to send the oldest section yet
}

// newSink returns the sink of a run on some of size ranks.
func newSink(out io.Writer, mode Mode, ranks []int, size int) *sink {
	s := &sink{out: out, mode: mode, open: make([][][]Line, size), closed: make([]bool, size)}
	for rank := range s.closed {
		s.closed[rank] = true
	}
	for _, rank := range ranks {
		s.closed[rank] = false
	}
	s.due = s.countDue()
	return s
}

// add takes lines from a rank.
func (s *sink) add(rank int, m *linesMsg) {
	if m.Stream {
		s.stream(rank, m.Lines)
		return
	}
	if s.isDue(rank) {
		s.due--
	}
	s.open[rank] = append(s.open[rank], m.Lines)
	s.flush()
}

// close says that a rank has sent all its lines.
func (s *sink) close(rank int) {
	if s.isDue(rank) {
		s.due--
	}
	s.closed[rank] = true
	s.flush()
}

// isDue reports whether a rank is to send the oldest section yet.
func (s *sink) isDue(rank int) bool { return len(s.open[rank]) == 0 && !s.closed[rank] }

func (s *sink) countDue() int {
	n := 0
	for rank := range s.open {
		if s.isDue(rank) {
			n++
		}
	}
	return n
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
	for s.due == 0 {
		section := make([][]Line, len(s.open))
		some := false
		for rank, queue := range s.open {
			if len(queue) > 0 {
				section[rank], s.open[rank] = queue[0], queue[1:]
				some = true
			}
		}
		if !some {
			return
		}
		s.write(merge(section))
		s.due = s.countDue()
	}
}

func (s *sink) write(text string) {
	if text == "" || s.err != nil {
		return
	}
	_, s.err = io.WriteString(s.out, text)
}
