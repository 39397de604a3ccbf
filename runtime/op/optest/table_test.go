package optest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The tests of this file and of table_*_test.go hold for every operator. They
// draw their cases from the examples of examples_test.go.

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // as the command does
	os.Exit(m.Run())
}

// A trial is one call of an operator on tensors.
type trial struct {
	d    *op.Def
	ex   example
	in   []*tensor.Tensor
	args []op.Arg
}

// newTrial returns ex with its inputs in dtype dt and its arguments complete.
func newTrial(d *op.Def, ex example, dt dtype.DType) *trial {
	tr := &trial{d: d, ex: ex, args: slices.Clone(ex.args)}
	for i, in := range ex.in {
		tr.in = append(tr.in, in.make(testAlloc, dt, i))
	}
	n := 0
	for i := range d.Params {
		p := &d.Params[i]
		if p.IsTensor() {
			continue
		}
		if n++; n > len(tr.args) {
			if p.Default == nil {
				panic(fmt.Sprintf("%s(%s): no argument %q and no default", d.Name, ex.original, p.Name))
			}
			tr.args = append(tr.args, *p.Default)
		}
	}
	return tr
}

var testAlloc = tensor.NewAllocator(0)

// newCtx returns a context whose draws begin anew.
func newCtx() *op.Ctx {
	draw := uint64(0)
	return &op.Ctx{Alloc: testAlloc, Draw: func() (uint64, uint64) { draw++; return 7, draw }}
}

func (tr *trial) String() string {
	var in []string
	for _, x := range tr.in {
		in = append(in, op.Describe(x))
	}
	return fmt.Sprintf("%s(%s) on %s", tr.d.Name, tr.ex.original, strings.Join(in, ", "))
}

// run applies the operator. It fails the test if the operator panics, fails
// with anything but an *op.ArgError, changes an input it should not change, or
// gives results other than Infer promised.
func (tr *trial) run(t *testing.T) (*op.Call, error) {
	t.Helper()
	before := make([][]byte, len(tr.in))
	for i, x := range tr.in {
		before[i] = slices.Clone(stored(x))
	}
	c, err := tr.apply()
	var bad *op.ArgError
	if err != nil {
		if !errors.As(err, &bad) || bad.Func != tr.d.Name {
			t.Errorf("%v: got error %v, want an *op.ArgError of %s", tr, err, tr.d.Name)
		}
		return nil, err
	}
	for i, x := range tr.in {
		if !bytes.Equal(before[i], stored(x)) && !(tr.d.InPlace && i == 0) && !tr.ex.writes[i] && !sharesTarget(tr, i) {
			t.Errorf("%v: input %d was changed", tr, i)
		}
	}
	tr.checkResults(t, c)
	return c, nil
}

// sharesTarget reports whether input i lies in the buffer that an operator in
// place changes.
func sharesTarget(tr *trial, i int) bool {
	return tr.d.InPlace && tr.in[i].Buffer() == tr.in[0].Buffer()
}

// apply is op.Apply with a panic as an error.
func (tr *trial) apply() (c *op.Call, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return op.Apply(newCtx(), tr.d, slices.Clone(tr.in), tr.args)
}

// checkResults compares c.Out with c.Spec and with the inputs.
func (tr *trial) checkResults(t *testing.T, c *op.Call) {
	t.Helper()
	if len(c.Out) != len(c.Spec) {
		t.Errorf("%v: %d results, want %d", tr, len(c.Out), len(c.Spec))
		return
	}
	for i, y := range c.Out {
		if y == nil {
			t.Errorf("%v: result %d is nil", tr, i)
			continue
		}
		if s := c.Spec[i]; y.DType() != s.DType || !y.Shape().Equal(s.Shape) {
			t.Errorf("%v: result %d is %v, want %v[%s] as inferred", tr, i, op.Describe(y), s.DType, s.Shape.Join())
		}
		if tr.d.View || tr.d.InPlace {
			continue
		}
		if !y.Contiguous() {
			t.Errorf("%v: result %d is not contiguous", tr, i)
		}
		for _, x := range tr.in {
			if x != nil && x.Buffer() == y.Buffer() {
				t.Errorf("%v: result %d shares storage with an input", tr, i)
			}
		}
	}
}

// stored returns all bytes of the buffer of x.
func stored(x *tensor.Tensor) []byte {
	if x == nil || x.Buffer() == nil {
		return nil
	}
	n := x.Buffer().Len() / x.DType().Size()
	return x.View(shape.Shape{n}, []int{1}, 0).Bytes()
}

// same reports whether x and y have equal dtypes, shapes and bits.
func same(x, y *tensor.Tensor) bool {
	if x.DType() != y.DType() || !x.Shape().Equal(y.Shape()) {
		return false
	}
	return slices.EqualFunc(list(x), list(y), func(a, b float64) bool {
		return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
	})
}

// base returns the dtype in which the example is a reference: the first of
// float64, int64 and bool in which it succeeds.
func base(t *testing.T, d *op.Def, ex example) (dtype.DType, bool) {
	t.Helper()
	var first error
	for _, dt := range []dtype.DType{dtype.Float64, dtype.Int64, dtype.Bool} {
		_, err := newTrial(d, ex, dt).apply()
		if err == nil {
			return dt, true
		}
		if first == nil {
			first = err
		}
	}
	t.Errorf("%s(%s): no dtype is accepted; for float64: %v", d.Name, ex.original, first)
	return 0, false
}

