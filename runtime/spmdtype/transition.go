package spmdtype

import (
	"fmt"
	"strings"
)

// An Act is what a rank does in a transition: in the forward pass to its operand, or in the backward
// pass to the gradient of the result.
type Act uint8

const (
	Keep          Act = iota // nothing: the elements stay as they are
	FirstOnly                // the first rank of the axis keeps them, the others have zeros
	Slice                    // keeps its block, or its entry of dim 0
	Pad                      // has its block at its place in the whole, and zeros elsewhere
	AllReduce                // the sum over the axis
	AllGather                // the ranks' blocks, joined
	ReduceScatter            // its block of the sum over the axis
	AllToAll                 // the blocks, or entries, that the others have for it
)

// String returns what is done, in a few words.
func (a Act) String() string {
	return [...]string{"nothing moves", "rank 0 of the axis keeps it, others have zeros", "each keeps its block", "each has its block among zeros",
		"a sum", "a gather", "a sum of which each keeps its block", "an exchange of blocks"}[a]
}

// A Transition changes the type of a tensor along one axis: a row of the table.
type Transition struct {
	// Name is the function of scripts: spmd.all_reduce.
	Name     string
	Src, Dst Type // V stands for S(i), too
	// Do is the forward pass, Back the backward pass.
	Do, Back Act
}

// transitions is the table of all transitions. The gradient of each is the row from the gradient of Dst
// to the gradient of Src whose forward pass is Back.
var transitions = []Transition{
	{"reinterpret", R, V, Keep, Keep},
	{"convert", R, V, Slice, Pad},
	{"reinterpret", R, P, Keep, Keep},
	{"convert", R, P, FirstOnly, FirstOnly},
	{"convert", R, I, Keep, FirstOnly},
	{"convert", I, R, Keep, AllReduce},
	{"reinterpret", I, V, Keep, AllReduce},
	{"convert", I, V, Slice, AllGather},
	{"convert", I, P, FirstOnly, Keep},
	{"all_gather", V, R, AllGather, ReduceScatter},
	{"all_gather", V, I, AllGather, Slice},
	{"all_to_all", V, V, AllToAll, AllToAll},
	{"reinterpret", V, P, Keep, Keep},
	{"convert", V, P, Pad, Slice},
	{"all_reduce", P, R, AllReduce, AllReduce},
	{"all_reduce", P, I, AllReduce, Keep},
	{"reduce_scatter", P, V, ReduceScatter, AllGather},
}

// Transitions returns the table; the caller must not modify it.
func Transitions() []Transition { return transitions }

// Gradient returns the row that is the gradient of tr. ok is false for reinterpret(I, V), whose gradient
// is two rows: reinterpret(V, P), then all_reduce(P, I).
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

// Communicates reports whether the ranks communicate.
func (a Act) Communicates() bool { return a >= AllReduce }

// base returns the type by which the table has t: V for S(i).
func base(t Type) Type {
	if t.Kind() == Varying {
		return V
	}
	return t
}

// Find returns the row of the function called name from src to dst; ok is false if there is none.
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

// Call returns the call that turns x from src into dst along axis, as an error suggests it, or ""
// if no single call does.
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
