package builtins

import (
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A chain applies operators for the function fn one after another. After the
// first error it applies no more, and its results are nil.
type chain struct {
	e   *Env
	fn  string
	err error
}

// fail notes err, if it is one and the first.
func (c *chain) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// do applies the operator called name and returns its first result.
func (c *chain) do(name string, in []*tensor.Tensor, args ...op.Arg) *tensor.Tensor {
	return c.all(name, in, 1, args...)[0]
}

// all applies the operator called name and returns its results, n of them.
func (c *chain) all(name string, in []*tensor.Tensor, n int, args ...op.Arg) []*tensor.Tensor {
	if c.err != nil {
		return make([]*tensor.Tensor, n)
	}
	out, err := c.e.invoke(op.Lookup(name), in, args)
	if err != nil {
		c.err = arg.Rename(c.fn, err)
		return make([]*tensor.Tensor, n)
	}
	return out
}
