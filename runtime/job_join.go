package runtime

import (
	"context"
	"fmt"

	"tpsh/comm"
)

// Join makes this process one rank of a job whose other ranks are in processes
// of their own, which links reach. It returns when run does; the links are
// closed then. cfg is that of the whole job; local is how many of its ranks
// share this machine, and its memory.
func Join(ctx context.Context, cfg Config, links *comm.Links, rank, local int, run func(ctx context.Context, r *Rank)) error {
	defer links.Close()
	if rank < 0 || rank >= cfg.Size || local < 1 || local > cfg.Size {
		return fmt.Errorf("got rank %d of %d, %d on this machine, want one of them", rank, cfg.Size, local)
	}
	shared := cfg.MaxMem > 0
	if shared {
		cfg.MaxMem = max(1, cfg.MaxMem/cfg.Size)
	}
	ctx, j := newJob(ctx, cfg)
	j.links = links
	if !shared {
		j.alloc.Limit /= local // nobody else keeps the ranks from taking more than there is
	}
	if err := j.start(ctx, rank, run); err != nil {
		return err
	}
	j.done.Wait()
	j.Stop()
	return nil
}
