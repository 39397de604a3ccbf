package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"tpsh/comm/bootstrap"
)

// Elasticity says that a job may be started again on other nodes than it had: on those
// that are left when one is lost, and on more when others have come. As in torchrun's
// agents, every change of members starts the ranks anew, and the script goes on from
// what it has saved.
type Elasticity struct {
	// Min and Max are with how many ranks the job may run. It waits for more nodes below
	// Min; nodes for which there is no room below Max wait until others are lost.
	Min, Max int
	// Wait is how long further nodes are waited for when there are enough: before a job
	// is started, and from when a node has come until the job is started again with it.
	Wait time.Duration
}

// timeToIntroduce is how long a launcher that comes beside a job may take to say what
// it has.
const timeToIntroduce = 10 * time.Second

// gatherSome is gather of an elastic job: it waits until there are enough ranks, and then for
// others as long as Elasticity.Wait says.
func (c *Cluster) gatherSome(ctx context.Context) error {
	for waited := false; ; {
		c.prune(nil)
		enough := c.ranks(c.candidates()) >= c.opts.Elastic.Min
		if enough && (waited || c.full()) {
			c.compose()
			return nil
		}
		came, err := c.acceptFor(ctx, enough, func(stream net.Conn, hello bootstrap.Hello) { c.admitted(ctx, stream, hello) })
		if err != nil {
			return fmt.Errorf("%w (%s)", err, c.missing())
		}
		waited = enough && !came
	}
}

// acceptFor gives the next connection to take, and reports whether one came. It waits
// for Elasticity.Wait, if that is to end it, and until ctx ends otherwise.
func (c *Cluster) acceptFor(ctx context.Context, wait bool, take func(net.Conn, bootstrap.Hello)) (came bool, err error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if wait {
		limited, cancel = context.WithTimeout(ctx, c.opts.Elastic.Wait)
	}
	defer cancel()
	stream, hello, err := c.listener.Accept(limited)
	switch {
	case err == nil:
		take(stream, hello)
		return true, nil
	case ctx.Err() == nil && limited.Err() != nil:
		return false, nil
	}
	return false, err
}

// admitted admits a launcher as a node, or notes why not.
func (c *Cluster) admitted(ctx context.Context, stream net.Conn, hello bootstrap.Hello) *node {
	ctx, cancel := context.WithTimeoutCause(ctx, timeToIntroduce, errors.New("it said nothing"))
	defer cancel()
	n, err := c.admit(ctx, stream, hello)
	if err != nil {
		c.note(fmt.Sprintf("turned away %v", err))
	}
	return n
}

// ready makes ready for a job: with the nodes of the one before, or in an elastic
// cluster with those that are there.
func (c *Cluster) ready(ctx context.Context) error {
	if c.opts.Elastic == nil {
		return c.complete()
	}
	if !c.composed {
		if err := c.regather(ctx); err != nil {
			return err
		}
	}
	c.composed = false
	return nil
}

// regather makes the nodes that are left, and those that have come, the nodes of the next
// job. Others are waited for unless the job before ended to have them.
func (c *Cluster) regather(ctx context.Context) error {
	before := c.names(c.nodes)
	c.prune(nil)
	if c.outgrown && c.ranks(c.candidates()) >= c.opts.Elastic.Min {
		c.compose()
	} else {
		if !c.full() {
			c.note(fmt.Sprintf("waiting for nodes: %s", c.missing()))
		}
		ctx, cancel := c.opts.untilGathered(ctx)
		defer cancel()
		if err := c.gatherSome(ctx); err != nil {
			return err
		}
	}
	if now := c.names(c.nodes); now != before {
		c.note(fmt.Sprintf("going on with %d ranks, of %s", c.size, now))
	}
	return nil
}

// names lists this node and others.
func (c *Cluster) names(others []*node) string {
	all := []string{"node 0 on " + hostName()}
	for _, n := range others {
		all = append(all, fmt.Sprintf("node %d on %s", n.number, n.host))
	}
	return strings.Join(all, ", ")
}

// prune forgets the nodes that are lost, but for those of the job that is under way,
// which listens to them.
func (c *Cluster) prune(running []*node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.come = slices.DeleteFunc(c.come, func(n *node) bool {
		if slices.Contains(running, n) || n.lost == nil && !n.gone() {
			return false
		}
		n.conn.Close()
		return true
	})
}

// candidates returns the nodes of which the next job would be: of every number the first
// that has come, in their order, as far as there is room.
func (c *Cluster) candidates() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var chosen []*node
	size := c.opts.Ranks
	for _, n := range slices.SortedStableFunc(slices.Values(c.come), func(a, b *node) int { return cmp.Compare(a.number, b.number) }) {
		switch last := len(chosen) - 1; {
		case last >= 0 && chosen[last].number == n.number: // waits for the end of the other
		case c.opts.Elastic != nil && size+len(n.ranks) > c.opts.Elastic.Max:
		default:
			chosen = append(chosen, n)
			size += len(n.ranks)
		}
	}
	return chosen
}

// ranks returns how many ranks this node and others have.
func (c *Cluster) ranks(others []*node) int {
	sum := c.opts.Ranks
	for _, n := range others {
		sum += len(n.ranks)
	}
	return sum
}

// full reports whether no more nodes are due.
func (c *Cluster) full() bool {
	there := c.candidates()
	return len(there) == c.opts.Nodes-1 || c.opts.Elastic != nil && c.ranks(there) == c.opts.Elastic.Max
}

// compose makes the candidates the nodes of the next job. Ranks are numbered in the order
// of nodes.
func (c *Cluster) compose() {
	c.nodes, c.size, c.composed, c.outgrown = c.candidates(), c.opts.Ranks, true, false
	for _, n := range c.nodes {
		for i := range n.ranks {
			n.ranks[i] = c.size
			c.size++
		}
	}
}

// grow takes in launchers that come while the job runs. When the next job would have more
// ranks, and nobody else has come for Elasticity.Wait or is due, the job is outgrown.
func (j *Job) grow(ctx context.Context) {
	c := j.cluster
	for {
		c.prune(c.nodes)
		larger := c.ranks(c.candidates()) > c.size
		if larger && c.full() {
			break
		}
		came, err := c.acceptFor(ctx, larger, c.beside)
		if err != nil {
			return
		}
		if larger && !came {
			break
		}
	}
	c.outgrown = true
	close(j.outgrown)
}

// startGrowing begins to take in launchers until the job is stopped.
func (j *Job) startGrowing() {
	var ctx context.Context
	ctx, j.stopGrowing = context.WithCancel(context.Background())
	j.tasks.Go(func() { j.grow(ctx) })
}

// beside takes in a launcher that has come beside a job, and turns others away.
func (c *Cluster) beside(stream net.Conn, hello bootstrap.Hello) {
	if c.opts.Elastic == nil || hello.Purpose != purposeNode {
		stream.Close()
		return
	}
	if n := c.admitted(context.Background(), stream, hello); n != nil {
		c.note(fmt.Sprintf("node %d on %s has come, with %d ranks", n.number, n.host, len(n.ranks)))
	}
}

// Outgrown returns a channel that is closed when nodes have come with which the job is to
// be started again; it never is where jobs are not elastic.
func (j *Job) Outgrown() <-chan struct{} { return j.outgrown }
