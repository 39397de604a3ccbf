package comm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Agree reports whether a and b describe the same call.
func Agree(a, b *Desc) bool {
	return a.Op == b.Op && a.DType == b.DType && a.Reduce == b.Reduce && a.Exact == b.Exact &&
		a.Root == b.Root && a.Dims == b.Dims && a.Free == b.Free && a.Detail == b.Detail &&
		sameShape(a, b) && slices.Equal(a.Pairs, b.Pairs)
}

// sameShape reports whether the shapes of a and b are equal but for the size
// along Free.
func sameShape(a, b *Desc) bool {
	if len(a.Shape) != len(b.Shape) || (a.Shape == nil) != (b.Shape == nil) {
		return false
	}
	for i, n := range a.Shape {
		if n != b.Shape[i] && (i != a.Free || i != b.Free) {
			return false
		}
	}
	return true
}

// FreeSize returns the size of d's shape along Free, 0 if there is none.
func (d *Desc) FreeSize() int {
	if d.Free < 0 {
		return 0
	}
	return d.Shape[d.Free]
}

// InBackward begins the end of the Detail of a call that a backward pass makes by itself, so
// that it agrees with none of a forward pass.
const InBackward = "in backward"

// BackwardOf is InBackward of a call that is the gradient of the group's call of a number, so that it
// agrees with the gradient of no other.
func BackwardOf(call uint64) string { return InBackward + " " + strconv.FormatUint(call, 10) }

// detail returns d.Detail without InBackward and what follows it, and whether that stood there.
func (d *Desc) detail() (rest string, backward bool) {
	rest, _, backward = strings.Cut(d.Detail, InBackward)
	return strings.TrimSuffix(rest, " "), backward
}

// A SignedCall is a member's call as its report shows it.
type SignedCall struct {
	Desc   Desc
	Kind   Kind
	Where  string
	Issued bool // whether the member is not in the call itself
	Caught Caught
}

// agrees reports whether two calls are the same.
func (c *SignedCall) agrees(d *SignedCall) bool { return c.Kind == d.Kind && Agree(&c.Desc, &d.Desc) }

// NewMismatch builds the report on the calls of the members of a group, which
// are given by group rank. Where members that have caught more errors than others
// do not make the call that these make, they have left it out.
func NewMismatch(group string, ranks []int, calls []SignedCall) *MismatchError {
	e := &MismatchError{Group: group, Differs: onlyDifference(calls)}
	for i, c := range calls {
		e.Calls = append(e.Calls, Call{ranks[i], c.Desc.Op, CallText(&c.Desc, c.Kind), c.Where, Caught{}})
	}
	for _, i := range leftOutBy(ranks, calls) {
		e.LeftOut = append(e.LeftOut, ranks[i])
		e.Calls[i].Caught = calls[i].Caught
	}
	slices.Sort(e.LeftOut)
	slices.SortFunc(e.Calls, func(a, b Call) int { return cmp.Compare(a.Rank, b.Rank) })
	return e
}

// CallText writes a call as a script would, with the tensor's dtype and shape
// in its place: all_gather(float32[4, 2], dim=0). The tensors of a list have shapes
// of their own.
func CallText(d *Desc, k Kind) string {
	var args []string
	switch {
	case d.Shape != nil:
		args = append(args, d.DType+listText(d.Shape))
	case d.DType != "":
		args = append(args, "a list of "+d.DType)
	}
	for _, p := range parameters(d, k) {
		args = append(args, p.name+"="+p.value)
	}
	text := d.Op + "(" + strings.Join(args, ", ") + ")"
	if _, backward := d.detail(); backward {
		text += " " + InBackward
	}
	return text
}

// A parameter is a name and a value as a script writes them.
type parameter struct{ name, value string }

// parameters returns the parameters of a call but for its tensor.
func parameters(d *Desc, k Kind) []parameter {
	var ps []parameter
	number := func(name string, x int) {
		if x >= 0 {
			ps = append(ps, parameter{name, strconv.Itoa(x)})
		}
	}
	if d.Dims[1] >= 0 {
		number("split_dim", d.Dims[0])
		number("concat_dim", d.Dims[1])
	} else {
		number("dim", d.Dims[0])
	}
	number(k.RootName(), d.Root)
	if d.Reduce != "" {
		ps = append(ps, parameter{"op", strconv.Quote(d.Reduce)})
	}
	if d.Exact {
		ps = append(ps, parameter{"exact", "True"})
	}
	if detail, _ := d.detail(); detail != "" {
		ps = append(ps, detailed(detail)...)
	}
	if k.Paired() {
		ps = append(ps, parameter{"pairs", pairsText(d.Pairs)})
	}
	return ps
}

// detailed returns the parameters that a detail names: "unit=1", or several with spaces between; one that names none is of
// placements.
func detailed(detail string) []parameter {
	var ps []parameter
	for field := range strings.FieldsSeq(detail) {
		name, value, ok := strings.Cut(field, "=")
		if !ok || strings.ContainsAny(field, "[(") {
			return []parameter{{"placements", detail}}
		}
		ps = append(ps, parameter{name, value})
	}
	return ps
}

func pairsText(pairs [][2]int) string {
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = fmt.Sprintf("(%d, %d)", p[0], p[1])
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// listText writes numbers as a list: "[4, 2]".
func listText(xs []int) string {
	text := append(make([]byte, 0, 2+5*len(xs)), '[')
	for i, x := range xs {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(text, int64(x), 10)
	}
	return string(append(text, ']'))
}

// onlyDifference returns the one parameter in which the calls are not all
// alike, or "" if there are several.
func onlyDifference(calls []SignedCall) string {
	var differ []string
	first := &calls[0].Desc
	for _, c := range calls[1:] {
		for _, name := range differences(first, calls[0].Kind, &c.Desc, c.Kind) {
			if !slices.Contains(differ, name) {
				differ = append(differ, name)
			}
		}
	}
	if len(differ) != 1 {
		return ""
	}
	return differ[0]
}

// differences returns the names of the parameters in which two calls differ;
// "function" stands for all of them where the functions differ, or one call is
// in backward.
func differences(a *Desc, ak Kind, b *Desc, bk Kind) []string {
	_, aBack := a.detail()
	_, bBack := b.detail()
	if a.Op != b.Op || ak != bk || aBack != bBack {
		return []string{"function", "parameters"}
	}
	var names []string
	if a.DType != b.DType {
		names = append(names, "dtype")
	}
	if !sameShape(a, b) && !slices.Equal(a.Shape, b.Shape) {
		names = append(names, "shape")
	}
	as, bs := parameters(a, ak), parameters(b, bk)
	for _, p := range as {
		if i := slices.IndexFunc(bs, func(q parameter) bool { return q.name == p.name }); i < 0 || bs[i] != p {
			names = append(names, p.name)
		}
	}
	for _, p := range bs {
		if !slices.ContainsFunc(as, func(q parameter) bool { return q.name == p.name }) {
			names = append(names, p.name)
		}
	}
	return names
}
