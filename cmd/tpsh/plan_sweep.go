package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"tpsh/internal/spell"
	"tpsh/internal/units"
	"tpsh/lang"
	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

// A sweptFlag is a flag of the script with the values that it is given in turn.
type sweptFlag struct {
	name   string
	values []string
}

// sweeps are the --sweep flags of a command line.
type sweeps []sweptFlag

// String implements flag.Value.
func (s *sweeps) String() string { return "" }

// Set implements flag.Value.
func (s *sweeps) Set(text string) error {
	name, values, ok := strings.Cut(text, "=")
	name = flagOf(strings.TrimPrefix(name, "--"))
	if !ok || name == "" || values == "" {
		return errors.New("want NAME=V,…")
	}
	one := sweptFlag{name: name}
	for _, v := range strings.Split(values, ",") {
		one.values = append(one.values, strings.TrimSpace(v))
	}
	*s = append(*s, one)
	return nil
}

// distinct returns the flags with each of their values once: 2 and 02 are one of a number,
// 1 and true one of a bool.
func (s sweeps) distinct(script *lang.Flags) (all sweeps) {
	for _, one := range s {
		seen := map[string]bool{}
		values := one.values
		one.values = nil
		for _, v := range values {
			if key := sameValue(one.name, v, script); !seen[key] {
				seen[key] = true
				one.values = append(one.values, v)
			}
		}
		all = append(all, one)
	}
	return all
}

