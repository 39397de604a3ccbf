package rundiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tpsh/runtime/ckpt"
)

// The kinds of differences.
const (
	MissingSum  = "missing sum"
	DoubleSum   = "double sum"
	MeanForSum  = "mean for sum"
	Factor      = "factor"
	WrongDim    = "wrong dim"
	Permuted    = "permuted"
	Transposed  = "transposed"
	Stale       = "stale"
	MissingPart = "missing part"
	Rounded     = "rounded"
	Other       = "other"
)

// A Report says where two runs part.
type Report struct {
	Equal   bool     `json:"equal"`
	First   *string  `json:"first"` // the name of the first tensor that differs
	Step    *int     `json:"step"`
	Kind    *string  `json:"kind"`
	Factor  *float64 `json:"factor"`   // of the candidate to the reference
	MeshDim *string  `json:"mesh_dim"` // its name, or its number
	Ranks   []int    `json:"ranks"`    // those that differ; none if all do, or the candidate has no ranks
	Tensors []Tensor `json:"tensors"`
	Says    string   `json:"says"` // the finding in a sentence
	Order   string   `json:"order"`
	Notes   []string `json:"notes"`

	Rows []Row `json:"-"`
}

// A Tensor is one that was compared.
type Tensor struct {
	Name      string  `json:"name"`
	Step      *int    `json:"step"`
	MaxAbs    float64 `json:"max_abs"`
	MaxRel    float64 `json:"max_rel"`  // relative to the largest magnitude
	Expected  float64 `json:"expected"` // of the rms of the difference, relative to that of the reference
	Error     float64 `json:"error"`    // that rms
	Differs   bool    `json:"differs"`
	Placement string  `json:"placement"`
	Note      string  `json:"note,omitempty"`
	Ranks     []bool  `json:"-"` // which differ
}

// A Row is a layer, or a class of tensors, in the table.
type Row struct {
	Step            int
	Name            string
	Tensors, Differ int
	Worst           float64 // error relative to what is expected
	Ranks           []bool
}

// Compare compares the tensors of two folders.
func Compare(ref, cand string, o *Options) (*Report, error) {
	d := &diffing{o: o}
	var err error
	if d.ref, err = open(ref); err != nil {
		return nil, err
	}
	defer d.ref.Close()
	if d.cand, err = open(cand); err != nil {
		return nil, err
	}
	defer d.cand.Close()
	if err := d.prepare(); err != nil {
		return nil, err
	}
	d.judge()
	d.summands()
	return d.report()
}

// summands decides of tensors of which the ranks hold summands whether that is how they are
// kept or a sum that is missing. It is missing where the plan says otherwise, where the
// same name is no summand in another step, and where what is computed later differs. Where
// all ranks hold the same, nothing was left to add up.
func (d *diffing) summands() {
	for _, p := range d.pairs {
		if !p.isSummand || !p.ok {
			continue
		}
		if given := d.o.Plan.rule(p.name); given != nil {
			if !slices.ContainsFunc(given, isPartial) {
				p.ok = false
			}
			continue
		}
		if p.fit.repeated() {
			p.ok = false
			continue
		}
		later, differ, sibling := 0, 0, 0
		for _, q := range d.pairs {
			switch {
			case q.name == p.name && q.ok && !q.isSummand:
				p.ok = false
			case q.place > p.place && (classOf(q.name) != classOf(p.name) || q.step > p.step || classOf(p.name) <= loss):
				later++
				if q.differs() && !q.isSummand {
					differ++
				}
			case q.step == p.step && classOf(q.name) == classOf(p.name) && q.ok && !q.isSummand && q.fit.l != nil:
				sibling++
			}
		}
		if differ > 0 || later == 0 && sibling > 0 {
			p.ok = false
		}
	}
}

// repeated reports whether the ranks that hold summands hold the same, and not nothing.
func (f *fit) repeated() bool {
	for _, dim := range f.l.partial() {
		for _, g := range f.l.groups(dim) {
			list := make([]*array, len(g))
			for i, at := range g {
				list[i] = f.c[at]
			}
			if !same(list) || list[0].maxAbs() == 0 {
				return false
			}
		}
	}
	return true
}

