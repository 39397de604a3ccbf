package kernel

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// A Normal says how a row is normalised.
type Normal struct {
	Center bool    // subtract the mean first
	Eps    float64 // added to the mean of the squares
}

// moments returns the mean of x (0 unless n centers) and one over the root of
// the mean of the squared differences from it plus Eps. Sums are in float64,
// of float32 in lanes (see Reduce), of float64 from the first element to the
// last.
func moments[T dtype.Float](x []T, n Normal) (mean, scale float64) {
	if v, ok := any(x).([]float32); ok {
		m := momentsOf(v, n)
		return m.pivot + m.mean, m.scale
	}
	if n.Center {
		mean = Total(x) / float64(len(x))
	}
	return mean, 1 / math.Sqrt(Variance(x, mean)+n.Eps)
}

// A moment32 is the moments of a row of float32. The mean is counted from a
// pivot.
type moment32 struct{ pivot, mean, scale float64 }

// momentsOf reads x once: the variance is the mean of the squares less the
// square of the mean. Counted from an element of x, which is no more than √len
// standard deviations from the mean, this loses a factor of len(x) at most of
// the precision of float64.
func momentsOf(x []float32, n Normal) (m moment32) {
	if len(x) == 0 {
		return moment32{0, math.NaN(), math.NaN()}
	}
	if n.Center {
		m.pivot = float64(x[0])
	}
	var sum, squares [lanes]float64
	vec.Moments(x, m.pivot, &sum, &squares)
	size := float64(len(x))
	variance := addLanes(&squares) / size
	if n.Center {
		m.mean = addLanes(&sum) / size
		if variance -= float64(m.mean * m.mean); variance < 0 {
			variance = 0
		}
	}
	m.scale = 1 / math.Sqrt(variance+n.Eps)
	return m
}

// parts returns the mean as the sum of two float32, and the scale.
func (m *moment32) parts() (high, low, scale float32) {
	mean := m.pivot + m.mean
	high = float32(mean)
	return high, float32(mean - float64(high)), float32(m.scale)
}

// Variance returns the mean of (x[i] - mean)², the sum in float64, of float32
// in lanes (see Reduce), of float64 from the first element to the last.
func Variance[T dtype.Float](x []T, mean float64) float64 {
	if v, ok := any(x).([]float32); ok {
		var sum, squares [lanes]float64
		vec.Moments(v, mean, &sum, &squares)
		return addLanes(&squares) / float64(len(x))
	}
	sum := 0.0
	for _, v := range x {
		d := float64(v) - mean
		sum += float64(d * d)
	}
	return sum / float64(len(x))
}

// NormalizeTo is
//
//	mean, scale := the moments of x
//	for i := range dst {
//		dst[i] = (x[i]-mean)*scale*weight[i] + bias[i]
//	}
//
// in float64 rounded once; of float32, step by step in float32, the mean being
// the sum of two. A nil weight stands for ones, a nil bias for zeros. It panics
// if dst and x differ in length. dst may be x.
func NormalizeTo[T dtype.Float](dst, x, weight, bias []T, n Normal) {
	check2(len(dst), len(x))
	if d, ok := any(dst).([]float32); ok {
		normalize32(d, as32(x), as32(weight), as32(bias), n)
		return
	}
	mean, scale := moments(x, n)
	for i, v := range x {
		h := (float64(v) - mean) * scale
		if weight != nil {
			h *= float64(weight[i])
		}
		if bias != nil {
			h += float64(bias[i])
		}
		dst[i] = T(h)
	}
}

func normalize32(dst, x, weight, bias []float32, n Normal) {
	m := momentsOf(x, n)
	high, low, scale := m.parts()
	switch {
	case weight != nil && bias != nil:
		vec.NormalizeAffine(dst, x, weight, bias, high, low, scale)
	case weight != nil:
		vec.NormalizeWeight(dst, x, weight, high, low, scale)
	default:
		vec.Normalize(dst, x, high, low, scale)
		if bias != nil {
			vec.Add(dst, dst, bias)
		}
	}
}

