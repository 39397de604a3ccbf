package optest

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The table tests (table_test.go) draw their cases from examples: calls that
// succeed in float64, or for an operator of integers in int64. Each family
// lists its own in examples_<family>_test.go:
//
//	func init() {
//		addExamples("matmul",
//			call(values(2, 3), values(3, 4)),
//			call(values(5, 2, 3), values(3, 4)))
//		addExamples("sum",
//			call(values(2, 3), op.IntsN(-1), op.Bool1(true)),
//			call(values(2, 3))) // arguments left out take their defaults
//		addExamples("gather",
//			call(values(3, 4), op.Int1(1), indices(4, 3, 2)))
//		addExamples("masked_fill",
//			call(values(2, 3), bools(2, 3), number(7)))
//	}
//
// Give different dims different sizes, and dims that belong together the same
// size: the tests make empty and one-element cases by exchanging a size
// everywhere it occurs.

// ofReals returns the operators of tensors of real numbers: all but the views
// between complex tensors and their parts, which table_complex_test.go tests.
func ofReals() []*op.Def {
	return slices.DeleteFunc(op.All(), func(d *op.Def) bool { return d.Name == "view_as_real" || d.Name == "view_as_complex" })
}

// An example is one call of an operator.
type example struct {
	in   []input
	args []op.Arg

	inexact  string       // why results in different dtypes are not comparable, or ""
	rough    string       // why gradients are not tested by differences, or ""
	varies   string       // why the result's shape does not follow from shapes, or ""
	writes   map[int]bool // inputs that the call changes though it is not in place
	fixed    map[int]bool // inputs that get no gradient
	original string       // how the example was written, for messages
}

// An input is a tensor argument: what it holds in a given dtype, and its
// shape.
type input struct {
	kind  string // values, positive, unit, indices, bools, number, literal or none
	shape shape.Shape
	fixed bool // its dtype is dt whatever the case
	dt    dtype.DType
	hi    int       // of indices
	data  []float64 // of a literal and a number
}

// values is a tensor of the dtype under test, of numbers of both signs, none an
// integer or half of one, exact in every float dtype: multiples of 1/64, 1/8
// apart. They differ from each other and from those of the other inputs of the
// call. Of integers, it holds different integers around zero, from zero up for
// uint8.
func values(sizes ...int) input { return input{kind: "values", shape: sizes} }

// positive is values from 1/2 upwards, or integers from 1.
func positive(sizes ...int) input { return input{kind: "positive", shape: sizes} }

// unit is values between -1 and 1.
func unit(sizes ...int) input { return input{kind: "unit", shape: sizes} }

// dominant is matrices with a large diagonal, of which square ones are symmetric:
// they have every decomposition, and no two eigenvalues are near each other.
func dominant(sizes ...int) input { return input{kind: "dominant", shape: sizes} }

// indices is an int64 tensor of numbers in [0, n), with repetitions where it
// has more than n elements.
func indices(n int, sizes ...int) input {
	return input{kind: "indices", shape: sizes, fixed: true, dt: dtype.Int64, hi: n}
}

// bools is a bool tensor of both truths.
func bools(sizes ...int) input {
	return input{kind: "bools", shape: sizes, fixed: true, dt: dtype.Bool}
}

// number is a number of a script: float64, int or bool.
func number(v any) input {
	in := input{kind: "number", fixed: true, data: []float64{0}}
	switch v := v.(type) {
	case int:
		in.dt, in.data[0] = dtype.Int64, float64(v)
	case float64:
		in.dt, in.data[0] = dtype.Float64, v
	case bool:
		in.dt = dtype.Bool
		if v {
			in.data[0] = 1
		}
	default:
		panic(fmt.Sprintf("number(%v)", v))
	}
	return in
}

// literal is a tensor of dt that holds data, whatever the dtype under test.
func literal(dt dtype.DType, sizes []int, data ...float64) input {
	return input{kind: "literal", shape: sizes, fixed: true, dt: dt, data: data}
}

// none is None for an OptTensor.
func none() input { return input{kind: "none", fixed: true} }

// call is an example: its inputs and its other arguments, each in their
// order. Arguments left out at the end take their defaults.
func call(args ...any) example {
	var ex example
	for _, a := range args {
		switch a := a.(type) {
		case input:
			ex.in = append(ex.in, a)
			ex.original += ", " + a.String()
		case op.Arg:
			ex.args = append(ex.args, a)
			ex.original += ", " + argString(a)
		default:
			panic(fmt.Sprintf("call(%v): want inputs and op.Args", a))
		}
	}
	if ex.original != "" {
		ex.original = ex.original[2:]
	}
	return ex
}

