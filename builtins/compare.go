package builtins

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/builtins/arg"
)

// A comparison compares two values part by part, looking into lists, tuples,
// dicts, structs and tensors, and notes where they differ. Tensors are equal
// if their shapes and values are, whatever their dtypes; a tensor and nested
// lists are compared as lists, a tensor of one element and a number as
// numbers. A NaN is equal to a NaN, as it is in Starlark.
type comparison struct {
	env   *Env
	close *tolerance // nil: numbers must be equal

	path    []string // where in the values the comparison is: "[2]", ".loss"
	unknown bool     // nothing can be said of some of them, in a plan
	parts   int      // how many values have been compared that have no parts
	differ  int      // how many of them differ
	first   *difference
}

// A difference is the first one of a comparison.
type difference struct {
	place     string // where it is, "" for the values as a whole
	got, want string
	more      string // what else is to be said of two values without parts
	form      bool   // the values have different parts, or are of different kinds
}

func (d *difference) String() string {
	text := "got " + d.got + ", want " + d.want
	if d.place != "" {
		text = "at " + d.place + ": " + text
	}
	if d.more != "" {
		text += ", " + d.more
	}
	return text
}

// maxCompareDepth bounds how deep containers may stand in one another.
const maxCompareDepth = 1000

// compare compares got with want.
func (c *comparison) compare(got, want starlark.Value) error {
	if len(c.path) > maxCompareDepth {
		return fmt.Errorf("values nested deeper than %d cannot be compared", maxCompareDepth)
	}
	if x, ok := got.(*Tensor); ok {
		return c.tensor(x, want, false)
	}
	if y, ok := want.(*Tensor); ok {
		return c.tensor(y, got, true)
	}
	switch got := got.(type) {
	case *starlark.List:
		if want, ok := want.(*starlark.List); ok {
			return c.sequences(got, want)
		}
	case starlark.Tuple:
		if want, ok := want.(starlark.Tuple); ok {
			return c.sequences(got, want)
		}
	case *starlark.Dict:
		if want, ok := want.(*starlark.Dict); ok {
			return c.dicts(got, want)
		}
	case *starlarkstruct.Struct:
		if want, ok := want.(*starlarkstruct.Struct); ok {
			return c.structs(got, want)
		}
	}
	return c.leaf(got, want)
}

// at compares the parts of two values to which step leads.
func (c *comparison) at(step string, got, want starlark.Value) error {
	c.path = append(c.path, step)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return c.compare(got, want)
}

// note notes a difference at the place where the comparison is.
func (c *comparison) note(d difference) {
	if c.first == nil {
		d.place = strings.Join(c.path, "")
		c.first = &d
	}
}

// form notes that the values have different parts.
func (c *comparison) form(got, want string) {
	c.note(difference{got: got, want: want, form: true})
}

// leaf compares values that have no parts.
func (c *comparison) leaf(got, want starlark.Value) error {
	c.parts++
	if isUnknown(got) || isUnknown(want) {
		c.unknown = true
		return nil
	}
	same, err := starlark.Equal(got, want)
	if err != nil {
		return err
	}
	if c.close != nil {
		x, xok := floatOf(got)
		y, yok := floatOf(want)
		if xok && yok {
			same = c.close.holds(x, y)
		}
	}
	if !same {
		c.differ++
		c.note(difference{got: arg.Show(got), want: arg.Show(want), more: c.explain(got, want)})
	}
	return nil
}

// explain says of two values without parts that differ by how much they do,
// or where, if that does not meet the eye.
func (c *comparison) explain(got, want starlark.Value) string {
	if c.close != nil {
		x, xok := floatOf(got)
		y, yok := floatOf(want)
		if xok && yok && x != x && y != y {
			return "equal_nan=True takes NaN for NaN"
		}
		if xok && yok {
			return fmt.Sprintf("off by %.6g where %.6g is allowed", math.Abs(x-y), c.close.allowed(y))
		}
	}
	x, xok := got.(starlark.String)
	y, yok := want.(starlark.String)
	const short = 40
	if !xok || !yok || len(x) <= short && len(y) <= short {
		return ""
	}
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return fmt.Sprintf("from byte %d on: got %s, want %s", n, arg.Show(x[n:]), arg.Show(y[n:]))
}

// floatOf returns a number as a float.
func floatOf(v starlark.Value) (float64, bool) {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return starlark.AsFloat(v)
	}
	return 0, false
}

// sequences compares two lists or tuples.
func (c *comparison) sequences(got, want starlark.Indexable) error {
	if got.Len() != want.Len() {
		c.form(fmt.Sprintf("a length of %d", got.Len()), fmt.Sprint(want.Len()))
		return nil
	}
	for i := range got.Len() {
		if err := c.at("["+strconv.Itoa(i)+"]", got.Index(i), want.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// dicts compares two dicts, whose order does not matter.
func (c *comparison) dicts(got, want *starlark.Dict) error {
	for key := range starlark.Elements(got) {
		if _, ok, err := want.Get(key); err != nil || !ok {
			c.form("the key "+arg.Show(key), "none such")
		}
	}
	for key, w := range want.Entries() {
		g, ok, err := got.Get(key)
		if err != nil || !ok {
			c.form("no key "+arg.Show(key), "one")
			continue
		}
		if err := c.at("["+arg.Show(key)+"]", g, w); err != nil {
			return err
		}
	}
	return nil
}

// structs compares two structs.
func (c *comparison) structs(got, want *starlarkstruct.Struct) error {
	g, w := strings.Join(got.AttrNames(), ", "), strings.Join(want.AttrNames(), ", ")
	if g != w {
		c.form("a struct with "+g, "one with "+w)
		return nil
	}
	for _, name := range got.AttrNames() {
		x, err := got.Attr(name)
		if err != nil {
			return err
		}
		y, err := want.Attr(name)
		if err != nil {
			return err
		}
		if err := c.at("."+name, x, y); err != nil {
			return err
		}
	}
	return nil
}

// ordered compares x, which came of a tensor, with v.
func (c *comparison) ordered(x, v starlark.Value, swapped bool) error {
	if swapped {
		x, v = v, x
	}
	return c.compare(x, v)
}

// listsOf returns v with lists in the place of tuples, as a tensor's tolist
// has them.
func listsOf(v starlark.Value) starlark.Value {
	if !IsList(v) {
		return v
	}
	seq := v.(starlark.Indexable)
	list := make([]starlark.Value, seq.Len())
	for i := range list {
		list[i] = listsOf(seq.Index(i))
	}
	return starlark.NewList(list)
}

// equal reports whether nothing differs.
func (c *comparison) equal() bool { return c.first == nil }

// where says in parentheses where the values differ, and in how many places;
// nothing if they have no parts.
func (c *comparison) where() string {
	d := c.first
	switch {
	case c.parts > 1 && c.differ > 0 && !d.form:
		return fmt.Sprintf(" (%d of %d values differ, first %v)", c.differ, c.parts, d)
	case d.place != "" || d.form:
		return fmt.Sprintf(" (%v)", d)
	case d.more != "":
		return " (" + d.more + ")"
	}
	return ""
}
