package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tpsh/cmd/tpsh/chakra"
	"tpsh/internal/units"
	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

// tracedRanks are written each to a file of its own; of more, one of each kind, for a
// trace is as long as a rank's program.
const tracedRanks = 16

// checkChakra returns a usage error if traces are asked for of a sweep, or in a folder that
// is none or has other things.
func (p *planner) checkChakra() error {
	switch {
	case p.chakra == "":
		return nil
	case len(p.sweeps) > 0:
		return usagef("for flag --chakra: a sweep has no traces: plan with the values that it has found")
	}
	entries, err := os.ReadDir(p.chakra)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("for flag --chakra: got %q, want a folder to write in: %v", p.chakra, err)
	}
	for _, e := range entries {
		if !ofChakra(e) {
			return usagef("for flag --chakra: got %q, want an empty folder, or one with traces alone: %s is there", p.chakra, e.Name())
		}
	}
	if err := os.MkdirAll(p.chakra, 0o755); err != nil {
		return usagef("for flag --chakra: got %q, want a folder to write in: %v", p.chakra, err)
	}
	return nil
}

// ofChakra reports whether e is a file that --chakra writes.
func ofChakra(e fs.DirEntry) bool {
	return e.Type().IsRegular() && (strings.HasSuffix(e.Name(), ".et") || e.Name() == chakra.GroupsFile || e.Name() == chakra.RanksFile)
}

// play plays the program, and writes traces of it if they are asked for.
func (p *planner) play(std *stdio, program *plan.Program, m *hardware.Machine, script string) (*plan.Figures, error) {
	if p.chakra == "" {
		return program.Play(m), nil
	}
	r := program.Replay(m)
	said, err := p.writeTraces(r, program, m, script)
	if err != nil {
		return nil, fmt.Errorf("cannot write the traces: %w", err)
	}
	w := std.out
	if p.json {
		w = std.err
	}
	fmt.Fprintln(w, said)
	return r.Figures, nil
}

// writeTraces writes the traces, in place of those of an earlier plan, and says what it
// has written.
func (p *planner) writeTraces(r *plan.Replay, program *plan.Program, m *hardware.Machine, script string) (said string, err error) {
	entries, err := os.ReadDir(p.chakra)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if ofChakra(e) {
			if err := os.Remove(filepath.Join(p.chakra, e.Name())); err != nil {
				return "", err
			}
		}
	}
	name := strings.TrimSuffix(filepath.Base(script), filepath.Ext(script))
	part := "of the whole script"
	w := chakra.Writer{Dir: p.chakra, Name: name, Metadata: chakra.Metadata{Script: filepath.Base(script), Hardware: m.Name, Ranks: program.Ranks}}
	switch {
	case r.Whole:
		part = "of the whole script, since messages cross the ends of steps"
	case r.Figures.Steps > 0:
		w.Metadata.Step = r.Figures.Steps
		part = fmt.Sprint("of step ", r.Figures.Steps)
	}
	every := program.Ranks <= tracedRanks || p.each
	written := 0
	for rank := range program.Ranks {
		stands := []int32{int32(rank)}
		if !every {
			if stands = program.Kinds[program.KindOf[rank]].Ranks; int(stands[0]) != rank {
				continue
			}
		}
		if err := w.Write(rank, r.Rank(rank), program, slices.Clone(stands)); err != nil {
			return "", err
		}
		written++
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	of := "one of each rank"
	if !every {
		of = fmt.Sprintf("one of each kind of %d ranks (--each: of each rank; %s says which are alike)", program.Ranks, chakra.RanksFile)
	}
	return fmt.Sprintf("%s and %s in %s, %s, %s", units.Count(written, "trace"), units.Count(w.Nodes, "node"), filepath.Join(p.chakra, name+".RANK.et"), of, part), nil
}