// notComparable says that results in different dtypes are not roundings of
// one another, and why.
func (e example) notComparable(why string) example { e.inexact = why; return e }

// notSmooth says that central differences do not give the gradient, and why.
func (e example) notSmooth(why string) example { e.rough = why; return e }

// dataDependent says that the shape of the result depends on the values.
func (e example) dataDependent(why string) example { e.varies = why; return e }

// changes says that the call writes into some of its inputs.
func (e example) changes(inputs ...int) example { e.writes = set(inputs); return e }

// noGradient says that some of the inputs get no gradient.
func (e example) noGradient(inputs ...int) example { e.fixed = set(inputs); return e }

func set(list []int) map[int]bool {
	s := map[int]bool{}
	for _, i := range list {
		s[i] = true
	}
	return s
}

// examples holds the examples of every operator, by name.
var examples = map[string][]example{}

// addExamples adds examples of the operator called name.
func addExamples(name string, list ...example) {
	if op.Lookup(name) == nil {
		panic("examples of " + name + ", which is no operator")
	}
	examples[name] = append(examples[name], list...)
}

func (in input) String() string {
	switch in.kind {
	case "none":
		return "None"
	case "number":
		return fmt.Sprintf("%v", in.data[0])
	case "literal":
		return fmt.Sprintf("%v%v%v", in.dt, in.shape, in.data)
	}
	return in.kind + in.shape.String()
}

func argString(a op.Arg) string {
	switch {
	case a.Str != "":
		return fmt.Sprintf("%q", a.Str)
	case a.Ints != nil:
		return fmt.Sprint(a.Ints)
	case a.Float != 0:
		return fmt.Sprint(a.Float)
	case a.Set:
		return fmt.Sprint(a.Int)
	}
	return "None"
}

// fill returns the elements of in for dtype dt. salt tells the inputs of one
// call apart.
func (in input) fill(dt dtype.DType, salt int) []float64 {
	if in.data != nil {
		return in.data
	}
	n := in.shape.Numel()
	out := make([]float64, n)
	for i := range out {
		k := shuffled(i, n, salt)
		switch in.kind {
		case "indices":
			out[i] = float64(k % max(in.hi, 1))
		case "dominant":
			out[i] = in.dominant(i)
		case "bools":
			out[i] = float64((k + salt) % 2)
		default:
			out[i] = in.number(dt, k, n, salt)
		}
	}
	return out
}

// number returns the k-th smallest of n values.
func (in input) number(dt dtype.DType, k, n, salt int) float64 {
	signed := k - n/2
	switch {
	case dt == dtype.Bool:
		return float64(k % 2)
	case in.kind == "positive" && !dt.IsFloat():
		return float64(k + 1)
	case !dt.Signed():
		return float64(k)
	case !dt.IsFloat():
		return float64(signed)
	case in.kind == "positive":
		return float64(8*k+36+salt%4) / 64
	case in.kind == "unit":
		scale := 2
		for scale <= n {
			scale *= 2
		}
		return float64(2*signed+1) / float64(scale)
	}
	return float64(8*signed+4+salt%4) / 64
}

// dominant returns element i of matrices with a large diagonal.
func (in *input) dominant(i int) float64 {
	cols := in.shape[len(in.shape)-1]
	rows := in.shape[len(in.shape)-2]
	r, c := i/cols%rows, i%cols
	if r == c {
		return 3 + float64(r) + float64(i/(rows*cols))/4
	}
	return float64((r+c)%5-2) / 16
}

