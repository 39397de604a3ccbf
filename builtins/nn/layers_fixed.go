package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A fixedLayer is a class of modules without parameters that call a function of F with
// some arguments that are always the same, and the fields of the module.
type fixedLayer struct {
	layer
	fixed []starlark.Tuple
}

var fixedLayers = []fixedLayer{
	{layer{"Softmax2d", "softmax", nil, "Softmax2d() returns a module that applies F.softmax along the channels of images [n, c, h, w] or [c, h, w].\n" +
		">>> nn.Softmax2d()(zeros(1, 2, 1, 1)).flatten().tolist()\n[0.5, 0.5]"},
		[]starlark.Tuple{{starlark.String("dim"), starlark.MakeInt(-3)}}},
	{layer{"UpsamplingNearest2d", "interpolate", layerFields("size=None, scale_factor=None"), "UpsamplingNearest2d(size=None, scale_factor=None) returns a module that applies F.interpolate, mode \"nearest\".\n" +
		">>> nn.UpsamplingNearest2d(scale_factor=2)(ones(1, 1, 2, 2)).shape\n(1, 1, 4, 4)"},
		[]starlark.Tuple{{starlark.String("mode"), starlark.String("nearest")}}},
	{layer{"UpsamplingBilinear2d", "interpolate", layerFields("size=None, scale_factor=None"), "UpsamplingBilinear2d(size=None, scale_factor=None) returns a module that applies F.interpolate, mode \"bilinear\", where corners stay.\n" +
		">>> nn.UpsamplingBilinear2d([1, 3])(tensor([[[[1.0, 3.0]]]])).tolist()\n[[[[1.0, 2.0, 3.0]]]]"},
		[]starlark.Tuple{{starlark.String("mode"), starlark.String("bilinear")}, {starlark.String("align_corners"), starlark.True}}},
}

func init() {
	for i := range fixedLayers {
		l := &fixedLayers[i]
		builtins.Register(l.rowOf(l.run))
	}
}

// run is the forward function of the layer's modules.
func (l *fixedLayer) run(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
		return nil, err
	}
	named := l.fixed[:len(l.fixed):len(l.fixed)]
	for _, f := range l.fields {
		named = append(named, starlark.Tuple{starlark.String(f.name), m.Get(f.name)})
	}
	return builtins.CallF(m.env, l.fn, starlark.Tuple{x}, named)
}
