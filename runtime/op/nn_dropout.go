package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/rng"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "dropout",
		Surface: Namespace,
		Doc: "dropout(x, p=0.5, training=True) returns x with each element zeroed with probability p, and the others divided by 1 - p.\n" +
			"It is one random draw. Without training, x comes back as it is and nothing is drawn.\n" +
			">>> F.dropout(ones(3), p=0.5, training=False)\n" +
			"[1. 1. 1.]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor"},
			{Name: "p", Kind: Float, Doc: "the probability, 0 to 1", Default: Default(Float1(0.5))},
			{Name: "training", Also: []string{"train"}, Kind: Bool, Doc: "whether to drop at all", Default: Default(Bool1(true))},
		},
		Infer:   inferDropout,
		Run:     runDropout,
		Hollow:  hollowDropout,
		Reads:   ReadsShapes,
		Grad:    dropoutGrad,
		Shard:   dropoutRule,
		Compose: composeDropout,
		Cost:    dropoutCost,
	})
}

func init() {
	register(&Def{
		Name:    "keep_like",
		Surface: Internal,
		Doc:     "keep_like(x, p) returns which elements of a tensor of the shape of x are kept when each is dropped with probability p. It is one random draw.",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "p", Kind: Float, Doc: "the probability"}},
		Infer:   func(c *Call) error { return c.Result(dtype.Bool, c.In[0].Shape()) },
		Run: func(c *Call) error {
			seed, draw := c.Ctx.Draw()
			fillKeep(c.Args[0].Float)(c.Out[0], seed, draw, 0)
			return nil
		},
		Shard:  likeRule,
		Local:  func(b *Blocks) ([]*tensor.Tensor, error) { return b.draw(fillKeep(b.Args[0].Float)) },
		Sited:  anywhere,
		Cost:   makes(1),
		Hollow: hollowDraw,
	})
}

// fillKeep returns what sets a tensor of bools to elements of the draw of
// keep_like from first on.
func fillKeep(p float64) func(x *tensor.Tensor, seed, draw, first uint64) {
	return func(x *tensor.Tensor, seed, draw, first uint64) {
		rng.Keep(tensor.Data[bool](x), seed, draw, first, 1-p)
	}
}

// dropoutRule: what is drawn for the blocks is not what is kept for the
// gradient of the whole, so that only without training there are rows.
func dropoutRule(c *Call) []Row {
	if c.Args[1].Int != 0 {
		return nil
	}
	return Copying(c)
}

func composeDropout(t *Tape, c *Call) []*tensor.Tensor {
	if c.Args[1].Int == 0 {
		return nil
	}
	p := c.Args[0].Float
	keep := t.Do("keep_like", one(c.In[0].Detach()), Float1(p))
	return one(t.dropped(c.In[0], keep, p))
}

func inferDropout(c *Call) error {
	x := c.In[0]
	if err := c.checkFloat("x", x); err != nil {
		return err
	}
	if err := c.checkProbability("p", c.Args[0].Float); err != nil {
		return err
	}
	return c.Result(x.DType(), x.Shape())
}

func (c *Call) checkProbability(param string, p float64) error {
	if !(p >= 0 && p <= 1) {
		return c.Bad(param, fmt.Sprint(p), "a number from 0 to 1", "")
	}
	return nil
}

// runDropout leaves in c.Saved which elements it kept.
func runDropout(c *Call) error {
	if c.Args[1].Int == 0 {
		copyInto(c.Out[0], c.In[0])
		return nil
	}
	keep, err := c.keepMask(c.In[0].Shape(), c.Args[0].Float)
	if err != nil {
		return err
	}
	c.Saved = []*tensor.Tensor{keep}
	drop(c.Ctx.Workers, c.Out[0], c.In[0], keep, keepScale(c.Args[0].Float))
	return nil
}

func hollowDropout(c *Call) error {
	if c.Args[1].Int == 0 {
		return nil
	}
	return c.hollowKeep(c.In[0].Shape())
}

// keepMask draws which elements of a tensor of shape s are kept when each is
// dropped with probability p.
func (c *Call) keepMask(s []int, p float64) (*tensor.Tensor, error) {
	keep, err := c.room(dtype.Bool, s)
	if err != nil {
		return nil, err
	}
	seed, draw := c.Ctx.Draw()
	rng.Keep(tensor.Data[bool](keep), seed, draw, 0, 1-p)
	goruntime.KeepAlive(keep)
	return keep, nil
}

// keepScale returns what the kept elements are multiplied by.
func keepScale(p float64) float64 {
	if p == 1 {
		return 0 // none is kept
	}
	return 1 / (1 - p)
}

// drop stores x times scale in dst where keep is true, and 0 elsewhere.
func drop(w *crew.Workers, dst, x, keep *tensor.Tensor, scale float64) {
	if computeOf(x) == dtype.Float64 {
		run2(w, dst, x, keep, func(dst, x []float64, keep []uint8) { kernel.DropTo(dst, x, keep, scale) })
	} else {
		run2(w, dst, x, keep, func(dst, x []float32, keep []uint8) { kernel.DropTo(dst, x, keep, float32(scale)) })
	}
}

func dropoutGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	if len(c.Saved) == 0 { // not in training
		return dy
	}
	return []*tensor.Tensor{t.dropped(dy[0], c.Saved[0], c.Args[0].Float)}
}

// dropped returns x with the elements zeroed that keep does not hold, and the
// others divided by 1 - p.
func (t *Tape) dropped(x, keep *tensor.Tensor, p float64) *tensor.Tensor {
	return t.Where(keep, t.Scale(x, keepScale(p)), tensor.Number(0.0))
}
