package grad

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// lowOps are the operators that a region of autocast computes in its dtype:
// products, where halving the bytes of an operand costs the least precision.
var lowOps = set("matmul", "linear", "addmm", "einsum", "dot", "outer", "convolve", "scaled_dot_product_attention")

// fullOps are those that it computes in float32: norms, losses, and reductions
// of many terms.
var fullOps = set("softmax", "log_softmax", "cross_entropy", "nll_loss", "mse_loss", "binary_cross_entropy_with_logits",
	"layer_norm", "rms_norm", "batch_norm", "sum", "mean", "prod", "var", "std", "norm", "logsumexp", "cumsum",
	"exp", "log", "pow", "rsqrt", "reciprocal", "softplus")

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, name := range names {
		m[name] = true
	}
	return m
}

// An autocast is the state of a region of autocast: the dtype of products, or none.
type autocast struct {
	on bool
	dt dtype.DType
}

// SetAutocast has products computed in dt, and norms, losses and reductions in
// float32, until the function it returns restores what was; Float32 turns that
// off. Gradients are computed as their operators were.
func (r *Recorder) SetAutocast(dt dtype.DType) (restore func()) {
	return r.setAutocast(autocast{dt != dtype.Float32, dt})
}

func (r *Recorder) setAutocast(a autocast) (restore func()) {
	was := r.autocast
	r.autocast = a
	return func() { r.autocast = was }
}

// cast returns the inputs of d in the dtype in which the region of autocast has d computed.
func (r *Recorder) cast(d *op.Def, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	to := r.autocast.dt
	switch {
	case fullOps[d.Name]:
		to = dtype.Float32
	case !lowOps[d.Name]:
		return in, nil
	}
	var out []*tensor.Tensor
	for i, x := range in {
		if x == nil || x.Weak() || x.DType() == to || x.DType() != dtype.Float32 && !x.DType().IsHalf() {
			continue
		}
		y, err := r.Apply(op.Lookup("to"), []*tensor.Tensor{x}, []op.Arg{op.Int1(int(to))})
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = append(out, in...)
		}
		out[i] = y[0]
	}
	if out == nil {
		return in, nil
	}
	return out, nil
}
