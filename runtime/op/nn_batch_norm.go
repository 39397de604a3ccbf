package op

import (
	"fmt"
	"math"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	channels := "a float tensor [c], or None"
	register(&Def{
		Name:    "batch_norm",
		Surface: Namespace,
		Doc: "batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5) returns x normalised by channel, times weight plus bias.\n" +
			"In training, each channel of x [n, c] or [n, c, d1, ...] gets mean 0 and variance 1\n" +
			"over the other dims, and the running mean and variance, unless None, are changed in\n" +
			"place: to (1 - momentum) of themselves and momentum of this batch's, the variance\n" +
			"with one less in its divisor. Otherwise the running mean is subtracted and the root\n" +
			"of the running variance divides. Where x has no elements, which may then have one dim,\n" +
			"nothing is changed.\n" +
			">>> F.batch_norm(tensor([[1.0], [3.0]]), None, None, training=True, eps=0.0)\n" +
			"[[-1.]\n" +
			" [ 1.]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor [n, c] or [n, c, d1, ...]"},
			{Name: "running_mean", Kind: OptTensor, Doc: channels},
			{Name: "running_var", Kind: OptTensor, Doc: channels},
			{Name: "weight", Kind: OptTensor, Doc: channels, Default: Default(None)},
			{Name: "bias", Kind: OptTensor, Doc: channels, Default: Default(None)},
			{Name: "training", Kind: Bool, Doc: "whether to use the batch's own mean and variance", Default: Default(Bool1(false))},
			{Name: "momentum", Kind: Float, Doc: "how much of the batch goes into the running mean and variance", Default: Default(Float1(0.1))},
			{Name: "eps", Kind: Float, Doc: "a small number added to the variance", Default: Default(Float1(1e-5))},
		},
		Infer:   inferBatchNorm,
		Run:     runBatchNorm,
		Grad:    batchNormGrad,
		Shard:   batchNormRule,
		Compose: composeBatchNorm,
		Cost:    batchNormCost,
	})
}

// The inputs of batch_norm.
const (
	bnX = iota
	bnMean
	bnVar
	bnWeight
	bnBias
)

func inferBatchNorm(c *Call) error {
	x := c.In[bnX]
	s := x.Shape()
	if !x.DType().IsFloat() || len(s) < 2 && s.Numel() > 0 {
		return c.Bad("x", Describe(x), "a float tensor [n, c] or [n, c, d1, ...]", "")
	}
	channels := channelCount(s)
	for i, w := range c.In[1:] {
		if w != nil && (!w.DType().IsFloat() || !w.Shape().Equal(shape.Shape{channels})) {
			return c.Bad(c.InName(i+1), Describe(w), fmt.Sprintf("a float tensor of shape (%d,)", channels), "one element for each channel of x")
		}
	}
	training := c.Args[0].Int != 0
	for _, i := range []int{bnMean, bnVar} {
		if c.In[i] == nil && !training {
			return c.Bad(c.InName(i), "None", "a float tensor", "without training the running mean and variance are used")
		}
		if c.In[i] != nil && training {
			if err := c.checkWritable(i); err != nil {
				return err
			}
		}
	}
	if m := s.Numel() / max(channels, 1); training && m == 1 {
		return c.Bad("x", Describe(x), "more than one element in a channel", "in training")
	}
	return c.Result(promote(c.Ctx, x, c.In[bnWeight], c.In[bnBias]), s)
}

// channelCount returns how many channels a tensor of shape s has: the size of dim 1.
func channelCount(s shape.Shape) int {
	if len(s) < 2 {
		return 0
	}
	return s[1]
}

// checkWritable returns an error if running statistic i may not be changed.
func (c *Call) checkWritable(i int) error {
	x := c.In[i]
	if x.RequiresGrad() {
		return c.Bad(c.InName(i), "a tensor that requires grad", "one that does not", "it is changed in place")
	}
	if b := x.Buffer(); b != nil && b.Frozen() {
		return c.Bad(c.InName(i), "a frozen tensor", "one that may be changed", "it belongs to a loaded file: build it in a function")
	}
	return nil
}

