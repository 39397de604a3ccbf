package op

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"

	"tpsh/runtime/tensor"
)

// Apply infers the results of d on in and args, allocates them and runs the
// kernel. It returns the call, whose Out holds the results. len(args) is the
// number of d's parameters that are no tensors.
//
// Apply keeps in and the results reachable while the kernel runs: kernels
// need not.
func Apply(ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg) (*Call, error) {
	c := &Call{Def: d, Ctx: ctx, In: in, Args: args}
	if err := c.Apply(); err != nil {
		return nil, err
	}
	return c, nil
}

// Apply is the function Apply for a call that has its operator, its context and
// its arguments, and nothing else.
func (c *Call) Apply() error {
	if c.Ctx.Hollow() {
		return c.hollow()
	}
	if err := c.infer(); err != nil {
		return err
	}
	bare, dropped := c.missing()
	if err := c.prepare(bare); err != nil {
		return err
	}
	if !bare {
		if dropped {
			if err := restore(c.In); err != nil {
				return err
			}
		}
		if err := c.own(); err != nil {
			return c.memory(err)
		}
		if err := c.run(); err != nil {
			return err
		}
		if c.Ctx.Ran != nil {
			c.Ctx.Ran(c)
		}
	}
	goruntime.KeepAlive(c.In)
	goruntime.KeepAlive(c)
	return nil
}

// infer checks c and sets c.Spec.
func (c *Call) infer() error {
	if err := c.refuseLimited(); err != nil {
		return err
	}
	return c.Def.Infer(c)
}

// FormText returns the dtype and the shape of what d makes of in and args, and what that costs, or why it
// makes nothing of them.
func FormText(ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg) string {
	c := &Call{Ctx: ctx, Def: d, In: in, Args: args}
	if err := c.infer(); err != nil {
		return err.Error()
	}
	return fmt.Sprint(c.Spec[0].DType, c.Spec[0].Shape, c.Cost())
}

// run runs the kernel, which takes time.
func (c *Call) run() error {
	if c.Ctx.Timed == nil {
		return c.Def.Run(c)
	}
	begin := c.Ctx.Timed.Now()
	if err := c.Def.Run(c); err != nil {
		return err
	}
	c.Ctx.Timed.Ran(c, begin)
	return nil
}

// restore has those of in that were dropped given their elements again.
func restore(in []*tensor.Tensor) error {
	for _, x := range in {
		if x != nil && x.Buffer().Dropped() {
			if err := x.Buffer().Restore(); err != nil {
				return err
			}
		}
	}
	return nil
}

// own makes the storage that c writes to, of its inputs, the rank's own: ranks
// share the results of some collectives, and what they send, until one of them
// changes its own.
func (c *Call) own() error {
	if !c.Def.InPlace {
		return nil
	}
	for i, x := range c.In {
		if !c.Def.Changes(i) {
			break
		}
		if err := x.Buffer().Own(); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes c.Out: the tensors of c.Spec, without storage if bare, or room for views.
func (c *Call) prepare(bare bool) error {
	c.MakeOut(len(c.Spec))
	if c.Def.InPlace {
		c.Out[0] = c.In[0]
		return nil
	}
	if c.Def.View && !bare {
		return nil
	}
	for i, s := range c.Spec {
		if bare {
			c.Out[i] = tensor.ShapeOnly(s.DType, s.Shape)
			continue
		}
		out, err := c.newOut(s)
		if err != nil {
			return c.memory(err)
		}
		c.Out[i] = out
	}
	return nil
}

// newOut returns a result to be computed.
func (c *Call) newOut(s Spec) (*tensor.Tensor, error) {
	if c.Into != nil && len(c.Spec) == 1 {
		return c.Into.New(c.Ctx.Alloc, s.DType, s.Shape)
	}
	return tensor.New(c.Ctx.Alloc, s.DType, s.Shape)
}

// MakeOut makes c.Out a list of n results to be set.
func (c *Call) MakeOut(n int) {
	if n == 1 {
		c.Out = c.out1[:]
		return
	}
	c.Out = make([]*tensor.Tensor, n)
}

// memory gives an error of the allocator the operator's name.
func (c *Call) memory(err error) error {
	var m *tensor.MemoryError
	if errors.As(err, &m) {
		return &ResourceError{Func: c.Def.Name, Err: err}
	}
	return &ArgError{Func: c.Def.Name, Got: strings.TrimPrefix(err.Error(), "got ")}
}

// missing reports whether an input has no storage, and whether one has dropped its elements.
func (c *Call) missing() (storage, elements bool) {
	for _, x := range c.In {
		if x == nil {
			continue
		}
		b := x.Buffer()
		if b == nil {
			return true, false
		}
		elements = elements || b.Dropped()
	}
	return false, elements
}

// A ResourceError says that an operator could not get what it needs.
type ResourceError struct {
	Func string
	Err  error
}

func (e *ResourceError) Error() string    { return e.Func + ": " + e.Err.Error() }
func (e *ResourceError) Unwrap() error    { return e.Err }
func (e *ResourceError) Kind() string     { return "other" }
func (e *ResourceError) Function() string { return e.Func }
