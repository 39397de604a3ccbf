package op

import (
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// Where storage is hollow (package tensor) an operator does all that it does but
// for the elements: it infers, makes its results, draws its numbers' keys and
// leaves what its gradient wants.

// An UnknownError says that an operator wants elements, which a plan has not.
type UnknownError struct {
	Func, Param string // Param is "" where it is not one that wants them
	Got         string
	Size        string // the parameter that takes what depends on elements, "" if there is none
}

func (e *UnknownError) Error() string { return e.arg().Error() }

// Kind returns "argument".
func (e *UnknownError) Kind() string { return "argument" }

// Function returns the name of the operator or builtin.
func (e *UnknownError) Function() string { return e.Func }

func (e *UnknownError) arg() *ArgError {
	want := "elements, which a plan has not"
	switch {
	case e.Func == "index" && strings.HasPrefix(e.Got, "bool["):
		want = "x[mask.nonzero(size=known(n, N)).reshape(-1)], where N is what the plan is to count with"
	case e.Size != "":
		want = e.Size + "=known(n, N), where N is what the plan is to count with"
	}
	return &ArgError{Func: e.Func, Param: e.Param, Got: e.Got, Want: want, Rule: "the result depends on elements"}
}

// Hollow reports whether c computes without elements.
func (c *Ctx) Hollow() bool { return c.Alloc != nil && c.Alloc.Hollow() }

// hollow is Apply where there are no elements.
func (c *Call) hollow() (err error) {
	defer func() {
		if p := recover(); p != nil {
			u, ok := p.(*UnknownError)
			if !ok {
				panic(p)
			}
			u.Func, err = c.Def.Name, u
		}
	}()
	if err := c.infer(); err != nil {
		return err
	}
	bare, _ := c.missing()
	if err := c.prepare(bare); err != nil {
		return err
	}
	if bare {
		return nil
	}
	if err := restore(c.In); err != nil {
		return err
	}
	switch {
	case c.Def.Hollow != nil:
		err = c.Def.Hollow(c)
	case c.Def.View:
		err = c.Def.Run(c)
	}
	if err == nil && c.Ctx.Ran != nil {
		c.Ctx.Ran(c)
	}
	return err
}

// mustHaveElements panics with an *UnknownError if x has none.
func mustHaveElements(x *tensor.Tensor) {
	if x.Hollow() {
		panic(&UnknownError{Got: Describe(x)})
	}
}

// hollowDraw is Def.Hollow of an operator that draws once.
func hollowDraw(c *Call) error {
	c.Ctx.Draw()
	return nil
}

// hollowKeep is hollowDraw of one that keeps which elements, of a tensor of shape
// s, it has kept.
func (c *Call) hollowKeep(s []int) error {
	keep, err := c.room(dtype.Bool, s)
	c.Ctx.Draw()
	c.Saved = []*tensor.Tensor{keep}
	return err
}

// Empty returns tensors for the rank's blocks of the results, not set.
func (b *Blocks) Empty() []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(b.Spec))
	for i := range out {
		out[i] = b.empty(i)
	}
	return out
}
