package process

import (
	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A transfer moves data through slots, piece by piece.
type transfer interface {
	// IsDone reports whether all is done.
	IsDone() bool
	// CanStep reports whether a piece can be moved.
	CanStep() bool
	// Step moves a piece. The transfer is ready.
	Step()
}

// A copyIn puts a span into a slot.
type copyIn struct {
	*stagingWriter
	src schedule.Span
}

func (t *copyIn) CanStep() bool { return t.hasSpace() }

func (t *copyIn) Step() {
	at, to := t.done*t.piece, t.next()
	schedule.CopySpan(comm.Whole(to).All(), t.src.Cut(at, at+len(to)))
	t.publish()
}

// A copyOut takes what comes through a slot to a span, or drops it.
type copyOut struct {
	stagingReader
	dst  schedule.Span
	drop bool
}

func (t *copyOut) Step() {
	at, from := t.done*t.piece, t.next()
	if !t.drop {
		schedule.CopySpan(t.dst.Cut(at, at+len(from)), comm.Whole(from).All())
	}
	t.release()
}

// A localCopy copies a span of the rank's own.
type localCopy struct {
	dst, src schedule.Span
	piece    int // bytes that are copied at a time, at most
	at       int // bytes that were copied
}

func (t *localCopy) IsDone() bool { return t.at == t.src.Len() }

func (t *localCopy) CanStep() bool { return true }

func (t *localCopy) Step() {
	if t.dst.Len() != t.src.Len() {
		schedule.CopySpan(t.dst, t.src) // which says so
	}
	end := min(t.at+t.piece, t.src.Len())
	schedule.CopySpan(t.dst.Cut(t.at, end), t.src.Cut(t.at, end))
	t.at = end
}

// A reduction reduces what comes through slots, and a span of the rank's own,
// in the order of group ranks.
type reduction struct {
	own    schedule.Span
	index  int             // of own among the sources
	ins    []stagingReader // the other sources
	dst    schedule.Span
	drop   bool           // whether there is no dst
	out    *stagingWriter // that the result goes to as well; nil for none
	reduce comm.Reducer
	runs   [][]byte
	packed []byte // for runs of own that are no slice
	sum    []byte // for results that go nowhere in one run
	length int
	piece  int
	pieces int
	done   int
	name   string // of the operation
	err    error  // of reduce, after which nothing is reduced
}

func (t *reduction) IsDone() bool { return t.done == t.pieces }

func (t *reduction) CanStep() bool {
	for i := range t.ins {
		if !t.ins[i].CanStep() {
			return false
		}
	}
	return t.out == nil || t.out.hasSpace()
}

func (t *reduction) Step() {
	at := t.done * t.piece
	n := min(t.piece, t.length-at)
	t.runs = t.runs[:0]
	for i := range t.ins {
		if i == t.index {
			t.runs = append(t.runs, t.own.Packed(at, n, &t.packed))
		}
		t.runs = append(t.runs, t.ins[i].next())
	}
	if t.index == len(t.ins) {
		t.runs = append(t.runs, t.own.Packed(at, n, &t.packed))
	}
	if t.err == nil {
		t.finish(at, n)
	}
	for i := range t.ins {
		t.ins[i].release()
	}
	t.done++
}

// finish reduces runs to the bytes [at, at+n) of the result.
func (t *reduction) finish(at, n int) {
	defer comm.Recovered(t.name, &t.err)
	var result []byte
	if run := t.target(at, n); run != nil {
		result = run
	} else if t.out != nil {
		result = t.out.next()
	} else {
		t.sum = append(t.sum[:0], make([]byte, n)...)
		result = t.sum
	}
	t.reduce(result, t.runs)
	if !t.drop && &t.dst.Run(at)[0] != &result[0] {
		schedule.CopySpan(t.dst.Cut(at, at+n), comm.Whole(result).All())
	}
	if t.out != nil {
		if next := t.out.next(); &next[0] != &result[0] {
			copy(next, result)
		}
		t.out.publish()
	}
}

// target returns the bytes [at, at+n) of dst, if they are one run.
func (t *reduction) target(at, n int) []byte {
	if t.drop {
		return nil
	}
	if run := t.dst.Run(at); len(run) >= n {
		return run[:n]
	}
	return nil
}