// shuffled returns the image of i under a permutation of 0..n-1.
func shuffled(i, n, salt int) int {
	step := 1
	for _, s := range []int{7, 5, 3, 11, 13, 17}[salt%3:] {
		if gcd(s, n) == 1 {
			step = s
			break
		}
	}
	return (i*step + salt + n/3) % n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// make returns the tensor of in for dtype dt, contiguous.
func (in input) make(a *tensor.Allocator, dt dtype.DType, salt int) *tensor.Tensor {
	if in.fixed {
		dt = in.dt
	}
	switch in.kind {
	case "none":
		return nil
	case "number":
		switch in.dt {
		case dtype.Float64:
			return tensor.Number(in.data[0])
		case dtype.Int64:
			return tensor.Number(int64(in.data[0]))
		}
		return tensor.Number(in.data[0] != 0)
	}
	x, err := tensor.New(a, dt, in.shape)
	if err != nil {
		panic(err)
	}
	write := writer(x)
	for i, v := range in.fill(dt, salt) {
		write(i, v)
	}
	return x
}

// put stores v in element i of x's storage.
func put(x *tensor.Tensor, i int, v float64) { writer(x)(i, v) }

// writer returns a function that stores v in element i of x's storage.
func writer(x *tensor.Tensor) func(i int, v float64) {
	switch x.DType() {
	case dtype.Float32:
		return writing(x, func(v float64) float32 { return float32(v) })
	case dtype.Float64:
		return writing(x, func(v float64) float64 { return v })
	case dtype.Float16:
		return writing(x, func(v float64) dtype.F16 { return dtype.ToF16(float32(v)) })
	case dtype.BFloat16:
		return writing(x, func(v float64) dtype.BF16 { return dtype.ToBF16(float32(v)) })
	case dtype.Int64:
		return writing(x, func(v float64) int64 { return int64(v) })
	case dtype.Int32:
		return writing(x, func(v float64) int32 { return int32(v) })
	case dtype.Uint8:
		return writing(x, func(v float64) uint8 { return uint8(int64(v)) })
	case dtype.Int16:
		return writing(x, func(v float64) int16 { return int16(int64(v)) })
	case dtype.Int8:
		return writing(x, func(v float64) int8 { return int8(int64(v)) })
	case dtype.Uint16:
		return writing(x, func(v float64) uint16 { return uint16(int64(v)) })
	case dtype.Uint32:
		return writing(x, func(v float64) uint32 { return uint32(int64(v)) })
	case dtype.Uint64:
		return writing(x, func(v float64) uint64 { return uint64(int64(v)) })
	case dtype.Float8E4M3FN:
		return writing(x, func(v float64) dtype.F8E4M3 { return dtype.ToF8E4M3(float32(v)) })
	case dtype.Float8E5M2:
		return writing(x, func(v float64) dtype.F8E5M2 { return dtype.ToF8E5M2(float32(v)) })
	case dtype.Bool:
		return writing(x, func(v float64) bool { return v != 0 })
	}
	return func(int, float64) {}
}

func writing[T tensor.Element](x *tensor.Tensor, of func(float64) T) func(i int, v float64) {
	data := tensor.Storage[T](x)
	return func(i int, v float64) { data[i] = of(v) }
}

// get returns element i of x's storage.
func get(x *tensor.Tensor, i int) float64 { return reader(x)(i) }

// reader returns a function that returns element i of x's storage.
func reader(x *tensor.Tensor) func(i int) float64 {
	switch x.DType() {
	case dtype.Float32:
		return reading(x, func(v float32) float64 { return float64(v) })
	case dtype.Float64:
		return reading(x, func(v float64) float64 { return v })
	case dtype.Float16:
		return reading(x, func(v dtype.F16) float64 { return float64(v.Float32()) })
	case dtype.BFloat16:
		return reading(x, func(v dtype.BF16) float64 { return float64(v.Float32()) })
	case dtype.Int64:
		return reading(x, func(v int64) float64 { return float64(v) })
	case dtype.Int32:
		return reading(x, func(v int32) float64 { return float64(v) })
	case dtype.Uint8:
		return reading(x, func(v uint8) float64 { return float64(v) })
	case dtype.Int16:
		return reading(x, func(v int16) float64 { return float64(v) })
	case dtype.Int8:
		return reading(x, func(v int8) float64 { return float64(v) })
	case dtype.Uint16:
		return reading(x, func(v uint16) float64 { return float64(v) })
	case dtype.Uint32:
		return reading(x, func(v uint32) float64 { return float64(v) })
	case dtype.Uint64:
		return reading(x, func(v uint64) float64 { return float64(v) })
	case dtype.Float8E4M3FN:
		return reading(x, func(v dtype.F8E4M3) float64 { return float64(v.Float32()) })
	case dtype.Float8E5M2:
		return reading(x, func(v dtype.F8E5M2) float64 { return float64(v.Float32()) })
	}
	return reading(x, func(v bool) float64 {
		if v {
			return 1
		}
		return 0
	})
}

func reading[T tensor.Element](x *tensor.Tensor, of func(T) float64) func(i int) float64 {
	data := tensor.Storage[T](x)
	return func(i int) float64 { return of(data[i]) }
}

// positions calls f with the place in the storage of each element of x, in
// row-major order.
func positions(x *tensor.Tensor, f func(at int)) {
	s, st := x.Shape(), x.Strides()
	if s.Numel() == 0 {
		return
	}
	index, at := make([]int, len(s)), x.Offset()
	for {
		f(at)
		d := len(s) - 1
		for ; d >= 0; d-- {
			index[d]++
			at += st[d]
			if index[d] < s[d] {
				break
			}
			at -= index[d] * st[d]
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// list returns the elements of x in row-major order, whatever its strides.
func list(x *tensor.Tensor) []float64 {
	out := make([]float64, 0, x.Numel())
	if x.Numel() == 0 {
		return out
	}
	read := reader(x)
	positions(x, func(at int) { out = append(out, read(at)) })
	return out
}
