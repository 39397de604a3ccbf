package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"tpsh/internal/units"
	"tpsh/runtime/hardware"
	"tpsh/runtime/hardware/fit"
	"tpsh/runtime/plan"
)

// predictor returns what a fit asks of the program of a row. It is played only if
// seconds were measured.
func (r *measuredRow) predictor() func(m *hardware.Machine) (seconds, bytes float64) {
	return func(m *hardware.Machine) (float64, float64) {
		if r.seconds == 0 {
			return 0, r.reserved(m)
		}
		return r.program.Seconds(m), r.reserved(m)
	}
}

// reserved returns the bytes that the rank of the row has of m: no more than there are,
// for what was measured did run. A library that has no more gives back what it holds
// beside what it needs.
func (r *measuredRow) reserved(m *hardware.Machine) float64 {
	memory := r.program.Fullest
	if r.rank >= 0 {
		memory = func(m *hardware.Machine) plan.Fit { return r.program.On(m, r.rank) }
	}
	return float64(min(memory(m).Peak, m.Among(r.ranks).Room()))
}

// fit carries out plan fit, and plan check if there is nothing to be fitted.
func (p *planner) fit(std *stdio, action string, args []string) error {
	script, rest, err := scriptArguments("plan "+action, args)
	if err != nil {
		return err
	}
	if p.rowsFile == "" {
		return usagef("plan %s: got no --rows FILE.csv, want the runs to go by", action)
	}
	if err := p.checkFit(); err != nil {
		return err
	}
	ranks := 0 // which rows must say
	if p.given("n") {
		ranks = p.n
		if err := checkRanks(ranks); err != nil {
			return err
		}
	}
	text, err := machineText(p.machine)
	if err != nil {
		return fmt.Errorf("for flag --hw: %w", err)
	}
	m, err := p.loadMachine(std)
	if err != nil {
		return err
	}
	flags, err := flagsOf(script)
	if err != nil {
		return err
	}
	convert, err := readConversion(p.convertFile)
	if err != nil {
		return fileError{err}
	}
	rows, err := readRows(p.rowsFile, flags, ranks, rest, convert)
	if err != nil {
		return fileError{err}
	}
	ctx, done := interruptible()
	defer done()
	stopped := evaluateRows(ctx, std, question{Script: script, Limits: &p.limits, Watch: watchMemory(int(p.maxMem), 1)}, rows)
	if stopped == errInterrupted {
		action, rows = "check", evaluated(rows) // the report is of the rows that have been evaluated
	}
	if stopped != nil && (stopped != errInterrupted || len(rows) == 0) {
		return stopped
	}
	taken, samples := samplesOf(rows)
	r := &fitReport{rows: rows, taken: taken, before: m}
	if p.draw > 0 {
		return showDraws(ctx, std, m, taken, samples, p)
	}
	if len(samples) > 0 {
		err := r.run(ctx, action, m, samples, p)
		if err != nil && ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.rowsFile, err)
		}
	}
	if err := r.show(std, p.json); err != nil {
		return err
	}
	if stopped != nil {
		return stopped
	}
	if r.fitted != nil && p.outFile != "" {
		if err := r.write(std, p.outFile, text, p.rowsFile); err != nil {
			return err
		}
	}
	return r.refusals(p.rowsFile)
}

// checkFit returns a usage error if a number of a fit makes no sense.
func (p *planner) checkFit() error {
	switch {
	case p.most < 0:
		return usagef("for flag --most: got %d, want the most constants that are changed, or 0 for one for three measurements", p.most)
	case p.draw < 1 && p.given("draw"):
		return usagef("for flag --draw: got %d, want 1 or more rows to fit to", p.draw)
	case p.draws < 1:
		return usagef("for flag --draws: got %d, want 1 or more", p.draws)
	case p.given("draws") && p.draw == 0:
		return usagef("for flag --draws: got no --draw N, want the number of rows that are drawn each time")
	}
	return checkTarget("-o", p.outFile)
}

// A fitReport is what plan fit and plan check have found.
type fitReport struct {
	rows, taken []*measuredRow
	before      *hardware.Machine
	errors      []fit.Error
	fitted      *fit.Result // nil in a check
}

func (r *fitReport) run(ctx context.Context, action string, m *hardware.Machine, samples []fit.Sample, p *planner) error {
	if action == "check" {
		r.errors = fit.Check(m, samples)
		return nil
	}
	var err error
	if r.fitted, err = fit.Fit(ctx, m, samples, p.fitOptions()); err == nil {
		r.errors = r.fitted.Errors
	}
	return err
}

func (p *planner) fitOptions() fit.Options {
	o := fit.Options{Most: p.most}
	if p.constants != "" {
		o.Constants = strings.Split(p.constants, ",")
	}
	return o
}

