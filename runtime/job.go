package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/comm/alike"
	"tpsh/comm/process"
	"tpsh/internal/allowance"
	"tpsh/mesh"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/pipeline"
	"tpsh/runtime/plan"
	"tpsh/runtime/tensor"
)

// A Config says how a job is run.
type Config struct {
	Size      int
	Transport string // "inproc" or "frames"; Join does not look at it
	Seed      uint64 // that random numbers start from
	MaxMem    int    // bytes of tensors in use over all ranks; 0: four fifths of the machine's or the container's memory
	Poison    bool   // fill released storage with a pattern, for tests
	Guard     bool   // share storage of any size, and fault on writes to it, for tests
	Cost      Cost   // by which traces predict how long a call takes

	// Plan, if set, has the ranks run on shapes, and notes their operations and calls. They are
	// goroutines that share memory.
	Plan *plan.Program

	// Frames tells how a frames transport misbehaves, for tests.
	Frames process.FrameOptions

	// Notice, if set, is given a line about every wait that is longer than
	// NoticeAfter.
	Notice      func(line string)
	NoticeAfter time.Duration
}

// Transports lists the transports that Start takes.
var Transports = []string{"inproc", "frames"}

// A Job is a set of ranks under way.
type Job struct {
	cfg   Config
	links *process.Links // to the ranks of other processes; nil if all are in this
	alike *alike.Job     // of which some run for all; nil if each runs
	first int            // the generation of links that is the first of the job
	ranks []int          // all of them
	alloc *tensor.Allocator
	// workers are the cores that are left when each rank has one.
	workers *crew.Workers
	cancel  context.CancelCauseFunc
	done    sync.WaitGroup
	layouts mesh.Store
	// schedules are those of the pipelines.
	schedules pipeline.Book
	// parts are those that members of exchanges send, in a plan by kinds: see partsOf.
	parts sync.Map

	mu      sync.Mutex
	fabrics []*comm.Fabric // by generation: see Rank.Resume
	arrived int            // ranks that have come to the last
}

// errStopped is the cause with which Stop ends ranks that still run.
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
	ctx, j := newJob(ctx, cfg, allowance.Cores()-cfg.Size)
	if cfg.Plan != nil {
		var err error
		if j.alloc, err = tensor.NewHollow(); err != nil {
			return nil, err
		}
	}
	for i := range cfg.Size {
		if err := j.start(ctx, i, run); err != nil {
			j.Stop()
			return nil, err
		}
	}
	return j, nil
}

// newJob returns a job without ranks, and the context that it ends. spare is how
// many cores are left when each rank has one.
func newJob(ctx context.Context, cfg Config, spare int) (context.Context, *Job) {
	ctx, cancel := context.WithCancelCause(ctx)
	j := &Job{cfg: cfg, ranks: stride(0, cfg.Size, 1), alloc: tensor.NewAllocator(cfg.MaxMem), workers: crew.NewWorkers(spare), cancel: cancel}
	j.alloc.Strict = cfg.MaxMem > 0
	j.alloc.Poison = cfg.Poison
	if cfg.Guard {
		j.alloc.Guard, j.alloc.Large = true, 1
	}
	return ctx, j
}

// start starts a rank of this process.
func (j *Job) start(ctx context.Context, rank int, run func(context.Context, *Rank)) error {
	r, err := newRank(j, rank)
	if err != nil {
		return err
	}
	j.done.Go(func() {
		run(ctx, r)
		if r.kind != nil {
			r.end.End(nil) // unless its program has said so
		}
	})
	return nil
}

// An Unreceived is a message that was sent and never received.
type Unreceived = comm.Unreceived

// OfSchedule reports whether a message that nobody received is one of a Pipeline.
// Schedules are matched before they run: one that leaves a message has failed on
// a stage, and that stage's program was told.
func OfSchedule(m Unreceived) bool {
	return strings.HasSuffix(m.Group, " "+strconv.Quote(scheduleRoute))
}

// Unreceived returns the messages that were sent and never received. The
// ranks' programs have ended.
func (j *Job) Unreceived() []Unreceived { return j.fabric().Unreceived() }

// Memory returns the bytes of large tensors in use now, and the most there
// have been, over all ranks.
func (j *Job) Memory() (now, peak int) { return j.alloc.InUse() }

// Memory returns the bytes of large tensors that are in use in this process.
func (r *Rank) Memory() int {
	now, _ := r.job.alloc.InUse()
	return now
}

// GiveBack gives the memory that this process does not use back to the machine.
func (r *Rank) GiveBack() { r.job.alloc.GiveBack() }

// Stop ends the ranks and waits for them.
func (j *Job) Stop() {
	j.cancel(errStopped)
	if j.alike != nil {
		j.alike.Close()
	}
	j.done.Wait()
	j.fabric().Close()
	j.alloc.Close()
}