// report says what was found.
func (d *diffing) report() (*Report, error) {
	r := &Report{Equal: true, Order: d.order, Ranks: []int{}, Tensors: []Tensor{}, Notes: d.notes()}
	var differ []*pair
	for _, p := range d.pairs {
		r.Tensors = append(r.Tensors, d.row(p))
		if p.differs() {
			differ = append(differ, p)
		}
	}
	r.Rows = d.rows(r.Tensors)
	if len(differ) == 0 {
		r.Says = fmt.Sprintf("no tensor of %d differs by more than dtype and depth explain", len(d.pairs)) + d.unpaired()
		return r, nil
	}
	first := firstOf(differ)
	f, err := d.diagnose(first)
	if err != nil {
		return nil, err
	}
	r.Equal, r.First, r.Kind = false, &first.name, &f.kind
	r.Step = stepOf(first)
	if f.factor != 0 {
		r.Factor = &f.factor
	}
	if f.meshDim != "" {
		r.MeshDim = &f.meshDim
	}
	r.Ranks = append(r.Ranks, f.ranks...)
	r.Says = f.says
	return r, nil
}

// unpaired says how many tensors one side alone has, or "" if each has its counterpart.
func (d *diffing) unpaired() string {
	var lacks []string
	for i, side := range []string{"the candidate", "the reference"} {
		if n := len(d.only[i]); n > 0 {
			lacks = append(lacks, fmt.Sprintf("%s lacks %d", side, n))
		}
	}
	if lacks == nil {
		return ""
	}
	return ", but " + strings.Join(lacks, ", and ")
}

func stepOf(p *pair) *int {
	if p.step < 0 {
		return nil
	}
	n := p.step
	return &n
}

// firstOf returns the first of the tensors that differ, in the order of computation. Among
// parameters, which differ all together once an optimizer has stepped, one that is quite another
// comes before those that are a step away.
func firstOf(differ []*pair) *pair {
	first := differ[0]
	if classOf(first.name) != parameter || first.fit == nil {
		return first
	}
	for _, p := range differ {
		if p.step == first.step && classOf(p.name) == parameter && p.fit != nil && p.fit.err > form && p.fit.err > 5*first.fit.err {
			return p
		}
	}
	return first
}

// row returns what is said of a tensor.
func (d *diffing) row(p *pair) Tensor {
	t := Tensor{Name: p.name, Step: stepOf(p), Expected: p.expected, Differs: p.differs(), Note: cmp.Or(p.problem, p.explained)}
	if p.fit == nil {
		return t
	}
	t.MaxAbs, t.MaxRel, t.Error = finite(p.fit.maxAbs), finite(p.fit.maxRel), finite(p.fit.err)
	switch {
	case p.fit.l != nil:
		t.Placement = p.fit.l.String()
	case len(p.fit.c) > 1:
		t.Placement = "rank by rank"
	default:
		t.Placement = "whole"
	}
	if len(p.fit.c) > 1 {
		for _, e := range p.fit.blockBy {
			t.Ranks = append(t.Ranks, t.Differs && (p.isSummand || p.unplanned != "" || !(e <= 2*p.expected)))
		}
		if p.fit.l != nil {
			sorted := make([]bool, len(t.Ranks))
			order := slices.Clone(p.fit.l.ranks)
			slices.Sort(order)
			for i, rank := range p.fit.l.ranks {
				sorted[slices.Index(order, rank)] = t.Ranks[i]
			}
			t.Ranks = sorted
		}
	}
	return t
}

// finite returns x, or the largest number for what JSON does not have.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.MaxFloat64
	}
	return x
}

