package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"tpsh/cmd/tpsh/launch"
)

// elastic are the flags about jobs that go on with other numbers of ranks.
type elastic struct {
	ranks string
	wait  time.Duration
}

func (e *elastic) declare(fs *flag.FlagSet) {
	fs.StringVar(&e.ranks, "elastic", "", "when a node is lost or comes, start the job again with `MIN:MAX` ranks (with --nnodes, the most nodes, and --max-restarts)")
	fs.DurationVar(&e.wait, "elastic-wait", 30*time.Second, "with --elastic, wait for further nodes for `D` when there are enough")
}

// elasticity returns what the flags say of a job, nil if nothing.
func (e *elastic) elasticity(o *launch.Options, maxRestarts int) (*launch.Elasticity, error) {
	if e.ranks == "" {
		return nil, nil
	}
	l := &launch.Elasticity{Wait: e.wait}
	if n, err := fmt.Sscanf(e.ranks+";", "%d:%d;", &l.Min, &l.Max); err != nil || n != 2 || l.Min < 1 || l.Max < l.Min || l.Max > maxRanks {
		return nil, usagef("for flag --elastic: got %q, want MIN:MAX, two numbers of ranks from 1 to %d, as 2:8", e.ranks, maxRanks)
	}
	switch {
	case o.Nodes < 2:
		return nil, usagef("for flag --elastic: got one node, want --nnodes, the most nodes that the job may have (on one, --max-restarts replaces ranks)")
	case maxRestarts == 0:
		return nil, usagef("for flag --elastic: got --max-restarts 0, want how often the job may be started again when a rank or a node is lost")
	case o.Ranks > l.Max:
		return nil, usagef("for flag --elastic: got at most %d ranks, want room for the %d of this node", l.Max, o.Ranks)
	case e.wait <= 0:
		return nil, usagef("for flag --elastic-wait: got %v, want a duration above 0", e.wait)
	}
	return l, nil
}

// untilOutgrown returns a context that ends with errOutgrown when nodes have come with
// which the job is to be started again.
func (r *ranks) untilOutgrown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if r.job != nil {
		go func() {
			select {
			case <-r.job.Outgrown():
				cancel(errOutgrown)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}
