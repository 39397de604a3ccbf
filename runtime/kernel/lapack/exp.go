package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// pade are the coefficients of Padé's approximations of exp of some degrees, and the greatest norm of
// a matrix for which each errs by less than rounding: Higham, "The scaling and squaring method for the matrix
// exponential revisited", SIAM J. Matrix Anal. Appl. 26(4), 2005.
var pade = []struct {
	norm         float64
	coefficients []float64
}{
	{1.495585217958292e-2, []float64{120, 60, 12, 1}},
	{2.539398330063230e-1, []float64{30240, 15120, 3360, 420, 30, 1}},
	{9.504178996162932e-1, []float64{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
	{2.097847961257068, []float64{17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1}},
	{5.371920351148152, []float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
		670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}},
}

// Exp stores the exponential of a [n, n] in dst: that of a divided by a power of two, squared.
func Exp(dst, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	if !finite(a) {
		return false
	}
	norm, at, squarings := columnNorm(a, n), 0, 0
	for at < len(pade)-1 && norm > pade[at].norm {
		at++
	}
	if norm > pade[at].norm {
		_, squarings = math.Frexp(min(norm, math.MaxFloat64) / pade[at].norm)
		a = append([]float64(nil), a...)
		scale(a, math.Ldexp(1, -squarings))
	}
	odd, even := padeParts(a, pade[at].coefficients, n)
	u, sum := matrixProduct(a, odd, n), make([]float64, n*n)
	for i, v := range u {
		sum[i], even[i] = even[i]+v, even[i]-v
	}
	if !Solve(dst, even, sum, n, n) {
		return false
	}
	for range squarings {
		copy(dst, matrixProduct(dst, dst, n))
	}
	return true
}

// columnNorm returns the greatest sum of the absolute values of a column of a [n, n].
func columnNorm(a []float64, n int) float64 {
	most := 0.0
	for j := range n {
		sum := 0.0
		for i := range n {
			sum += math.Abs(a[i*n+j])
		}
		most = max(most, sum)
	}
	return most
}

// padeParts returns the polynomials in the square of a [n, n] whose coefficients are the odd and the
// even ones. Of high degree they are two of low degree each, of which one is times the sixth power.
func padeParts(a, coefficients []float64, n int) (odd, even []float64) {
	count := len(coefficients) / 2
	if count > 5 {
		count = 4
	}
	powers := [][]float64{identity(n), matrixProduct(a, a, n)}
	for len(powers) < count {
		powers = append(powers, matrixProduct(powers[len(powers)-1], powers[1], n))
	}
	part := func(from int) []float64 {
		sum := polynomial(powers, coefficients[from:])
		if high := from + 2*count; high < len(coefficients) {
			above := polynomial(powers[1:], coefficients[high:])
			for i, v := range matrixProduct(powers[count-1], above, n) {
				sum[i] += v
			}
		}
		return sum
	}
	return part(1), part(0)
}

// polynomial returns the sum of the powers times every second coefficient, as far as there are both.
func polynomial(powers [][]float64, coefficients []float64) []float64 {
	sum := make([]float64, len(powers[0]))
	for k, p := range powers {
		if 2*k >= len(coefficients) {
			break
		}
		for i, v := range p {
			sum[i] = math.FMA(coefficients[2*k], v, sum[i])
		}
	}
	return sum
}

// matrixProduct returns the product of a and b [n, n].
func matrixProduct(a, b []float64, n int) []float64 {
	c := make([]float64, n*n)
	products{}.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, b, n, 0, c, n)
	return c
}
