package spmdtype

import (
	"fmt"
	"strings"
)

// An Act is what a rank does to its tensor in a transition: to make the result of its operand,
// or the gradient of the operand of that of the result.
type Act uint8

const (
	Keep     Act = iota // nothing: the elements stay as they are
	First               // the first rank of the axis keeps them, the others have zeros
	Own                 // keeps its block, or its entry of dim 0
	Spread              // has its block where it is in the whole, and zeros beside it
	Sum                 // all_reduce
	Gather              // all_gather
	SumOwn              // reduce_scatter
	Exchange            // all_to_all
)

// String returns what is done, in a few words.
func (a Act) String() string {
	return [...]string{"nothing moves", "rank 0 of the axis keeps it, others have zeros", "each keeps its block", "each has its block among zeros",
		"a sum", "a gather", "a sum of which each keeps its block", "an exchange of blocks"}[a]
}

// A Transition is a way from one type to another: a row of the table.
type Transition struct {
	// Name is the function of scripts: spmd.all_reduce.
	Name     string
	Src, Dst Type // V stands for S(i), too
	// Do makes the result, Back the gradient of the operand.
	Do, Back Act
}

// transitions is the table, and there are no others. The gradient of each is the row from
// the gradient's type of Dst to that of Src that does Back.
var transitions = []Transition{
	{"reinterpret", R, V, Keep, Keep},
	{"convert", R, V, Own, Spread},
	{"reinterpret", R, P, Keep, Keep},
	{"convert", R, P, First, First},
	{"convert", R, I, Keep, First},
	{"convert", I, R, Keep, Sum},
	{"reinterpret", I, V, Keep, Sum},
	{"convert", I, V, Own, Gather},
	{"convert", I, P, First, Keep},
	{"all_gather", V, R, Gather, SumOwn},
	{"all_gather", V, I, Gather, Own},
	{"all_to_all", V, V, Exchange, Exchange},
	{"reinterpret", V, P, Keep, Keep},
	{"convert", V, P, Spread, Own},
	{"all_reduce", P, R, Sum, Sum},
	{"all_reduce", P, I, Sum, Keep},
	{"reduce_scatter", P, V, SumOwn, Gather},
}

// Transitions returns the table; the caller must not modify it.
func Transitions() []Transition { return transitions }

// Gradient returns the row that is the gradient of tr. That of the reinterpretation of I as V
// is two: V as P, and its sum; it is not ok.
func (tr Transition) Gradient() (Transition, bool) {
	src, dst := tr.Dst.Gradient(), tr.Src.Gradient()
	for _, row := range transitions {
		if row.Src == src && row.Dst == dst && row.Do == tr.Back {
			return row, true
		}
	}
	return Transition{}, false
}

// String returns tr as a script calls it, without the tensor: all_reduce(P, R).
func (tr Transition) String() string { return fmt.Sprintf("%s(%v, %v)", tr.Name, tr.Src, tr.Dst) }

// Communicates reports whether ranks talk in an act.
func (a Act) Communicates() bool { return a >= Sum }

// base returns the type of the table that t stands for.
func base(t Type) Type {
	if t.Kind() == Varying {
		return V
	}
	return t
}

// Find returns the row of the function called name from src to dst; not ok if it has none.
func Find(name string, src, dst Type) (Transition, bool) {
	src, dst = base(src), base(dst)
	for _, row := range transitions {
		if row.Name == name && row.Src == src && row.Dst == dst {
			return row, true
		}
	}
	return Transition{}, false
}

// From lists the rows of the function called name, of every one if it is "", that start at src.
func From(name string, src Type) []Transition {
	var list []Transition
	for _, row := range transitions {
		if (name == "" || row.Name == name) && row.Src == base(src) {
			list = append(list, row)
		}
	}
	return list
}

// Between lists the rows from src to dst.
func Between(src, dst Type) []Transition {
	var list []Transition
	for _, row := range transitions {
		if row.Src == base(src) && row.Dst == base(dst) {
			list = append(list, row)
		}
	}
	return list
}

// Named lists the rows of the function called name.
func Named(name string) []Transition {
	var list []Transition
	for _, row := range transitions {
		if row.Name == name {
			list = append(list, row)
		}
	}
	return list
}

// Call returns how a script makes a dst of the operand called x, a src, along axis: what an
// error tells it to write. It is "" if no one call does.
func Call(x, axis string, src, dst Type) string {
	rows := Between(src, dst)
	if len(rows) == 0 || src == dst {
		return ""
	}
	calls := make([]string, len(rows))
	for i, row := range rows {
		calls[i] = fmt.Sprintf("spmd.%s(%s, %q, src=spmd.%v, dst=spmd.%v)", row.Name, x, axis, src, dst)
	}
	return strings.Join(calls, " or ")
}
