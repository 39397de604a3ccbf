package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"tpsh/comm/bootstrap"
)

// A Cluster is the nodes of a job, as the launcher of the first sees them. It
// outlives the jobs that are started on it, one after the other.
type Cluster struct {
	opts     Options
	machine  string
	listener *bootstrap.Listener // nil if there is no other node
	nodes    []*node             // the others of the job, in the order of their numbers
	size     int                 // ranks of all nodes

	front *front // of a world; nil where launchers start the ranks

	mu       sync.Mutex
	come     []*node // the other launchers that are connected; nodes are chosen of them
	composed bool    // nodes are those of the next job
	outgrown bool    // the last job ended for nodes that have come

	noting    sync.Mutex   // held during opts.Note
	strangers atomic.Int64 // connections that were turned away
}

// Purposes of connections to the first launcher, besides those of package comm.
const (
	purposeNode    = "node"    // from another launcher; Hello.Rank is its node
	purposeControl = "control" // from another launcher for the rank Hello.Rank
)

// A node is another launcher, as the first sees it.
type node struct {
	number  int // from 1
	conn    *control
	host    string // its name
	machine string
	address string // of the rendezvous, as seen from there
	ranks   []int  // of its workers
	scratch string // Options.Scratch
	lost    error  // why it is not heard of any more; nil while it is
}

