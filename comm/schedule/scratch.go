package schedule

// A Scratch is memory for the spans and runs of steps, which use it one after
// another.
type Scratch struct {
	Dst, Src []Span
	Runs     [][]byte
}

// Clear lets go of the slices in s.
func (s *Scratch) Clear() {
	clear(s.Dst)
	clear(s.Src)
	clear(s.Runs)
	s.Dst, s.Src, s.Runs = s.Dst[:0], s.Src[:0], s.Runs[:0]
}

// mostShort is how many bytes a short run has at most.
const mostShort = 4 << 10

// IsShort reports whether a run of n bytes is short, and not empty.
func IsShort(n int) bool { return 0 < n && n <= mostShort }

// ShortRun returns the bytes of b, if they are a short run.
func (b *Block) ShortRun() (run []byte, ok bool) {
	n := b.Len()
	if !IsShort(n) || !b.Contiguous() {
		return nil, false
	}
	return b.Data[:n], true
}

// CombineRuns does a step that copies or reduces, if all that it reads and writes are
// short runs of one length: run returns those of whole blocks, and false for any other
// part. It reports false, and has done nothing, if they are not. For the 8 bytes of a
// loss, for example, making spans would take longer than all the rest.
func (s *Scratch) CombineRuns(st *Step, run func(p *Part) ([]byte, bool), reduce Reducer) bool {
	if len(st.Dst) != 1 {
		return false
	}
	dst, ok := run(&st.Dst[0])
	if !ok {
		return false
	}
	runs := s.Runs[:0]
	for i := range st.Src {
		src, ok := run(&st.Src[i])
		if !ok || len(src) != len(dst) {
			return false
		}
		runs = append(runs, src)
	}
	if st.Do == DoCopy {
		copy(dst, runs[0])
	} else {
		reduce(dst, runs)
	}
	clear(runs) // so that nothing stays in memory for it
	s.Runs = runs[:0]
	return true
}

// ReduceRuns reduces Src to Dst[0] as ReduceSpans does, if they are short and each
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
