package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	goruntime "runtime"

	"tpsh/builtins"
	"tpsh/lang"
	"tpsh/launch"
	"tpsh/runtime"
)

// A duty is what the front end tells all ranks of a job.
type duty struct {
	Seed   uint64           `json:"seed"`
	MaxMem int              `json:"max_mem"`
	World  builtins.Options `json:"world"`
}

// work is the whole of a worker: it takes its seat in the job and serves the
// front end until that ends. It returns the exit status, of which nobody
// learns if all went well.
func work() int {
	seat, err := launch.TakeSeat()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return lang.StatusJob
	}
	var d duty
	if err := json.Unmarshal(seat.Config, &d); err != nil {
		seat.Ready(fmt.Errorf("worker: %w", err))
		return lang.StatusJob
	}
	share(seat.Local)
	cfg := runtime.Config{Size: seat.Size, Seed: d.Seed, MaxMem: d.MaxMem}
	err = runtime.Join(context.Background(), cfg, seat.Links, seat.Rank, seat.Local, func(ctx context.Context, rank *runtime.Rank) {
		seat.Ready(nil)
		lang.Serve(ctx, seat.Conn, builtins.New(rank, d.World)) // how it ends, the connection shows
		seat.Wait()
	})
	if err != nil {
		seat.Ready(err)
	}
	seat.Conn.Close()
	if err != nil {
		return lang.StatusJob
	}
	return lang.StatusOK
}

// share leaves cores to the other ranks of the machine. Two are the least: one
// for the rank, and one for what it hears meanwhile.
func share(ranks int) {
	if os.Getenv("GOMAXPROCS") == "" {
		goruntime.GOMAXPROCS(max(2, goruntime.NumCPU()/ranks))
	}
}
