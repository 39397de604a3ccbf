package mesh

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A ReduceOp says how the summands of a Partial make the value.
type ReduceOp uint8

const (
	Sum ReduceOp = iota
	Mean
	Prod
	Max
	Min
)

var reduceOps = [...]string{Sum: "sum", Mean: "mean", Prod: "prod", Max: "max", Min: "min"}

// String returns the name of op as scripts write it: "sum".
func (op ReduceOp) String() string { return reduceOps[op] }

// ParseReduceOp returns the operation called name. "avg" is another name of
// "mean".
func ParseReduceOp(name string) (ReduceOp, error) {
	if name == "avg" {
		return Mean, nil
	}
	if i := slices.Index(reduceOps[:], name); i >= 0 {
		return ReduceOp(i), nil
	}
	return 0, &Error{"op", strconv.Quote(name), `one of "sum", "mean", "prod", "max", "min"`, ""}
}

// A Placement says what the ranks along one mesh dim hold of a tensor. It is
// one of
//
//   - Replicate: all hold the same;
//   - Shard(dim): each holds its Block of the tensor's dim, as the mesh dims
//     before this one have left it;
//   - StridedShard(dim, factor): as Shard, but later mesh dims cut before it;
//   - RaggedShard(dims, units): as Shard, but each holds its share of units;
//   - Partial(op): each holds a summand, and op over them gives the value.
//
// Placements compare with ==. The zero value is Replicate.
type Placement struct {
	kind   placementKind
	op     ReduceOp
	dim    int
	factor int    // of a StridedShard: in how many parts later mesh dims have cut dim before; of a RaggedShard: how many dims it cuts as one
	units  string // of a RaggedShard: the rank's shares, "1:2:1"
}

type placementKind uint8

const (
	replicate placementKind = iota
	shard
	strided
	ragged
	partial

	placementKinds // how many there are
)

// A placementRow is how a kind is named and written. What ranks hold of it says
// Placed.Boxes, how it is reached search.moves.
type placementRow struct {
	name   string // of the function that makes such placements
	letter string

	// texts returns the argument of a placement as people and as scripts write it; nil if
	// the kind has none.
	texts func(p Placement) (text, script string)
	// parse is the inverse of text: not ok if arg, which may be "", is none.
	parse func(arg string) (p Placement, ok bool)
}

var placementRows = [placementKinds]placementRow{
	replicate: {"Replicate", "R", nil, func(arg string) (Placement, bool) { return Replicate(), arg == "" }},
	shard:     {"Shard", "S", shardTexts, parseShard},
	strided:   {"_StridedShard", "_S", stridedTexts, parseStrided},
	ragged:    {"RaggedShard", "RS", raggedTexts, parseRagged},
	partial:   {"Partial", "P", partialTexts, parsePartial},
}

func shardTexts(p Placement) (text, script string) {
	text = strconv.Itoa(p.dim)
	return text, text
}

func parseShard(arg string) (Placement, bool) {
	dim, err := strconv.Atoi(arg)
	return Shard(dim), err == nil
}

func stridedTexts(p Placement) (text, script string) {
	return fmt.Sprintf("%d, %d", p.dim, p.factor), fmt.Sprintf("%d, split_factor=%d", p.dim, p.factor)
}

func parseStrided(arg string) (Placement, bool) {
	first, second, _ := strings.Cut(arg, ",")
	dim, err := strconv.Atoi(first)
	factor, bad := strconv.Atoi(strings.TrimPrefix(second, " "))
	return StridedShard(dim, factor), err == nil && bad == nil && factor > 1
}

func partialTexts(p Placement) (text, script string) {
	return p.op.String(), strconv.Quote(p.op.String())
}

func parsePartial(arg string) (Placement, bool) {
	if arg == "" {
		return Partial(Sum), true
	}
	op, err := ParseReduceOp(arg)
	return Partial(op), err == nil
}

// PlacementKinds returns a placement of each kind: Replicate, a Shard of dim 0, a
// StridedShard of dim 0 that two parts come before, a RaggedShard of dim 0 of which the second
// of two ranks holds three quarters, a Partial of sum.
func PlacementKinds() []Placement {
	uneven, _ := RaggedShard([]int{0}, []int{1, 3})
	return []Placement{replicate: Replicate(), shard: Shard(0), strided: StridedShard(0, 2), ragged: uneven, partial: Partial(Sum)}
}

