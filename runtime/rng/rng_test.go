package rng

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The known answers of Random123, tests/kat_vectors, philox4x32 with 10 rounds.
func TestPhiloxKnownAnswers(t *testing.T) {
	tests := []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	}
	for _, tt := range tests {
		var got [4]uint32
		s := newStream(uint64(tt.key[1])<<32|uint64(tt.key[0]), uint64(tt.ctr[3])<<32|uint64(tt.ctr[2]))
		got[0], got[1], got[2], got[3] = s.block(uint64(tt.ctr[1])<<32 | uint64(tt.ctr[0]))
		if got != tt.want {
			t.Errorf("Philox at %x under %x = %x, want %x", tt.ctr, tt.key, got, tt.want)
		}
	}
}

// words sets dst[i] to word first+i of the draw.
func words(dst []uint32, seed, draw, first uint64) {
	each32(dst, newStream(seed, draw), first, func(dst, w []uint32) { copy(dst, w) })
}

// fills is every kernel that draws by position, as bits.
var fills = map[string]func(n int, seed, draw, first uint64) []uint64{
	"words":         fill(words, func(v uint32) uint64 { return uint64(v) }),
	"Uniform32":     fill(Uniform32, func(v float32) uint64 { return uint64(math.Float32bits(v)) }),
	"Uniform64":     fill(Uniform64, math.Float64bits),
	"UniformF16":    fill(UniformF16, func(v dtype.F16) uint64 { return uint64(v) }),
	"UniformBF16":   fill(UniformBF16, func(v dtype.BF16) uint64 { return uint64(v) }),
	"Normal32":      fill(Normal32, func(v float32) uint64 { return uint64(math.Float32bits(v)) }),
	"Normal64":      fill(Normal64, math.Float64bits),
	"NormalF16":     fill(NormalF16, func(v dtype.F16) uint64 { return uint64(v) }),
	"NormalBF16":    fill(NormalBF16, func(v dtype.BF16) uint64 { return uint64(v) }),
	"Exponential64": fill(Exponential64, math.Float64bits),
	"Keep": fill(func(dst []bool, seed, draw, first uint64) { Keep(dst, seed, draw, first, 0.5) }, func(v bool) uint64 {
		if v {
			return 1
		}
		return 0
	}),
	"Ints": fill(func(dst []int64, seed, draw, first uint64) { Ints(dst, seed, draw, first, -5, 1<<40) },
		func(v int64) uint64 { return uint64(v) }),
}

func fill[T any](f func(dst []T, seed, draw, first uint64), bits func(T) uint64) func(int, uint64, uint64, uint64) []uint64 {
	return func(n int, seed, draw, first uint64) []uint64 {
		dst := make([]T, n)
		f(dst, seed, draw, first)
		out := make([]uint64, n)
		for i, v := range dst {
			out[i] = bits(v)
		}
		return out
	}
}

// A block of a draw is that slice of the whole, wherever it begins and ends.
func TestBlocksOfADraw(t *testing.T) {
	for name, f := range fills {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			seed, draw := rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "draw")
			lo := rapid.IntRange(0, 40).Draw(t, "lo")
			hi := rapid.IntRange(lo, 40).Draw(t, "hi")
			want := f(40, seed, draw, 0)[lo:hi]
			if got := f(hi-lo, seed, draw, uint64(lo)); !slices.Equal(got, want) {
				t.Fatalf("elements %d to %d: got %x, want %x", lo, hi, got, want)
			}
		}))
	}
}

