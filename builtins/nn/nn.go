package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/tensor"
)

const docDType = "dtype is a float dtype, None for the default one; device is \"cpu\" or None."

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn", Namespace: true,
		Doc: "nn is the module of modules: layers with parameters, and what is made of them.\n" +
			"New parameters have PyTorch's distributions. Each that is random is one draw of its\n" +
			"whole shape, in the order in which the layers are made: ranks with one seed that have\n" +
			"drawn equally often get the same bits.",
	}, &builtins.Row{
		Name: "nn.Module",
		Doc: "Module(forward=None, **children) returns a module whose call m(*args, **kwargs) returns forward(m, *args, **kwargs).\n" +
			"children become its attributes: modules, Parameters and anything else that forward\n" +
			"wants to find.\n" +
			">>> m = nn.Module(forward=lambda self, x: self.fc(x) * self.scale, fc=nn.Linear(3, 2), scale=0.5)\n" +
			">>> m(ones(4, 3)).shape\n(4, 2)",
		Fn: newScriptModule,
	}, &builtins.Row{
		Name: "nn.Parameter",
		Doc: "Parameter(data, requires_grad=True) returns a leaf on the storage of data, a tensor, that a module takes for a parameter when it is assigned.\n" +
			">>> m = nn.Linear(2, 1, bias=False)\n" +
			">>> m.weight = nn.Parameter(ones(1, 2))\n" +
			">>> m(tensor([3.0, 4.0])).tolist()\n[7.0]",
		Fn: newParameter,
	}, &builtins.Row{
		Name: "nn.Linear",
		Doc: "Linear(in_features, out_features, bias=True, dtype=None, device=None) returns a module that maps [..., in_features] to [..., out_features]: x weightᵀ + bias.\n" +
			"weight [out_features, in_features] and then bias [out_features] are drawn uniform\n" +
			"within 1 / √in_features. " + docDType + "\n" +
			">>> nn.Linear(3, 2)(ones(4, 3)).shape\n(4, 2)",
		Fn: newLinear,
	}, &builtins.Row{
		Name: "nn.Embedding",
		Doc: "Embedding(num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, dtype=None, device=None) returns a module that maps integers [...] to rows of weight: [..., embedding_dim].\n" +
			"weight [num_embeddings, embedding_dim] is drawn from the normal distribution. Row\n" +
			"padding_idx, from the end if negative, is zeros and gets no gradient. With max_norm rows\n" +
			"that are asked for and whose norm of order norm_type is greater are first scaled to it,\n" +
			"in weight itself. scale_grad_by_freq divides the gradient of a row by how often it is\n" +
			"asked for. Gradients are dense, whatever sparse says. " + docDType + "\n" +
			">>> nn.Embedding(10, 3, padding_idx=0)(tensor([0, 9])).shape\n(2, 3)\n" +
			">>> nn.Embedding(10, 3, max_norm=1.0)(tensor([0, 9])).norm(dim=1).le(1.0).all()\nTrue",
		Fn: newEmbedding,
	}, &builtins.Row{
		Name: "nn.Embedding.from_pretrained", Static: true,
		Doc: "from_pretrained(embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False) returns an Embedding whose weight is a tensor [n, dim], on its storage, and without freeze requires grad.\n" +
			">>> nn.Embedding.from_pretrained(tensor([[1.0, 2.0], [3.0, 4.0]]))(tensor([1])).tolist()\n[[3.0, 4.0]]",
		Fn: embedded,
	}, &builtins.Row{
		Name: "nn.LayerNorm",
		Doc: "LayerNorm(normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, dtype=None, device=None) returns a module that gives the last dims of its input mean 0 and variance 1, times weight plus bias.\n" +
			"normalized_shape is the sizes of these dims, an int or a list. weight begins as ones,\n" +
			"bias as zeros; without elementwise_affine neither is there. See F.layer_norm.\n" + docDType + "\n" +
			">>> nn.LayerNorm(2)(tensor([1.0, 3.0])).round()\n[-1.  1.]",
		Fn: newLayerNorm,
	}, &builtins.Row{
		Name: "nn.RMSNorm",
		Doc: "RMSNorm(normalized_shape, eps=None, elementwise_affine=True, dtype=None, device=None) returns a module that divides its input by its root mean square over the last dims, times weight.\n" +
			"normalized_shape is the sizes of these dims, an int or a list. weight begins as ones;\n" +
			"without elementwise_affine there is none. See F.rms_norm.\n" + docDType + "\n" +
			">>> nn.RMSNorm(2)(tensor([3.0, -3.0])).round()\n[ 1. -1.]",
		Fn: newRMSNorm,
	}, &builtins.Row{
		Name: "nn.Dropout",
		Doc: "Dropout(p=0.5) returns a module that zeroes each element with probability p and divides the others by 1 - p, while it trains.\n" +
			"A call is one random draw. After .eval() it returns what it is given.\n" +
			">>> nn.Dropout(0.5).eval()(ones(3))\n[1. 1. 1.]",
		Fn: newDropout,
	}, &builtins.Row{
		Name: "nn.ReLU",
		Doc:  "ReLU() returns a module that returns the greater of its input and 0, elementwise.\n>>> nn.ReLU()(tensor([-1.0, 2.0]))\n[0. 2.]",
		Fn:   withoutArguments(reluClass),
	}, &builtins.Row{
		Name: "nn.GELU",
		Doc: "GELU(approximate=\"none\") returns a module that applies F.gelu, elementwise.\n" +
			">>> nn.GELU(approximate=\"tanh\")(zeros(2))\n[0. 0.]",
		Fn: newGELU,
	}, &builtins.Row{
		Name: "nn.SiLU",
		Doc:  "SiLU() returns a module that returns its input times the sigmoid of it, elementwise.\n>>> nn.SiLU()(zeros(2))\n[0. 0.]",
		Fn:   withoutArguments(siluClass),
	})
}

// ScriptClass is the class of modules whose forward function is a script's.
var ScriptClass = &class{Name: "Module", forward: func(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if m.forward == nil {
		return cannotRun(m, thread, args, kwargs)
	}
	return starlark.Call(thread, m.forward, append(starlark.Tuple{m.Value}, args...), kwargs)
}}

func newScriptModule(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		forward  arg.OptCallable
		own      []starlark.Tuple // the arguments that are parameters of the constructor
		children []starlark.Tuple
	)
	for _, kw := range kwargs {
		if kw[0] == starlark.String("forward") {
			own = append(own, kw)
		} else {
			children = append(children, kw)
		}
	}
	if err := arg.Unpack(b.Name(), args, own, "forward?", &forward); err != nil {
		return nil, err
	}
	m := newModule(e, ScriptClass)
	m.forward = forward.V.Fn
	for _, kw := range children {
		name := string(kw[0].(starlark.String))
		if err := m.assign(name, kw[1]); err != nil {
			return nil, arg.In(b.Name(), name, err)
		}
	}
	return m, nil
}

func newParameter(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data     builtins.OneTensor
		requires = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "data", &data, "requires_grad?", &requires); err != nil {
		return nil, err
	}
	return asParameter(e, b.Name(), data.T, bool(requires))
}

// asParameter returns a parameter on the storage of t, for the function fn.
func asParameter(e *builtins.Env, fn string, t *tensor.Tensor, requires bool) (starlark.Value, error) {
	x := e.Wrap(t.Detach())
	x.Parameter = true
	if l := builtins.OperatorLensOf(x.T); l != nil {
		x.T.Lens = l.Parameter()
	}
	if !requires {
		return x, nil
	}
	return x, builtins.RequireGrad(fn, x.T)
}
