package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	goruntime "runtime"

	"tpsh/builtins"
	"tpsh/cmd/tpsh/launch"
	"tpsh/internal/allowance"
	"tpsh/lang"
	"tpsh/runtime"
)

// A duty is what the front end tells all ranks of a job.
type duty struct {
	Seed   uint64           `json:"seed"`
	MaxMem int              `json:"max_mem"`
	Cost   runtime.Cost     `json:"cost"`
	Stops  bool             `json:"stops,omitempty"` // the program ends by itself when it is asked to
	World  builtins.Options `json:"world"`
}

// work is the whole of a worker: it takes its seat in the job and serves one
// front end after the other until there are no more. It returns the exit
// status.
func work() int {
	nameProcess("tpsh")
	seat, err := launch.TakeSeat()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return lang.StatusJob
	}
	defer seat.Close()
	share(seat.Local, 0)
	collectSeldom(seat.Local)
	k := kernelsOf(os.Args)
	if err := k.check(); err != nil {
		seat.Ready(err)
		return lang.StatusJob
	}
	k.use()
	seat.Kernels = computing()
	for more := true; more; {
		if more, err = serve(seat); err != nil {
			seat.Ready(err)
			return lang.StatusJob
		}
	}
	return lang.StatusOK
}

// serve serves one front end, and reports whether there is another.
func serve(seat *launch.Seat) (more bool, err error) {
	var d duty
	if err := json.Unmarshal(seat.Config, &d); err != nil {
		return false, fmt.Errorf("worker: %w", err)
	}
	d.World.Shared = builtins.NewShared()
	if d.Stops {
		signal.Ignore(stopRequests()...) // a scheduler may signal every process of a job: launchers pass it on
	}
	lost, parts := false, seat.Size
	if d.MaxMem == 0 {
		parts = seat.Local
	}
	cfg := runtime.Config{Size: seat.Size, Seed: d.Seed, MaxMem: d.MaxMem, Cost: d.Cost}
	place := runtime.Seat{Rank: seat.Rank, Local: seat.Local, Links: seat.Links, Generation: seat.Generation}
	err = runtime.Join(context.Background(), cfg, place, func(ctx context.Context, rank *runtime.Rank) {
		seat.Ready(nil)
		watch := watchMemory(d.MaxMem, parts)
		watch.Outside, watch.GiveBack = rank.Memory, rank.GiveBack
		boundMemory(watch)
		served := lang.ServeWatched(ctx, seat.Conn, builtins.New(rank, d.World), watch)
		if lost = served != nil && ctx.Err() == nil; lost {
			fmt.Fprintln(os.Stderr, served) // the launcher may not hear of it otherwise
			return
		}
		more = seat.Next()
	})
	if err == nil && lost {
		err = errors.New("worker: the connection to the front end was lost")
	}
	return more, err
}

// share leaves cores to the other ranks of the machine. Two are the least: one
// for the rank, and one for what it hears meanwhile; but where many ranks share a core
// their launcher has left them one. busy is how many threads something else keeps.
func share(ranks, busy int) {
	if os.Getenv("GOMAXPROCS") == "" {
		goruntime.GOMAXPROCS(max(2, allowance.Processors()/ranks) + busy)
	}
}
