package op

import (
	goruntime "runtime"

	"tpsh/runtime/tensor"
)

// plain is an Applier that records nothing.
type plain struct{ ctx *Ctx }

func (p plain) Apply(d *Def, in []*tensor.Tensor, args []Arg) ([]*tensor.Tensor, error) {
	c, err := Apply(p.ctx, d, in, args)
	if err != nil {
		return nil, err
	}
	return c.Out, nil
}

// Unrecorded returns a Tape whose operators nothing records.
func Unrecorded(ctx *Ctx) *Tape { return &Tape{plain{ctx}} }

// compose stores in c.Out[0] what f makes with other operators. Its dtype and
// shape may differ from those of c.Out[0] if they convert and broadcast to
// them.
func (c *Call) compose(f func(t *Tape) *tensor.Tensor) (err error) {
	defer Recover(&err)
	y := f(Unrecorded(c.Ctx))
	copyInto(c.Out[0], y)
	goruntime.KeepAlive(y)
	return nil
}

// Recover, deferred, turns the panic of a Tape into the error of its function:
//
//	func f(t *op.Tape) (err error) {
//		defer op.Recover(&err)
//		t.Do("add", ...)
func Recover(err *error) {
	if p := recover(); p != nil {
		te, ok := p.(*TapeError)
		if !ok {
			panic(p)
		}
		*err = te.Err
	}
}
