package launch

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"

	"tpsh/comm"
	"tpsh/lang"
)

// A Cluster is the nodes of a job, as the launcher of the first sees them. It
// outlives the jobs that are started on it, one after the other.
type Cluster struct {
	opts     Options
	listener *comm.Listener // nil if there is no other node
	nodes    []*node        // the others, by number from 1
	size     int            // ranks of all nodes

	noting sync.Mutex // held during opts.Note
}

// Purposes of connections to the first launcher, besides those of package comm.
const (
	purposeNode    = "node"    // from another launcher; Hello.Rank is its node
	purposeControl = "control" // from another launcher for the rank Hello.Rank
)

// A node is another launcher, as the first sees it.
type node struct {
	conn    *lang.StreamConn
	host    string // its name
	address string // of the rendezvous, as seen from there
	ranks   []int  // of its workers
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
	c := &Cluster{opts: o, size: o.Ranks}
	if !o.severalNodes() {
		return c, nil
	}
	var err error
	if c.listener, err = o.credentials().Listen(o.Rendezvous); err != nil {
		return nil, err
	}
	c.listener.Rejected = func(addr string, err error) { c.note(fmt.Sprintf("turned away %s: %v", addr, err)) }
	if err := c.gather(ctx); err != nil {
		c.Close(1)
		return nil, err
	}
	return c, nil
}

// gather fills c.nodes.
func (c *Cluster) gather(ctx context.Context) error {
	c.nodes = make([]*node, c.opts.Nodes-1)
	for missing := len(c.nodes); missing > 0; missing-- {
		stream, hello, err := c.listener.Accept(ctx)
		if err != nil {
			return fmt.Errorf("%w (%s)", err, c.missing())
		}
		if err := c.admit(ctx, stream, hello); err != nil {
			stream.Close()
			return err
		}
	}
	for _, n := range c.nodes { // ranks are numbered in the order of nodes
		for i := range n.ranks {
			n.ranks[i] = c.size
			c.size++
		}
	}
	return nil
}

// admit makes the launcher at the other end of stream a node.
func (c *Cluster) admit(ctx context.Context, stream net.Conn, hello comm.Hello) error {
	at := stream.RemoteAddr()
	switch {
	case hello.Purpose != purposeNode:
		return fmt.Errorf("%v: came for %q, want %q", at, hello.Purpose, purposeNode)
	case hello.Size != c.opts.Nodes:
		return fmt.Errorf("%v: node %d says there are %d nodes, want %d", at, hello.Rank, hello.Size, c.opts.Nodes)
	case hello.Rank < 1 || hello.Rank >= c.opts.Nodes:
		return fmt.Errorf("%v: got node %d, want 1..%d", at, hello.Rank, c.opts.Nodes-1)
	case c.nodes[hello.Rank-1] != nil:
		return fmt.Errorf("%v: node %d came twice", at, hello.Rank)
	}
	keepAlive(stream, c.opts.peerTimeout())
	n := &node{conn: lang.Stream(stream, nil)}
	var note nodeNote
	if err := recvJSON(ctx, n.conn, &note); err != nil {
		return fmt.Errorf("%v: %w", at, err)
	}
	if note.Ranks < 1 || note.Ranks > maxRanks {
		return fmt.Errorf("%v: got a node of %d ranks, want 1..%d", at, note.Ranks, maxRanks)
	}
	n.host, n.address, n.ranks = note.Host, note.Address, make([]int, note.Ranks)
	c.nodes[hello.Rank-1] = n
	return nil
}

// maxRanks bounds how many ranks another node may say it has.
const maxRanks = 1 << 14

// missing says which nodes have not come.
func (c *Cluster) missing() string {
	var absent []int
	for i, n := range c.nodes {
		if n == nil {
			absent = append(absent, i+1)
		}
	}
	return fmt.Sprintf("of %d nodes, these have not come: %v", c.opts.Nodes, absent)
}

// Size returns the number of ranks.
func (c *Cluster) Size() int { return c.size }

// Close ends the launchers of the other nodes, with this exit status. There is
// no job under way.
func (c *Cluster) Close(status int) error {
	var closers sync.WaitGroup
	for _, n := range c.nodes {
		if n != nil {
			closers.Go(func() {
				sendJSON(n.conn, order{Finish: &status})
				n.conn.Close()
			})
		}
	}
	closers.Wait()
	if c.listener != nil {
		return c.listener.Close()
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

// placeOf returns the ranks of the node of a rank, and if it is another than
// this the address of the rendezvous as seen from there.
func (c *Cluster) placeOf(rank int) (local []int, address string) {
	for _, n := range c.nodes {
		if n.has(rank) {
			return n.ranks, n.address
		}
	}
	return c.local(), ""
}

// on says on which host a rank is, if there are several: " on b".
func (c *Cluster) on(rank int) string {
	for _, n := range c.nodes {
		if n.has(rank) {
			return " on " + n.host
		}
	}
	if c.opts.severalNodes() {
		return " on " + hostName()
	}
	return ""
}

// note passes on a line about the job.
func (c *Cluster) note(line string) {
	if c.opts.Note == nil {
		return
	}
	c.noting.Lock()
	defer c.noting.Unlock()
	c.opts.Note(line)
}

// hostName returns the name of this machine, for reports.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