// NormalizeGradTo is the gradient of NormalizeTo without weight and bias:
//
//	h := (x - mean)*scale
//	for i := range dst {
//		dst[i] = scale * (g[i] - mean of g - h[i] * mean of g*h)
//	}
//
// without the mean of g unless n centers; under the rules of NormalizeTo. It
// panics if the lengths differ. dst may be g or x.
func NormalizeGradTo[T dtype.Float](dst, g, x []T, n Normal) {
	check3(len(dst), len(g), len(x))
	if d, ok := any(dst).([]float32); ok {
		normalizeGrad32(d, as32(g), as32(x), n)
		return
	}
	mean, scale := moments(x, n)
	sum, dot := 0.0, 0.0
	for i, v := range x {
		sum += float64(g[i])
		dot += float64(float64(g[i]) * (float64(v) - mean) * scale)
	}
	sum, dot = sum/float64(len(x)), dot/float64(len(x))
	if !n.Center {
		sum = 0
	}
	for i, v := range x {
		dst[i] = T(scale * (float64(g[i]) - sum - float64((float64(v)-mean)*scale*dot)))
	}
}

func normalizeGrad32(dst, g, x []float32, n Normal) {
	m := momentsOf(x, n)
	var sums, dots [lanes]float64
	vec.MomentsGrad(g, x, m.pivot+m.mean, &sums, &dots)
	m.gradTo(dst, g, x, n, &sums, &dots)
}

// gradTo stores the gradient of x, given that of what x was normalised to, its
// sum, and the sum of its products with x less the mean.
func (m *moment32) gradTo(dst, g, x []float32, n Normal, sums, dots *[lanes]float64) {
	size := float64(len(x))
	sum := addLanes(sums) / size
	dot := addLanes(dots) / size * m.scale
	if !n.Center {
		sum = 0
	}
	high, low, scale := m.parts()
	vec.NormalizeGrad(dst, g, x, high, low, scale, float32(sum), float32(dot))
}

// NormalizeGradsTo is NormalizeGradTo given g times weight, and stores in gh the
// products of g and h: what the row adds to the gradient of weight. It panics
// if the lengths differ. dst may be g, and gh none of them.
func NormalizeGradsTo[T dtype.Float](dst, gh, g, x, weight []T, n Normal) {
	check3(len(dst), len(gh), len(x))
	check3(len(dst), len(g), len(weight))
	if d, ok := any(dst).([]float32); ok {
		normalizeGrads32(d, as32(gh), as32(g), as32(x), as32(weight), n)
		return
	}
	NormalizeTo(gh, x, nil, nil, n)
	mulTo := productOf[T]()
	mulTo(gh, gh, g)
	mulTo(dst, g, weight)
	NormalizeGradTo(dst, dst, x, n)
}

// normalizeGrads32 goes over the row four times, which stays in the first-level
// cache.
func normalizeGrads32(dst, gh, g, x, weight []float32, n Normal) {
	m := momentsOf(x, n)
	high, low, scale := m.parts()
	var sums, dots [lanes]float64
	vec.NormalizeTimes(gh, x, g, high, low, scale)
	vec.MomentsGradWeight(dst, g, x, weight, m.pivot+m.mean, &sums, &dots)
	m.gradTo(dst, dst, x, n, &sums, &dots)
}

// ScaleShiftTo is
//
//	for i := range dst {
//		dst[i] = (x[i]-mean)*scale + shift
//	}
//
// each in float64 rounded once. It panics if the lengths differ. dst may be x.
func ScaleShiftTo[T dtype.Float](dst, x []T, mean, scale, shift float64) {
	check2(len(dst), len(x))
	if d, ok := any(dst).([]float32); ok {
		vec.ScaleShift(d, as32(x), mean, scale, shift)
		return
	}
	for i, v := range x {
		dst[i] = T(float64((float64(v)-mean)*scale) + shift)
	}
}
