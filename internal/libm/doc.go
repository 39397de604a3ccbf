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
package libm
