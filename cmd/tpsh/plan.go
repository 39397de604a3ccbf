package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tpsh/cmd/tpsh/report"
	"tpsh/internal/spell"
	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

var planCommand = &command{
	name:    "plan",
	usage:   "[-n N] [--hw FILE|NAME] [--json] SCRIPT.star [-- ARGS] | hw | fit | check",
	short:   "says what a script costs at any scale, without running it",
	files:   ".star",
	actions: planActions,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		p := &planner{flags: fs}
		fs.IntVar(&p.n, "n", defaultRanks(), "plan for `N` ranks")
		fs.StringVar(&p.machine, "hw", hereName, "on the hardware of `NAME`, a built-in one or a file")
		fs.BoolVar(&p.each, "each", false, "play every rank by itself, and not one for all that do the same")
		fs.BoolVar(&p.json, "json", false, "print the figures as JSON, and nothing else")
		fs.Var(&p.sweeps, "sweep", "plan with each of the values of a flag of the script, `NAME=V,…`; of several flags with every combination")
		fs.StringVar(&p.rowsFile, "rows", "", "fit, check: the measured runs of `FILE.csv`, whose columns are flags of the script, ranks (or gpus), seconds (or milliseconds), gigabytes")
		fs.StringVar(&p.convertFile, "convert", "", "fit, check: make flags and measures of the rows' columns by row(r) of `FILE.star`")
		fs.StringVar(&p.outFile, "o", "", "fit: write the fitted hardware to `FILE.toml`")
		fs.StringVar(&p.constants, "constants", "", "fit: change `NAMES` alone (as share.top,issue)")
		fs.IntVar(&p.most, "most", 0, "fit: change `N` constants at most (0: one for three measurements, 10 at most)")
		fs.IntVar(&p.draw, "draw", 0, "fit: fit to `N` of the rows, drawn by --seed, and say how well that foretells the others")
		fs.IntVar(&p.draws, "draws", 1, "fit: draw `TIMES`")
		fs.StringVar(&p.page, "report", "", "write a page about the plan to `FILE.html`")
		fs.StringVar(&p.chakra, "chakra", "", "write what ranks do as execution traces of MLCommons Chakra into the folder `DIR`: of each of up to 16 ranks, or with --each of more, else of one of each kind")
		p.limits.declare(fs)
		return p.run
	},
}

// A planner is one `tpsh plan`.
type planner struct {
	limits
	flags      *flag.FlagSet
	n          int
	machine    string
	each, json bool
	page       string
	chakra     string

	sweeps                                    sweeps
	rowsFile, convertFile, outFile, constants string
	most, draw, draws                         int
}

// planActions are what plan does besides planning a script.
var planActions = []string{"hw", "fit", "check"}

// takenBy says of flags what takes them: "" for the plan of a script.
var takenBy = map[string][]string{
	"rows": {"fit", "check"}, "convert": {"fit", "check"}, "o": {"fit"}, "constants": {"fit"}, "most": {"fit"}, "draw": {"fit"}, "draws": {"fit"},
	"sweep": {""}, "each": {""}, "report": {""}, "chakra": {""}, "json": {"", "fit", "check"}, "hw": {"", "fit", "check"}, "n": {"", "fit", "check"},
}

// checkTaken returns a usage error if a flag is given that has no meaning.
func (p *planner) checkTaken(args []string) (err error) {
	action := ""
	if len(args) > 0 && slices.Contains(planActions, args[0]) {
		action = args[0]
	}
	p.flags.Visit(func(f *flag.Flag) {
		by := takenBy[f.Name]
		if by == nil || slices.Contains(by, action) || err != nil {
			return
		}
		here := "a plan of a script does not take it"
		if action != "" {
			here = "plan " + action + " does not take it"
		}
		var takers []string
		for _, name := range by {
			takers = append(takers, strings.TrimSpace("plan "+name))
		}
		err = usagef("for flag %s: %s, %s does", dashed(f.Name), here, orList(takers))
	})
	return err
}

// given reports whether the flag is on the command line.
func (p *planner) given(name string) bool { return given(p.flags, name) }

// checkAction returns a usage error if the first argument is no script and a misspelling
// of what plan does besides.
func checkAction(args []string) error {
	if len(args) == 0 || filepath.Ext(args[0]) != "" || slices.Contains(planActions, args[0]) {
		return nil
	}
	if _, err := os.Stat(args[0]); err == nil {
		return nil
	}
	if near := spell.Nearest(args[0], planActions); near != "" {
		return usagef("there is no file %s, and no plan %s: did you mean plan %s?", args[0], args[0], near)
	}
	return nil
}

