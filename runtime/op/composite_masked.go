package op

import (
	"fmt"
	"math"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A maskedComposite is a function of the module masked: an operator on the elements of x
// where a mask is true. Before what is its own, Args has the dims or the dim and, if it
// reduces, keepdim; then comes a dtype.
type maskedComposite struct {
	name    string
	returns string
	example string // a call, and what it gives
	gives   string
	kind    maskedKind
	own     []Param // after x, what no other has
	make    func(m *masked) *tensor.Tensor
}

type maskedKind int

const (
	maskedDims  maskedKind = iota // dims, None for all; keepdim
	maskedDim                     // a dim, None for all; keepdim
	maskedAlong                   // a dim
)

// A masked is a call of such a function. rest are the arguments after those that are
// its own.
type masked struct {
	*maker
	x, mask *tensor.Tensor // mask is nil if all counts
	dims    Arg            // Ints of maskedDims, Int else
	keep    Arg
}

const maskedCall = "masked.%s(tensor([1.0, 2.0, 4.0]), %smask=tensor([True, False, True]))"

var maskedComposites = []maskedComposite{
	{"sum", "the sum over dims", "", "5.0", maskedDims, nil, func(m *masked) *tensor.Tensor { return m.sum() }},
	{"prod", "the product over dims", "", "4.0", maskedDims, nil, func(m *masked) *tensor.Tensor { return m.prod() }},
	{"mean", "the mean over dims, NaN of nothing,", "", "2.5", maskedDims, nil, func(m *masked) *tensor.Tensor {
		m.x = m.floats(m.x)
		return m.Div(m.sum(), m.count(m.keep))
	}},
	{"amax", "the greatest element over dims", "", "4.0", maskedDims, nil, func(m *masked) *tensor.Tensor {
		return m.do("amax", m.filled(m.ends(false)), m.dims, m.keep)
	}},
	{"amin", "the least element over dims", "", "1.0", maskedDims, nil, func(m *masked) *tensor.Tensor {
		return m.do("amin", m.filled(m.ends(true)), m.dims, m.keep)
	}},
	{"argmax", "the index of the greatest element along dim", "", "2", maskedDim, nil, func(m *masked) *tensor.Tensor {
		return m.do("argmax", m.filled(m.ends(false)), m.dims, m.keep)
	}},
	{"argmin", "the index of the least element along dim", "", "0", maskedDim, nil, func(m *masked) *tensor.Tensor {
		return m.do("argmin", m.filled(m.ends(true)), m.dims, m.keep)
	}},
	{"median", "the median along dim, the lower of two in the middle and NaN of nothing,", "", "1.0", maskedDim, nil, func(m *masked) *tensor.Tensor {
		m.x = m.floats(m.x)
		return m.all("nanmedian", one(m.filled(number(math.NaN()))), m.dims, m.keep)[0]
	}},
	{"logsumexp", "log(sum(exp(x))) over dims", "dim=0, ", "4.0485873", maskedDims, nil, func(m *masked) *tensor.Tensor {
		m.x = m.floats(m.x)
		dims := m.dims
		if !dims.Set {
			dims = IntsN(firstInts(len(m.x.Shape()))...)
		}
		return m.do("logsumexp", m.filled(number(math.Inf(-1))), dims, m.keep)
	}},
	{"norm", "the ord-norm over dims", "2.0, ", "4.1231055", maskedDims, []Param{inFloat("ord", "which norm", 2)}, func(m *masked) *tensor.Tensor {
		return m.norm(m.c.Args[0], m.keep)
	}},
	{"var", "the variance over dims", "unbiased=True, ", "4.5", maskedDims, []Param{inUnbiased}, func(m *masked) *tensor.Tensor { return m.variance() }},
	{"std", "the standard deviation over dims", "unbiased=False, ", "1.5", maskedDims, []Param{inUnbiased}, func(m *masked) *tensor.Tensor {
		return m.unary("sqrt", m.variance())
	}},
	{"softmax", "softmax along dim, of what is masked 0,", "dim=0, ", "[0.04742587357759476, 0.0, 0.9525741338729858]", maskedAlong, nil, func(m *masked) *tensor.Tensor {
		return m.do("softmax", m.filled(number(math.Inf(-1))), m.dims, None)
	}},
	{"log_softmax", "the logarithm of softmax along dim, of what is masked -inf,", "dim=0, ", "[-3.0485873222351074, -inf, -0.04858734831213951]", maskedAlong, nil, func(m *masked) *tensor.Tensor {
		return m.do("log_softmax", m.filled(number(math.Inf(-1))), m.dims, None)
	}},
	{"softmin", "softmax of -x along dim, of what is masked 0,", "dim=0, ", "[0.9525741338729858, 0.0, 0.04742587357759476]", maskedAlong, nil, func(m *masked) *tensor.Tensor {
		return m.do("softmax", m.Neg(m.filled(number(math.Inf(1)))), m.dims, None)
	}},
	{"normalize", "x over its ord-norm along dim, or eps if that is less,", "2.0, dim=0, ", "[0.24253563582897186, 0.0, 0.9701425433158875]", maskedAlong, []Param{inFloat("ord", "which norm", 2), inFloat("eps", "the least divisor", 1e-12)}, func(m *masked) *tensor.Tensor {
		m.dims = IntsN(m.dims.Int)
		return m.Div(m.filled(integer(0)), m.do("clamp", m.norm(m.c.Args[0], Bool1(true)), m.c.Args[1], None))
	}},
	{"cumsum", "the sums along dim up to and with each element", "dim=0, ", "[1.0, 1.0, 5.0]", maskedAlong, nil, func(m *masked) *tensor.Tensor {
		return m.do("cumsum", m.filled(integer(0)), m.dims)
	}},
	{"cumprod", "the products along dim up to and with each element", "dim=0, ", "[1.0, 1.0, 4.0]", maskedAlong, nil, func(m *masked) *tensor.Tensor {
		return m.do("cumprod", m.filled(integer(1)), m.dims)
	}},
}

var (
	inUnbiased = Param{Name: "unbiased", Kind: Bool, Doc: "whether their number is lessened by 1", Default: Default(Bool1(true))}
	inMask     = Param{Name: "mask", Kind: OptTensor, Doc: "a bool tensor that broadcasts to x, None for all", Default: Default(None)}
	inDTypeTo  = Param{Name: "dtype", Kind: OptDType, Doc: "what x is converted to before, None for its own", Default: Default(None)}
)

func init() {
	for _, e := range maskedComposites {
		params := append([]Param{inX}, e.own...)
		switch e.kind {
		case maskedDims:
			params = append(params, inDims, keepdimParam)
		case maskedDim:
			params = append(params, oneDim, keepdimParam)
		case maskedAlong:
			params = append(params, inDimGive)
		}
		if e.name == "normalize" { // its eps comes after dim
			params[2], params[3] = params[3], params[2]
		}
		params = append(params, inDTypeTo, inMask)
		if e.name == "var" || e.name == "std" {
			params = append(params, Param{Name: "correction", Kind: OptFloat, Doc: "what their number is lessened by, None for what unbiased says", Default: Default(None)})
		}
		compositeOf(&Def{Name: e.name, Surface: Masked, Params: params, MakeDoc: func() string { return e.doc(params) }}, func(m *maker) []*tensor.Tensor { return one(e.make(m.masked(&e))) })
	}
	compositeOf(&Def{Name: "logaddexp", Surface: Masked,
		Doc:    "logaddexp(x, other, dtype=None, input_mask=None, other_mask=None) returns log(exp(x) + exp(other)), elementwise; what a mask leaves out counts as -inf.\n>>> masked.logaddexp(zeros(1), zeros(1), input_mask=tensor([False])).tolist()\n[0.0]",
		Params: append(twoAlone[:2:2], inDTypeTo, Param{Name: "input_mask", Kind: OptTensor, Doc: "which elements of x count", Default: Default(None)}, Param{Name: "other_mask", Kind: OptTensor, Doc: "which elements of other count", Default: Default(None)})},
		func(m *maker) []*tensor.Tensor {
			in := make([]*tensor.Tensor, 2)
			for i := range in {
				v := &masked{maker: m, x: m.floats(m.castTo(m.x(i), m.c.Args[0])), mask: m.x(2 + i)}
				m.checkMask(v.x, v.mask, []string{"input_mask", "other_mask"}[i])
				in[i] = v.filled(number(math.Inf(-1)))
			}
			return one(m.Do("logaddexp", in))
		})
}

// doc returns the documentation of e, whose parameters are given.
func (e *maskedComposite) doc(params []Param) string {
	var list []string
	for _, p := range params {
		switch {
		case p.Default == nil:
			list = append(list, p.Name)
		case p.Kind == Float:
			list = append(list, fmt.Sprintf("%s=%v", p.Name, p.Default.Float))
		case p.Kind == Bool:
			list = append(list, p.Name+map[int]string{0: "=False", 1: "=True"}[p.Default.Int])
		default:
			list = append(list, p.Name+"=None")
		}
	}
	call := fmt.Sprintf(maskedCall, e.name, e.example)
	if strings.HasPrefix(e.gives, "[") {
		call += ".tolist()"
	}
	return fmt.Sprintf("%s(%s) returns %s of the elements of x where mask is true.\n>>> %s\n%s", e.name, strings.Join(list, ", "), e.returns, call, e.gives)
}

// masked returns the call as one of e, with x and the mask checked.
func (m *maker) masked(e *maskedComposite) *masked {
	at := len(e.own)
	v := &masked{maker: m, mask: m.x(1)}
	args := m.c.Args
	if e.name == "normalize" {
		args = []Arg{args[0], args[2], args[1], args[3]}
		m.c.Args = args
	}
	v.dims = args[at]
	dt := args[at+1]
	if e.kind != maskedAlong {
		v.keep, dt = args[at+1], args[at+2]
	}
	v.x = m.castTo(m.x(0), dt)
	m.checkMask(v.x, v.mask, "mask")
	return v
}

// castTo returns x, converted to the dtype dt if one is given.
func (m *maker) castTo(x *tensor.Tensor, dt Arg) *tensor.Tensor {
	if !dt.Set {
		return x
	}
	return m.Cast(x, dtype.DType(dt.Int))
}

// checkMask refuses a mask that is none of x.
func (m *maker) checkMask(x, mask *tensor.Tensor, param string) {
	if mask == nil {
		return
	}
	if mask.DType() != dtype.Bool {
		m.refuse(param, Describe(mask), "a bool tensor", "")
	}
	if s, ok := shape.Broadcast(mask.Shape(), x.Shape()); !ok || !s.Equal(x.Shape()) {
		m.refuse(param, Describe(mask), "a mask that broadcasts to "+x.Shape().String(), "the shape of x")
	}
}

// filled returns x with v where it is masked.
func (m *masked) filled(v *tensor.Tensor) *tensor.Tensor {
	if m.mask == nil {
		return m.x
	}
	return m.Where(m.mask, m.x, v)
}

// ends returns the greatest number of the dtype of x, or the least.
func (m *masked) ends(greatest bool) *tensor.Tensor {
	switch dt := m.x.DType(); {
	case dt.IsFloat():
		return number(math.Inf(map[bool]int{true: 1, false: -1}[greatest]))
	case dt == dtype.Bool:
		return tensor.Number(greatest)
	default:
		lo, hi := dt.Limits()
		if greatest {
			return tensor.Number(hi)
		}
		return tensor.Number(lo)
	}
}

func (m *masked) sum() *tensor.Tensor { return m.do("sum", m.filled(integer(0)), m.dims, m.keep) }

// prod returns the product over dims, one after the other.
func (m *masked) prod() *tensor.Tensor {
	x := m.filled(integer(1))
	if !m.dims.Set {
		y := m.do("prod", x, None, None)
		if m.keep.Int != 0 {
			y = m.Reshape(y, make1s(len(x.Shape())))
		}
		return y
	}
	if len(x.Shape()) == 0 {
		return m.do("prod", x, None, None)
	}
	for _, d := range m.dims.Ints {
		x = m.do("prod", x, Int1(d), Bool1(true))
	}
	if m.keep.Int == 0 && len(m.dims.Ints) > 0 {
		x = m.do("squeeze", x, m.dims)
	}
	return x
}

// count returns how many elements count, as floats.
func (m *masked) count(keep Arg) *tensor.Tensor {
	ones := m.Do("ones_like", one(m.x.Detach()), None)
	if m.mask != nil {
		ones = m.Where(m.mask, ones, integer(0))
	}
	return m.do("sum", ones, m.dims, keep)
}

func (m *masked) norm(ord, keep Arg) *tensor.Tensor {
	m.x = m.floats(m.x)
	fill := number(0)
	if ord.Float < 0 {
		fill = number(math.Inf(1))
	}
	return m.do("norm", m.filled(fill), ord, m.dims, keep)
}

// variance returns the mean square of the distances from the mean.
func (m *masked) variance() *tensor.Tensor {
	x := m.floats(m.x)
	m.x = x
	count, all := m.count(Bool1(true)), m.filled(integer(0))
	apart := m.Sub(x, m.Div(m.do("sum", all, m.dims, Bool1(true)), count))
	m.x = m.Mul(apart, apart)
	n, less := m.count(m.keep), float64(m.c.Args[0].Int)
	if a := m.c.Args[len(m.c.Args)-1]; a.Set {
		less = a.Float
	}
	if less != 0 {
		n = m.do("clamp", m.AddNumber(n, -less), Float1(0), None)
	}
	return m.Div(m.sum(), n)
}
