package builtins

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "vmap",
		Doc: "vmap(fn, in_dims=0, out_dims=0) returns a function that calls fn on the slices of its arguments along a dim, and stacks the results.\n" +
			"in_dims is that dim, or a list with one for each argument; None is for an argument that every call gets whole.\n" +
			"out_dims is the dim along which results are stacked. fn returns a tensor, or a tuple of tensors.\n" +
			">>> vmap(lambda x, w: (x * w).sum(), in_dims=[0, None])(arange(6).reshape(3, 2), tensor([1, 10])).tolist()\n" +
			"[10, 32, 54]",
		Fn: vmap,
	})
}

// A mapping is one vmap.
type mapping struct {
	env     *Env
	name    string
	fn      starlark.Callable
	in      starlark.Value
	outDims int
}

func vmap(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	m := &mapping{env: e, name: b.Name(), in: starlark.MakeInt(0)}
	var (
		fn  arg.Callable
		out arg.Int
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn, "in_dims?", &m.in, "out_dims?", &out); err != nil {
		return nil, err
	}
	m.fn, m.outDims = fn.Fn, int(out)
	return starlark.NewBuiltin(b.Name(), func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(kwargs) > 0 {
			return nil, arg.Unexpected(m.name, string(kwargs[0][0].(starlark.String)), nil)
		}
		return m.call(args)
	}), nil
}

// call calls the function on every slice of args.
func (m *mapping) call(args starlark.Tuple) (starlark.Value, error) {
	dims, tensors, n, err := m.slices(args)
	if err != nil {
		return nil, err
	}
	var results []starlark.Value
	for i := range n {
		each := make(starlark.Tuple, len(args))
		for k := range args {
			if tensors[k] == nil {
				each[k] = args[k]
				continue
			}
			x, err := m.env.Runtime.Do("select", []*tensor.Tensor{tensors[k]}, op.Int1(dims[k]), op.Int1(i))
			if err != nil {
				return nil, err
			}
			each[k] = m.env.Wrap(x)
		}
		y, err := m.env.Call(m.fn, each...)
		if err != nil {
			return nil, err
		}
		results = append(results, y)
	}
	return m.stack(results)
}

// slices returns the dims along which args are cut, the tensors among them that
// are cut, and how many slices each has.
func (m *mapping) slices(args starlark.Tuple) (dims []int, tensors []*tensor.Tensor, n int, err error) {
	dims, tensors, n = make([]int, len(args)), make([]*tensor.Tensor, len(args)), -1
	for k, v := range args {
		dim := m.in
		if IsList(m.in) {
			list := m.in.(starlark.Indexable)
			if list.Len() != len(args) {
				return nil, nil, 0, &op.ArgError{Func: m.name, Param: "in_dims", Got: fmt.Sprintf("%d dims", list.Len()), Want: fmt.Sprintf("one for each of %d arguments", len(args))}
			}
			dim = list.Index(k)
		}
		if dim == starlark.None {
			continue
		}
		d, err := arg.ToInt(dim)
		if err != nil {
			return nil, nil, 0, arg.In(m.name, "in_dims", err)
		}
		t, err := ToTensor(v)
		if err != nil {
			return nil, nil, 0, arg.In(m.name, fmt.Sprintf("argument %d", k+1), err)
		}
		if dims[k], err = arg.Dim(m.name, "in_dims", d, t.Shape()); err != nil {
			return nil, nil, 0, err
		}
		size := t.Shape()[dims[k]]
		if n >= 0 && size != n {
			return nil, nil, 0, &op.ArgError{Func: m.name, Param: fmt.Sprintf("argument %d", k+1), Got: fmt.Sprintf("a size of %d in dim %d", size, dims[k]), Want: fmt.Sprint(n), Rule: "all arguments have as many slices"}
		}
		tensors[k], n = t, size
	}
	if n < 1 {
		return nil, nil, 0, &op.ArgError{Func: m.name, Got: "no slice of an argument", Want: "at least one"}
	}
	return dims, tensors, n, nil
}

// stack returns the results as one, or where they are tuples a tuple of such.
func (m *mapping) stack(results []starlark.Value) (starlark.Value, error) {
	if first, ok := results[0].(starlark.Tuple); ok {
		out := make(starlark.Tuple, len(first))
		for i := range first {
			column := make([]starlark.Value, len(results))
			for k, r := range results {
				row, ok := r.(starlark.Tuple)
				if !ok || len(row) != len(first) {
					return nil, &op.ArgError{Func: m.name, Got: "results of different lengths", Want: fmt.Sprintf("%d values of every call", len(first))}
				}
				column[k] = row[i]
			}
			y, err := m.stack(column)
			if err != nil {
				return nil, err
			}
			out[i] = y
		}
		return out, nil
	}
	list := make([]*tensor.Tensor, len(results))
	for i, r := range results {
		t, err := ToTensor(r)
		if err != nil {
			return nil, arg.In(m.name, "result of fn", err)
		}
		list[i] = t
	}
	y, err := m.env.Runtime.Do("stack", list, op.Int1(m.outDims))
	if err != nil {
		return nil, arg.Rename(m.name, err)
	}
	return m.env.Wrap(y), nil
}
