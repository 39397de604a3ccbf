package schedule

// A Scratch is memory for the spans and runs of steps, which use it one after
// another.
type Scratch struct {
	Dst, Src []Span
	Runs     [][]byte
}

// Clear lets go of what is in s.
func (s *Scratch) Clear() {
	clear(s.Dst)
	clear(s.Src)
	clear(s.Runs)
	s.Dst, s.Src, s.Runs = s.Dst[:0], s.Src[:0], s.Runs[:0]
}

// ReduceRuns reduces Src to Dst[0] as reduceSpans does, if they are short and each
// is a run. It reports false if they are not, and has done nothing.
func (s *Scratch) ReduceRuns(reduce Reducer, align int) bool {
	n := s.Dst[0].Len()
	if n == 0 || n > pieceBytes || len(s.Dst[0].Run(0)) < n {
		return false
	}
	checkReduce(n, s.Dst, s.Src, align)
	for _, src := range s.Src {
		run := src.Run(0)
		if len(run) < n {
			return false
		}
		s.Runs = append(s.Runs, run)
	}
	reduce(s.Dst[0].Run(0), s.Runs)
	return true
}
