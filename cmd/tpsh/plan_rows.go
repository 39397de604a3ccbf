package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"tpsh/internal/spell"
	"tpsh/internal/units"
	"tpsh/lang"
	"tpsh/runtime/hardware/fit"
	"tpsh/runtime/plan"
)

// A measuredRow is a run of a script that somebody measured.
type measuredRow struct {
	file    string
	line    int
	args    []string // of the script
	ranks   int
	seconds float64 // 0 for not measured
	bytes   float64 // likewise
	rank    int     // that the bytes are of; -1 for the fullest
	program *plan.Program
	refused error // why the script does not take the row
}

// where returns file:line.
func (r *measuredRow) where() string { return fmt.Sprintf("%s:%d", r.file, r.line) }

// measures are the columns that are no flags of the script, and what one of
// them is worth.
var measures = map[string]func(r *measuredRow, v float64) error{
	"gpus":         setRanks,
	"ranks":        setRanks,
	"rank":         setRank,
	"seconds":      func(r *measuredRow, v float64) error { r.seconds = v; return nil },
	"milliseconds": func(r *measuredRow, v float64) error { r.seconds = v / 1e3; return nil },
	"gigabytes":    func(r *measuredRow, v float64) error { r.bytes = v * 1e9; return nil },
}

// sameMeasures are pairs of columns that say the same of a row.
var sameMeasures = [][2]string{{"gpus", "ranks"}, {"seconds", "milliseconds"}}

func setRanks(r *measuredRow, v float64) error {
	if v < 1 || v > maxRanks || v != math.Trunc(v) {
		return fmt.Errorf("want a whole number from 1 to %d", maxRanks)
	}
	r.ranks = int(v)
	return nil
}

func setRank(r *measuredRow, v float64) error {
	if v != math.Trunc(v) || v >= math.MaxInt32 {
		return errors.New("want the number of a rank, from 0")
	}
	r.rank = int(v)
	return nil
}

// readRows reads the runs of a CSV, whose columns are measures and flags of the
// script, or are converted to them. ranks is how many there are in rows that do not
// say, 0 if all of them must; args come before those of a row.
func readRows(path string, script *lang.Flags, ranks int, args []string, convert *conversion) ([]*measuredRow, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unread(path, err)
	}
	c := csv.NewReader(strings.NewReader(lang.WithoutMark(string(text))))
	c.TrimLeadingSpace = true
	header, err := c.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: got an empty file, want a line of columns and rows", path)
	}
	if err != nil {
		return nil, lineError(path, err, nil, nil)
	}
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t") {
		return nil, fmt.Errorf("%s:1: got one column, %q, want commas between columns", path, header[0])
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("%s:1: column %q is there twice", path, header[i])
		}
	}
	if convert == nil {
		err := checkColumns(header, script)
		if err == nil && ranks == 0 && !slices.Contains(header, "ranks") && !slices.Contains(header, "gpus") {
			err = errNoRanks
		}
		if err != nil {
			return nil, fmt.Errorf("%s:1: %w", path, err)
		}
	}
	var rows []*measuredRow
	for {
		fields, err := c.Read()
		if fields == nil && err == io.EOF {
			break
		}
		if err != nil {
			return nil, lineError(path, err, header, fields)
		}
		line, _ := c.FieldPos(0)
		r := &measuredRow{file: path, line: line, ranks: ranks, rank: -1, args: slices.Clone(args)}
		columns := header
		if convert != nil {
			if columns, fields, err = convert.convert(header, fields); err == nil {
				err = checkColumns(columns, script)
			}
			if columns == nil && err == nil {
				continue
			}
		}
		if err == nil {
			err = r.fill(columns, fields, script)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.where(), err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: got no row behind the header", path)
	}
	return rows, nil
}

// errNoRanks is the error of runs of which nobody says how many ranks they had.
var errNoRanks = errors.New("got no column ranks (or gpus), want one, or -n for all rows")

// lineError returns the error of a line that is no row: fields are what it has, in place
// of those of header.
func lineError(path string, err error, header, fields []string) error {
	var bad *csv.ParseError
	switch {
	case !errors.As(err, &bad):
		return fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("%s:%d: got %s, want %d: %s", path, bad.Line, units.Count(len(fields), "field"), len(header), strings.Join(header, ", "))
	}
	return fmt.Errorf("%s:%d:%d: %w", path, bad.Line, bad.Column, bad.Err)
}

// checkColumns returns an error for a column that is neither a measure nor a flag
// of the script.
func checkColumns(header []string, script *lang.Flags) error {
	for _, same := range sameMeasures {
		if slices.Contains(header, same[0]) && slices.Contains(header, same[1]) {
			return fmt.Errorf("got columns %q and %q, want one of them: both say the same", same[0], same[1])
		}
	}
	names := script.Names()
	for m := range measures {
		names = append(names, m)
	}
	slices.Sort(names)
	for _, h := range header {
		if measures[h] != nil || script.Computed || script.Find(flagOf(h)) != nil {
			continue
		}
		near := ", want one of " + strings.Join(names, ", ") + " (--convert FILE.star makes them of other columns)"
		if n := spell.Nearest(flagOf(h), names); n != "" {
			near = ": did you mean " + n + "?"
		}
		return fmt.Errorf("column %q is no flag of the script%s", h, near)
	}
	return nil
}

