package collective

import (
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// reduceOps gives the reductions of collectives their names: those that
// scripts may use, and what package runtime calls them.
var reduceOps = map[string]string{
	"sum":     "sum",
	"mean":    "mean",
	"avg":     "mean",
	"prod":    "prod",
	"product": "prod",
	"max":     "max",
	"min":     "min",
	"band":    "band",
	"bor":     "bor",
	"bxor":    "bxor",
}

// ReduceOps returns the names of reductions, ascending.
func ReduceOps() []string { return slices.Sorted(maps.Keys(reduceOps)) }

// ToReduceOp returns the reduction that v names.
func ToReduceOp(v starlark.Value) (string, error) {
	name, ok := starlark.AsString(v)
	if op := reduceOps[name]; ok && op != "" {
		return op, nil
	}
	return "", arg.Bad(v, `one of "sum", "mean", "prod", "max", "min", "band", "bor", "bxor"`, arg.Nearest(name, ReduceOps()))
}

func init() {
	builtins.Register(&builtins.Row{
		Name:      "ReduceOp",
		Namespace: true,
		Doc: "ReduceOp holds the reductions of collectives, as PyTorch writes them: SUM, AVG, PRODUCT, MAX, MIN, and of the bits of integers and bools BAND, BOR, BXOR.\n" +
			"Each is the string that op= takes.\n" +
			">>> all_reduce(tensor([2.0]), op=ReduceOp.MAX).tolist()\n[2.0]",
	})
	for name, op := range map[string]string{"SUM": "sum", "AVG": "mean", "PRODUCT": "prod", "MAX": "max", "MIN": "min", "BAND": "band", "BOR": "bor", "BXOR": "bxor"} {
		builtins.Register(&builtins.Row{
			Name:  "ReduceOp." + name,
			Doc:   name + " is " + starlark.String(op).String() + ", a reduction for op=.\n>>> ReduceOp." + name + "\n" + starlark.String(op).String(),
			Value: func() starlark.Value { return starlark.String(op) },
		})
	}
}
