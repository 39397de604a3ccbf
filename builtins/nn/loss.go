package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

var (
	crossEntropyClass = &class{Name: "CrossEntropyLoss", forward: compares("cross_entropy", "weight", "ignore_index", "reduction", "label_smoothing")}
	mseClass          = &class{Name: "MSELoss", forward: compares("mse_loss", "reduction")}
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.CrossEntropyLoss",
		Doc: "CrossEntropyLoss(weight=None, ignore_index=-100, reduction=\"mean\", label_smoothing=0.0) returns a module that compares logits with targets: F.cross_entropy.\n" +
			"A call m(input, target) takes what F.cross_entropy takes.\n" +
			">>> nn.CrossEntropyLoss()(zeros(1, 2), tensor([0])).item()\n0.6931471824645996",
		Fn: newCrossEntropyLoss,
	}, &builtins.Row{
		Name: "nn.MSELoss",
		Doc: "MSELoss(reduction=\"mean\") returns a module that compares two tensors by the mean of their squared differences: F.mse_loss.\n" +
			">>> nn.MSELoss()(tensor([1.0, 3.0]), zeros(2)).item()\n5.0",
		Fn: newMSELoss,
	})
}

// compares returns the forward function of a loss: the function called name of
// F, of input, target and fields of the module.
func compares(name string, fields ...string) forwardFunc {
	return func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var input, target starlark.Value
		if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &input, "target", &target); err != nil {
			return nil, err
		}
		return m.apply(name, starlark.Tuple{input, target}, fields...)
	}
}

func newCrossEntropyLoss(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		weight    starlark.Value = starlark.None
		ignore                   = arg.Int(-100)
		reduction starlark.Value = starlark.String("mean")
		smoothing probability
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "weight?", &weight, "ignore_index?", &ignore, "reduction?", &reduction, "label_smoothing?", &smoothing); err != nil {
		return nil, err
	}
	if err := arg.Set(b.Name(), "weight", &builtins.OptTensor{}, weight); err != nil {
		return nil, err
	}
	if err := builtins.CheckChoice(b.Name(), "reduction", "cross_entropy", reduction); err != nil {
		return nil, err
	}
	m := newModule(e, crossEntropyClass)
	m.plain("weight", weight, "ignore_index", starlark.MakeInt(int(ignore)), "reduction", reduction, "label_smoothing", starlark.Float(smoothing))
	return m, nil
}

func newMSELoss(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var reduction starlark.Value = starlark.String("mean")
	if err := arg.Unpack(b.Name(), args, kwargs, "reduction?", &reduction); err != nil {
		return nil, err
	}
	if err := builtins.CheckChoice(b.Name(), "reduction", "mse_loss", reduction); err != nil {
		return nil, err
	}
	m := newModule(e, mseClass)
	m.plain("reduction", reduction)
	return m, nil
}
