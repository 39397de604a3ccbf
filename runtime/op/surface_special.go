package op

import (
	"fmt"
	"strings"

	"tpsh/runtime/tensor"
)

// namedSpecial are operators that PyTorch also has in its module special, by the name
// there; a name without another is the same. The example is a call and what it gives.
var namedSpecial = []struct{ name, of, call, gives string }{
	{"digamma", "", "tensor([0.0])", "[-inf]"},
	{"psi", "digamma", "tensor([0.0])", "[-inf]"},
	{"erf", "", "tensor([0.0])", "[0.0]"},
	{"erfc", "", "tensor([0.0])", "[1.0]"},
	{"erfinv", "", "tensor([0.0])", "[0.0]"},
	{"exp2", "", "tensor([3.0])", "[8.0]"},
	{"expit", "sigmoid", "tensor([0.0])", "[0.5]"},
	{"expm1", "", "tensor([0.0])", "[0.0]"},
	{"gammaln", "lgamma", "tensor([1.0])", "[0.0]"},
	{"gammainc", "igamma", "tensor([1.0]), tensor([0.0])", "[0.0]"},
	{"gammaincc", "igammac", "tensor([1.0]), tensor([0.0])", "[1.0]"},
	{"log1p", "", "tensor([0.0])", "[0.0]"},
	{"log_softmax", "", "tensor([0.0]), 0", "[0.0]"},
	{"logit", "", "tensor([0.5])", "[0.0]"},
	{"logsumexp", "", "tensor([0.0]), 0", "0.0"},
	{"multigammaln", "mvlgamma", "tensor([2.0]), 1", "[0.0]"},
	{"polygamma", "", "1, tensor([1.0])", "[1.644934058189392]"},
	{"round", "", "tensor([0.6])", "[1.0]"},
	{"sinc", "", "tensor([0.0])", "[1.0]"},
	{"softmax", "", "tensor([0.0]), 0", "[1.0]"},
	{"xlogy", "", "tensor([0.0]), tensor([0.0])", "[0.0]"},
}

// The files of a package are initialised in the order of their names: this one comes
// after those of the operators that are named anew.
func init() {
	for _, s := range namedSpecial {
		of := s.of
		if of == "" {
			of = s.name
		}
		d := must(of)
		names := make([]string, len(d.Params))
		for i := range names {
			names[i] = d.Params[i].Name
		}
		compositeOf(&Def{Name: s.name, Surface: Special, Params: d.Params,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(%s) is %s.\n>>> special.%s(%s)%s\n%s", s.name, strings.Join(names, ", "), of, s.name, s.call, map[bool]string{true: ".tolist()"}[s.gives[0] == '['], s.gives)
			}},
			func(m *maker) []*tensor.Tensor { return m.all(d.Name, m.c.In, m.c.Args...) })
	}
}
