package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"text/tabwriter"

	"tpsh/internal/units"
	"tpsh/runtime/hardware"
	"tpsh/runtime/hardware/fit"
)

// A drawFigure is how well a fit to rows drawn from all foretells the others.
type drawFigure struct {
	Quantity  string             `json:"quantity"`
	Fitted    int                `json:"fitted"`
	Others    int                `json:"others"`
	Mean      *float64           `json:"mean,omitempty"` // of the rows fitted to; nil where none of them has it
	LeftOut   float64            `json:"left_out"`
	Spearman  *float64           `json:"spearman,omitempty"` // of the others; nil where they are alike
	Constants map[string]float64 `json:"constants"`
	Rows      []rowFigure        `json:"rows"` // the others
}

// showDraws draws rows, fits to them and checks the others, several times.
func showDraws(ctx context.Context, std *stdio, m *hardware.Machine, taken []*measuredRow, samples []fit.Sample, p *planner) error {
	if p.draw >= len(samples) {
		return usagef("for flag --draw: got %d, and the script takes %s of %s, want fewer, so that some are left to check the fit by",
			p.draw, units.Count(len(samples), "row"), p.rowsFile)
	}
	var all []drawFigure
	bar := newBar(std.err, "fitting", int64(p.draws), "draw")
	defer bar.clear()
	for k := range p.draws {
		rng := rand.New(rand.NewPCG(uint64(p.limits.seed), uint64(k)))
		order := rng.Perm(len(samples))
		figures, err := drawn(ctx, m, taken, samples, order, p)
		if err != nil && ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.rowsFile, err)
		}
		all = append(all, figures...)
		bar.show(int64(k + 1))
	}
	bar.clear()
	if p.json {
		return writeJSON(std.out, map[string]any{"draws": all})
	}
	return tellDraws(std, all)
}

// drawn fits to the first p.draw rows of order and checks the others.
func drawn(ctx context.Context, m *hardware.Machine, taken []*measuredRow, samples []fit.Sample, order []int, p *planner) (out []drawFigure, err error) {
	pick := func(order []int) (rows []*measuredRow, list []fit.Sample) {
		for _, i := range order {
			rows, list = append(rows, taken[i]), append(list, samples[i])
		}
		return rows, list
	}
	_, in := pick(order[:p.draw])
	rows, rest := pick(order[p.draw:])
	r, err := fit.Fit(ctx, m, in, p.fitOptions())
	if err != nil {
		return nil, err
	}
	others := &fitReport{rows: rows, taken: rows, before: r.Machine, errors: fit.Check(r.Machine, rest)}
	list, sums, _ := others.figures()
	for _, sum := range sums {
		d := drawFigure{Quantity: sum.Quantity, Others: sum.Rows, LeftOut: sum.Mean, Spearman: sum.Spearman, Constants: r.Values}
		for _, q := range quantities {
			if q.name != sum.Quantity {
				continue
			}
			var fitted []float64
			for _, e := range r.Errors {
				if v := q.of(e); !math.IsNaN(v) {
					fitted = append(fitted, v)
				}
			}
			if d.Fitted = len(fitted); d.Fitted > 0 {
				mean := fit.Mean(fitted)
				d.Mean = &mean
			}
		}
		for _, f := range list {
			if f.Quantity == sum.Quantity {
				d.Rows = append(d.Rows, f)
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// tellDraws prints a line for each draw, and their means.
func tellDraws(std *stdio, all []drawFigure) error {
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "quantity\tfitted to\tmean error\tothers\tmean error\trank correlation\tconstants")
	sums := map[string][]drawFigure{}
	for _, d := range all {
		mean := "-"
		if d.Mean != nil {
			mean = fmt.Sprintf("%.1f %%", 100**d.Mean)
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%d\t%.1f %%\t%s\t%d\n", d.Quantity, d.Fitted, mean, d.Others, 100*d.LeftOut, correlation(d.Spearman), len(d.Constants))
		sums[d.Quantity] = append(sums[d.Quantity], d)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, q := range quantities {
		list := sums[q.name]
		if len(list) == 0 {
			continue
		}
		left := 0.0
		for _, d := range list {
			left += d.LeftOut / float64(len(list))
		}
		fmt.Fprintf(std.out, "\n%s of rows left out, %s: mean error %.1f %%\n", q.name, units.Count(len(list), "draw"), 100*left)
	}
	return nil
}

// correlation is a rank correlation in a table.
func correlation(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}
