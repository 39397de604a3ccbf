package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// anySize returns a number of any size up to 2^width, or one of those where sums go wrong.
func anySize(rng *rand.Rand, width int) float64 {
	switch rng.IntN(12) {
	case 0:
		return 0
	case 1:
		return math.Copysign(0, -1)
	case 2:
		return math.Ldexp(1-2*float64(rng.IntN(2)), rng.IntN(2*width)-width)
	}
	return math.Ldexp(rng.NormFloat64(), rng.IntN(2*width)-width)
}

// bigSum returns the exact sum of xs, which are finite, and whether all are -0.
func bigSum(xs []float64) (sum *big.Float, negative bool) {
	sum, negative = new(big.Float).SetPrec(2300), true
	for _, x := range xs {
		sum.Add(sum, new(big.Float).SetFloat64(x))
		negative = negative && x == 0 && math.Signbit(x)
	}
	return sum, negative
}

// wantSum64 returns what the sum of xs must be in float64.
func wantSum64(xs []float64) float64 {
	sum, negative := bigSum(xs)
	if negative {
		return math.Copysign(0, -1)
	}
	if sum.Sign() == 0 {
		return 0
	}
	f, _ := sum.Float64()
	return f
}

// wantSum32 is wantSum64 in float32.
func wantSum32(xs []float64) float32 {
	sum, negative := bigSum(xs)
	if negative {
		return float32(math.Copysign(0, -1))
	}
	if sum.Sign() == 0 {
		return 0
	}
	f, _ := sum.Float32()
	return f
}

// Exact sums are what math/big makes of the same numbers, near each other and of all sizes, where
// pairs of float64 hold them and where not.
func TestExactSumsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 6))
	for _, width := range []int{3, 20, 60, 120, 300, 1020} {
		for n := 1; n <= 40; n += 1 + n/4 {
			const elements = 700
			columns := make([][]float64, elements)
			for i := range columns {
				for range n {
					columns[i] = append(columns[i], anySize(rng, width))
				}
				if rng.IntN(3) == 0 && n > 2 { // what cancels leaves the small ones
					columns[i][n-1] = -columns[i][0]
				}
			}
			checkExact64(t, columns, width)
			checkExact32(t, columns, width)
		}
	}
}

// rows returns what sources hold whose elements stand in columns.
func rows[T float32 | float64](columns [][]float64) [][]byte {
	srcs := make([][]byte, len(columns[0]))
	for k := range srcs {
		row := make([]T, len(columns))
		for i := range columns {
			row[i] = T(columns[i][k])
		}
		srcs[k] = bytesOf(row)
	}
	return srcs
}

func checkExact64(t *testing.T, columns [][]float64, width int) {
	t.Helper()
	got := make([]float64, len(columns))
	ExactCombiner(dtype.Float64, "sum")(bytesOf(got), rows[float64](columns))
	for i, xs := range columns {
		if want := wantSum64(xs); math.Float64bits(got[i]) != math.Float64bits(want) {
			t.Fatalf("width %d: the sum of %v: got %v, want %v", width, xs, got[i], want)
		}
	}
}

func checkExact32(t *testing.T, columns [][]float64, width int) {
	t.Helper()
	if width > 126 {
		return // they are infinities in float32
	}
	got := make([]float32, len(columns))
	ExactCombiner(dtype.Float32, "sum")(bytesOf(got), rows[float32](columns))
	for i, xs := range columns {
		rounded := make([]float64, len(xs))
		for k, x := range xs {
			rounded[k] = float64(float32(x))
		}
		if want := wantSum32(rounded); math.Float32bits(got[i]) != math.Float32bits(want) {
			t.Fatalf("width %d: the sum of %v: got %v, want %v", width, rounded, got[i], want)
		}
	}
}

// Halves of every exponent are rounded once: between two halves the exact sum decides, also by
// what is far below.
func TestExactSumsOfHalvesAreRoundedOnce(t *testing.T) {
	tiny := float32(math.Ldexp(1, -30))
	for _, c := range []struct {
		dt   dtype.DType
		xs   []float32
		want float32
	}{
		{dtype.BFloat16, []float32{1, 1.0 / 256}, 1}, // between 1 and 1 + 2^-7, to the even one
		{dtype.BFloat16, []float32{1, 1.0 / 256, tiny}, 1 + 1.0/128},
		{dtype.BFloat16, []float32{tiny, 1.0 / 256, 1}, 1 + 1.0/128},
		{dtype.BFloat16, []float32{1, 1.0 / 256, -tiny}, 1},
		{dtype.BFloat16, []float32{1 + 1.0/128, 1.0 / 256, -tiny}, 1 + 1.0/128},
		{dtype.BFloat16, []float32{3e38, 3e38, -3e38}, 3e38},
		{dtype.Float16, []float32{1, 1.0 / 2048}, 1},
		{dtype.Float16, []float32{1, 1.0 / 2048, 1.0 / (1 << 24)}, 1 + 1.0/1024},
		{dtype.Float16, []float32{60000, 60000, -60000}, 60000},
	} {
		var srcs [][]byte
		for _, x := range c.xs {
			srcs = append(srcs, halfOf(c.dt, x))
		}
		got := make([]byte, 2)
		ExactCombiner(c.dt, "sum")(got, srcs)
		if want := halfOf(c.dt, c.want); !bytes.Equal(got, want) {
			t.Errorf("%v: the sum of %v: got %x, want %x", c.dt, c.xs, got, want)
		}
	}
}

