package bootstrap

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"tpsh/comm/wire"
	"tpsh/internal/ranklist"
)

// The purposes of the connections that this package makes itself.
const (
	rankPurpose = "rank" // from a rank to the supervisor
	peerPurpose = "peer" // from a rank to another
)

// Rendezvous takes in the connections of size ranks, each of which calls Meet,
// and tells all of them where the others are. It returns the connections, for
// SuperviseOptions.Streams. A connection with another purpose is given to
// other, or closed if that is nil.
//
// It fails when ctx ends, with its cause and the ranks that have not come, and
// when ranks disagree about how many there are or which they are. The ranks
// that have come fail with the same error.
func Rendezvous(ctx context.Context, l *Listener, size int, other func(net.Conn, Hello)) ([]net.Conn, error) {
	r := &roll{conns: make([]net.Conn, size), table: make([]string, size)}
	for r.came < size {
		a, err := l.next(ctx)
		if err != nil {
			return nil, r.fail(fmt.Errorf("rendezvous: %w (%s did not come)", err, ranklist.Text(r.absent())))
		}
		if a.hello.Purpose != rankPurpose {
			l.hand(a, other)
		} else if err := r.enter(a); err != nil {
			return nil, r.fail(err)
		}
	}
	if err := r.tell(tableText, r.encoded()); err != nil {
		return nil, r.fail(fmt.Errorf("rendezvous: %w", err))
	}
	return r.conns, nil
}

// hand admits a connection and gives it to other.
func (l *Listener) hand(a arrival, other func(net.Conn, Hello)) {
	if other == nil {
		a.admit("nothing but ranks is wanted here")
		a.conn.Close()
	} else if err := a.admit(""); err != nil {
		l.reject(a.conn, err)
	} else {
		other(a.conn, a.hello)
	}
}

// A roll lists the ranks that have come to a rendezvous.
type roll struct {
	conns []net.Conn
	table []string // where each listens
	came  int
}

// absent returns the ranks that have not come.
func (r *roll) absent() []int {
	var ranks []int
	for i, c := range r.conns {
		if c == nil {
			ranks = append(ranks, i)
		}
	}
	return ranks
}

// enter takes a rank in, or refuses it. One that has gone meanwhile is nobody: where a job is
// started again, it may be of the start before, and its successor comes.
func (r *roll) enter(a arrival) error {
	if gone(a.conn) {
		a.conn.Close()
		return nil
	}
	size := len(r.conns)
	refusal := ""
	switch h := a.hello; {
	case h.Size != size:
		refusal = fmt.Sprintf("rank %d says there are %d ranks, want %d", h.Rank, h.Size, size)
	case h.Rank < 0 || h.Rank >= size:
		refusal = fmt.Sprintf("got rank %d, want 0..%d", h.Rank, size-1)
	case r.conns[h.Rank] == nil:
	case gone(r.conns[h.Rank]):
		r.conns[h.Rank].Close()
		r.conns[h.Rank] = nil
		r.came--
	default:
		refusal = fmt.Sprintf("rank %d came twice, from %s and %s", h.Rank, r.conns[h.Rank].RemoteAddr(), a.conn.RemoteAddr())
	}
	if err := a.admit(refusal); err != nil || refusal != "" {
		a.conn.Close()
		if refusal == "" { // it has gone, and may come again
			return nil
		}
		return fmt.Errorf("rendezvous: %s", refusal)
	}
	r.conns[a.hello.Rank], r.table[a.hello.Rank] = a.conn, a.hello.Address
	r.came++
	return nil
}

// The texts that begin the message to a rank when all have come, or one is wrong.
const (
	tableText   = "table"
	failureText = "failure"
)

// encoded returns the encoding of the table: its length, and the texts.
func (r *roll) encoded() []byte {
	buf := wire.AppendInt(nil, wire.ListLen(r.table))
	for _, address := range r.table {
		buf = wire.AppendString(buf, address)
	}
	return buf
}

// decodeTable decodes the table of size ranks.
func decodeTable(b []byte, size int) ([]string, error) {
	d := wire.Decoder{Rest: b}
	n := d.List(8)
	if n != size && d.Err == nil {
		d.Fail("length", fmt.Sprint(n), fmt.Sprint(size))
	}
	if d.Err != nil {
		return nil, d.End("table")
	}
	table := make([]string, n)
	for i := range table {
		table[i] = d.Text()
	}
	return table, d.End("table")
}

// tell writes a message to all ranks that have come.
func (r *roll) tell(kind string, text []byte) error {
	message := append(wire.AppendString(nil, kind), text...)
	message = append(binary.LittleEndian.AppendUint32(nil, uint32(len(message))), message...)
	for rank, c := range r.conns {
		if c == nil {
			continue
		}
		c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Write(message); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		c.SetWriteDeadline(time.Time{})
	}
	return nil
}

// fail tells all ranks that have come of an error, and returns it.
func (r *roll) fail(err error) error {
	r.tell(failureText, []byte(err.Error()))
	for _, c := range r.conns {
		if c != nil {
			c.Close()
		}
	}
	return err
}

// maxTable is the length of the longest message of tell.
const maxTable = 1 << 20

// readTable reads a message of tell.
func readTable(c io.Reader, size int) ([]string, error) {
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxTable {
		return nil, &wire.FrameError{What: "length", Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", maxTable)}
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	d := wire.Decoder{Rest: b}
	switch kind := d.Text(); {
	case d.Err != nil:
		return nil, d.Err
	case kind == failureText:
		return nil, fmt.Errorf("%s", d.Rest)
	case kind != tableText:
		return nil, &wire.FrameError{What: "alien", Got: fmt.Sprintf("%q", kind), Want: fmt.Sprintf("%q", tableText)}
	}
	return decodeTable(d.Rest, size)
}