// rows returns the table by step and layer.
func (d *diffing) rows(list []Tensor) []Row {
	var rows []Row
	at := map[string]int{}
	for i, t := range list {
		p := d.pairs[i]
		name := [...]string{"activations", "loss", "gradients", "gradient norm", "optimizer", "parameters"}[classOf(t.Name)]
		if l := layerOf(t.Name); l >= 0 {
			name += fmt.Sprintf(" of layer %d", l)
		}
		k := fmt.Sprint(p.step, name)
		if _, ok := at[k]; !ok {
			at[k] = len(rows)
			rows = append(rows, Row{Step: p.step, Name: name})
		}
		r := &rows[at[k]]
		r.Tensors++
		if t.Differs {
			r.Differ++
			for len(r.Ranks) < len(t.Ranks) {
				r.Ranks = append(r.Ranks, false)
			}
			for i, b := range t.Ranks {
				r.Ranks[i] = r.Ranks[i] || b
			}
		}
		if scale := d.scaleOf(p); t.Expected > 0 && t.Note == "" && scale > 0 {
			r.Worst = max(r.Worst, t.Error/t.Expected*p.scale/scale)
		}
	}
	return rows
}

// notes returns what is to be known of how the runs were compared.
func (d *diffing) notes() []string {
	list := []string{fmt.Sprintf("order of computation: by %s", d.order)}
	name := func(eps float64) string {
		for _, dt := range []string{"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"} {
			if epsilon(dt) == eps {
				return dt
			}
		}
		return "integers"
	}
	if d.o.Rtol > 0 {
		list = append(list, fmt.Sprintf("tolerance: %.3g, as given", d.o.Rtol))
	} else if d.coarse() {
		list = append(list, fmt.Sprintf("precision: %s and %s; tolerance of the rms: 5 eps sqrt(depth), at most 0.25", name(d.refEps), name(d.candEps)))
	} else {
		list = append(list, fmt.Sprintf("precision: %s and %s; tolerance of the rms: 16 eps depth^1.5, five times that once an optimizer has stepped, at most 0.001", name(d.refEps), name(d.candEps)))
	}
	for i, side := range []string{"the reference", "the candidate"} {
		if n := len(d.only[i]); n > 0 {
			names := fmt.Sprintf("%d names that %s alone has, such as", n, side)
			if n == 1 {
				names = fmt.Sprintf("a name that %s alone has:", side)
			}
			list = append(list, fmt.Sprintf("%s %q", names, d.only[i][0]))
		}
	}
	if idle := d.unmatched(); len(idle) > 0 {
		list = append(list, fmt.Sprintf("%d patterns of the plan's placements match no name, such as %q", len(idle), idle[0]))
	}
	explained, kept := 0, []*pair(nil)
	for _, p := range d.pairs {
		if p.isSummand && p.ok && d.o.Plan.rule(p.name) == nil {
			kept = append(kept, p)
		}
		if p.explained != "" && !p.ok {
			explained++
		}
	}
	if len(kept) > 0 {
		list = append(list, fmt.Sprintf("%d taken for summands that are added up later, such as %q, %v: --plan says what is meant", len(kept), kept[0].name, kept[0].fit.l))
	}
	if explained > 0 {
		list = append(list, fmt.Sprintf("%d differences without effect: rounding errors that an optimizer made steps of", explained))
	}
	return list
}

// unmatched returns the patterns of the plan's rules that no tensor's name matches.
func (d *diffing) unmatched() []string {
	var idle []string
	if d.o.Plan != nil {
		for _, r := range d.o.Plan.Rules {
			if !slices.ContainsFunc(d.pairs, func(p *pair) bool { return ckpt.MatchName(r.Pattern, p.name) }) {
				idle = append(idle, r.Pattern)
			}
		}
	}
	return idle
}

// Ranks returns how many ranks the files of two folders are of: the larger number, 1 if none
// is a rank's.
func Ranks(ref, cand string) (int, error) {
	n := 1
	for _, dir := range []string{ref, cand} {
		s, err := open(dir)
		if err != nil {
			return 0, err
		}
		n = max(n, s.ranks)
		s.Close()
	}
	return n, nil
}
