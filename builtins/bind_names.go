package builtins

import (
	"slices"

	"tpsh/builtins/arg"
)

// everywhere are other names of parameters of operators, PyTorch's, by which any operator may be called that has the
// parameter. Those of one operator alone are in op.Param.Also.
var everywhere = map[string]string{"input": "x", "tensor": "x", "A": "x", "size": "shape", "source": "src"}

// slotCalled returns the first slot, from first on, that a keyword says, or -1.
func (s *signature) slotCalled(keyword string, first int) int {
	named := func(name string) int {
		for i := first; i < len(s.slots); i++ {
			if s.slots[i].Name == name {
				return i
			}
		}
		return -1
	}
	if i := named(keyword); i >= 0 {
		return i
	}
	for _, name := range arg.Synonyms[keyword] {
		if i := named(name); i >= 0 {
			return i
		}
	}
	for i := first; i < len(s.slots); i++ {
		if slices.Contains(s.slots[i].Also, keyword) {
			return i
		}
	}
	if name, ok := everywhere[keyword]; ok {
		return named(name)
	}
	return -1
}

// addOtherNames lets the other names of the parameters of s be keywords.
func (c *Call) addOtherNames(s *signature) {
	for _, p := range s.slots {
		if c.Keywords[p.Name] {
			for _, name := range p.Also {
				c.Keywords[name] = true
			}
		}
	}
	for keyword, name := range everywhere {
		if c.Keywords[name] {
			c.Keywords[keyword] = true
		}
	}
}