// Bits that must never change: a script's figures depend on them.
func TestFixedBits(t *testing.T) {
	want := map[string][]uint64{
		"words":         {0x600f6196, 0x8fcdf8f1, 0x2c8ed839},
		"Uniform32":     {0x3ec01ec2, 0x3f0fcdf8, 0x3e323b60},
		"Uniform64":     {0x3fea60347aaae349, 0x3fdf90b55e2516f2, 0x3fef9afa79d0e8fa},
		"UniformF16":    {0x3600, 0x387e, 0x3190},
		"UniformBF16":   {0x3ec0, 0x3f0f, 0x3e30},
		"Normal32":      {0xbea2d395, 0x3e1f1a48, 0xbf703201},
		"Normal64":      {0x3fedd027df41cdc0, 0xbf916fae0192b003, 0x4001f91ae2df921a},
		"NormalF16":     {0xb517, 0x30f9, 0xbb82},
		"NormalBF16":    {0xbea3, 0x3e1f, 0xbf70},
		"Exponential64": {0x3fc8bdb13cb03d10, 0x3fe69e50ed627b8d, 0x3f89699396c3edba},
		"Keep":          {0x1, 0x0, 0x1},
		"Ints":          {0x6c98929f66, 0x59b12c848, 0x3326af1e29},
	}
	for name, f := range fills {
		if got := f(3, 42, 7, 5); !slices.Equal(got, want[name]) {
			t.Errorf("%s: elements 5 to 8 of draw 7 are %#x, want %#x", name, got, want[name])
		}
	}
}

// Seeds, draws and neighbouring elements give different words.
func TestSeedsAndDrawsDiffer(t *testing.T) {
	seen := map[uint32]bool{}
	for seed := range uint64(8) {
		for draw := range uint64(8) {
			list := make([]uint32, 16)
			words(list, seed, draw, 0)
			for _, w := range list {
				if seen[w] {
					t.Fatalf("seed %d, draw %d: word %#x came before", seed, draw, w)
				}
				seen[w] = true
			}
		}
	}
}

// moments returns mean and variance.
func moments[T float32 | float64](x []T) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(x))
}

// Mean and variance within five standard errors of what they should be.
func TestMoments(t *testing.T) {
	const n = 200000
	u32, u64, n32, n64, e64 := make([]float32, n), make([]float64, n), make([]float32, n), make([]float64, n), make([]float64, n)
	Uniform32(u32, 1, 1, 0)
	Uniform64(u64, 1, 2, 0)
	Normal32(n32, 1, 3, 0)
	Normal64(n64, 1, 4, 0)
	Exponential64(e64, 1, 5, 0)
	check := func(name string, mean, variance, wantMean, wantVar, kurtosis float64) {
		t.Helper()
		if tol := 5 * math.Sqrt(wantVar/n); math.Abs(mean-wantMean) > tol {
			t.Errorf("%s: mean %v, want %v within %v", name, mean, wantMean, tol)
		}
		if tol := 5 * wantVar * math.Sqrt((kurtosis-1)/n); math.Abs(variance-wantVar) > tol {
			t.Errorf("%s: variance %v, want %v within %v", name, variance, wantVar, tol)
		}
	}
	m, v := moments(u32)
	check("Uniform32", m, v, 0.5, 1.0/12, 1.8)
	m, v = moments(u64)
	check("Uniform64", m, v, 0.5, 1.0/12, 1.8)
	m, v = moments(n32)
	check("Normal32", m, v, 0, 1, 3)
	m, v = moments(n64)
	check("Normal64", m, v, 0, 1, 3)
	m, v = moments(e64)
	check("Exponential64", m, v, 1, 1, 9)
	for _, x := range u32 {
		if x < 0 || x >= 1 {
			t.Fatalf("Uniform32 gave %v, want [0, 1)", x)
		}
	}
}

// The normal distribution function at the quantile of p is p, from the middle
// to the outermost numbers that can be drawn, and the quantile is odd.
func TestNormalQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.Int64Range(0, 1<<53-1).Draw(t, "w") >> rapid.IntRange(0, 52).Draw(t, "shift")
		k := w<<1 - (1<<53 - 1) // p = (w + 1/2) / 2^53
		z, p := normal(k, 0x1p-54), (float64(w)+0.5)*0x1p-53
		if got := math.Erfc(-z/math.Sqrt2) / 2; math.Abs(got-p) > 2e-15*p*(1+z*z) {
			t.Fatalf("quantile of %g is %v, whose probability is %g", p, z, got)
		}
		if y := normal(-k, 0x1p-54); y != -z {
			t.Fatalf("quantiles %v and %v of k and -k", z, y)
		}
	})
	for _, tt := range []struct{ p, want float64 }{{0.25, -0.6744897501960817}, {0.001, -3.090232306167813}, {1e-20, -9.262340089798408}} {
		// AS 241 gives these three as its test data.
		if got := quantile(tt.p); math.Abs(got-tt.want) > 1e-15*math.Abs(tt.want) {
			t.Errorf("quantile(%g) = %v, want %v", tt.p, got, tt.want)
		}
	}
}