// A rowFigure is what is said of a row.
type rowFigure struct {
	Line      int      `json:"line"`
	Ranks     int      `json:"ranks"`
	Flags     string   `json:"flags"`
	Quantity  string   `json:"quantity,omitempty"` // seconds or gigabytes
	Measured  float64  `json:"measured,omitempty"`
	Predicted float64  `json:"predicted,omitempty"`
	Error     float64  `json:"error"`
	LeftOut   *float64 `json:"left_out,omitempty"`
	Memory    int64    `json:"memory,omitempty"` // bytes of the fullest rank
	Fits      *bool    `json:"fits,omitempty"`   // whether the machine has them
	Refused   string   `json:"refused,omitempty"`
}

// A fitFigure is what is said of all rows of a quantity.
type fitFigure struct {
	Quantity string   `json:"quantity"`
	Rows     int      `json:"rows"`
	Mean     float64  `json:"mean"`
	LeftOut  *float64 `json:"left_out,omitempty"`
	Spearman *float64 `json:"spearman,omitempty"` // nil where all rows are alike
}

// A constantFigure is what has become of a constant.
type constantFigure struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Unit string  `json:"unit"`
	doc  string
}

// quantities are what rows measure.
var quantities = []struct {
	name     string
	measured func(r *measuredRow) float64
	of       func(e fit.Error) float64
}{
	{"seconds", func(r *measuredRow) float64 { return r.seconds }, func(e fit.Error) float64 { return e.Seconds }},
	{"gigabytes", func(r *measuredRow) float64 { return r.bytes / 1e9 }, func(e fit.Error) float64 { return e.Bytes }},
}

// figures sums up the report.
func (r *fitReport) figures() (rows []rowFigure, all []fitFigure, constants []constantFigure) {
	for _, q := range quantities {
		one := fitFigure{Quantity: q.name}
		var measured, predicted, errors, left []float64
		for i, row := range r.taken {
			e := q.of(r.errors[i])
			if math.IsNaN(e) {
				continue
			}
			v := q.measured(row)
			f := rowFigure{Line: row.line, Ranks: row.ranks, Flags: strings.Join(row.args, " "), Quantity: q.name, Measured: v, Predicted: v * (1 + e), Error: e}
			measured, predicted, errors = append(measured, v), append(predicted, v*(1+e)), append(errors, e)
			if r.fitted != nil {
				out := q.of(r.fitted.LeftOut[i])
				f.LeftOut, left = &out, append(left, out)
			}
			rows = append(rows, f)
		}
		if len(errors) == 0 {
			continue
		}
		one.Rows, one.Mean = len(errors), fit.Mean(errors)
		if s := fit.Spearman(predicted, measured); !math.IsNaN(s) {
			one.Spearman = &s
		}
		if left != nil {
			mean := fit.Mean(left)
			one.LeftOut = &mean
		}
		all = append(all, one)
	}
	return r.memories(rows), all, r.constants()
}

// memories says of each row how much memory it takes and whether that fits, and
// adds the rows of which nothing was measured, and those that are refused.
func (r *fitReport) memories(rows []rowFigure) []rowFigure {
	machine := r.machine()
	for _, row := range r.rows {
		at := slices.IndexFunc(rows, func(f rowFigure) bool { return f.Line == row.line })
		if at < 0 {
			at = len(rows)
			rows = append(rows, rowFigure{Line: row.line, Ranks: row.ranks, Flags: strings.Join(row.args, " ")})
		}
		if row.refused != nil {
			rows[at].Refused = row.refused.Error()
			continue
		}
		memory := row.program.Fullest(machine)
		rows[at].Memory, rows[at].Fits = memory.Peak, &memory.Fits
	}
	return rows
}

func (r *fitReport) constants() []constantFigure {
	list := []constantFigure{}
	if r.fitted == nil {
		return list
	}
	for _, c := range r.before.Constants() {
		if v, ok := r.fitted.Values[c.Name]; ok {
			list = append(list, constantFigure{c.Name, c.Value(r.before), v, c.Unit, c.Doc})
		}
	}
	return list
}

// A fittingFigure is how many rows fit.
type fittingFigure struct {
	Rows    int   `json:"rows"`
	Fit     int   `json:"fit"`
	TooBig  int   `json:"too_big"`
	Refused int   `json:"refused"`
	Room    int64 `json:"room"` // bytes that a rank's program can have
}

// fitting counts the rows that fit.
func (r *fitReport) fitting() fittingFigure {
	m := r.machine()
	f := fittingFigure{Rows: len(r.rows), Room: m.Room()}
	for _, row := range r.rows {
		switch {
		case row.refused != nil:
			f.Refused++
		case row.program.Fullest(m).Fits:
			f.Fit++
		default:
			f.TooBig++
		}
	}
	return f
}

