package shard

import (
	"fmt"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// AskedFor lets inputs of operators be moved, whatever e.Implicit says, until over is
// called: the operators are parts of what was called to communicate.
func (e *Engine) AskedFor() (over func()) {
	was := e.Implicit
	e.Implicit = Allow
	return func() { e.Implicit = was }
}

// mayMove returns an error if input i of an operator may not be moved to where
// dec wants it, because that communicates and was not asked for.
func (e *Engine) mayMove(dec *decision, i int) error {
	if e.Implicit == Allow || e.backward > 0 {
		return nil
	}
	plan, err := e.host.Layouts().Plan(dec.from[i], dec.in[i], dec.call.In[i].DType().Size())
	if err != nil || !communicates(plan) {
		return err
	}
	to := make([]string, len(dec.in[i].Placements()))
	for k, p := range dec.in[i].Placements() {
		to[k] = p.Script()
	}
	return e.unasked(dec, i, mesh.List(dec.in[i].Placements()), fmt.Sprintf("%s of at most %d bytes a rank", stepNames(plan), plan.Bytes),
		fmt.Sprintf(".redistribute(placements=[%s]) before the call says it", strings.Join(to, ", ")))
}

// mayExchange is mayMove of an operator whose result the ranks make by an
// exchange of the elements that they lack of it.
func (e *Engine) mayExchange(dec *decision) error {
	if e.Implicit == Allow || e.backward > 0 {
		return nil
	}
	return e.unasked(dec, 0, "a dim that is not cut", "an exchange of what ranks lack of the result", ".redistribute() before the call moves the cut to another dim")
}

// unasked warns, or returns an error, about input i of an operator, which is to be
// brought to want at a cost that nobody has asked for; instead says what asks. Of an operator that is
// made of others it tells what the script gave it, and behind the cost what it makes of that.
func (e *Engine) unasked(dec *decision, i int, want, cost, instead string) error {
	x, name, param := dec.call.In[i], dec.call.Def.Name, dec.call.InName(i)
	got := DescribeAs(x, dec.from[i])
	if len(e.within) > 0 {
		outer := e.within[0]
		name = outer.Def.Name
		if k := operandOf(outer, x); k >= 0 && outer.In[k] != x {
			cost += fmt.Sprintf(", of %s, which it makes of it and takes as %s", got, want)
			param, want = outer.InName(k), "one of which nothing has to be moved"
			got = Describe(outer.In[k])
			instead = ".redistribute() before the call can say it"
		}
	}
	cost += "; " + instead
	if e.Implicit == Refuse {
		return &op.ArgError{Func: name, Param: param, Got: got, Want: want, Rule: "implicit redistribution is refused: " + cost}
	}
	if here := e.host.Here(); !e.told[here+name+param] && e.host.Self() == dec.mesh.Ranks()[0] {
		e.told[here+name+param] = true
		e.host.Tell(fmt.Sprintf("%s: implicit redistribution in %s: parameter %q is %s, and goes to %s: %s", here, name, param, got, want, cost))
	}
	return nil
}

// operandOf returns which input of c, an operator made of others, x is, or was made of: the one
// that is distributed; -1 if there are several.
func operandOf(c *op.Call, x *tensor.Tensor) int {
	at := -1
	for k, y := range c.In {
		switch {
		case y == x:
			return k
		case y == nil || !y.Placed():
		case at >= 0:
			return -1
		default:
			at = k
		}
	}
	return at
}

// communicates reports whether a step of p does.
func communicates(p *mesh.Plan) bool {
	for i := range p.Steps {
		if p.Steps[i].Communicates() {
			return true
		}
	}
	return false
}

// stepNames lists the steps of p that communicate.
func stepNames(p *mesh.Plan) string {
	names := ""
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Communicates() {
			if names != "" {
				names += " and "
			}
			names += s.Op.String()
		}
	}
	return names
}