func (p *planner) run(std *stdio, args []string) error {
	if err := checkAction(args); err != nil {
		return err
	}
	if err := p.checkTaken(args); err != nil {
		return err
	}
	if err := p.checkPage(); err != nil {
		return err
	}
	if err := p.checkChakra(); err != nil {
		return err
	}
	if len(args) > 0 {
		switch args[0] {
		case "hw":
			return p.hardware(std, args[1:])
		case "fit", "check":
			return p.fit(std, args[0], args[1:])
		}
	}
	if err := checkRanks(p.n); err != nil {
		return err
	}
	if err := p.limits.check(); err != nil {
		return err
	}
	script, rest, err := scriptArguments("plan", args)
	if err != nil {
		return err
	}
	m, err := p.loadMachine(std)
	if err != nil {
		return err
	}
	q := question{Script: script, Args: rest, Ranks: p.n, Each: p.each, Notes: std.err, Limits: &p.limits, Watch: watchMemory(int(p.maxMem), 1)}
	if len(p.sweeps) > 0 {
		return p.sweep(std, m, q)
	}
	q.Typed = true
	ctx, done := interruptible()
	defer done()
	if !p.json {
		q.Out = std.out
	}
	program, err := evaluate(ctx, q)
	if err != nil {
		return tellRefusal(std.err, err)
	}
	f, err := p.play(std, program, m, script)
	if err != nil {
		return err
	}
	if p.each {
		tellByKinds(program, m, f)
	}
	f.Without = program.Without(m)
	if err := p.report(script, m, f); err != nil {
		return err
	}
	return p.show(std.out, m, f)
}

// tellByKinds has the figures of ranks that were played each by itself speak of kinds, as
// those of a plan by kinds do.
func tellByKinds(program *plan.Program, m *hardware.Machine, f *plan.Figures) {
	program.Merge()
	byKinds := program.Play(m)
	f.Kinds, f.ToldApart, f.CriticalPath = byKinds.Kinds, byKinds.ToldApart, byKinds.CriticalPath
}

// checkPage returns a usage error if a page is asked for that cannot be written, or of
// a sweep.
func (p *planner) checkPage() error {
	switch {
	case p.page == "":
		return nil
	case len(p.sweeps) > 0:
		return usagef("for flag --report: a sweep has no page: plan with the values that it has found")
	}
	return checkTarget("--report", p.page)
}

// report writes the page about a plan, if one is asked for.
func (p *planner) report(script string, m *hardware.Machine, f *plan.Figures) error {
	if p.page == "" {
		return nil
	}
	r := &report.Report{Kind: "plan", Title: filepath.Base(script), Command: commandLine(), Sources: map[string]string{}, Plan: f, Machine: m.Name}
	for _, row := range f.Communication {
		addSource(r.Sources, row.Where)
	}
	return writeReport(p.page, r)
}

func (p *planner) show(w io.Writer, m *hardware.Machine, f *plan.Figures) error {
	if p.json {
		return writeJSON(w, planJSON{f, m.Name, m.Among(f.Ranks).Room(), f.Steps, f.Slowest, f.Fullest, pathInWords(&f.CriticalPath), advice(f, m)})
	}
	return showFigures(w, m, f)
}

// A planJSON is what --json prints of a plan: its figures, and what the page on the terminal
// says besides.
type planJSON struct {
	*plan.Figures
	Hardware     string   `json:"hardware"`
	Room         int64    `json:"room"` // bytes that a rank's program can have
	Step         int      `json:"step"` // that the figures are of; 0 for the whole script
	Slowest      int      `json:"slowest"`
	Fullest      int      `json:"fullest"`
	CriticalPath string   `json:"critical_path"`
	Try          []string `json:"try"`
}

// scriptArguments returns the script, and what stands behind --, of a command's
// arguments.
func scriptArguments(command string, args []string) (script string, rest []string, err error) {
	switch {
	case len(args) == 0:
		return "", nil, usagef("%s: got no script, want SCRIPT.star", command)
	case len(args) > 1 && args[1] != "--":
		return "", nil, usagef("%s: got argument %q behind the script, want arguments of the script behind --", command, args[1])
	case len(args) > 1:
		rest = args[2:]
	}
	return args[0], rest, nil
}