// eachExample calls f for every example, in a subtest for each operator, with
// the dtype in which it is a reference. f returns how many cases it ran.
func eachExample(t *testing.T, f func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int) {
	total := 0
	for _, d := range ofReals() {
		t.Run(d.Name, func(t *testing.T) {
			for _, ex := range examples[d.Name] {
				if dt, ok := base(t, d, ex); ok {
					total += f(t, d, ex, dt)
				}
			}
		})
	}
	t.Logf("%d cases", total)
}

// Steps of compositions along cut dims are run by those, in TestPlaced.
func TestEveryOperatorHasExamples(t *testing.T) {
	for _, d := range ofReals() {
		if len(examples[d.Name]) == 0 && !d.OfParts {
			t.Errorf("%s has no example; add some in examples_<family>_test.go", d.Name)
		}
	}
}

// Run gives what Infer says, the same on every run, and Infer says the same of
// tensors without storage.
func TestTableInfer(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		tr := newTrial(d, ex, dt)
		c, err := tr.run(t)
		if err != nil {
			return 1
		}
		again, err := newTrial(d, ex, dt).run(t)
		if err != nil {
			t.Errorf("%v: the second run fails: %v", tr, err)
			return 2
		}
		for i := range c.Out {
			if !same(c.Out[i], again.Out[i]) {
				t.Errorf("%v: result %d is %v, then %v", tr, i, list(c.Out[i]), list(again.Out[i]))
			}
		}
		checkShapeOnly(t, tr, c.Spec)
		return 3
	})
}

// checkShapeOnly infers tr without storage, which gives want unless that
// depends on the elements.
func checkShapeOnly(t *testing.T, tr *trial, want []op.Spec) {
	t.Helper()
	if len(tr.in) == 0 {
		return
	}
	bare := &trial{d: tr.d, ex: tr.ex, args: tr.args}
	for _, x := range tr.in {
		if x != nil && !x.Weak() {
			x = x.ShapeOnly()
		}
		bare.in = append(bare.in, x)
	}
	c, err := bare.apply()
	if tr.ex.varies != "" {
		var bad *op.ArgError
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("%v without storage: got error %v, want an *op.ArgError", bare, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%v without storage: %v", bare, err)
		return
	}
	equal := func(a, b op.Spec) bool { return a.DType == b.DType && a.Shape.Equal(b.Shape) }
	if !slices.EqualFunc(c.Spec, want, equal) {
		t.Errorf("%v without storage: got %v, want %v", bare, c.Spec, want)
	}
}

// The documentation of an operator begins with its call and what it returns,
// and shows an example; every parameter says what it takes.
func TestTableDocs(t *testing.T) {
	for _, d := range ofReals() {
		first, rest, _ := strings.Cut(d.Text(), "\n")
		if !strings.HasPrefix(first, d.Name+"(") || !strings.Contains(first, " returns") || !strings.HasSuffix(first, ".") {
			t.Errorf("%s: documentation begins with %q, want \"%s(...) returns ....\"", d.Name, first, d.Name)
		}
		if d.Surface&op.Internal == 0 && !strings.Contains(rest, ">>> ") {
			t.Errorf("%s: documentation has no example, a line that begins with >>>", d.Name)
		}
		if d.Surface == 0 {
			t.Errorf("%s is on no surface", d.Name)
		}
		seen := map[string]bool{}
		for _, p := range d.Params {
			if p.Name == "" || p.Doc == "" || seen[p.Name] {
				t.Errorf("%s: parameter %q, documented as %q: want another name or documentation", d.Name, p.Name, p.Doc)
			}
			seen[p.Name] = true
			if (p.Kind == op.Choice || p.Kind == op.OptChoice) != (len(p.Choices) > 0) {
				t.Errorf("%s: parameter %q has choices %q", d.Name, p.Name, p.Choices)
			}
		}
	}
}

// An operator in place stores what its base computes, in the dtype of the
// target.
func TestTableInPlace(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if !d.InPlace {
			return 0
		}
		of := op.Lookup(d.Base)
		if of == nil {
			t.Errorf("%s: its base %q is no operator", d.Name, d.Base)
			return 0
		}
		tr, value := newTrial(d, ex, dt), newTrial(d, ex, dt)
		value.d = of
		got, err := tr.run(t)
		if err != nil {
			return 1
		}
		want, err := value.run(t)
		if err != nil {
			t.Errorf("%v: its base fails: %v", tr, err)
			return 1
		}
		cast, err := op.Apply(newCtx(), op.Lookup("to"), want.Out[:1], []op.Arg{op.Int1(int(tr.in[0].DType()))})
		if err != nil {
			t.Fatal(err)
		}
		if got.Out[0] != tr.in[0] || !same(got.Out[0], cast.Out[0]) {
			t.Errorf("%v: got %v, want %v, what %s gives", tr, list(got.Out[0]), list(cast.Out[0]), d.Base)
		}
		return 1
	})
}
