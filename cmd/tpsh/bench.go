package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"tpsh/runtime"
)

var benchCommand = &command{
	name:    "bench",
	usage:   "[NAME]",
	short:   "measures collectives, matmul, dispatch, a training step and more on this machine",
	files:   noFiles,
	actions: suites,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		b := &bench{maxBytes: 64 << 20}
		fs.IntVar(&b.ranks, "n", defaultRanks(), "measure on `N` ranks")
		fs.StringVar(&b.transport, "transport", "inproc", transportUsage())
		fs.DurationVar(&b.time, "time", 500*time.Millisecond, "measure each case for `D` or longer")
		fs.IntVar(&b.count, "count", 1, "print `N` lines of each case, for benchstat")
		fs.Var(&b.maxBytes, "max-bytes", "leave out cases of more than `BYTES` a rank")
		fs.BoolVar(&b.json, "json", false, "print an object a line")
		fs.BoolVar(&b.calibrate, "calibrate", false, "measure what predicted_seconds and tpsh plan --hw here go by, and write it to "+profileText+", and here.toml beside it")
		b.kernels.declare(fs)
		return b.run
	},
}

// A bench is one `tpsh bench`.
type bench struct {
	kernels
	ranks, count    int
	transport       string
	time            time.Duration
	maxBytes        byteSize
	json, calibrate bool
	machine         machine
	short           bool                // in many short rounds
	seen            func(*runtime.Rank) // is called with each rank that is a goroutine; nil for nothing
}

func (b *bench) run(std *stdio, args []string) error {
	if err := b.check(args); err != nil {
		return err
	}
	ctx, done := interruptible()
	defer done()
	if b.calibrate {
		if err := b.writeProfile(ctx, std); err != nil {
			return err
		}
		return b.writeHere(ctx, std)
	}
	cases, err := b.choose(args)
	if err != nil {
		return err
	}
	out := b.printer(std)
	if err := out.begin(); err != nil {
		return err
	}
	for _, c := range cases {
		for range b.count {
			f, err := b.measure(ctx, c)
			if err == nil {
				err = out.print(c, f)
			}
			if err != nil {
				return benchFailed(ctx, c.name, err)
			}
		}
	}
	return nil
}

// check returns a usage error if the command line makes no sense.
func (b *bench) check(args []string) error {
	if err := checkRanks(b.ranks); err != nil {
		return err
	}
	if err := checkTransport(b.transport); err != nil {
		return err
	}
	if err := b.kernels.check(); err != nil {
		return err
	}
	if err := alone("bench", os.LookupEnv); err != nil {
		return err
	}
	switch {
	case b.time <= 0:
		return usagef("for flag --time: got %v, want a duration above zero", b.time)
	case b.count < 1:
		return usagef("for flag --count: got %d, want a number from 1", b.count)
	case len(args) > 1:
		return usagef("bench: got %d arguments, want at most 1", len(args))
	case b.calibrate && len(args) > 0:
		return usagef("bench: got argument %q with --calibrate, want none", args[0])
	}
	return nil
}

// choose returns the cases of a suite, or those whose name begins as asked; no
// argument chooses all.
func (b *bench) choose(args []string) ([]*benchCase, error) {
	all := b.cases()
	if len(args) == 0 {
		return all, nil
	}
	var chosen []*benchCase
	for _, c := range all {
		if c.suite == args[0] || strings.HasPrefix(c.name, args[0]) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) > 0 {
		return chosen, nil
	}
	return nil, usagef("bench: got %q, want %s, or how a case's name begins (as all_reduce)", args[0], strings.Join(suites, ", "))
}

// benchFailed returns the error of a command one of whose measurements failed.
func benchFailed(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return fmt.Errorf("bench: %s: %w", name, err)
}

// measure measures a case on ranks of its own.
func (b *bench) measure(ctx context.Context, c *benchCase) (*figures, error) {
	f := &figures{ranks: c.ranks, cost: c.cost}
	if c.suite == "step" {
		return f, b.measureStep(ctx, c, f)
	}
	m, err := b.newMeter(ctx, c)
	if err != nil {
		return nil, err
	}
	defer m.close()
	return f, m.measure(ctx, c, f, b.time)
}