// Replicate is the placement of ranks that hold the same.
func Replicate() Placement { return Placement{} }

// Shard is the placement of ranks that hold blocks of a tensor's dim. A
// negative dim counts from the back until Normalize has seen it.
func Shard(dim int) Placement { return Placement{kind: shard, dim: dim} }

// StridedShard is the placement of ranks that hold blocks of a tensor's dim, which later
// dims of the mesh cut before this one does, into factor parts: each is the Block of
// such a part. With a factor of 1 none does, and it is Shard(dim).
//
// On a mesh (dp=2, tp=4) the placements [StridedShard(0, 4), Shard(0)] have tp cut dim 0,
// and dp what that has left.
func StridedShard(dim, factor int) Placement {
	if factor == 1 {
		return Shard(dim)
	}
	return Placement{kind: strided, dim: dim, factor: factor}
}

// Partial is the placement of ranks that hold summands.
func Partial(op ReduceOp) Placement { return Placement{kind: partial, op: op} }

// IsReplicate reports whether p is Replicate.
func (p Placement) IsReplicate() bool { return p.kind == replicate }

// Shard returns the tensor's dim that p cuts, if p is a Shard, a StridedShard or a
// RaggedShard: of that the first.
func (p Placement) Shard() (dim int, ok bool) { return p.dim, p.cuts() }

// SplitFactor returns in how many parts later mesh dims cut the tensor's dim before p does,
// if p is a StridedShard.
func (p Placement) SplitFactor() (factor int, ok bool) { return p.factor, p.kind == strided }

// cuts reports whether ranks hold blocks.
func (p Placement) cuts() bool { return p.kind == shard || p.kind == strided || p.kind == ragged }

// Partial returns the operation of p, if p is a Partial.
func (p Placement) Partial() (op ReduceOp, ok bool) { return p.op, p.kind == partial }

// Kind returns the name of the function by which scripts make such placements: "Shard".
func (p Placement) Kind() string { return placementRows[p.kind].name }

// String returns p as people write it: R, S(0) or P(sum).
func (p Placement) String() string {
	row := &placementRows[p.kind]
	if row.texts == nil {
		return row.letter
	}
	text, _ := row.texts(p)
	return row.letter + "(" + text + ")"
}

// Script returns p as a script writes it: Replicate(), Shard(0) or
// Partial("sum").
func (p Placement) Script() string {
	row := &placementRows[p.kind]
	if row.texts == nil {
		return row.name + "()"
	}
	_, script := row.texts(p)
	return row.name + "(" + script + ")"
}

// ParsePlacement is the inverse of String. The dim may be negative, and P
// stands for P(sum).
func ParsePlacement(s string) (Placement, error) {
	letter, rest, brackets := strings.Cut(s, "(")
	arg, closed := strings.CutSuffix(rest, ")")
	if brackets == closed && (arg != "") == brackets {
		for i := range placementRows {
			if placementRows[i].letter != letter {
				continue
			}
			if p, ok := placementRows[i].parse(arg); ok {
				return p, nil
			}
		}
	}
	return Placement{}, &Error{"placements", strconv.Quote(s), "R, S(dim) or P(op)", ""}
}

// Normalize returns placements for a tensor of a shape with dims counted from
// the front, in a slice of its own. A dim that the tensor does not have is an
// *Error.
func Normalize(placements []Placement, shape []int) ([]Placement, error) {
	out := slices.Clone(placements)
	for i, p := range out {
		if !p.cuts() {
			continue
		}
		if p.dim < -len(shape) || p.dim >= len(shape) {
			want := fmt.Sprintf("a dim in %d..%d", -len(shape), len(shape)-1)
			if len(shape) == 0 {
				want = "no Shard"
			}
			return nil, &Error{"placements", fmt.Sprintf("%s at index %d", p.Script(), i), want, "shape " + Tuple(shape)}
		}
		if p.dim < 0 {
			out[i].dim += len(shape)
		}
	}
	return out, nil
}

// List returns placements as people write a list of them: [S(0), R].
func List(placements []Placement) string {
	texts := make([]string, len(placements))
	for i, p := range placements {
		texts[i] = p.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
