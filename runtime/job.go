package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/runtime/tensor"
)

// A Config says how a job is run.
type Config struct {
	Size      int
	Transport string // "inproc" or "frames"
	Seed      uint64 // that random numbers start from
	MaxMem    int    // bytes of large tensors in use over all ranks; 0: the machine's memory
	Poison    bool   // fill released storage with a pattern, for tests

	// Frames tells how a frames transport misbehaves, for tests.
	Frames comm.FrameOptions

	// Notice, if set, is given a line about every wait that is longer than
	// NoticeAfter.
	Notice      func(line string)
	NoticeAfter time.Duration
}

// Transports lists the transports that Start takes.
var Transports = []string{"inproc", "frames"}

// A Job is a set of ranks under way.
type Job struct {
	cfg    Config
	alloc  *tensor.Allocator
	cancel context.CancelCauseFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	fabrics []*comm.Fabric // by generation: see Rank.Resume
	arrived int            // ranks that have come to the last
}

// errStopped is the cause with which Stop ends what still runs.
var errStopped = errors.New("the job was stopped")

// Start starts the ranks of a job. Each calls run, and ends when run returns.
// A front end and run talk by messages that could cross a process boundary,
// and by nothing else.
func Start(ctx context.Context, cfg Config, run func(ctx context.Context, r *Rank)) (*Job, error) {
	if cfg.Size < 1 {
		return nil, fmt.Errorf("got %d ranks, want at least 1", cfg.Size)
	}
	if !slices.Contains(Transports, cfg.Transport) {
		return nil, fmt.Errorf("got transport %q, want one of %q", cfg.Transport, Transports)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	j := &Job{cfg: cfg, alloc: tensor.NewAllocator(cfg.MaxMem), cancel: cancel}
	j.alloc.Strict = cfg.MaxMem > 0
	j.alloc.Poison = cfg.Poison
	for i := range cfg.Size {
		rank, err := newRank(j, i)
		if err != nil {
			j.Stop()
			return nil, err
		}
		j.done.Add(1)
		go func() {
			defer j.done.Done()
			run(ctx, rank)
		}()
	}
	return j, nil
}

// Unreceived returns the messages that were sent and never received. The
// ranks' programs have ended.
func (j *Job) Unreceived() []comm.Unreceived { return j.fabric().Unreceived() }

// Memory returns the bytes of large tensors in use now, and the most there
// have been, over all ranks.
func (j *Job) Memory() (now, peak int) { return j.alloc.InUse() }

// Stop ends the ranks and waits for them.
func (j *Job) Stop() {
	j.cancel(errStopped)
	j.done.Wait()
	j.fabric().Close()
	j.alloc.Close()
}
