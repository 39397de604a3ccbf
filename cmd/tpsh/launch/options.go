package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"tpsh/comm"
)

// Options say what a job runs on.
type Options struct {
	// Transport is one of Transports.
	Transport string
	// Ranks is the number of ranks of this node.
	Ranks int

	// Nodes is the number of nodes, 0 or 1 for this one alone, and Node the
	// number of this. Rendezvous is the address, HOST:PORT, on which node 0
	// listens.
	Nodes, Node int
	Rendezvous  string
	// Token is what all nodes know and nobody else; nil only where the
	// rendezvous is on this host. TLS says that what crosses between processes
	// is encrypted.
	Token []byte
	TLS   bool
	// PeerTimeout is how long a process of another host may be silent before
	// it counts as dead; 0 is DefaultPeerTimeout.
	PeerTimeout time.Duration
	// GatherTimeout is how long the nodes may take to come; 0 is
	// DefaultGatherTimeout.
	GatherTimeout time.Duration

	// machine is that of this launcher, if it is to be another, for tests.
	machine string

	// Note, if set, is given lines about the job that are not its output: what
	// a worker wrote before it ended, a host that is silent. It is called by
	// one goroutine at a time.
	Note func(line string)
}

// DefaultPeerTimeout is how long a process of another host may be silent.
const DefaultPeerTimeout = 10 * time.Second

// DefaultGatherTimeout is how long the nodes of a job may take to come: a
// cluster may start them one after the other.
const DefaultGatherTimeout = 5 * time.Minute

// Names of transports.
const (
	sharedMemory = "shm"  // processes of one host
	sockets      = "tcp"  // processes anywhere
	automatic    = "auto" // shared memory inside a host, sockets between hosts
)

// check returns an error unless o makes sense here.
func (o *Options) check() error {
	if !slices.Contains(Transports, o.Transport) {
		return fmt.Errorf("got transport %q, want one of %s", o.Transport, strings.Join(Transports, ", "))
	}
	if o.Ranks < 1 {
		return fmt.Errorf("got %d ranks, want at least 1", o.Ranks)
	}
	if o.severalNodes() {
		if o.Transport == sharedMemory {
			return fmt.Errorf("got transport %q on %d nodes, want tcp or auto", o.Transport, o.Nodes)
		}
		if o.Node < 0 || o.Node >= o.Nodes {
			return fmt.Errorf("got node %d, want 0..%d", o.Node, o.Nodes-1)
		}
	}
	return nil
}

func (o *Options) severalNodes() bool { return o.Nodes > 1 }

// machineName returns what launchers of this machine have in common.
func (o *Options) machineName() string {
	if o.machine != "" {
		return o.machine
	}
	return machine()
}

// untilGathered returns a context that ends when the nodes should have come.
func (o *Options) untilGathered(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := cmp.Or(o.GatherTimeout, DefaultGatherTimeout)
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the nodes did not come together within %v", timeout))
}

// peerTimeout returns PeerTimeout or what stands for it.
func (o *Options) peerTimeout() time.Duration { return cmp.Or(o.PeerTimeout, DefaultPeerTimeout) }

// jobName is what the processes of a job on several nodes say they belong to.
// Its token tells it from others.
const jobName = "tpsh"

// credentials returns what launchers and ranks prove to each other.
func (o *Options) credentials() *comm.Credentials {
	return &comm.Credentials{Job: jobName, Token: o.Token, TLS: o.TLS}
}

// newToken returns a token that nobody can guess.
func newToken() []byte {
	token := make([]byte, 32)
	rand.Read(token)
	return token
}

// A Spec says what the ranks of a job are given.
type Spec struct {
	// Config is what every worker finds as Seat.Config.
	Config []byte
	// Notice, if set, is given a line about every wait that is longer than
	// NoticeAfter. It is called by one goroutine at a time.
	Notice      func(line string)
	NoticeAfter time.Duration
}
