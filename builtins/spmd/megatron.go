package spmd

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/spmdtype"
)

// The functions of Megatron-LM between regions: the rows of spmdtype.Regions, by both of their names.
func init() {
	for _, r := range spmdtype.Regions {
		for _, name := range []string{r.Name, r.Long} {
			params, note := "x, axis=\"tp\"", ""
			if !r.NoGrad.IsNone() {
				params += ", tp_grad=True"
				note = "tensor_parallel_output_grad is another name of tp_grad.\n"
			}
			builtins.Register(&builtins.Row{Name: "spmd." + name, Communicates: true, Fn: regionFunction(r), MakeDoc: func() string {
				doc := fmt.Sprintf("%s(%s) returns %s\nIt is spmd.%s(x, axis, src=spmd.%v, dst=spmd.%v). %s", name, params, r.Doc, r.Call, r.Src, r.Dst, note)
				if name == r.Long {
					doc = fmt.Sprintf("%s(%s) returns spmd.%s(x, axis), by the name that Megatron-LM has for it.\n%s", name, params, r.Name, note)
				}
				return doc + "\n>>> mesh = init_device_mesh(\"cpu\", (1,), mesh_dim_names=(\"tp\",))\n>>> spmd." + name + "(ones(2)).tolist()\n[1.0, 1.0]"
			}})
		}
	}
}

// regionFunction returns the function of a row.
func regionFunction(r spmdtype.Region) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			x     builtins.OneTensor
			along starlark.Value = starlark.String("tp")
			grad                 = arg.Bool(true)
			pairs                = []any{"x|input_", &x, "axis|group?", &along}
		)
		if !r.NoGrad.IsNone() {
			pairs = append(pairs, "tp_grad|tensor_parallel_output_grad?", &grad)
		}
		if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		ax, err := axisOf(e, b.Name(), "axis", along)
		if err != nil {
			return nil, err
		}
		dst := r.Dst
		if !bool(grad) {
			dst = r.NoGrad
		}
		y, err := Transit(e, "spmd."+r.Call, ax, x.T, r.Src, dst)
		if err != nil {
			return nil, arg.Rename(b.Name(), err)
		}
		return e.Wrap(y), nil
	}
}
