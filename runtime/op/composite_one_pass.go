package op

import "tpsh/runtime/kernel"

// A onePass makes the result of a composite that is Pointwise of inputs of float32 by a kernel
// of its own: it returns what stores it in dst, or nil where the arguments are others than the kernel is for.
// The bits are those of the operators.
type onePass func(c *Call, in [][]float32) func(dst []float32)

// onePasses are those of the composites, by their names.
var onePasses = map[string]onePass{
	"leaky_relu": func(c *Call, in [][]float32) func(dst []float32) {
		return func(dst []float32) { kernel.LeakyRelu(dst, in[0], float32(c.Args[0].Float)) }
	},
	"elu": func(c *Call, in [][]float32) func(dst []float32) { return eluPass(in[0], c.Args[0].Float, 1, 1) },
	"celu": func(c *Call, in [][]float32) func(dst []float32) {
		return eluPass(in[0], c.Args[0].Float, c.Args[0].Float, 1)
	},
	"selu": func(c *Call, in [][]float32) func(dst []float32) { return eluPass(in[0], seluAlpha, 1, seluScale) },
	"lerp": func(c *Call, in [][]float32) func(dst []float32) {
		if !c.In[2].Weak() {
			return nil
		}
		return func(dst []float32) { kernel.Mix(dst, in[0], in[1], float32(numberOf(c.In[2]))) }
	},
	"addcmul": func(c *Call, in [][]float32) func(dst []float32) {
		return func(dst []float32) { kernel.AddProduct(dst, in[0], in[1], in[2], float32(c.Args[0].Float)) }
	},
	"addcdiv": func(c *Call, in [][]float32) func(dst []float32) {
		return func(dst []float32) { kernel.AddQuotient(dst, in[0], in[1], in[2], float32(c.Args[0].Float)) }
	},
	"huber_loss": func(c *Call, in [][]float32) func(dst []float32) { return huberPass(in, c.Args[0].Float, 1) },
	"smooth_l1_loss": func(c *Call, in [][]float32) func(dst []float32) {
		beta := c.Args[0].Float
		if beta == 0 {
			return nil
		}
		return huberPass(in, beta, 1/beta)
	},
	"nan_to_num": func(c *Call, in [][]float32) func(dst []float32) {
		none, most, least := finiteLimits(c)
		return func(dst []float32) { kernel.Finite(dst, in[0], float32(none), float32(most), float32(least)) }
	},
}

// eluPass is the onePass of maker.elu.
func eluPass(x []float32, alpha, scale, k float64) func(dst []float32) {
	return func(dst []float32) { kernel.Elu(dst, x, float32(alpha), float32(1/scale), float32(k)) }
}

// huberPass is the onePass of maker.huber, times a number.
func huberPass(in [][]float32, delta, times float64) func(dst []float32) {
	return func(dst []float32) {
		kernel.Huber(dst, in[0], in[1], float32(delta), float32(-delta/2), float32(times))
	}
}
