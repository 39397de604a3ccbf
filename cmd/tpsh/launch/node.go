package launch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tpsh/comm/bootstrap"
)

// A follower is a launcher of another node than the first.
type follower struct {
	opts    Options
	conn    *control       // to the first launcher
	host    *host          // nil if no workers run
	tasks   sync.WaitGroup // the relays of the host
	scratch string         // what ranks leave behind, to be removed
	stops   atomic.Bool    // begin.Stops of the job under way
}

// Follow joins the job whose first launcher is at o.Rendezvous, starts workers
// as that one says, and returns the exit status that it says in the end. ctx
// ends it before, with its cause.
func Follow(ctx context.Context, o Options) (status int, err error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	c := o.credentials()
	stream, err := o.dial(ctx, c)
	if err != nil {
		return 0, err
	}
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	f := &follower{opts: o}
	f.conn = newControl(stream, controlEnd{name: "node 0 at " + o.Rendezvous, timeout: o.peerTimeout(), note: o.note, lost: lose})
	defer f.conn.Close()
	defer f.clean()
	defer f.stop(0)
	if o.Stops != nil {
		o.Stops(f.passOn)
		defer o.Stops(nil)
	}
	sendJSON(f.conn, nodeNote{Version: o.Version, Ranks: o.Ranks, Host: hostName(), Machine: o.machineName(), Address: o.Rendezvous, Kernels: o.Kernels})
	for {
		var next order
		if err := recvJSON(ctx, f.conn, &next); err != nil {
			f.leave(err)
			return 0, fmt.Errorf("the launcher of node 0 at %s: %w", o.Rendezvous, err)
		}
		switch {
		case next.Start != nil:
			if err = f.start(ctx, c, next.Start); err != nil {
				f.lose(next.Start.Ranks, fmt.Sprintf("could not be started (%v)", err))
			}
			if errors.As(err, new(missed)) {
				err = nil // whether there is another start, the first launcher says
			}
		case next.Stop:
			f.stop(patience)
			err = sendJSON(f.conn, nodeNote{Stopped: true})
		case next.Finish != nil:
			return *next.Finish, nil
		case next.Refuse != "":
			return 0, fmt.Errorf("node 0 at %s refuses this one: %s", o.Rendezvous, next.Refuse)
		}
		if err != nil {
			return 0, err
		}
	}
}

// dial connects to the first launcher, when it listens.
func (o *Options) dial(ctx context.Context, c *bootstrap.Credentials) (stream net.Conn, err error) {
	ctx, cancel := o.untilGathered(ctx)
	defer cancel()
	err = persist(ctx, func() error {
		stream, err = c.Dial(ctx, o.Rendezvous, bootstrap.Hello{Purpose: purposeNode, Rank: o.Node, Size: o.Nodes})
		return err
	})
	return stream, err
}

// passing are reasons not to reach a host that may pass by themselves: nobody
// listens yet, or the host or the network is not up yet.
var passing = []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ETIMEDOUT, os.ErrDeadlineExceeded}

// passes reports whether err may pass by itself, as also that a name is not
// known yet.
func passes(err error) bool {
	return errors.As(err, new(*net.DNSError)) || slices.ContainsFunc(passing, func(e error) bool { return errors.Is(err, e) })
}

// persist calls f until it succeeds, or fails for a reason that does not pass.
func persist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if !passes(err) && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w (%v)", context.Cause(ctx), err)
		}
	}
}

// missed is why workers could not be started for something that the launcher of another node was to
// have for them, and has not. That is so when a rank has died meanwhile, and the job has been ended.
type missed struct{ error }

// start starts workers, and carries their control connections to the first
// launcher.
func (f *follower) start(ctx context.Context, c *bootstrap.Credentials, b *begin) error {
	if len(b.Ranks) != f.opts.Ranks {
		return fmt.Errorf("the launcher of node 0 asks for %d ranks, want %d", len(b.Ranks), f.opts.Ranks)
	}
	f.scratch = b.Scratch
	f.stops.Store(b.Stops)
	var err error
	if f.host, err = startHost(b.Ranks, hostOptions{share: b.Share, memory: b.Memory, args: f.opts.Args, secrets: f.opts.secrets(f.opts.Token)}); err != nil {
		return err
	}
	if b.Share > 0 {
		sendJSON(f.conn, nodeNote{Memory: pathOf(f.host.memory)})
	}
	f.host.watch(f)
	for i, rank := range b.Ranks {
		remote, err := c.Dial(ctx, f.opts.Rendezvous, bootstrap.Hello{Purpose: purposeControl, Rank: rank, Size: f.opts.Nodes})
		if err != nil {
			return missed{err}
		}
		keepAlive(remote, f.opts.peerTimeout())
		relay(&f.tasks, f.host.controls[i], remote)
	}
	return nil
}

func (f *follower) gone(rank int, cause string) {
	sendJSON(f.conn, nodeNote{Lost: &loss{rank, cause}})
}

func (f *follower) wrote(rank int, text string) {
	sendJSON(f.conn, nodeNote{Wrote: &writing{rank, text}})
}

// passOn tells the first launcher that the job is to end soon, and reports whether
// the program listens to that.
func (f *follower) passOn() bool {
	return f.stops.Load() && sendJSON(f.conn, nodeNote{Asked: true}) == nil
}

// leave tells the first launcher that the workers end because of why.
func (f *follower) leave(why error) {
	if f.host != nil {
		f.lose(f.host.local, fmt.Sprintf("was ended with its launcher (%v)", why))
	}
}

// lose tells the first launcher that workers have gone.
func (f *follower) lose(ranks []int, cause string) {
	for _, rank := range ranks {
		f.gone(rank, cause)
	}
}

// stop ends the workers, if there are any, those at once that do not end
// within patience.
func (f *follower) stop(patience time.Duration) {
	if f.host == nil {
		return
	}
	f.host.wait(patience)
	for _, c := range f.host.controls {
		c.Close()
	}
	f.host.close()
	f.tasks.Wait()
	f.host = nil
}

// clean removes what the ranks have left on this host.
func (f *follower) clean() {
	if filepath.IsAbs(f.scratch) && strings.HasPrefix(filepath.Base(f.scratch), "tpsh-") {
		os.RemoveAll(f.scratch)
	}
}

// relay copies between two connections until both have ended.
func relay(tasks *sync.WaitGroup, a, b net.Conn) {
	one := func(to, from net.Conn) {
		io.Copy(to, from)
		to.Close() // what was copied reaches it
		from.Close()
	}
	tasks.Go(func() { one(a, b) })
	tasks.Go(func() { one(b, a) })
}

// keepAlive lets a connection end when nothing has come from its other end's
// kernel for timeout.
func keepAlive(conn net.Conn, timeout time.Duration) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if t, ok := conn.(*net.TCPConn); ok {
		const probes = 4
		every := max(timeout/(probes+1), time.Second)
		t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: every, Interval: every, Count: probes})
	}
}
