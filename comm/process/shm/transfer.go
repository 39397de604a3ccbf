package shm

import (
	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A Transfer moves data through slots, piece by piece.
type Transfer interface {
	// IsDone reports whether all is done.
	IsDone() bool
	// CanStep reports whether a piece can be moved.
	CanStep() bool
	// Step moves a piece. The transfer is ready.
	Step()
}

// A CopyIn puts a span into a slot.
type CopyIn struct {
	*StagingWriter
	Src schedule.Span
}

func (t *CopyIn) CanStep() bool { return t.hasSpace() }

func (t *CopyIn) Step() {
	at, to := t.done*t.Piece, t.next()
	schedule.CopySpan(comm.Whole(to).All(), t.Src.Cut(at, at+len(to)))
	t.publish()
}

// A CopyOut takes the data of a slot to a span, or drops it.
type CopyOut struct {
	StagingReader
	Dst  schedule.Span
	Drop bool
}

func (t *CopyOut) Step() {
	at, from := t.done*t.Piece, t.next()
	if !t.Drop {
		schedule.CopySpan(t.Dst.Cut(at, at+len(from)), comm.Whole(from).All())
	}
	t.release()
}

// A LocalCopy copies a span of the rank's own.
type LocalCopy struct {
	Dst, Src schedule.Span
	Piece    int // bytes that are copied at a time, at most
	at       int // bytes that were copied
}

func (t *LocalCopy) IsDone() bool { return t.at == t.Src.Len() }

func (t *LocalCopy) CanStep() bool { return true }

func (t *LocalCopy) Step() {
	if t.Dst.Len() != t.Src.Len() {
		schedule.CopySpan(t.Dst, t.Src) // which says so
	}
	end := min(t.at+t.Piece, t.Src.Len())
	schedule.CopySpan(t.Dst.Cut(t.at, end), t.Src.Cut(t.at, end))
	t.at = end
}

// A Reduction reduces the data of slots, and a span of the rank's own,
// in the order of group ranks.
type Reduction struct {
	Own    schedule.Span
	Index  int             // of own among the sources
	Ins    []StagingReader // the other sources
	Dst    schedule.Span
	Drop   bool           // whether there is no dst
	Out    *StagingWriter // that the result goes to as well; nil for none
	Reduce comm.Reducer
	runs   [][]byte
	packed []byte // for runs of own that are no slice
	sum    []byte // for results that go nowhere in one run
	Length int
	Piece  int
	Pieces int
	done   int
	Name   string // of the operation
	Err    error  // of reduce, after which nothing is reduced
}

func (t *Reduction) IsDone() bool { return t.done == t.Pieces }

func (t *Reduction) CanStep() bool {
	for i := range t.Ins {
		if !t.Ins[i].CanStep() {
			return false
		}
	}
	return t.Out == nil || t.Out.hasSpace()
}

func (t *Reduction) Step() {
	at := t.done * t.Piece
	n := min(t.Piece, t.Length-at)
	t.runs = t.runs[:0]
	for i := range t.Ins {
		if i == t.Index {
			t.runs = append(t.runs, t.Own.Packed(at, n, &t.packed))
		}
		t.runs = append(t.runs, t.Ins[i].next())
	}
	if t.Index == len(t.Ins) {
		t.runs = append(t.runs, t.Own.Packed(at, n, &t.packed))
	}
	if t.Err == nil {
		t.finish(at, n)
	}
	for i := range t.Ins {
		t.Ins[i].release()
	}
	t.done++
}

// finish reduces runs to the bytes [at, at+n) of the result.
func (t *Reduction) finish(at, n int) {
	defer comm.Recovered(t.Name, &t.Err)
	if n == 0 {
		if t.Out != nil {
			t.Out.publish()
		}
		return
	}
	var result []byte
	if run := t.target(at, n); run != nil {
		result = run
	} else if t.Out != nil {
		result = t.Out.next()
	} else {
		t.sum = append(t.sum[:0], make([]byte, n)...)
		result = t.sum
	}
	t.Reduce(result, t.runs)
	if !t.Drop && &t.Dst.Run(at)[0] != &result[0] {
		schedule.CopySpan(t.Dst.Cut(at, at+n), comm.Whole(result).All())
	}
	if t.Out != nil {
		if next := t.Out.next(); &next[0] != &result[0] {
			copy(next, result)
		}
		t.Out.publish()
	}
}

// target returns the bytes [at, at+n) of dst, if they are one run.
func (t *Reduction) target(at, n int) []byte {
	if t.Drop {
		return nil
	}
	if run := t.Dst.Run(at); len(run) >= n {
		return run[:n]
	}
	return nil
}