// Many quantiles have the bits of each by itself, with every set of kernels.
func TestNormals(t *testing.T) {
	defer vec.Use(vec.Best())
	ends := []uint32{0, 1, 1 << 31, 1<<31 - 1, 322122547, 322122548, 3972844748, 3972844749, 1<<32 - 1} // the middle is from 322122547 to 3972844748
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(rapid.OneOf(rapid.Uint32(), rapid.SampledFrom(ends)), 0, 4*batch).Draw(t, "w")
		for _, set := range vec.Sets() {
			vec.Use(set)
			got := make([]float32, len(w))
			normals(got, w)
			for i, w := range w {
				if want := float32(normal(int64(w)<<1-(1<<32-1), 0x1p-33)); got[i] != want {
					t.Fatalf("%v: quantile of word %d = %v, want %v", set, w, got[i], want)
				}
			}
		}
	})
}

// quantile is normal for any p below 1/2, by the same three approximations.
func quantile(p float64) float64 {
	if q := p - 0.5; q > -0.425 {
		r := 0.180625 - q*q
		return q * poly(&midNum, r) / poly(&midDen, r)
	}
	r := math.Sqrt(-ln(p))
	if r <= 5 {
		return -poly(&flankNum, r-1.6) / poly(&flankDen, r-1.6)
	}
	return -poly(&tailNum, r-5) / poly(&tailDen, r-5)
}

func TestLogarithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0x1p-1000, 0x1p1000).Draw(t, "x")
		got, want := ln(x), math.Log(x)
		if ulp := math.Abs(math.Nextafter(want, math.Inf(1)) - want); math.Abs(got-want) > 1.5*ulp {
			t.Fatalf("ln(%v) = %v, want %v", x, got, want)
		}
	})
	if ln(1) != 0 {
		t.Errorf("ln(1) = %v, want 0", ln(1))
	}
}

// Every number of a range comes about equally often, and no other does.
func TestInts(t *testing.T) {
	for _, tt := range []struct{ low, high int64 }{{0, 1}, {-3, 4}, {5, 105}, {math.MinInt64, math.MaxInt64}, {-1, 1 << 62}} {
		x := make([]int64, 10000)
		Ints(x, 9, 1, 0, tt.low, tt.high)
		count := map[int64]int{}
		for _, v := range x {
			if v < tt.low || v >= tt.high {
				t.Fatalf("Ints in [%d, %d) gave %d", tt.low, tt.high, v)
			}
			count[v]++
		}
		n := uint64(tt.high) - uint64(tt.low)
		if n > 1000 {
			if len(count) < 9990 {
				t.Errorf("Ints in [%d, %d): %d different of 10000", tt.low, tt.high, len(count))
			}
			continue
		}
		want := 10000 / float64(n)
		for v := tt.low; v < tt.high; v++ {
			if got := float64(count[v]); math.Abs(got-want) > 5*math.Sqrt(want) {
				t.Errorf("Ints in [%d, %d): %d came %v times, want about %v", tt.low, tt.high, v, got, want)
			}
		}
	}
}

func TestKeep(t *testing.T) {
	const n = 100000
	mask := make([]bool, n)
	for _, p := range []float64{0, 0.001, 0.3, 1} {
		Keep(mask, 5, 2, 0, p)
		kept := 0
		for _, k := range mask {
			if k {
				kept++
			}
		}
		if tol := 5 * math.Sqrt(n*p*(1-p)); math.Abs(float64(kept)-n*p) > tol {
			t.Errorf("Keep with p = %v kept %d of %d", p, kept, n)
		}
	}
}

