package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tpsh/internal/units"
	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

// showFigures prints the page that a plan is.
func showFigures(w io.Writer, m *hardware.Machine, f *plan.Figures) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	of := "the whole script: it marks no step"
	if f.Steps > 0 {
		of = fmt.Sprintf("step %d, the last whole one", f.Steps)
	}
	fmt.Fprintf(tw, "plan\t%s of %s on %s\n", units.Count(f.Ranks, "rank"), units.Count(f.Kinds, "kind"), m.Name)
	fmt.Fprintf(tw, "step\t%s\t%s\n", seconds(f.StepSeconds), of)
	for _, part := range []struct {
		name string
		s    float64
		what string
	}{
		{"  arithmetic", f.Seconds.Arithmetic, "of rank " + fmt.Sprint(f.Slowest) + ", the slowest"},
		{"  communication", f.Seconds.Communication, "that nothing hides"},
		{"  bubble", f.Seconds.Bubble, "of the pipeline"},
		{"  waiting", f.Seconds.Waiting, "for other ranks"},
	} {
		fmt.Fprintf(tw, "%s\t%s\t%4.1f %% %s\n", part.name, seconds(part.s), 100*part.s/max(f.StepSeconds, 1e-30), part.what)
	}
	fmt.Fprintf(tw, "FLOPs\t%s\t%.4g TFLOP/s a rank, MFU %.1f %%, HFU %.1f %%\n", short(f.FLOPs, ""), f.TFLOPsPerRank, 100*f.MFU, 100*f.HFU)
	fmt.Fprintf(tw, "parameters\t%s\n", short(float64(f.Parameters), ""))
	showMemory(tw, m, f)
	showCalls(tw, f)
	fmt.Fprintf(tw, "critical path\t%s\n", pathInWords(&f.CriticalPath))
	if len(f.Joint) > 0 {
		fmt.Fprintf(tw, "not split\t%s: gradients of weights come with those of inputs\n", strings.Join(f.Joint, ", "))
	}
	for _, line := range f.ToldApart {
		fmt.Fprintf(tw, "told apart\t%s\n", line)
	}
	for _, line := range advice(f, m) {
		fmt.Fprintf(tw, "try\t%s\n", line)
	}
	return tw.Flush()
}

func showMemory(w io.Writer, m *hardware.Machine, f *plan.Figures) {
	fits := "fits"
	if !f.Memory.Fits {
		fits = "does not fit"
	}
	fmt.Fprintf(w, "memory\t%s\tof rank %d, the fullest; %s in %s\n", sized(f.Memory.Peak), f.Fullest, fits, sized(m.Among(f.Ranks).Room()))
	for _, part := range []struct {
		name  string
		bytes int64
	}{
		{"parameters", f.Memory.Parameters}, {"gradients", f.Memory.Gradients}, {"optimizer", f.Memory.Optimizer},
		{"activations", f.Memory.Activations}, {"temporaries", f.Memory.Temporaries}, {"communication", f.Memory.Communication},
	} {
		fmt.Fprintf(w, "  %s\t%s\n", part.name, sized(part.bytes))
	}
}

// mostRows is how many lines that communicate are shown.
const mostRows = 12

func showCalls(w io.Writer, f *plan.Figures) {
	if len(f.Communication) == 0 {
		return
	}
	fmt.Fprintf(w, "communication\tdims\tcalls\tbytes\ttime\thidden\twhere\n")
	for i, r := range f.Communication {
		if i == mostRows {
			fmt.Fprintf(w, "  and %d more\n", len(f.Communication)-i)
			return
		}
		fmt.Fprintf(w, "  %s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.Op, r.Dims, r.Calls, sized(r.Bytes), seconds(r.Seconds), seconds(r.HiddenSeconds), r.Where)
	}
}

// mostStretches is how many ranks of a path are named.
const mostStretches = 4

// pathInWords says on which ranks the critical path is, and where it changes from one
// to another.
func pathInWords(p *plan.Path) string {
	var parts []string
	for i, s := range p.Ranks {
		if i == mostStretches {
			parts = append(parts, fmt.Sprintf("%d kinds of ranks more", len(p.Ranks)-i))
			break
		}
		alike := ""
		if s.Alike > 1 {
			alike = fmt.Sprintf(" (as on %d more)", s.Alike-1)
		}
		parts = append(parts, fmt.Sprintf("%s on rank %d%s", seconds(s.Seconds), s.Rank, alike))
	}
	if p.Messages > 0 {
		parts = append(parts, seconds(p.Messages)+" between them")
	}
	text := strings.Join(parts, ", ")
	times := 0
	for _, c := range p.Changes {
		times += c.Times
	}
	if times > 0 {
		c, most := p.Changes[0], ""
		if c.Times < times {
			most = fmt.Sprintf(", %d of them", c.Times)
		}
		text += fmt.Sprintf("; it passes from rank to rank %s%s in %s at %s", units.Count(times, "time"), most, c.Op, c.Where)
	}
	return text
}

// seconds returns s as people read it.
func seconds(s float64) string {
	switch {
	case s < 1e-12: // what sums of times are off by
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.4g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.4g ms", s*1e3)
	}
	return fmt.Sprintf("%.4g s", s)
}

// sized returns n as people read it.
func sized(n int64) string { return short(float64(n), "B") }

// short returns v with a prefix for thousands.
func short(v float64, unit string) string {
	for _, p := range []struct {
		of   float64
		name string
	}{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.of {
			return fmt.Sprintf("%.4g %s%s", v/p.of, p.name, unit)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit))
}