// sameValue is the same of two texts that a flag takes for one value.
func sameValue(name, text string, script *lang.Flags) string {
	f := script.Find(name)
	if f == nil || f.Kind == "number" || f.Kind == "value" {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return strings.Join(flagWords(name, text, script), " ")
}

// product returns the flags of every combination, the last varying fastest.
func (s sweeps) product(script *lang.Flags) (all [][]string, texts []string) {
	all, texts = [][]string{nil}, []string{""}
	for _, one := range s {
		var more [][]string
		var said []string
		for i, words := range all {
			for _, v := range one.values {
				more = append(more, append(slices.Clone(words), flagWords(one.name, v, script)...))
				said = append(said, strings.TrimSpace(texts[i]+" "+one.name+"="+v))
			}
		}
		all, texts = more, said
	}
	return all, texts
}

// A swept is one combination and what came of it.
type swept struct {
	Flags   string        `json:"flags"`
	Figures *plan.Figures `json:"figures,omitempty"`
	Refused string        `json:"refused,omitempty"`
}

// sweep plans the script with every combination of values.
func (p *planner) sweep(std *stdio, m *hardware.Machine, q question) error {
	flags, err := flagsOf(q.Script)
	if err != nil {
		return err
	}
	for i, s := range p.sweeps {
		if slices.ContainsFunc(p.sweeps[:i], func(o sweptFlag) bool { return o.name == s.name }) {
			return usagef("for flag --sweep: got %s twice, want all its values in one: --sweep %s=V,…", s.name, s.name)
		}
		if flags.Find(s.name) == nil && !flags.Computed {
			near := ""
			if n := spell.Nearest(s.name, flags.Names()); n != "" {
				near = ": did you mean " + n + "?"
			}
			return usagef("for flag --sweep: the script has no flag --%s%s", s.name, near)
		}
	}
	words, texts := p.sweeps.distinct(flags).product(flags)
	ctx, done := interruptible()
	defer done()
	all, stopped := planAll(ctx, std, m, q, words, texts)
	if all == nil {
		return stopped
	}
	if p.json {
		err = writeJSON(std.out, all)
	} else {
		err = showSweep(std, all)
	}
	if err == nil {
		err = stopped
	}
	if err == nil && !slices.ContainsFunc(all, (*swept).fits) {
		err = nothingFits(all, m)
	}
	return err
}

// nothingFits says why no combination is taken and fits, and what comes nearest. all
// are sorted.
func nothingFits(all []*swept, m *hardware.Machine) error {
	n := refusals(all)
	if n == len(all) {
		return fmt.Errorf("nothing fits: the script refuses %s, the first of them %s: %s", units.Count(n, "combination"), all[0].Flags, all[0].Refused)
	}
	nearest := all[0]
	return fmt.Errorf("nothing fits: of %s the script refuses %d, and the others need more than %s a rank; the nearest, %s, needs %s", units.Count(len(all), "combination"), n,
		sized(m.Among(nearest.Figures.Ranks).Room()), nearest.Flags, sized(nearest.Figures.Memory.Peak))
}

func refusals(all []*swept) (n int) {
	for _, s := range all {
		if s.Refused != "" {
			n++
		}
	}
	return n
}

// fits reports whether the combination is taken and fits.
func (s *swept) fits() bool { return s.Refused == "" && s.Figures.Memory.Fits }

// sweepWorkers is how many combinations or rows are evaluated at a time: each has ranks
// of its own, which share the cores.
const sweepWorkers = 2

// several calls f for 0 to n-1, sweepWorkers of them at a time, under a bar that says
// label and counts units, and returns the errors.
func several(std *stdio, label string, n int, unit string, f func(i int) error) error {
	bar := newBar(std.err, label, int64(n), unit)
	defer bar.clear()
	errs := make([]error, n)
	var wg sync.WaitGroup
	var mu sync.Mutex
	next, ready := make(chan int), int64(0)
	for range sweepWorkers {
		wg.Go(func() {
			for i := range next {
				errs[i] = f(i)
				mu.Lock()
				ready++
				bar.show(ready)
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// planAll plans every combination, several at a time, and sorts them: by time
// those that fit, by memory those that do not, then those that are refused.
func planAll(ctx context.Context, std *stdio, m *hardware.Machine, q question, words [][]string, texts []string) ([]*swept, error) {
	all := make([]*swept, len(words))
	err := several(std, "planning", len(words), "combination", func(i int) (err error) {
		all[i], err = planOne(ctx, m, q, words[i], texts[i])
		return err
	})
	all = slices.DeleteFunc(all, func(s *swept) bool { return s == nil })
	if err != nil && (ctx.Err() == nil || len(all) == 0) {
		return nil, err
	}
	if err != nil {
		err = errInterrupted // what has been evaluated is shown all the same
	}
	slices.SortStableFunc(all, func(a, b *swept) int {
		if c := cmp.Compare(a.class(), b.class()); c != 0 || a.Refused != "" {
			return c
		}
		if a.fits() {
			return cmp.Compare(a.Figures.StepSeconds, b.Figures.StepSeconds)
		}
		return cmp.Compare(a.Figures.Memory.Peak, b.Figures.Memory.Peak)
	})
	return all, err
}

// class orders combinations: those that fit, those that do not, those refused.
func (s *swept) class() int {
	switch {
	case s.Refused != "":
		return 2
	case s.fits():
		return 0
	}
	return 1
}

// planOne plans one combination.
func planOne(ctx context.Context, m *hardware.Machine, q question, words []string, text string) (*swept, error) {
	q.Args = append(slices.Clone(q.Args), words...)
	q.Out, q.Notes = nil, nil
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	program, err := evaluate(ctx, q)
	var refused *refusal
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	if errors.As(err, &refused) {
		return &swept{Flags: text, Refused: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	f := program.Play(m)
	if q.Each {
		tellByKinds(program, m, f)
	}
	return &swept{Flags: text, Figures: f}, nil
}

// showSweep prints the table.
func showSweep(std *stdio, all []*swept) error {
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "flags\tstep\tTFLOP/s a rank\tMFU\tmemory")
	for _, s := range all {
		if s.Refused != "" {
			fmt.Fprintf(tw, "%s\trefused: %s\n", s.Flags, s.Refused)
			continue
		}
		f := s.Figures
		note := ""
		if !f.Memory.Fits {
			note = "\tdoes not fit"
		}
		fmt.Fprintf(tw, "%s\t%s\t%.4g\t%.1f %%\t%s%s\n", s.Flags, quantityText("seconds", f.StepSeconds), f.TFLOPsPerRank, 100*f.MFU, sized(f.Memory.Peak), note)
	}
	return tw.Flush()
}
