package op

import (
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	compositeOf(&Def{
		Name: "linear_cross_entropy", Surface: Namespace,
		Doc: "linear_cross_entropy(x, linear_weight, target, linear_bias=None, weight=None, reduction=\"mean\", ignore_index=None, label_smoothing=0.0) returns F.cross_entropy of what F.linear makes of x [.., in].\n" +
			"linear_weight is [classes, in], or [classes, d1, .., in]: then a target has dims d1, .., too,\n" +
			"and linear_bias is [classes, d1, ..]. ignore_index None is -100.\n" +
			">>> F.linear_cross_entropy(ones(1, 3), zeros(2, 3), tensor([1])).item()\n0.6931471824645996",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor [.., in]"},
			{Name: "linear_weight", Kind: Tensor, Doc: "a float tensor [classes, .., in]"},
			{Name: "target", Kind: Tensor, Doc: "classes, or probabilities of them"},
			{Name: "linear_bias", Kind: OptTensor, Doc: "a float tensor [classes, ..], or None", Default: Default(None)},
			{Name: "weight", Kind: OptTensor, Doc: "the weight of each class [classes], or None", Default: Default(None)},
			reductionParam,
			{Name: "ignore_index", Kind: OptInt, Doc: "a target that does not count", Default: Default(None)},
			inFloat("label_smoothing", "how much of each target is spread over all classes, 0 to 1", 0),
		},
	}, (*maker).linearLoss)
}

func (m *maker) linearLoss() []*tensor.Tensor {
	x, w, bias := m.x(0), m.x(1), m.x(3)
	s := w.Shape()
	if len(s) < 2 || len(x.Shape()) == 0 {
		m.refuse("linear_weight", Describe(w), "a float tensor [classes, .., in]", "x is "+Describe(x))
	}
	out, in := s[:len(s)-1], s[len(s)-1]
	if bias != nil {
		if !bias.Shape().Equal(out) {
			m.refuse("linear_bias", Describe(bias), "shape "+out.String(), "that of linear_weight without its last dim")
		}
		bias = m.Reshape(bias, shape.Shape{out.Numel()})
	}
	logits := m.Do("linear", []*tensor.Tensor{x, m.Reshape(w, shape.Shape{out.Numel(), in}), bias})
	logits = m.Reshape(logits, slices.Concat(x.Shape()[:len(x.Shape())-1], out))
	ignore := m.c.Args[1]
	if !ignore.Set {
		ignore = Int1(-100)
	}
	return one(m.Do("cross_entropy", []*tensor.Tensor{logits, m.x(2), m.x(4)}, ignore, m.c.Args[0], m.c.Args[2]))
}
