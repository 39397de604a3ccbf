package launch

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/lang"
)

// A line is the connection between two launchers. Each end lets the other hear
// that it is there, and gives the line up when it does not hear of the other:
// a launcher may be stopped, though its workers go on.
type line struct {
	*lang.StreamConn
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// A lineEnd is what one end of a line is told of the other.
type lineEnd struct {
	name    string            // of the other end
	timeout time.Duration     // after which silence is the end of it
	note    func(line string) // tells of silence before that
	lost    func(cause error) // if set, is called when the line is given up
}

// newLine returns the line that a connection is. Close ends it.
func newLine(stream net.Conn, o lineEnd) *line {
	keepAlive(stream, o.timeout)
	heard := comm.NewHeardReader(stream)
	l := &line{StreamConn: lang.Stream(heardConn{stream, heard}, nil)}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	pulse := comm.NewPulse(o.timeout)
	l.tasks.Go(func() { pulse.Beat(ctx, func() { l.Send([]byte(heartbeat)) }) })
	l.tasks.Go(func() { pulse.Guard(ctx, heard, o.silent, func(err error) { l.giveUp(o, err) }) })
	return l
}

// heartbeat is a message between launchers that says nothing else.
const heartbeat = "{}"

// silent tells that nothing is heard of the other end.
func (o *lineEnd) silent(silence time.Duration) {
	o.note(fmt.Sprintf("%s has not been heard of for %v", o.name, silence.Round(100*time.Millisecond)))
}

// giveUp ends the line because of err.
func (l *line) giveUp(o lineEnd, err error) {
	l.Fail(err)
	if o.lost != nil {
		o.lost(err)
	}
}

// Close sends what is still to be sent, and ends the line.
func (l *line) Close() error {
	l.cancel()
	l.tasks.Wait()
	return l.StreamConn.Close()
}

// A heardConn is a connection that knows when it was last heard of.
type heardConn struct {
	net.Conn
	heard *comm.HeardReader
}

func (c heardConn) Read(b []byte) (int, error) { return c.heard.Read(b) }
