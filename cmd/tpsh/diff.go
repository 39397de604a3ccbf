package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"tpsh/builtins/rundiff"
	"tpsh/cmd/tpsh/tracediff"
	"tpsh/lang"
)

var diffCommand = &command{
	name:  "diff",
	usage: "REFERENCE CANDIDATE",
	short: "says where two runs part: the first tensor that differs by more than its dtype explains; of two traces or plans, what costs more",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		d := &differ{}
		fs.StringVar(&d.plan, "plan", "", "take the mesh and the placements of names from the script `FILE.star`: its globals mesh, placements and order")
		fs.Float64Var(&d.rtol, "rtol", 0, "let the rms of a difference be `R` of that of the reference, instead of what dtype and depth explain")
		fs.BoolVar(&d.json, "json", false, "write the finding as JSON")
		return d.run
	},
}

// A differ is one `tpsh diff`.
type differ struct {
	plan string
	rtol float64
	json bool
}

// diffKinds lists what tpsh diff compares: two paths of one kind. The first whose is says yes
// of both compares them.
var diffKinds = []struct {
	name string // in words
	is   func(path string) bool
	do   func(d *differ, std *stdio, a, b string) error
}{
	{"folders of tensors or files of them (.safetensors, .npz, .npy or .pt, whole or one a rank)", isRun, (*differ).folders},
	{"traces of tpsh run --trace, or plans of tpsh plan --json", tracediff.IsCosts, (*differ).costs},
}

func isRun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || rundiff.IsFile(path)
}

func (d *differ) run(std *stdio, args []string) error {
	if len(args) != 2 {
		return usagef("diff: got %d arguments, want REFERENCE CANDIDATE", len(args))
	}
	if d.rtol < 0 {
		return usagef("for flag --rtol: got %v, want a number that is not negative", d.rtol)
	}
	for _, path := range args {
		if _, err := os.Stat(path); err != nil {
			return filef("diff: %w", err)
		}
	}
	var names []string
	for _, k := range diffKinds {
		if k.is(args[0]) && k.is(args[1]) {
			return k.do(d, std, args[0], args[1])
		}
		names = append(names, k.name)
	}
	return usagef("diff: got %s and %s, want two %s", args[0], args[1], strings.Join(names, ", or two "))
}

// folders compares two folders or files of tensors.
func (d *differ) folders(std *stdio, ref, cand string) error {
	o := &rundiff.Options{Rtol: d.rtol}
	if d.plan != "" {
		n, err := rundiff.Ranks(ref, cand)
		if err != nil {
			return fileError{err}
		}
		if o.Plan, err = readDiffPlan(std, d.plan, n); err != nil {
			return err
		}
	}
	r, err := rundiff.Compare(ref, cand, o)
	if err != nil {
		return fileError{err}
	}
	return d.tell(std, r, r.Equal, func() error { return showDiff(std.out, r) })
}

// tell writes a report, as JSON or else by show, and returns the status that follows from it.
func (d *differ) tell(std *stdio, report any, equal bool, show func() error) error {
	err := error(nil)
	if d.json {
		err = writeJSON(std.out, report)
	} else {
		err = show()
	}
	if err == nil && !equal {
		err = status(lang.StatusFailed)
	}
	return err
}

// costs compares two traces, or two plans.
func (d *differ) costs(std *stdio, ref, cand string) error {
	if d.plan != "" || d.rtol != 0 {
		return usagef("diff: --plan and --rtol are for folders of tensors")
	}
	a, err := tracediff.Read(ref)
	if err != nil {
		return fileError{err}
	}
	b, err := tracediff.Read(cand)
	if err != nil {
		return fileError{err}
	}
	if a.Plan != b.Plan {
		return usagef("diff: got a trace and a plan, want two traces or two plans")
	}
	r := tracediff.Compare(a, b)
	return d.tell(std, r, r.Equal, func() error { return r.WriteText(std.out) })
}

// showDiff writes a report for people.
func showDiff(out io.Writer, r *rundiff.Report) error {
	if r.Equal {
		fmt.Fprintf(out, "equal: %s\n", r.Says)
	} else {
		fmt.Fprintf(out, "first difference: %s", *r.First)
		if r.Step != nil {
			fmt.Fprintf(out, ", step %d", *r.Step)
		}
		fmt.Fprintf(out, "\nkind: %s", *r.Kind)
		if r.Factor != nil {
			fmt.Fprintf(out, ", factor %.6g", *r.Factor)
		}
		if r.MeshDim != nil {
			fmt.Fprintf(out, ", mesh dim %s", *r.MeshDim)
		}
		if len(r.Ranks) > 0 {
			fmt.Fprintf(out, ", ranks %s", strings.Trim(fmt.Sprint(r.Ranks), "[]"))
		}
		fmt.Fprintf(out, "\n%s\n", r.Says)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "(%s)\n", note)
	}
	return diffTable(out, r)
}

// diffTable writes the table by layer, of the steps up to the first that differs, and the
// tensors that differ first.
func diffTable(out io.Writer, r *rundiff.Report) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\nstep\t\ttensors\tdiffer\tworst\tranks\n")
	for _, row := range r.Rows {
		if r.Step != nil && row.Step > *r.Step+1 {
			break
		}
		step := "-"
		if row.Step >= 0 {
			step = fmt.Sprint(row.Step)
		}
		worst := fmt.Sprintf("%.2g of what is expected", row.Worst)
		if row.Differ > 0 && row.Worst <= 1 {
			worst = "parts of what is expected"
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%s\n", step, row.Name, row.Tensors, row.Differ, worst, pictureOf(row.Ranks))
	}
	if err := tw.Flush(); err != nil || r.Equal {
		return err
	}
	fmt.Fprintln(tw, "\ntensor\tmax abs\tmax rel\trms\texpected\tplacement\tranks")
	list := slices.DeleteFunc(slices.Clone(r.Tensors), func(t rundiff.Tensor) bool { return !t.Differs })
	for i, t := range list {
		if i == 12 {
			fmt.Fprintf(tw, "and %d more\n", len(list)-i)
			break
		}
		fmt.Fprintf(tw, "%s\t%.3g\t%.3g\t%.3g\t%.3g\t%s\t%s\n", stepped(t), t.MaxAbs, t.MaxRel, t.Error, t.Expected, t.Placement+t.Note, pictureOf(t.Ranks))
	}
	return tw.Flush()
}

// stepped returns the name of a tensor with its step.
func stepped(t rundiff.Tensor) string {
	if t.Step == nil {
		return t.Name
	}
	return fmt.Sprintf("%s @%d", t.Name, *t.Step)
}

// pictureOf shows which ranks differ: one cell each.
func pictureOf(ranks []bool) string {
	var b strings.Builder
	for _, differs := range ranks {
		if differs {
			b.WriteByte('#')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}
