package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"tpsh/comm/bootstrap"
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
	// Version is that of the program, the same on all nodes.
	Version string
	// Token is what all nodes know and nobody else; nil only where the
	// rendezvous is on this host. TLS says that what crosses between processes
	// is encrypted. With an Identity, both ends then show a certificate.
	Token    []byte
	TLS      bool
	Identity *IdentityFiles
	// Scratch, if set, is the path of a folder in which ranks leave what is
	// temporary, each on its host. In the end every launcher but that of node 0,
	// which alone needs it here, removes its own. Its name begins with tpsh-.
	Scratch string
	// PeerTimeout is how long a process of another host may be silent before
	// it counts as dead; 0 is DefaultPeerTimeout.
	PeerTimeout time.Duration
	// Elastic, if set, lets the job go on with other numbers of nodes, up to Nodes. It is
	// for node 0 alone.
	Elastic *Elasticity
	// Kernels is what the workers of this node compute with, in words; "" where it is not
	// known before they are there.
	Kernels string
	// GatherTimeout is how long the nodes may take to come; 0 is
	// DefaultGatherTimeout.
	GatherTimeout time.Duration

	// machine is that of this launcher, if it is to be another, for tests.
	machine string

	identity *bootstrap.Identity // what Identity names

	// Args are given to the workers of this node in their command line, for the
	// program to read.
	Args []string

	// Stops, if set, takes what passes on to the job that it is to end soon, and
	// reports whether that will; of a node other than the first. Asked is called in
	// node 0 when another node has been asked so.
	Stops func(ask func() bool)
	Asked func()

	// Note, if set, is given lines about the job that are not its output: what
	// a worker wrote before it ended, a host that is silent. It is called by
	// one goroutine at a time.
	Note func(line string)
}

// IdentityFiles are the files that bootstrap.ReadIdentity reads. The processes of
// every node find their own under these names.
type IdentityFiles struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Authorities string `json:"authorities"`
}

// Check returns an error unless the files hold what they should.
func (f *IdentityFiles) Check() error {
	_, err := f.read()
	return err
}

// read reads the files; f may be nil.
func (f *IdentityFiles) read() (*bootstrap.Identity, error) {
	if f == nil {
		return nil, nil
	}
	return bootstrap.ReadIdentity(f.Certificate, f.Key, f.Authorities)
}

// DefaultPeerTimeout is how long a process of another host may be silent.
const DefaultPeerTimeout = 10 * time.Second

// DefaultGatherTimeout is how long the nodes of a job may take to come: a
// cluster may start them one after the other.
const DefaultGatherTimeout = 5 * time.Minute

// check returns an error unless o makes sense here, and reads what it names.
func (o *Options) check() (err error) {
	if !slices.Contains(Transports, o.Transport) {
		return fmt.Errorf("got transport %q, want one of %s", o.Transport, strings.Join(Transports, ", "))
	}
	if o.Ranks < 1 {
		return fmt.Errorf("got %d ranks, want at least 1", o.Ranks)
	}
	if o.severalNodes() {
		if !Describe(o.Transport).Hosts {
			return fmt.Errorf("got transport %q on %d nodes, want %s", o.Transport, o.Nodes, strings.Join(AcrossHosts(), " or "))
		}
		if o.Node < 0 || o.Node >= o.Nodes {
			return fmt.Errorf("got node %d, want 0..%d", o.Node, o.Nodes-1)
		}
	}
	o.identity, err = o.Identity.read()
	return err
}

func (o *Options) severalNodes() bool { return o.Nodes > 1 }

// machineName returns what launchers of this machine have in common.
func (o *Options) machineName() string {
	if o.machine != "" {
		return o.machine
	}
	return Machine()
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
func (o *Options) credentials() *bootstrap.Credentials {
	return &bootstrap.Credentials{Job: jobName, Token: o.Token, TLS: o.TLS, Identity: o.identity}
}

// secrets returns what workers are told who prove that they know token.
func (o *Options) secrets(token []byte) secrets { return secrets{token, o.Identity} }

// note passes on a line about the job.
func (o *Options) note(line string) {
	if o.Note != nil {
		o.Note(line)
	}
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
	// Stops says that the program ends by itself when it is asked to: launchers pass
	// on what they are asked, instead of ending.
	Stops bool
	// Memory says what memory workers have, as "memory limit of 512 MiB reached", where
	// the system refuses them more.
	Memory string
	// Notice, if set, is given a line about every wait that is longer than
	// NoticeAfter. It is called by one goroutine at a time.
	Notice      func(line string)
	NoticeAfter time.Duration
}
