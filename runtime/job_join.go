package runtime

import (
	"context"
	"fmt"
	goruntime "runtime"

	"tpsh/comm/process"
	"tpsh/internal/allowance"
)

// A Seat is the place of a process that is one rank of a job, whose other ranks
// are in processes of their own.
type Seat struct {
	Rank  int
	Local int            // how many ranks of the job share this machine, and its memory
	Links *process.Links // to the others

	// Generation is the number of the first fabric of the job: above those that
	// the links have had, and the same on all ranks.
	Generation int
}

// Join makes this process one rank of a job. It returns when run does. cfg is
// that of the whole job. The links remain for another job.
func Join(ctx context.Context, cfg Config, s Seat, run func(ctx context.Context, r *Rank)) error {
	if s.Rank < 0 || s.Rank >= cfg.Size || s.Local < 1 || s.Local > cfg.Size {
		return fmt.Errorf("got rank %d of %d, %d on this machine, want one of them", s.Rank, cfg.Size, s.Local)
	}
	shared := cfg.MaxMem > 0
	if shared {
		cfg.MaxMem = max(1, cfg.MaxMem/cfg.Size)
	}
	ctx, j := newJob(ctx, cfg, min(goruntime.GOMAXPROCS(0), allowance.Processors()/s.Local)-1)
	j.links, j.first = s.Links, s.Generation
	if !shared {
		j.alloc.Limit /= s.Local // nobody else keeps the ranks from taking more than there is
	}
	if err := j.start(ctx, s.Rank, run); err != nil {
		return err
	}
	j.done.Wait()
	j.Stop()
	return nil
}
