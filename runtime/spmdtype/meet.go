package spmdtype

// A Row is one way for an operator to work on each rank's own tensors along an axis: the type of each
// operand, and the type that each result then has. It comes from a row of the operator's sharding rule.
type Row struct{ In, Out []Type }

// A Misfit says why types do not meet in an operator: the operand At and, if there are two, With.
type Misfit struct {
	Why      Why
	At, With int
}

// Why is the reason of a Misfit.
type Why uint8

const (
	Mixed   Why = iota + 1 // an operand is I and another is not
	Summand                // an operand is P and another varies
	Added                  // an operand of a sum is P and another is not: P + R
	Curved                 // an operand is P, and the operator is not linear in it
)

// Meet returns the types, along one axis, of the results of an operator whose operands have the
// types in. It returns a single type if all results have the same.
//
// All R gives R, and all I gives I. One V gives V. Where an operand is S(i) or P, the result is that of
// the first of the operator's rows that takes the operands; without one, S(i) gives V and P is a Misfit.
// An operand without a type counts as the same on all ranks; if no operand has one, neither have the results.
func Meet(in []Type, rows func() []Row) ([]Type, *Misfit) {
	first := [Partial + 1]int{-1, -1, -1, -1, -1}
	plain := false // a V that is no S(i)
	for i, t := range in {
		if first[t.kind] < 0 {
			first[t.kind] = i
		}
		plain = plain || t == V
	}
	i, p, v, r := first[Invariant], first[Partial], first[Varying], first[Replicated]
	switch {
	case i >= 0:
		for _, other := range []int{r, v, p} {
			if other >= 0 {
				return nil, &Misfit{Mixed, i, other}
			}
		}
		return []Type{I}, nil
	case p >= 0:
		if v >= 0 {
			return nil, &Misfit{Summand, p, v}
		}
		if out := match(in, rows()); out != nil {
			return out, nil
		}
		return nil, curved(in, p, rows())
	case v >= 0:
		if !plain {
			if out := match(in, rows()); out != nil {
				return out, nil
			}
		}
		return []Type{V}, nil
	case r >= 0:
		return []Type{R}, nil
	}
	return []Type{{}}, nil
}

// match returns the results of the first row that takes operands of types in; nil if none does.
func match(in []Type, rows []Row) []Type {
	for _, row := range rows {
		if row.takes(in) {
			return row.Out
		}
	}
	return nil
}

// takes reports whether the row takes operands of types in. An operand without a type counts as R.
func (row *Row) takes(in []Type) bool {
	for i, t := range in {
		if t.IsNone() {
			t = R
		}
		if !row.In[i].IsNone() && row.In[i] != t {
			return false
		}
	}
	return true
}

// curved returns why no row takes operands of types in, where operand p is P.
func curved(in []Type, p int, rows []Row) *Misfit {
	for _, row := range rows {
		if row.In[p] != P {
			continue
		}
		for i, want := range row.In {
			if want == P && in[i] != P {
				return &Misfit{Added, p, i}
			}
		}
	}
	return &Misfit{Curved, p, -1}
}