// Gather waits until the launchers of all nodes have come. It is called in node
// 0. ctx ends the waiting, with its cause.
func Gather(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Nodes < 1 {
		o.Nodes = 1
	}
	c := &Cluster{opts: o, machine: o.machineName(), size: o.Ranks}
	if !o.severalNodes() {
		return c, nil
	}
	ctx, cancel := o.untilGathered(ctx)
	defer cancel()
	err := persist(ctx, func() (err error) {
		c.listener, err = o.credentials().Listen(o.Rendezvous)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.listener.Rejected = c.turnedAway
	gather := c.gather
	if o.Elastic != nil {
		gather = c.gatherSome
	}
	if err := gather(ctx); err != nil {
		c.Close(1)
		return nil, err
	}
	return c, nil
}

// gather waits for all nodes.
func (c *Cluster) gather(ctx context.Context) error {
	for !c.full() {
		stream, hello, err := c.listener.Accept(ctx)
		if err != nil {
			return fmt.Errorf("%w (%s)", err, c.missing())
		}
		if _, err := c.admit(ctx, stream, hello); err != nil {
			return err
		}
	}
	c.compose()
	return nil
}

// admit makes the launcher at the other end of stream a node. If it cannot,
// that one is told why.
func (c *Cluster) admit(ctx context.Context, stream net.Conn, hello bootstrap.Hello) (*node, error) {
	n := &node{number: hello.Rank, scratch: c.opts.Scratch, conn: newControl(stream, controlEnd{
		name:    fmt.Sprintf("node %d at %s", hello.Rank, stream.RemoteAddr()),
		timeout: c.opts.peerTimeout(),
		note:    c.note,
	})}
	err := c.check(hello)
	if err == nil {
		err = n.introduce(ctx, &c.opts)
	}
	if err != nil {
		sendJSON(n.conn, order{Refuse: err.Error()})
		n.conn.Close()
		return nil, fmt.Errorf("a launcher at %v: %w", stream.RemoteAddr(), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.come = append(c.come, n)
	return n, nil
}

// check returns an error unless a launcher that has come is one that is due.
func (c *Cluster) check(hello bootstrap.Hello) error {
	switch {
	case hello.Purpose != purposeNode:
		return fmt.Errorf("it came for %q, want %q", hello.Purpose, purposeNode)
	case hello.Size != c.opts.Nodes:
		return fmt.Errorf("node %d says there are %d nodes, want %d", hello.Rank, hello.Size, c.opts.Nodes)
	case hello.Rank < 1 || hello.Rank >= c.opts.Nodes:
		return fmt.Errorf("got node %d, want 1..%d", hello.Rank, c.opts.Nodes-1)
	}
	if c.opts.Elastic != nil {
		return nil // one that comes again takes its place when the other is lost
	}
	if i := slices.IndexFunc(c.come, func(n *node) bool { return n.number == hello.Rank }); i >= 0 {
		if !c.come[i].gone() {
			return fmt.Errorf("node %d came twice", hello.Rank)
		}
		c.come[i].conn.Close() // it comes again, as a cluster may start it anew
		c.come = slices.Delete(c.come, i, i+1)
	}
	return nil
}

// gone reports whether the connection to a node that is to be started has ended.
func (n *node) gone() bool {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		if _, err := n.conn.Recv(now); err != nil { // else it was a heartbeat
			return !errors.Is(err, context.Canceled)
		}
	}
}

// introduce receives the node's first note, which is to come from a program of
// the same version, and to compute with the same kernels where that is known.
func (n *node) introduce(ctx context.Context, o *Options) error {
	data, err := n.conn.Recv(ctx)
	if err != nil {
		return err
	}
	var note nodeNote
	if err := json.Unmarshal(data, &note); err == nil && note.Version != o.Version { // it may well say what this one does not know
		return fmt.Errorf("it is tpsh %s, and node 0 is tpsh %s (want the same)", note.Version, o.Version)
	}
	if err := decodeJSON(data, &note); err != nil {
		return err
	}
	if note.Ranks < 1 || note.Ranks > maxRanks {
		return fmt.Errorf("got a node of %d ranks, want 1..%d", note.Ranks, maxRanks)
	}
	if note.Kernels != o.Kernels {
		return fmt.Errorf("node %d on %s computes with %s, node 0 on %s with %s; start all on machines of one architecture with --kernels portable, or another set that they have",
			n.number, note.Host, note.Kernels, hostName(), o.Kernels)
	}
	n.host, n.machine, n.address, n.ranks = note.Host, note.Machine, note.Address, make([]int, note.Ranks)
	return nil
}

// maxRanks bounds how many ranks a node may be said to have.
const maxRanks = 1 << 14

// missing says which nodes have not come.
func (c *Cluster) missing() string {
	there := c.candidates()
	var absent []int
	for number := 1; number < c.opts.Nodes; number++ {
		if !slices.ContainsFunc(there, func(n *node) bool { return n.number == number }) {
			absent = append(absent, number)
		}
	}
	text := fmt.Sprintf("of %d nodes, these have not come: %v", c.opts.Nodes, absent)
	if e := c.opts.Elastic; e != nil {
		text += fmt.Sprintf("; there are %d ranks, want %d to %d", c.ranks(there), e.Min, e.Max)
	}
	return text
}

// Size returns the number of ranks.
func (c *Cluster) Size() int { return c.size }

// Scratch returns Options.Scratch.
func (c *Cluster) Scratch() string { return c.opts.Scratch }

// Close ends the launchers of the other nodes, with this exit status. There is
// no job under way.
func (c *Cluster) Close(status int) error {
	if c.front != nil {
		return c.front.finish(status)
	}
	var closers sync.WaitGroup
	for _, n := range c.come {
		closers.Go(func() {
			if sendJSON(n.conn, order{Finish: &status}) == nil {
				n.conn.awaitEnd(patience)
			}
			n.conn.Close()
		})
	}
	closers.Wait()
	if c.listener != nil {
		return c.listener.Close()
	}
	return nil
}

// complete returns an error if a node has been lost. No job is under way.
func (c *Cluster) complete() error {
	for _, n := range c.nodes {
		if n.lost != nil {
			return fmt.Errorf("node %d on %s is lost (%w)", n.number, n.host, n.lost)
		}
	}
	return nil
}

// local returns the ranks of this node.
func (c *Cluster) local() []int {
	ranks := make([]int, c.opts.Ranks)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

// has reports whether rank is one of the node's.
func (n *node) has(rank int) bool { return slices.Contains(n.ranks, rank) }

// nodeOf returns the node of a rank, nil if it is this one.
func (c *Cluster) nodeOf(rank int) *node {
	for _, n := range c.nodes {
		if n.has(rank) {
			return n
		}
	}
	return nil
}

// neighbours returns the nodes on the machine of n, or of this node if n is
// nil, in their order. n is among them.
func (c *Cluster) neighbours(n *node) []*node {
	if n == nil {
		return c.nodesOn(c.machine)
	}
	if n.machine == "" {
		return []*node{n}
	}
	return c.nodesOn(n.machine)
}

// nodesOn returns the other nodes on a machine.
func (c *Cluster) nodesOn(machine string) []*node {
	var found []*node
	for _, n := range c.nodes {
		if machine != "" && n.machine == machine {
			found = append(found, n)
		}
	}
	return found
}

// isHere reports whether a node, or this one if n is nil, is on this machine.
func (c *Cluster) isHere(n *node) bool {
	return n == nil || n.machine != "" && n.machine == c.machine
}

// together returns the ranks on the machine of n, or of this node if n is nil.
func (c *Cluster) together(n *node) []int {
	var ranks []int
	if c.isHere(n) {
		ranks = c.local()
	}
	for _, other := range c.neighbours(n) {
		ranks = append(ranks, other.ranks...)
	}
	return ranks
}

// machines returns by rank the number of its machine: that of the first rank on it. It
// returns nil if all are on one.
func (c *Cluster) machines() []int {
	if len(c.nodes) == 0 {
		return nil
	}
	of := make([]int, c.size)
	several := false
	for _, n := range append([]*node{nil}, c.nodes...) {
		there := c.together(n)
		first := slices.Min(there)
		for _, r := range there {
			of[r] = first
		}
		several = several || first != 0
	}
	if !several {
		return nil
	}
	return of
}

// hosts returns the hosts of the ranks.
func (c *Cluster) hosts() []string {
	names := make([]string, c.size)
	for rank := range names {
		names[rank] = hostName()
		if n := c.nodeOf(rank); n != nil {
			names[rank] = n.host
		}
	}
	return names
}

// on says on which host a rank is, if there are several: " on b".
func (c *Cluster) on(rank int) string {
	if n := c.nodeOf(rank); n != nil {
		return " on " + n.host
	}
	if c.front != nil && c.front.hosts[rank] != "" {
		return " on " + c.front.hosts[rank]
	}
	if c.opts.severalNodes() {
		return " on " + hostName()
	}
	return ""
}

// mostStrangers is how many connections that are turned away are told of: a port may
// be scanned, or flooded.
const mostStrangers = 20

// turnedAway tells of a connection that was turned away.
func (c *Cluster) turnedAway(address string, err error) {
	if e := (*bootstrap.HandshakeError)(nil); errors.As(err, &e) {
		err = errors.New(e.Text) // which need not name the address again
	}
	switch n := c.strangers.Add(1); {
	case n <= mostStrangers:
		c.note(fmt.Sprintf("turned away %s: %v", address, err))
	case n == mostStrangers+1:
		c.note(fmt.Sprintf("turned away more than %d connections: no more of them are told of", mostStrangers))
	}
}

// asked says that another node was asked that the job end soon.
func (c *Cluster) asked() {
	if c.opts.Asked != nil {
		c.opts.Asked()
	}
}

// note passes on a line about the job.
func (c *Cluster) note(line string) {
	c.noting.Lock()
	defer c.noting.Unlock()
	c.opts.note(line)
}

// hostName returns the name of this machine, for reports.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