// channelRows returns a view of x [n, c, ...] as [c, n, ...].
func channelRows(x *tensor.Tensor) *tensor.Tensor {
	s, st := append(shape.Shape{}, x.Shape()...), append([]int{}, x.Strides()...)
	s[0], s[1], st[0], st[1] = s[1], s[0], st[1], st[0]
	return x.View(s, st, x.Offset())
}

func runBatchNorm(c *Call) error {
	if c.Out[0].Numel() == 0 {
		return nil
	}
	if c.Out[0].DType() == dtype.Float64 {
		return batchNorm[float64](c)
	}
	return batchNorm[float32](c)
}

func batchNorm[T dtype.Float](c *Call) error {
	dt := c.Out[0].DType().Compute()
	if c.Args[0].Int == 0 {
		if done, err := batchNormInOrder[T](c); done {
			return err
		}
	}
	x, err := c.inOrder(channelRows(c.In[bnX]), dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(channelRows(c.Out[0]), dt)
	if err != nil {
		return err
	}
	channels := make([]channel, x.Shape()[0])
	if err := c.loadChannels(channels); err != nil {
		return err
	}
	training, eps := c.Args[0].Int != 0, c.Args[2].Float
	n := x.Numel() / max(len(channels), 1)
	dst, src := tensor.Data[T](out.room), tensor.Data[T](x)
	for i := range channels {
		ch, row := &channels[i], src[i*n:(i+1)*n]
		mean, variance := ch.mean, ch.variance
		if training {
			mean = kernel.Total(row) / float64(n)
			variance = kernel.Variance(row, mean)
			ch.move(c.Args[1].Float, mean, variance*float64(n)/float64(n-1))
		}
		kernel.ScaleShiftTo(dst[i*n:(i+1)*n], row, mean, ch.weight/math.Sqrt(variance+eps), ch.bias)
	}
	out.done()
	goruntime.KeepAlive(x)
	if !training {
		return nil
	}
	return c.storeChannels(channels)
}

// batchNormInOrder is batchNorm by the moments that are given, of tensors whose elements lie as they are taken: then
// no channel need be brought together. It reports false of others.
func batchNormInOrder[T dtype.Float](c *Call) (done bool, err error) {
	src, okx := direct[T](c.In[bnX])
	dst, oky := direct[T](c.Out[0])
	s := c.In[bnX].Shape()
	if !okx || !oky || len(src) == 0 {
		return false, nil
	}
	channels := make([]channel, s[1])
	if err := c.loadChannels(channels); err != nil {
		return true, err
	}
	n := len(src) / (s[0] * s[1])
	for i := range s[0] * s[1] {
		ch := &channels[i%len(channels)]
		kernel.ScaleShiftTo(dst[i*n:(i+1)*n], src[i*n:(i+1)*n], ch.mean, ch.weight/math.Sqrt(ch.variance+c.Args[2].Float), ch.bias)
	}
	return true, nil
}

// A channel is what batch_norm is given for one channel of x.
type channel struct{ mean, variance, weight, bias float64 }

// move moves the running mean and variance towards those of a batch.
func (ch *channel) move(momentum, mean, variance float64) {
	ch.mean = float64((1-momentum)*ch.mean) + float64(momentum*mean)
	ch.variance = float64((1-momentum)*ch.variance) + float64(momentum*variance)
}

// field returns the part of ch that input i gives.
func (ch *channel) field(i int) *float64 {
	return [...]*float64{bnMean: &ch.mean, bnVar: &ch.variance, bnWeight: &ch.weight, bnBias: &ch.bias}[i]
}

// loadChannels reads the inputs of c that have an element for each channel.
func (c *Call) loadChannels(channels []channel) error {
	for i := range channels {
		channels[i].weight = 1
	}
	for i := bnMean; i <= bnBias; i++ {
		if c.In[i] == nil {
			continue
		}
		x, err := c.inOrder(c.In[i], dtype.Float64)
		if err != nil {
			return err
		}
		for j, v := range tensor.Data[float64](x) {
			*channels[j].field(i) = v
		}
		goruntime.KeepAlive(x)
	}
	return nil
}

// storeChannels writes the running means and variances back.
func (c *Call) storeChannels(channels []channel) error {
	for _, i := range []int{bnMean, bnVar} {
		if c.In[i] == nil {
			continue
		}
		x, err := c.room(dtype.Float64, c.In[i].Shape())
		if err != nil {
			return err
		}
		for j := range channels {
			tensor.Data[float64](x)[j] = *channels[j].field(i)
		}
		buf := c.In[i].Buffer()
		if err := buf.Await(); err != nil {
			return err
		}
		if err := buf.Own(); err != nil {
			return c.memory(err)
		}
		copyInto(c.In[i], x)
		buf.Changed()
		goruntime.KeepAlive(x)
	}
	return nil
}

// batchNormGrad differentiates y = h weight + bias, where h is x normalised by
// channel: by its own moments in training, else by the running ones.
func batchNormGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, g := t.wide(c.In[bnX]), t.wide(dy[0])
	s := x.Shape()
	dx := make([]*tensor.Tensor, 5)
	if x.Numel() == 0 {
		dx[bnX] = g
		for _, i := range []int{bnWeight, bnBias} {
			if w := c.In[i]; w != nil {
				dx[i] = t.Do("zeros_like", one(w), Int1(int(w.DType())))
			}
		}
		return dx
	}
	if c.In[bnBias] != nil {
		dx[bnBias] = t.channelSum(g)
	}
	if w := c.In[bnWeight]; w != nil {
		if w.RequiresGrad() {
			dx[bnWeight] = t.channelSum(t.Mul(g, t.channelNormal(c, x)))
		}
		g = t.Mul(g, t.classColumn(w, s))
	}
	if !c.In[bnX].RequiresGrad() {
		return dx
	}
	if c.Args[0].Int == 0 {
		dx[bnX] = t.Mul(g, t.runningScale(c, s))
		return dx
	}
	how := kernel.Normal{Center: true, Eps: c.Args[2].Float}
	rows, back := t.channelRows(x)
	gs, _ := t.channelRows(g)
	dx[bnX] = back(t.normalizeGrad(gs, rows, rows.Shape()[1], how))
	return dx
}

