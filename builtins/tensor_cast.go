package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// casts are PyTorch's short forms of x.to(dtype).
var casts = []struct {
	name string
	to   dtype.DType
}{
	{"float", dtype.Float32}, {"double", dtype.Float64}, {"half", dtype.Float16}, {"bfloat16", dtype.BFloat16},
	{"int", dtype.Int32}, {"long", dtype.Int64}, {"short", dtype.Int16}, {"char", dtype.Int8}, {"byte", dtype.Uint8}, {"bool", dtype.Bool},
}

func init() {
	for _, c := range casts {
		Register(methodRow(c.name, fmt.Sprintf("%s() returns x.to(%v).\n>>> ones(2).%s().dtype\n%v", c.name, c.to, c.name, c.to), cast(c.to)))
	}
	Register(
		methodRow("cpu", "cpu() returns x: the only device is the processor of the rank.\n>>> ones(2).cpu().tolist()\n[1.0, 1.0]",
			func(_ *Env, fn string, x *Tensor, _ *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return x, arg.Unpack(fn, args, kwargs)
			}),
		tensorRow("device", "device is \"cpu\".\n>>> ones(2).device\n\"cpu\"",
			func(*Env, *tensor.Tensor) (starlark.Value, error) { return starlark.String("cpu"), nil }),
	)
}

// cast returns the method that converts to d.
func cast(d dtype.DType) tensorMethod {
	return func(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(fn, args, kwargs); err != nil {
			return nil, err
		}
		in := []*tensor.Tensor{t}
		if stand := e.standIn(toOp, in); stand != nil {
			return stand(x, starlark.Tuple{DtypeOf(d)}, nil)
		}
		y, err := invokeOne(e, toOp, in, op.Int1(int(d)))
		if err != nil {
			return nil, err
		}
		return e.Wrap(y), nil
	}
}

var toOp = op.Lookup("to")

// WithoutDevice returns the arguments of the method to, called fn, without the device, "cpu" by
// position or device= by name, that PyTorch's users put before the dtype or alone.
func WithoutDevice(fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple, error) {
	if len(args) > 0 && args[0] == starlark.String("cpu") {
		args = args[1:]
	}
	for i, kw := range kwargs {
		if kw[0] == starlark.String("device") {
			rest := slices.Concat(kwargs[:i], kwargs[i+1:])
			return args, rest, arg.In(fn, "device", Device{}.Unpack(kw[1]))
		}
	}
	return args, kwargs, nil
}

// toMethod is x.to, which returns x if no dtype is named beside the device. A tensor names its own.
func toMethod(s *signature) *starlark.Builtin {
	return starlark.NewBuiltin(s.name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := b.Receiver().(*Tensor)
		given := len(args) + len(kwargs)
		args, kwargs, err := WithoutDevice(s.name, args, kwargs)
		if err != nil {
			return nil, err
		}
		if given > 0 && len(args)+len(kwargs) == 0 {
			return x, nil
		}
		if len(args) > 0 {
			if other, ok := args[0].(*Tensor); ok {
				t, err := other.Tensor()
				if err != nil {
					return nil, err
				}
				args = append(starlark.Tuple{DtypeOf(t.DType())}, args[1:]...)
			}
		}
		return s.call(x.Env, x, args, kwargs)
	})
}
