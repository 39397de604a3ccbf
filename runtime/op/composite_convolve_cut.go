package op

import (
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// isCutAlong reports whether one of the last n dims of x is cut: windows reach into what
// neighbours have.
func isCutAlong(x *tensor.Tensor, n int) bool {
	if !x.Placed() {
		return false
	}
	for d := len(x.Shape()) - n; d < len(x.Shape()); d++ {
		if isCut(x.Layout(), d) {
			return true
		}
	}
	return false
}

// convolvedViews is the convolution of x [n, c, ..] whose last dims are cut, without its bias: of
// slices, which take from neighbours the few elements that windows reach there.
func (m *maker) convolvedViews(x, weight *tensor.Tensor, groups int, w *window) *tensor.Tensor {
	x = m.padded(x, w, 0)
	switch groups {
	case 1:
		return m.convolvedWhole(x, weight, w)
	case depthwise:
		return m.convolvedDepthwise(x, weight, w)
	}
	return m.convolvedGroups(x, weight, groups, w)
}

// convolvedWhole is a convolution of x, padded, without groups: the windows, as rows,
// times the weight.
func (m *maker) convolvedWhole(x, weight *tensor.Tensor, w *window) *tensor.Tensor {
	n, ws := len(w.size), weight.Shape()
	last, first := []int{0}, []int{0, n + 1}
	for i := range n {
		last, first = append(last, i+2), append(first, i+1)
	}
	views := m.views(x, w)
	for i, v := range views {
		views[i] = m.do("permute", v, IntsN(append(last, 1)...))
	}
	rows := m.do("permute", weight, IntsN(append(last, 1)...))
	rows = m.Reshape(rows, shape.Shape{ws[0], ws[1:].Numel()})
	y := m.Do("linear", []*tensor.Tensor{m.Do("cat", views, Int1(n+1)), rows, nil})
	return m.unary("contiguous", m.do("permute", y, IntsN(first...)))
}

// convolvedDepthwise is a convolution of x, padded, of each channel by itself.
func (m *maker) convolvedDepthwise(x, weight *tensor.Tensor, w *window) *tensor.Tensor {
	ws := weight.Shape()
	flat := m.Reshape(weight, shape.Shape{ws[0], ws[2:].Numel()})
	var y *tensor.Tensor
	for i, v := range m.views(x, w) {
		part := m.Mul(v, m.perChannel(x, m.do("select", flat, Int1(1), Int1(i)), "weight"))
		if y == nil {
			y = part
		} else {
			y = m.Add(y, part)
		}
	}
	return y
}

// convolvedGroups is a convolution of x, padded, in groups.
func (m *maker) convolvedGroups(x, weight *tensor.Tensor, groups int, w *window) *tensor.Tensor {
	s, ws := x.Shape(), weight.Shape()
	columns := m.Do("stack", m.views(x, w), Int1(2)) // [n, c, window, ..]
	to := columns.Shape()[3:]
	columns = m.Reshape(columns, shape.Shape{s[0], groups, ws[1:].Numel(), to.Numel()})
	y := m.MatMul(m.Reshape(weight, shape.Shape{groups, ws[0] / groups, ws[1:].Numel()}), columns)
	return m.Reshape(y, slices.Concat(shape.Shape{s[0], ws[0]}, to))
}