// channelSum returns the sums of x [n, c, ...] by channel.
func (t *Tape) channelSum(x *tensor.Tensor) *tensor.Tensor {
	dims := []int{0}
	for d := 2; d < x.Ndim(); d++ {
		dims = append(dims, d)
	}
	return t.Sum(x, dims, false)
}

// channelRows returns x [n, c, ...] as [c, m], and the way back.
func (t *Tape) channelRows(x *tensor.Tensor) (rows *tensor.Tensor, back func(*tensor.Tensor) *tensor.Tensor) {
	turned := t.Transpose(x, 0, 1)
	s := turned.Shape()
	rows = t.Reshape(turned, shape.Shape{s[0], x.Numel() / max(s[0], 1)})
	return rows, func(y *tensor.Tensor) *tensor.Tensor { return t.Transpose(t.Reshape(y, s), 0, 1) }
}

// channelNormal returns x as c normalises it.
func (t *Tape) channelNormal(c *Call, x *tensor.Tensor) *tensor.Tensor {
	if c.Args[0].Int == 0 {
		return t.Mul(t.Sub(x, t.classColumn(c.In[bnMean], x.Shape())), t.runningScale(c, x.Shape()))
	}
	rows, back := t.channelRows(x)
	return back(t.normalized(rows, rows.Shape()[1:], kernel.Normal{Center: true, Eps: c.Args[2].Float}))
}

// runningScale returns one over the root of the running variance, to be
// broadcast to shape s.
func (t *Tape) runningScale(c *Call, s shape.Shape) *tensor.Tensor {
	return t.classColumn(t.unary("rsqrt", t.AddNumber(t.wide(c.In[bnVar]), c.Args[2].Float)), s)
}
