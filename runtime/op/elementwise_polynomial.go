package op

import (
	"fmt"

	"tpsh/runtime/kernel"
)

func init() {
	for _, p := range []struct {
		name, returns string
		row           kernel.Binary
		example       string // at 2.0, of number 2
	}{
		{"chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind", kernel.ChebyshevT, "7.0"},
		{"chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind", kernel.ChebyshevU, "15.0"},
		{"chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind", kernel.ChebyshevV, "11.0"},
		{"chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind", kernel.ChebyshevW, "19.0"},
		{"shifted_chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind of 2x - 1", kernel.ShiftedChebyshevT, "17.0"},
		{"shifted_chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind of 2x - 1", kernel.ShiftedChebyshevU, "35.0"},
		{"shifted_chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind of 2x - 1", kernel.ShiftedChebyshevV, "29.0"},
		{"shifted_chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind of 2x - 1", kernel.ShiftedChebyshevW, "41.0"},
		{"hermite_polynomial_h", "the physicists' Hermite polynomial", kernel.HermiteH, "14.0"},
		{"hermite_polynomial_he", "the probabilists' Hermite polynomial", kernel.HermiteHe, "3.0"},
		{"laguerre_polynomial_l", "Laguerre's polynomial", kernel.LaguerreL, "-1.0"},
		{"legendre_polynomial_p", "Legendre's polynomial", kernel.LegendreP, "5.5"},
	} {
		d := (&binaryOp{row: p.row, float: true, wants: "numbers", second: "n"}).def(&Def{
			Name:    p.name,
			Surface: Special,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, n) returns %s number n, elementwise. It has no gradient.\n"+
					"x and n are broadcast. It is 0 where n is negative, and NaN where n is above 1048576.\n"+
					">>> special.%s(tensor([2.0]), 2).tolist()\n[%s]", p.name, p.returns, p.name, p.example)
			},
			Shard: Elementwise,
		})
		d.Params = []Param{inX, {Name: "n", Kind: Operand, Doc: "a tensor or a number; its fraction is left out"}}
		register(d)
	}
}
