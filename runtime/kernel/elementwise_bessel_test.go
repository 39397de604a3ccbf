package kernel

import (
	"math"
	"testing"
)

// Values of special functions that were computed with 40 digits. A relative error of
// 2e-14 is allowed, 100 times the precision of a float64: conditions differ.
func TestSpecialRows(t *testing.T) {
	tests := []struct {
		name string
		row  any // a Unary or a Binary
		x    []float64
		want float64
	}{
		{"i0", BesselI0, []float64{0.5}, 1.0634833707413236},
		{"i0", BesselI0, []float64{7.9}, 389.406283282158},
		{"i0", BesselI0, []float64{8.1}, 469.5006067101215},
		{"i0", BesselI0, []float64{50.0}, 2.9325537838493362e+20},
		{"i1", BesselI1, []float64{0.5}, 0.2578943053908963},
		{"i1", BesselI1, []float64{-7.9}, -363.8539440845084},
		{"i1", BesselI1, []float64{8.1}, 439.48430891035844},
		{"i1", BesselI1, []float64{50.0}, 2.903078590103557e+20},
		{"i0e", BesselI0e, []float64{0.001}, 0.9990007495835156},
		{"i0e", BesselI0e, []float64{700.0}, 0.015081295651531358},
		{"i1e", BesselI1e, []float64{0.001}, 0.0004995003123542213},
		{"i1e", BesselI1e, []float64{700.0}, 0.015070519444716848},
		{"k0", BesselK0, []float64{0.001}, 7.023688800562382},
		{"k0", BesselK0, []float64{1.9}, 0.1288459792760475},
		{"k0", BesselK0, []float64{2.1}, 0.10078374088996693},
		{"k0", BesselK0, []float64{30.0}, 2.1324774964630563e-14},
		{"k1", BesselK1, []float64{0.001}, 999.9962381560856},
		{"k1", BesselK1, []float64{1.9}, 0.15966015303266762},
		{"k1", BesselK1, []float64{2.1}, 0.12274641153350789},
		{"k1", BesselK1, []float64{30.0}, 2.1677320018915495e-14},
		{"k0e", BesselK0e, []float64{0.5}, 1.5241093857739094},
		{"k0e", BesselK0e, []float64{300.0}, 0.0723300317396073},
		{"k1e", BesselK1e, []float64{0.5}, 2.731009708211786},
		{"k1e", BesselK1e, []float64{300.0}, 0.07245048166725841},
		{"airy_ai", AiryAi, []float64{0.0}, 0.3550280538878172},
		{"airy_ai", AiryAi, []float64{2.5}, 0.01572592338047049},
		{"airy_ai", AiryAi, []float64{20.0}, 1.6916728686705404e-27},
		{"erfcx", Erfcx, []float64{-5.0}, 144009798674.66104},
		{"erfcx", Erfcx, []float64{-0.5}, 1.952360489182557},
		{"erfcx", Erfcx, []float64{0.25}, 0.7703465477309968},
		{"erfcx", Erfcx, []float64{3.75}, 0.14558972127503855},
		{"erfcx", Erfcx, []float64{40.0}, 0.014100335983377814},
		{"ndtr", Ndtr, []float64{-9.0}, 1.1285884059538405e-19},
		{"ndtr", Ndtr, []float64{0.75}, 0.7733726476231318},
		{"log_ndtr", LogNdtr, []float64{-30.0}, -454.3212439563432},
		{"log_ndtr", LogNdtr, []float64{-0.5}, -1.1759117615936185},
		{"log_ndtr", LogNdtr, []float64{3.0}, -0.0013508099647481938},
		{"ndtri", Ndtri, []float64{1e-10}, -6.361340902404057},
		{"ndtri", Ndtri, []float64{0.3}, -0.5244005127080408},
		{"ndtri", Ndtri, []float64{0.975}, 1.9599639845400538},
		{"igamma", GammaInc, []float64{0.5, 0.25}, 0.5204998778130465},
		{"igamma", GammaInc, []float64{3.0, 10.0}, 0.9972306042844884},
		{"igamma", GammaInc, []float64{50.0, 45.0}, 0.24680203440017026},
		{"igammac", GammaIncC, []float64{0.5, 0.25}, 0.4795001221869535},
		{"igammac", GammaIncC, []float64{3.0, 10.0}, 0.002769395715511576},
		{"igammac", GammaIncC, []float64{50.0, 45.0}, 0.7531979655998298},
		{"zeta", Zeta, []float64{1.5, 0.25}, 10.213055360466601},
		{"zeta", Zeta, []float64{2.0, 1.0}, 1.6449340668482264},
		{"zeta", Zeta, []float64{7.0, 3.5}, 0.0001921640382639378},
		{"chebyshev_t", ChebyshevT, []float64{0.3, 20.0}, 0.9821301310548921},
		{"chebyshev_t", ChebyshevT, []float64{1.5, 5.0}, 61.5},
		{"chebyshev_u", ChebyshevU, []float64{0.3, 20.0}, 1.0413172668589776},
		{"chebyshev_u", ChebyshevU, []float64{1.5, 5.0}, 144.0},
		{"hermite_h", HermiteH, []float64{0.3, 9.0}, 7010.2876584959995},
		{"laguerre_l", LaguerreL, []float64{2.5, 9.0}, -0.7574329140745564},
		{"legendre_p", LegendreP, []float64{0.7, 11.0}, -0.1326594644727736},
	}
	for _, test := range tests {
		got := make([]float64, 1)
		switch row := test.row.(type) {
		case Unary:
			row.F64(got, test.x)
		case Binary:
			row.F64(got, test.x[:1], test.x[1:])
		}
		if math.Abs(got[0]-test.want) > 2e-14*math.Abs(test.want) {
			t.Errorf("%s%v: got %v, want %v", test.name, test.x, got[0], test.want)
		}
	}
}

