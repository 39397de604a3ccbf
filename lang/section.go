package lang

import (
	"context"
	"fmt"
	"sync"

	"go.starlark.net/starlark"
)

// A Mode says how the output of several ranks is shown.
type Mode string

const (
	// Merged shows each section when it closes, equal lines once.
	Merged Mode = "merged"
	// Raw shows every line at once, after its rank.
	Raw Mode = "raw"
	// Rank0 shows the lines of rank 0 at once, and no others.
	Rank0 Mode = "rank0"
)

// maxSection is how many bytes of lines a rank keeps in an open section.
const maxSection = 64 << 20

var overfull = fmt.Sprintf("more than %d MiB printed since the ranks last met "+
	"(meet now and then, as in barrier(), so that it is shown, or run with --output raw)", maxSection>>20)

// A recorder is a rank's side of the output sections of one run. It is used
// by the rank's goroutine alone.
type recorder struct {
	ctx    context.Context // of the run
	stop   context.CancelCauseFunc
	send   func(*linesMsg)
	credit *credit

	stream, discard bool

	lines []Line
	size  int            // of lines
	count map[string]int // how often each print was executed in this section
}

var _ Output = (*recorder)(nil)

// newRecorder returns the recorder of a run on one rank of size.
func newRecorder(mode Mode, rank, size int) *recorder {
	r := &recorder{count: make(map[string]int)}
	r.discard = mode == Rank0 && rank != 0
	r.stream = mode == Raw || mode == Rank0 || size == 1
	return r
}

// print is the Print function of a thread.
func (r *recorder) print(t *starlark.Thread, msg string) {
	if r.discard {
		return
	}
	if len(msg) > maxSection {
		r.refuse(t, fmt.Sprintf("got %d bytes to print at once, want at most %d MiB", len(msg), maxSection>>20))
		return
	}
	if r.stream {
		r.emit(&linesMsg{Stream: true, Lines: []Line{{Text: text(msg)}}})
		return
	}
	at := printPlace(t)
	line := Line{At: at, N: r.count[at], Text: text(msg)}
	r.count[at]++
	r.lines = append(r.lines, line)
	if r.size += line.size(); r.size > maxSection {
		r.refuse(t, overfull)
	}
}

// refuse ends the program in print.
func (r *recorder) refuse(t *starlark.Thread, why string) {
	err := &stopError{Reason: stopLimit, Text: why, within: "print"}
	r.stop(err)
	t.Cancel(err.Text)
}

// printPlace returns the position of the innermost call in a source file.
func printPlace(t *starlark.Thread) string {
	for depth := range t.CallStackDepth() {
		if pos := t.CallFrame(depth).Pos; pos.Line > 0 {
			return pos.String()
		}
	}
	return ""
}

// Dirty reports whether lines are waiting for the section to close.
func (r *recorder) Dirty() bool { return len(r.lines) > 0 }

// Cut closes the section.
func (r *recorder) Cut() {
	if r.stream {
		return
	}
	r.emit(&linesMsg{Lines: r.lines})
	r.lines, r.size = nil, 0
	clear(r.count)
}

// emit sends lines when the front end has dealt with enough of those before.
func (r *recorder) emit(m *linesMsg) {
	r.credit.reserve(r.ctx, m.size())
	r.send(m)
}

// windowSize is how many bytes of lines may be under way from a rank, so that
// a slow reader of the output slows the program instead of filling memory.
const windowSize = 4 << 20

// A credit counts the bytes that were sent and not acknowledged.
type credit struct {
	wake chan struct{} // holds a token after an acknowledgement

	mu       sync.Mutex
	underway int
}

func newCredit() *credit { return &credit{wake: make(chan struct{}, 1)} }

// reserve waits until less than windowSize is under way, or ctx ends, and
// adds n.
func (w *credit) reserve(ctx context.Context, n int) {
	for w.full() && ctx.Err() == nil {
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	w.add(n)
}

func (w *credit) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.underway >= windowSize
}

func (w *credit) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.underway += n
}

// ack says that n bytes have arrived.
func (w *credit) ack(n int) {
	w.add(-n)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
