package schedule

import "fmt"

// FoldSpans does a step that folds, of elements of align bytes: it reduces srcs, in their
// order, onto acc, which is nil at the beginning of a chain. If last is nil the result is
// for the next link, and goes to acc if there is one, or else to new memory; otherwise it
// is that of n runs, and goes to last.
//
// It works in pieces as ReduceSpans does, and panics if lengths differ.
func FoldSpans(last *Span, acc []byte, srcs []Span, f *Fold, align, n int) (next []byte) {
	total := srcs[0].Len()
	each := total / align * f.Bytes
	if acc != nil && len(acc) != each {
		panic(fmt.Sprintf("schedule: fold of %d bytes onto %d, want %d", total, len(acc), each))
	}
	next = acc
	dsts := srcs
	if last != nil {
		dsts = []Span{*last}
	} else if acc == nil {
		next = make([]byte, each)
	}
	checkReduce(total, dsts, srcs, align)
	most := max(align, pieceBytes/align*align)
	runs, packed := make([][]byte, len(srcs)), make([][]byte, len(srcs)+1)
	for at := 0; at < total; {
		piece := min(most, total-at)
		lo, hi := at/align*f.Bytes, (at+piece)/align*f.Bytes
		for i, s := range srcs {
			runs[i] = s.Packed(at, piece, &packed[i])
		}
		var onto []byte
		if acc != nil {
			onto = acc[lo:hi]
		}
		if last == nil {
			f.Add(next[lo:hi], onto, runs)
		} else {
			foldLast(last.Cut(at, at+piece), &packed[len(srcs)], func(dst []byte) { f.End(dst, onto, runs, n) })
		}
		at += piece
	}
	return next
}

// foldLast has end write a piece of the result, where it belongs if that is one run.
func foldLast(dst Span, packed *[]byte, end func(dst []byte)) {
	if run := dst.Run(0); len(run) == dst.Len() {
		end(run)
		return
	}
	*packed = append((*packed)[:0], make([]byte, dst.Len())...)
	end(*packed)
	CopySpan(dst, Whole(*packed).All())
}
