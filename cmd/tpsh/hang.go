package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"tpsh/cmd/tpsh/hang"
	"tpsh/lang"
)

var hangCommand = &command{
	name:  "hang",
	usage: "[--json] [--star FILE] [--watch] PATH...",
	short: "says which ranks made a PyTorch job hang, from Flight Recorder dumps and watchdog lines",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		o := new(hangOptions)
		fs.BoolVar(&o.json, "json", false, "write the verdict as JSON")
		fs.StringVar(&o.star, "star", "", "write `FILE`, a script that hangs for the same reason")
		fs.BoolVar(&o.watch, "watch", false, "look again and again at what a live job writes, until it has made culprits plain")
		return o.run
	},
}

// hangOptions are the flags of tpsh hang.
type hangOptions struct {
	json, watch bool
	star        string
}

// statusCannotTell is the exit status where the evidence does not say who it was.
const statusCannotTell = 3

func (o *hangOptions) run(std *stdio, args []string) error {
	if len(args) == 0 {
		return usagef("hang: got no path, want folders of Flight Recorder dumps, or dumps, or logs")
	}
	if o.watch {
		return o.follow(std, args)
	}
	job, err := hang.Read(args)
	if err != nil {
		return filef("hang: %w", err)
	}
	return o.tell(std, args, hang.Explain(job))
}

// tell writes the verdict as the flags say.
func (o *hangOptions) tell(std *stdio, args []string, v *hang.Verdict) error {
	write := func() error { return v.WriteText(std.out) }
	if o.json {
		write = func() error { return json.NewEncoder(std.out).Encode(v) }
	}
	if err := write(); err != nil {
		return err
	}
	if o.star != "" && v.Verdict == hang.Culprits {
		if err := o.writeStar(args, v); err != nil {
			return filef("hang: %w", err)
		}
	} else if o.star != "" {
		fmt.Fprintf(std.err, "tpsh: hang: %s is not written: no culprit is named\n", o.star)
	}
	switch v.Verdict {
	case hang.Culprits:
		return status(lang.StatusFailed)
	case hang.CannotTell:
		return status(statusCannotTell)
	}
	return nil
}

func (o *hangOptions) writeStar(args []string, v *hang.Verdict) error {
	f, err := os.Create(o.star)
	if err != nil {
		return err
	}
	return errors.Join(v.WriteStar(f, strings.Join(args, " ")), f.Close())
}

// watchInterval is how often a live job's files are looked at. What is said of
// them is said when they have not changed for that long.
const watchInterval = time.Second

// follow looks at paths until the evidence names culprits or a user interrupts.
func (o *hangOptions) follow(std *stdio, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var before string
	var last *hang.Verdict
	for {
		now, err := hang.Stamp(args)
		if err != nil {
			return filef("hang: %w", err)
		}
		if now == before && last == nil {
			last = o.look(std, args)
		}
		if last != nil && last.Verdict == hang.Culprits {
			return o.tell(std, args, last)
		}
		if now != before {
			before, last = now, nil
		}
		select {
		case <-ctx.Done():
			return o.interrupted(std, args, last)
		case <-tick.C:
		}
	}
}

// look reads the evidence and says in a line what it shows. It returns nil if
// there is none yet.
func (o *hangOptions) look(std *stdio, args []string) *hang.Verdict {
	job, err := hang.Read(args)
	if err != nil {
		return nil
	}
	v := hang.Explain(job)
	fmt.Fprintf(std.err, "%s: %d of %d ranks: %s\n", time.Now().Format(time.TimeOnly), len(job.Ranks), job.World, v.Verdict)
	return v
}

func (o *hangOptions) interrupted(std *stdio, args []string, last *hang.Verdict) error {
	if last == nil {
		if job, err := hang.Read(args); err == nil {
			return o.tell(std, args, hang.Explain(job))
		}
		fmt.Fprintln(std.err, "tpsh: hang: no evidence has come")
		return status(statusCannotTell)
	}
	return o.tell(std, args, last)
}