// flagOf returns the flag that a column stands for.
func flagOf(column string) string { return strings.ReplaceAll(column, "_", "-") }

// fill takes over the fields of a line.
func (r *measuredRow) fill(header, fields []string, script *lang.Flags) error {
	for i, h := range header {
		text := strings.TrimSpace(fields[i])
		set := measures[h]
		switch {
		case missing(text) || set != nil && text == "-":
			continue // not measured, or the flag's default
		case set == nil:
			r.args = append(r.args, flagWords(flagOf(h), text, script)...)
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err == nil && (v < 0 || v == 0 && h != "rank" || math.IsInf(v, 0) || math.IsNaN(v)) {
			err = errors.New("want a positive number")
		} else if err != nil {
			err = errors.New("want a number")
		} else {
			err = set(r, v)
		}
		if err != nil {
			return fmt.Errorf("column %s: got %q, %w", h, text, err)
		}
	}
	if r.ranks == 0 {
		return errNoRanks
	}
	if r.rank >= r.ranks {
		return fmt.Errorf("column rank: got %d, want one of the %d ranks, from 0", r.rank, r.ranks)
	}
	return nil
}

// missing reports whether a field says that there is nothing: it is empty, or what
// tables have for that.
func missing(text string) bool {
	switch strings.ToLower(text) {
	case "", "na", "n/a", "nan", "null":
		return true
	}
	return false
}

// flagWords returns a flag with its value as a command line has it.
func flagWords(name, text string, script *lang.Flags) []string {
	f := script.Find(name)
	if f != nil && f.Kind == "int" {
		// A table with empty fields may have whole numbers as 8.0.
		if v, err := strconv.ParseFloat(text, 64); err == nil && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			text = strconv.FormatInt(int64(v), 10)
		}
	}
	if f == nil || f.Kind != "" {
		return []string{"--" + name, text}
	}
	switch strings.ToLower(text) {
	case "true", "yes", "1", "1.0":
		return []string{"--" + name}
	case "false", "no", "0", "0.0":
		return []string{"--no-" + name}
	}
	return []string{"--" + name + "=" + text} // which is an error that says so
}

// evaluateRows evaluates the script for every row, once for rows that ask the same. A
// row that the script refuses has the reason.
func evaluateRows(ctx context.Context, std *stdio, q question, rows []*measuredRow) error {
	first := map[string]*measuredRow{}
	var distinct []*measuredRow
	for _, r := range rows {
		if first[r.asks()] == nil {
			first[r.asks()] = r
			distinct = append(distinct, r)
		}
	}
	err := several(std, "evaluating", len(distinct), "row", func(i int) error { return distinct[i].evaluate(ctx, q) })
	for _, r := range rows {
		r.program, r.refused = first[r.asks()].program, first[r.asks()].refused
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// asks is the same for rows of which the same is to be evaluated.
func (r *measuredRow) asks() string {
	return fmt.Sprintf("%d %t %q", r.ranks, r.seconds > 0, r.args)
}

// evaluated returns the rows that have been: all unless it was interrupted.
func evaluated(rows []*measuredRow) (done []*measuredRow) {
	for _, r := range rows {
		if r.program != nil || r.refused != nil {
			done = append(done, r)
		}
	}
	return done
}

// evaluate evaluates the script for the row. Of a row of which no time was measured
// only the memory is kept: what hundreds of ranks do is too much to hold for hundreds
// of rows.
func (r *measuredRow) evaluate(ctx context.Context, q question) error {
	if ctx.Err() != nil {
		return nil // which who asks for the rows reports once
	}
	q.Args, q.Ranks = r.args, r.ranks
	program, err := shortest(ctx, q, r.seconds > 0)
	var refused *refusal
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &refused):
		r.refused = err
	case err != nil:
		return fmt.Errorf("%s: %w", r.where(), err)
	}
	if program != nil && r.seconds == 0 {
		program.KeepMemory()
	}
	r.program = program
	return nil
}

// paceLaps are the laps of a program that a row's time is told from: those that fill a
// pipeline, some in which it finds its pace, and two to measure it.
const paceLaps = 8

// shortest evaluates q, of which the time or the memory alone is asked for, with as few
// micro-batches as tell it.
func shortest(ctx context.Context, q question, time bool) (*plan.Program, error) {
	q.Laps, q.Brief = 1, true
	if time {
		q.Laps = paceLaps
	}
	p, err := evaluate(ctx, q)
	if err == nil && p.TooBrief() {
		q.Brief = false
		p, err = evaluate(ctx, q)
	}
	if err == nil && time && p.Uneven() {
		q.Laps = 0
		p, err = evaluate(ctx, q)
	}
	return p, err
}

// samplesOf returns the rows that were not refused, as samples.
func samplesOf(rows []*measuredRow) (taken []*measuredRow, samples []fit.Sample) {
	for _, r := range rows {
		if r.refused != nil {
			continue
		}
		taken = append(taken, r)
		samples = append(samples, fit.Sample{Seconds: r.seconds, Bytes: r.bytes, Predict: r.predictor()})
	}
	return taken, samples
}
