package gemm

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// A halfKind draws numbers of bfloat16 of a kind.
type halfKind struct {
	name string
	draw func(r *rand.Rand) dtype.BF16
}

// withExponents returns numbers with n exponents from first on, of which some are zeros.
func withExponents(name string, first, n uint64) halfKind {
	return halfKind{name, func(r *rand.Rand) dtype.BF16 {
		if r.IntN(16) == 0 {
			return dtype.BF16(r.IntN(2) << 15)
		}
		return dtype.BF16(r.Uint64()&0x807f | (first+r.Uint64N(n))<<7)
	}}
}

// halfKinds are kinds of numbers of bfloat16 and where their sums may differ: those that tiles
// multiply as float32 does, just or by far, those just not, those whose sums overflow, and any.
var halfKinds = []halfKind{
	{"normal", func(r *rand.Rand) dtype.BF16 { return dtype.ToBF16(float32(r.NormFloat64())) }},
	{"any bits", func(r *rand.Rand) dtype.BF16 { return dtype.BF16(r.Uint32()) }},
	{"mostly one", func(r *rand.Rand) dtype.BF16 { return dtype.BF16(0x3f80 | r.Uint32()&0x8003) }},
	withExponents("far apart", 127-20, 40),
	withExponents("just exact", 71, 6),
	withExponents("just inexact", 70, 6),
	withExponents("tiny", 1, 3),
	withExponents("subnormal", 0, 2),
	withExponents("huge", 188, 8),
	withExponents("greatest", 253, 3), // infinities and NaN among them
}

// drawHalf draws a matrix of bfloat16 of some kinds: panels differ.
func drawHalf(t *rapid.T, name string, rows, cols int) Operand[float32] {
	o := drawGrid[float32](t, name, rows, cols)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+" seed"), 0))
	kind := rapid.SampledFrom(halfKinds).Draw(t, name+" kind")
	for range o.last(rows, cols) + 1 {
		o.BF16 = append(o.BF16, kind.draw(r))
	}
	if rapid.Bool().Draw(t, name+" has others") {
		other := rapid.SampledFrom(halfKinds).Draw(t, name+" other kind")
		for range rapid.IntRange(1, 3).Draw(t, name+" how many others") {
			o.BF16[r.IntN(len(o.BF16))] = other.draw(r)
		}
	}
	return o
}

// Products of bfloat16 are the documented sums, bit for bit, in every set of instructions:
// also of numbers that tiles do not multiply as float32 does.
func TestHalfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 70), rapid.IntRange(1, 300), rapid.SampledFrom([]int{16, 32, 64, 96}))
		p := &Product[float32]{M: size.Draw(t, "m"), N: size.Draw(t, "n"), K: size.Draw(t, "k"), Count: 1}
		for p.M*p.N*p.K > 1<<18 {
			p.M, p.N, p.K = (p.N+1)/2, p.K, p.M
		}
		p.A, p.B = drawHalf(t, "a", p.M, p.K), drawHalf(t, "b", p.K, p.N)
		want := inOrder(p)
		for _, s := range vec.Sets() {
			for helpers := range 2 {
				p.C = poisoned[float32](p.M * p.N)
				p.compute(kernelsIn[float32](s), crew.Of(helpers))
				expect(t, p, s, p.C, want)
			}
		}
	})
}
