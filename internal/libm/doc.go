// Package libm has functions and arithmetic that give the same bits on every processor, where
// Go's do not.
//
// On arm64 and others Go's compiler may fuse a product with the sum that it goes to, and round
// once where amd64 rounds twice: x*y + z. A product of floats that is rounded explicitly is left
// alone, float64(x*y) + z, and that is how it is written wherever bits matter. Complex numbers
// have no such form: their products and quotients are Mul and Div.
//
// Functions are those of Go's package math, version 1.26, which have assembly of their own on
// some processors and are fused on others: its sources, under the licence beside them, with
// products rounded. Exp is what Go's assembly makes of it on an amd64 with FMA. Bits are those
// of Go's math there.
//
// What the sources say of accuracy is what their authors measured. Beside 50 digits, at thousands of
// random arguments, these functions err by at most, in units of the last place: Log, Log1p, Expm1, Exp2 and
// Erf 1, Exp and Atanh 1.4, Hypot 1.8, Sinh 2.2, Erfc 2.5, Asin 3.4, Erfinv 5.3. Relative errors are larger near
// zeros that are not at 0, where absolute ones are not: of Sin, Cos and Tan 6e-13 up to 1e9, of Lgamma, J0, J1, Y0 and Y1
// some hundred units. Gamma errs by 1e-14 of itself beyond 33, Acos by 4e-9 next to 1, and Pow(1+ε, n) by n times the
// rounding of a logarithm. Arguments of Sin, Cos and Tan beyond 2³⁰ are reduced exactly, which the sources that they
// come from did not yet do.
package libm
