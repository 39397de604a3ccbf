package op

import (
	"fmt"
	"strconv"
	"strings"
)

// indexed returns the slicing of at.
func indexed(c *Call) (slicing, error) {
	s := c.In[0].Shape()
	text := c.Args[0].Str
	terms, rest, err := splitIndex(c, text)
	if err != nil {
		return slicing{}, err
	}
	var w slicing
	take := func(n int) {
		for range n {
			w.addRange(0, s[len(w.starts)], 1)
		}
	}
	for _, term := range terms {
		switch term {
		case "...":
			take(rest)
		case "None":
			w.shape, w.dims, w.steps = append(w.shape, 1), append(w.dims, -1), append(w.steps, 1)
		default:
			if err := w.addTerm(c, term); err != nil {
				return slicing{}, err
			}
		}
	}
	take(len(s) - len(w.starts))
	return w, nil
}

// splitIndex returns the terms of an index in NumPy's notation, and for how
// many dims of In[0] its ellipsis stands.
func splitIndex(c *Call, text string) (terms []string, rest int, err error) {
	s := c.In[0].Shape()
	bad := func(want string) error {
		return c.Bad("index", strconv.Quote(text), want, fmt.Sprintf("shape %v", s))
	}
	terms = strings.Split(strings.TrimSpace(text), ",")
	if k := len(terms) - 1; k > 0 && strings.TrimSpace(terms[k]) == "" {
		terms = terms[:k] // "1," is "1"
	}
	rest = len(s)
	ellipses := 0
	for i := range terms {
		terms[i] = strings.TrimSpace(terms[i])
		switch terms[i] {
		case "":
			return nil, 0, bad(`ints, slices, "..." and "None" separated by commas`)
		case "...":
			ellipses++
		case "None":
		default:
			rest--
		}
	}
	if ellipses > 1 {
		return nil, 0, bad(`"..." at most once`)
	}
	if rest < 0 {
		return nil, 0, bad(fmt.Sprintf("at most %d indices", len(s)))
	}
	return terms, rest, nil
}

// addRange shows count indices of the next dim, from start on.
func (w *slicing) addRange(start, count, step int) {
	w.dims = append(w.dims, len(w.starts))
	w.starts = append(w.starts, start)
	w.shape = append(w.shape, count)
	w.steps = append(w.steps, step)
}

// addTerm shows what term, an int or a slice, asks for of the next dim.
func (w *slicing) addTerm(c *Call, term string) error {
	s, d := c.In[0].Shape(), len(w.starts)
	bounds := strings.Split(term, ":")
	var at [3]Arg
	for i, b := range bounds {
		b = strings.TrimSpace(b)
		if b == "" && 1 < len(bounds) && len(bounds) <= 3 {
			continue
		}
		v, err := strconv.Atoi(b)
		if err != nil || len(bounds) > 3 {
			return c.Bad("index", strconv.Quote(term), `an int, a slice, "..." or "None"`, fmt.Sprintf("in %q", c.Args[0].Str))
		}
		at[i] = Int1(v)
	}
	if len(bounds) == 1 {
		i, err := c.index("index", at[0].Int, d, s)
		w.starts = append(w.starts, i)
		return err
	}
	if !at[1].Set {
		at[1].Int = s[d]
	}
	if !at[2].Set {
		at[2].Int = 1
	}
	if at[2].Int <= 0 {
		return c.Bad("index", strconv.Quote(term), "a positive step", "flip reverses a dim")
	}
	start, count := sliceRange(at[0].Int, at[1].Int, at[2].Int, s[d])
	w.addRange(start, count, at[2].Int)
	return nil
}