func halfOf(dt dtype.DType, x float32) []byte {
	b := make([]byte, 2)
	if dt == dtype.Float16 {
		vec.NarrowF16(view[dtype.F16](b), []float32{x})
	} else {
		vec.NarrowBF16(view[dtype.BF16](b), []float32{x})
	}
	return b
}

// Infinities, NaNs and zeros come out as of no order.
func TestExactSumsOfWhatIsNotFinite(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	const most = math.MaxFloat64
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{[]float64{1, inf, -1e300}, inf}, {[]float64{inf, inf}, inf}, {[]float64{inf}, inf}, {[]float64{-inf, 1}, -inf},
		{[]float64{inf, -inf}, nan}, {[]float64{nan, 1, inf}, nan}, {[]float64{nan}, nan},
		{[]float64{zero}, zero}, {[]float64{zero, zero, zero}, zero}, {[]float64{zero, 0}, 0}, {[]float64{1, -1, zero}, 0},
		{[]float64{most, most, -most}, most}, {[]float64{most, most}, inf}, {[]float64{most, 0x1p970}, inf}, {[]float64{most, 0x1.8p969}, most},
		{[]float64{-most, -most, most, 5e-324}, -most}, {[]float64{5e-324, most, -most}, 5e-324},
	} {
		for range 6 {
			got := make([]float64, 1)
			ExactCombiner(dtype.Float64, "sum")(bytesOf(got), rows[float64]([][]float64{c.xs}))
			if math.Float64bits(got[0]) != math.Float64bits(c.want) {
				t.Errorf("the sum of %v: got %v, want %v", c.xs, got[0], c.want)
			}
			c.xs = append(slices.Clone(c.xs[1:]), c.xs[0])
		}
	}
}

// The sources may come in any order, and be cut anywhere: in every dtype the bits are the same,
// of all that bits can stand for.
func TestExactSumsHaveNoOrder(t *testing.T) {
	for _, dt := range dtype.All {
		for _, op := range []string{"sum", "mean"} {
			combine := ExactCombiner(dt, op)
			if combine == nil {
				continue
			}
			t.Run(fmt.Sprint(dt, " ", op), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
					elements := rapid.IntRange(0, 600).Draw(t, "elements")
					srcs := make([][]byte, rapid.IntRange(1, 9).Draw(t, "sources"))
					for i := range srcs {
						srcs[i] = make([]byte, elements*dt.Size())
						for at := range srcs[i] {
							srcs[i][at] = byte(rng.Uint32())
						}
					}
					want, got := make([]byte, elements*dt.Size()), make([]byte, elements*dt.Size())
					combine(want, srcs)
					rng.Shuffle(len(srcs), func(i, k int) { srcs[i], srcs[k] = srcs[k], srcs[i] })
					cut := rapid.IntRange(0, elements).Draw(t, "cut") * dt.Size()
					var left, right [][]byte
					for _, s := range srcs {
						left, right = append(left, s[:cut]), append(right, s[cut:])
					}
					combine(got[:cut], left)
					combine(got[cut:], right)
					if !bytes.Equal(got, want) {
						t.Fatal("other bits in another order")
					}
				})
			})
		}
	}
}

// What has a sum has an exact one, and nothing else has.
func TestExactCombinerHasSums(t *testing.T) {
	for _, dt := range dtype.All {
		for _, op := range []string{"sum", "mean", "prod", "max", "min", "band", "bor", "bxor", "median"} {
			want := (op == "sum" || op == "mean") && Combiner(dt, op) != nil
			if got := ExactCombiner(dt, op) != nil; got != want {
				t.Errorf("%v %s: got an exact one: %v, want %v", dt, op, got, want)
			}
		}
	}
}

func BenchmarkCombine(b *testing.B) {
	const elements, sources = 1 << 14, 8
	rng := rand.New(rand.NewPCG(1, 2))
	columns := make([][]float64, elements)
	for i := range columns {
		for range sources {
			columns[i] = append(columns[i], rng.NormFloat64())
		}
	}
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64} {
		srcs := rows[float32](columns)
		if dt == dtype.Float64 {
			srcs = rows[float64](columns)
		}
		dst := make([]byte, elements*dt.Size())
		for name, combine := range map[string]Combine{"ordered": Combiner(dt, "sum"), "exact": ExactCombiner(dt, "sum")} {
			b.Run(fmt.Sprint(dt, "/", name), func(b *testing.B) {
				b.SetBytes(int64(sources * len(dst)))
				for b.Loop() {
					combine(dst, srcs)
				}
			})
		}
	}
}