// A permutation holds each index once, and each place sees each index.
func TestPerm(t *testing.T) {
	const n, draws = 6, 6000
	var count [n][n]int
	for draw := range uint64(draws) {
		p := make([]int64, n)
		Perm(p, 3, draw)
		for i, v := range p {
			count[i][v]++
		}
		slices.Sort(p)
		if !slices.Equal(p, []int64{0, 1, 2, 3, 4, 5}) {
			t.Fatalf("draw %d is no permutation: sorted %v", draw, p)
		}
	}
	for i := range count {
		for v, c := range count[i] {
			if math.Abs(float64(c)-draws/n) > 5*math.Sqrt(draws/n) {
				t.Errorf("place %d holds %d in %d of %d draws, want about %d", i, v, c, draws, draws/n)
			}
		}
	}
	Perm(nil, 3, 0)
}

// Words made in batches are those made block by block, also where the upper
// half of the block's number changes.
func TestBatches(t *testing.T) {
	s := newStream(0x0123456789abcdef, 77)
	for _, first := range []uint64{0, 1, 7, 4<<32 - 9, 4<<32 - 1} {
		got := make([]uint32, 5*batch+3)
		each32(got, s, first, func(dst, w []uint32) { copy(dst, w) })
		for i, w := range got {
			at := first + uint64(i)
			var want [4]uint32
			want[0], want[1], want[2], want[3] = s.block(at / 4)
			if w != want[at%4] {
				t.Fatalf("word %d from %d on = %#x, want %#x", i, first, w, want[at%4])
			}
		}
		pairs := make([]uint64, 3*batch+1)
		each64(pairs, s, first, func(dst, w []uint64) { copy(dst, w) })
		for i, w := range pairs {
			at := first + uint64(i)
			lo, hi := s.pair(at / 2)
			if want := [2]uint64{lo, hi}[at%2]; w != want {
				t.Fatalf("pair %d from %d on = %#x, want %#x", i, first, w, want)
			}
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	b.Run("Uniform32", func(b *testing.B) { bench(b, Uniform32, 4) })
	b.Run("Uniform64", func(b *testing.B) { bench(b, Uniform64, 8) })
	b.Run("Normal32", func(b *testing.B) { bench(b, Normal32, 4) })
	b.Run("Normal64", func(b *testing.B) { bench(b, Normal64, 8) })
	b.Run("Keep", func(b *testing.B) {
		bench(b, func(dst []bool, seed, draw, first uint64) { Keep(dst, seed, draw, first, 0.5) }, 1)
	})
	b.Run("Ints", func(b *testing.B) {
		bench(b, func(dst []int64, seed, draw, first uint64) { Ints(dst, seed, draw, first, 0, 10) }, 8)
	})
}

func bench[T any](b *testing.B, f func(dst []T, seed, draw, first uint64), size int64) {
	dst := make([]T, 1<<16)
	b.SetBytes(size << 16)
	for i := range b.N {
		f(dst, 1, uint64(i), 0)
	}
}

// pair returns block b as two 64-bit words.
func (s *stream) pair(b uint64) (lo, hi uint64) {
	x0, x1, x2, x3 := s.block(b)
	return uint64(x1)<<32 | uint64(x0), uint64(x3)<<32 | uint64(x2)
}

// Integers and permutations take a block for each element, however many are made at a time.
func TestIntsAndPermByBlock(t *testing.T) {
	for _, n := range []int{0, 1, 2, batch - 1, batch, batch + 1, 3*batch + 5} {
		s, first := newStream(9, 4), uint64(1)<<32-7 // the upper half of the counter changes
		ints, perm := make([]int64, n), make([]int64, n)
		Ints(ints, 9, 4, first, -3, 1000)
		Perm(perm, 9, 4)
		want := make([]int64, n)
		for i := range want {
			want[i] = int64(i)
			lo, hi := s.pair(first + uint64(i))
			if w := int64(within(lo, hi, 1003)) - 3; ints[i] != w {
				t.Fatalf("integer %d of %d = %d, want %d", i, n, ints[i], w)
			}
		}
		for i := n - 1; i > 0; i-- {
			lo, hi := s.pair(uint64(i))
			j := within(lo, hi, uint64(i)+1)
			want[i], want[j] = want[j], want[i]
		}
		if !slices.Equal(perm, want) {
			t.Fatalf("Perm of %d = %v, want %v", n, perm, want)
		}
	}
}
