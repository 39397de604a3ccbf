package spmdtype

// A Row is a way in which an operator works on blocks along one axis: what each operand may be,
// and what each result then is. Of the rows of package op, those that its operands suit as they lie
// are such.
type Row struct{ In, Out []Type }

// A Misfit says why types do not meet in an operator: the operand At and, if there are two, With.
type Misfit struct {
	Why      Why
	At, With int
}

// Why is the reason of a Misfit.
type Why uint8

const (
	Mixed   Why = iota + 1 // I meets another type
	Summand                // P meets what varies
	Added                  // P in what is linear in all operands together, with one that is no P
	Curved                 // P in what is not linear
)

// Meet returns the types, along one axis, of the results of an operator whose operands are
// in, one type where all have that: that of all if they are R or I, V if one varies, and where S(i) or P is among them what rows
// says, which lists the operator's. Operands without a type go with any, as what is the same on all ranks.
// Where all have none, so have the results.
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

// match returns the results of the first row that takes in; nil if there is none.
func match(in []Type, rows []Row) []Type {
	for _, row := range rows {
		if row.takes(in) {
			return row.Out
		}
	}
	return nil
}

// takes reports whether the row takes in: an operand without a type is the same on all ranks.
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

// curved returns why no row takes in, of which operand p is P.
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