// machine returns the machine that the report speaks of.
func (r *fitReport) machine() *hardware.Machine {
	if r.fitted != nil {
		return r.fitted.Machine
	}
	return r.before
}

// show prints the report.
func (r *fitReport) show(std *stdio, asJSON bool) error {
	rows, all, constants := r.figures()
	fitting := r.fitting()
	if asJSON {
		return writeJSON(std.out, map[string]any{"rows": rows, "errors": all, "constants": constants, "fitting": fitting})
	}
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	left := ""
	if r.fitted != nil {
		left = "left out\t"
	}
	fmt.Fprintf(tw, "line\tranks\tmeasured\tpredicted\terror\t%s  flags\n", left)
	for _, f := range rows {
		if f.Refused == "" && f.Quantity == "" {
			fmt.Fprintf(tw, "%d\t%d\t\t%s\t\t%s  %s\n", f.Line, f.Ranks, quantityText("gigabytes", float64(f.Memory)/1e9), strings.Repeat("\t", strings.Count(left, "\t")), f.Flags+f.unfit())
			continue
		}
		if f.Refused != "" {
			fmt.Fprintf(tw, "%d\t%d\t\trefused\t\t%s  %s\n", f.Line, f.Ranks, strings.Repeat("\t", strings.Count(left, "\t")), f.Refused)
			continue
		}
		left := ""
		if f.LeftOut != nil {
			left = percent(*f.LeftOut) + "\t"
		}
		fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%s\t%s  %s\n", f.Line, f.Ranks, quantityText(f.Quantity, f.Measured), quantityText(f.Quantity, f.Predicted), percent(f.Error), left, f.Flags+f.unfit())
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if err := showFit(std, all, constants); err != nil {
		return err
	}
	if fitting.TooBig+fitting.Refused > 0 || len(all) == 0 {
		fmt.Fprintf(std.out, "\n%d of %s fit in %s a rank, %d are too big and %d refused\n", fitting.Fit, units.Count(fitting.Rows, "row"), quantityText("gigabytes", float64(fitting.Room)/1e9), fitting.TooBig, fitting.Refused)
	}
	return nil
}

// unfit is what is said of a row that needs more memory than there is.
func (f *rowFigure) unfit() string {
	if f.Fits == nil || *f.Fits {
		return ""
	}
	return " (does not fit)"
}

func showFit(std *stdio, all []fitFigure, constants []constantFigure) error {
	for _, f := range all {
		fmt.Fprintf(std.out, "\n%s of %s: mean error %.1f %%", f.Quantity, units.Count(f.Rows, "row"), 100*f.Mean)
		if f.LeftOut != nil {
			fmt.Fprintf(std.out, ", of rows left out in turn %.1f %%", 100**f.LeftOut)
		}
		if f.Spearman != nil {
			fmt.Fprintf(std.out, "; rank correlation %.3f", *f.Spearman)
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(std.out)
	}
	if len(constants) == 0 {
		return nil
	}
	fmt.Fprintf(std.out, "\n%s fitted:\n", units.Count(len(constants), "constant"))
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, c := range constants {
		fmt.Fprintf(tw, "  %s\t%.4g\tfrom %.4g\t%s %s\n", c.Name, c.To, c.From, c.Unit, c.doc)
	}
	return tw.Flush()
}

func percent(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func quantityText(quantity string, v float64) string {
	switch {
	case quantity == "gigabytes":
		return fmt.Sprintf("%.4g GB", v)
	case v < 1:
		return fmt.Sprintf("%.4g ms", 1e3*v)
	}
	return fmt.Sprintf("%.4g s", v)
}

// refusals returns an error if the script has refused rows.
func (r *fitReport) refusals(file string) error {
	n := len(r.rows) - len(r.taken)
	if n == 0 {
		return nil
	}
	for _, row := range r.rows {
		if row.refused != nil {
			return fmt.Errorf("the script refuses %s of %s, the first of them %s: %w", units.Count(n, "row"), file, row.where(), row.refused)
		}
	}
	return nil
}

// write writes the fitted machine: the file it came from, with other values.
func (r *fitReport) write(std *stdio, path string, text []byte, rows string) error {
	var changes []hardware.Change
	for _, c := range r.constants() {
		changes = append(changes, hardware.Change{Name: c.Name, Value: c.To,
			Comment: fmt.Sprintf("%s %s: fitted to %s of %s, from %.4g", c.Unit, c.doc, units.Count(len(r.taken), "row"), filepath.Base(rows), c.From)})
	}
	out, err := hardware.Rewrite(text, changes)
	if err != nil {
		return err
	}
	if err := unwritten(path, os.WriteFile(path, out, 0o644)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.err, "tpsh: wrote %s\n", path)
	return err
}
