package op

import (
	"fmt"

	"tpsh/runtime/tensor"
)

// viewing are operators that have a form which copies what they show: the operator, if
// it is known by another name here, the name, an example and what it shows.
var viewing = []struct{ of, name, example, shows string }{
	{"", "diagonal", "tensor([[1, 2], [3, 4]])%s()", "[1, 4]"},
	{"", "narrow", "arange(4)%s(0, 1, 2)", "[1, 2]"},
	{"", "permute", "tensor([[1, 2]])%s(1, 0)", "[[1], [2]]"},
	{"", "select", "tensor([[1, 2], [3, 4]])%s(0, 1)", "[3, 4]"},
	{"", "slice", "arange(4)%s(0, 1, 3)", "[1, 2]"},
	{"", "squeeze", "tensor([[1, 2]])%s(0)", "[1, 2]"},
	{"", "t", "tensor([[1, 2]])%s()", "[[1], [2]]"},
	{"", "transpose", "tensor([[1, 2]])%s(0, 1)", "[[1], [2]]"},
	{"", "unfold", "arange(3)%s(0, 2, 1)", "[[0, 1], [1, 2]]"},
	{"", "unsqueeze", "tensor([1, 2])%s(0)", "[[1, 2]]"},
	{"reshape", "view", "arange(4)%s(2, 2)", "[[0, 1], [2, 3]]"},
	{"", "split", "arange(4)%s(2)", ""},
	{"", "unbind", "arange(2)%s()", ""},
}

// As storing.go, this file comes after those of the operators that it names.
func init() {
	for _, v := range viewing {
		of := v.of
		if of == "" {
			of = v.name
		}
		d := methodOf(of)
		name := v.name + "_copy"
		compositeOf(&Def{Name: name, Surface: bothSides, Params: d.Params, List: d.List,
			MakeDoc: func() string {
				example := ">>> " + fmt.Sprintf(v.example, "."+name)
				if v.shows != "" {
					example += ".tolist()\n" + v.shows
				} else {
					example = ">>> len(" + example[4:] + ")\n2"
				}
				return fmt.Sprintf("%s(%s returns a copy of what %s returns.\n%s", name, paramsOf(d), v.name, example)
			}},
			func(m *maker) []*tensor.Tensor {
				out, err := m.A.Apply(d, m.c.In, m.c.Args)
				m.check(err)
				list := make([]*tensor.Tensor, len(out))
				for i, y := range out {
					list[i] = m.unary("clone", y)
				}
				return list
			})
	}
}
