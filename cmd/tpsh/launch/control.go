package launch

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/lang"
)

// A control is the connection between two launchers. Each end lets the other hear
// that it is there, and gives the connection up when it does not hear of the other:
// a launcher may be stopped, though its workers go on.
type control struct {
	*lang.StreamConn
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// A controlEnd is what one end of a control connection is told of the other.
type controlEnd struct {
	name    string            // of the other end
	timeout time.Duration     // after which silence is the end of it
	note    func(line string) // tells of silence before that
	lost    func(cause error) // if set, is called when the connection is given up
}

// newControl returns the control connection that a stream is. Close ends it.
func newControl(stream net.Conn, o controlEnd) *control {
	keepAlive(stream, o.timeout)
	heard := bootstrap.NewHeardReader(stream)
	c := &control{StreamConn: lang.Stream(heardConn{stream, heard}, nil)}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	pulse := bootstrap.NewHeartbeat(o.timeout)
	c.tasks.Go(func() { pulse.Beat(ctx, func() { c.Send([]byte(heartbeat)) }) })
	c.tasks.Go(func() { pulse.Guard(ctx, heard, o.silent, func(err error) { c.giveUp(o, err) }) })
	return c
}

// heartbeat is a message between launchers that says nothing else.
const heartbeat = "{}"

// silent tells that nothing is heard of the other end.
func (o *controlEnd) silent(silence time.Duration) {
	o.note(fmt.Sprintf("%s has not been heard of for %v", o.name, silence.Round(100*time.Millisecond)))
}

// giveUp ends the connection because of err.
func (c *control) giveUp(o controlEnd, err error) {
	c.Fail(err)
	if o.lost != nil {
		o.lost(err)
	}
}

// awaitEnd waits until the other end has closed the connection, for limit at most. A
// connection that is closed while a heartbeat of that end is unread is reset, and what was
// sent to it last may be lost.
func (c *control) awaitEnd(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		if _, err := c.Recv(ctx); err != nil {
			return
		}
	}
}

// Close sends what is still to be sent, and ends the connection.
func (c *control) Close() error {
	c.cancel()
	c.tasks.Wait()
	return c.StreamConn.Close()
}

// A heardConn is a connection that knows when it was last heard of.
type heardConn struct {
	net.Conn
	heard *bootstrap.HeardReader
}

func (c heardConn) Read(b []byte) (int, error) { return c.heard.Read(b) }