// What functions are at the ends of what they are defined on, and beyond.
func TestSpecialRowsAtTheirEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name    string
		got     float64
		want    float64
		because string
	}{
		{"k0", besselK(0, false, k0Near, k0eFar, k0Small), inf, "it has a pole at 0"},
		{"k0", besselK(-1, false, k0Near, k0eFar, k0Small), nan, "it is complex below 0"},
		{"i1e", i1e(math.Inf(-1)), 0, "it falls off as 1 over the root"},
		{"spherical_j0", sphericalJ0(inf), 0, "it falls off as 1/x"},
		{"airy_ai", airyAi(500), 0, "it underflows"},
		{"erfcx", erfcx(inf), 0, "it falls off as 1/x"},
		{"erfcx", erfcx(-30), inf, "it overflows"},
		{"log_ndtr", logNdtr(math.Inf(-1)), math.Inf(-1), "nothing lies below"},
		{"ndtri", ndtri(0), math.Inf(-1), "nothing lies below"},
		{"ndtri", ndtri(1.5), nan, "it is no share"},
		{"entr", entr(0), 0, "the limit"},
		{"entr", entr(-1), math.Inf(-1), "by convention"},
		{"xlog1py", xlog1py(0, -1), 0, "a factor of 0"},
		{"igamma", lowerGamma(0, 1), 1, "the gamma function has a pole"},
		{"igamma", lowerGamma(2, inf), 1, "the whole integral"},
		{"igamma", lowerGamma(-1, 2), nan, "a negative order"},
		{"zeta", zeta(1, 2), inf, "the harmonic series"},
		{"zeta", zeta(0.5, 2), nan, "the series diverges"},
		{"zeta", zeta(2.5, -0.5), nan, "a power of a negative number"},
		{"legendre", polynomial(chebyshevT)(0.5, nan), nan, "no number"},
		{"chebyshev_t", polynomial(chebyshevT)(0.5, -3), 0, "a negative number"},
		{"chebyshev_u", chebyshevU(1, 20), 21, "the limit of a quotient of sines"},
	}
	for _, test := range tests {
		if test.got != test.want && !(test.got != test.got && test.want != test.want) {
			t.Errorf("%s: got %v, want %v: %s", test.name, test.got, test.want, test.because)
		}
	}
}

// Functions of integers, of both signs and beyond the bits.
func TestIntegerRows(t *testing.T) {
	tests := []struct {
		name string
		row  func(dst, x, y []int32)
		x, y []int32
		want []int32
	}{
		{"gcd", Gcd.I32, []int32{12, -12, 0, 0, 7}, []int32{18, 18, 5, 0, 13}, []int32{6, 6, 5, 0, 1}},
		{"lcm", Lcm.I32, []int32{4, -4, 0}, []int32{6, 6, 5}, []int32{12, 12, 0}},
		{"shift left", ShiftLeft.I32, []int32{3, -3, 1, 5}, []int32{2, 1, 40, -1}, []int32{12, -6, 0, 0}},
		{"shift right", ShiftRight.I32, []int32{12, -3, -1, 5}, []int32{2, 1, 40, -1}, []int32{3, -2, -1, 0}},
	}
	for _, test := range tests {
		got := make([]int32, len(test.x))
		test.row(got, test.x, test.y)
		for i, v := range got {
			if v != test.want[i] {
				t.Errorf("%s of %d and %d: got %d, want %d", test.name, test.x[i], test.y[i], v, test.want[i])
			}
		}
	}
}

func lowerGamma(a, v float64) float64 {
	dst := make([]float64, 1)
	GammaInc.F64(dst, []float64{a}, []float64{v})
	return dst[0]
}
