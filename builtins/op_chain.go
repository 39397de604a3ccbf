package builtins

import (
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An OpChain applies operators for the function fn one after another. After the
// first error it applies no more, and its results are nil.
type OpChain struct {
	E   *Env
	Fn  string
	Err error
}

// Fail notes err, if it is one and the first.
func (c *OpChain) Fail(err error) {
	if c.Err == nil {
		c.Err = err
	}
}

// Do applies the operator called name and returns its first result.
func (c *OpChain) Do(name string, in []*tensor.Tensor, args ...op.Arg) *tensor.Tensor {
	return c.All(name, in, 1, args...)[0]
}

// All applies the operator called name and returns its results, n of them.
func (c *OpChain) All(name string, in []*tensor.Tensor, n int, args ...op.Arg) []*tensor.Tensor {
	if c.Err != nil {
		return make([]*tensor.Tensor, n)
	}
	out, err := c.E.invoke(op.Lookup(name), in, args)
	if err != nil {
		c.Err = arg.Rename(c.Fn, err)
		return make([]*tensor.Tensor, n)
	}
	return out
}
