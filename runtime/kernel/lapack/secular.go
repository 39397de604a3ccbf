package lapack

import "math"

// A secularEquation is that of the eigenvalues of diag(D) + rho z zᵀ, for ascending D [k],
// rho above 0 and a z [k] without zeros:
//
//	1/rho + Σ_j z_j² / (D_j - λ) = 0
//
// It has a root between each D_i and the next, and one above the last. D is never formed:
// only differences of it occur, of which each has all its digits. D_j - λ_i has, too, as
// the origin of λ_i is the D_j that is nearest, and that is what makes vectors orthogonal.
type secularEquation struct {
	d       []float64 // of which D is made
	squared bool      // D is d², of d that are not negative, and not d itself
	z       []float64
	inverse float64 // 1/rho
	gaps    []float64
}

// newSecularEquation returns the equation of d, z and rho; squared says that D is d².
func newSecularEquation(d, z []float64, rho float64, squared bool) *secularEquation {
	return &secularEquation{d, squared, z, 1 / rho, make([]float64, len(d))}
}

// apart stores the D_j - D_i of all j in dst.
func (s *secularEquation) apart(dst []float64, i int) {
	at := s.d[i]
	if s.squared {
		for j, v := range s.d {
			dst[j] = (v - at) * (v + at)
		}
		return
	}
	for j, v := range s.d {
		dst[j] = v - at
	}
}

// A bracketed is a number between lo and hi, of the parts of the equation there: sums over
// the poles to first's left, itself included, and over the others, with derivatives.
type bracketed struct {
	at, lo, hi               float64
	psi, dPsi, phi, dPhi, of float64
}

// evaluate computes the equation at b.at, whose origin is that of s.gaps; i is the last pole
// of the left sum. It narrows the bracket, and reports whether that is a root as nearly as
// can be known.
func (s *secularEquation) evaluate(b *bracketed, i int) bool {
	b.psi, b.dPsi = poles(s.z[:i+1], s.gaps, b.at)
	b.phi, b.dPhi = poles(s.z[i+1:], s.gaps[i+1:], b.at)
	b.of = s.inverse + b.psi + b.phi
	if b.of < 0 {
		b.lo = b.at
	} else {
		b.hi = b.at
	}
	rounding := precision / 2 * (float64(8*(math.Abs(b.phi)-b.psi)) + s.inverse + float64(math.Abs(b.at)*(b.dPsi+b.dPhi)))
	return math.Abs(b.of) <= rounding
}

// poles returns the sum of z_j² / (gaps_j - at), and its derivative.
func poles(z, gaps []float64, at float64) (sum, derivative float64) {
	gaps = gaps[:len(z)]
	for j, v := range z {
		t := v / (gaps[j] - at)
		sum += float64(v * t)
		derivative += float64(t * t)
	}
	return sum, derivative
}

// root stores in delta [k] the D_j - λ_i of all j, and returns the origin of λ_i, an index
// of D, and how far above it λ_i is. Rational functions with two poles interpolate the
// equation, with the weight of the nearer pole fixed or in the middle way: Li, "Solving
// secular equations stably and efficiently", LAPACK working note 89, 1993. A bracket
// holds them.
func (s *secularEquation) root(delta []float64, i int) (origin int, above float64) {
	k := len(s.d)
	if k == 1 {
		above = s.z[0] * s.z[0] / s.inverse
		delta[0] = -above
		return 0, above
	}
	b, origin, left := s.start(i)
	last := math.Inf(1)
	for n, middle := 0, false; n < 200 && !s.evaluate(&b, left); n++ {
		if b.lo >= b.hi || math.Abs(b.hi-b.lo) <= precision/2*math.Abs(b.at) {
			break
		}
		if math.Abs(b.of) > last/8 {
			middle = !middle
		}
		last = math.Abs(b.of)
		next := b.at + s.step(&b, left, origin, middle)
		if !(next > b.lo && next < b.hi) || n > 20 && n%2 == 0 {
			next = b.between()
		}
		if next == b.at {
			break
		}
		b.at = next
	}
	for j, v := range s.gaps {
		delta[j] = v - b.at
	}
	return origin, b.at
}

// between returns a number within the bracket: in the middle, or an eighth of the way from
// an end that is 0, which is a pole.
func (b *bracketed) between() float64 {
	switch {
	case b.lo == 0:
		return b.hi / 8
	case b.hi == 0:
		return b.lo / 8
	default:
		return b.lo + float64((b.hi-b.lo)/2)
	}
}

// start returns the bracket of root i with a first guess in it, the origin, of which s.gaps
// become the distances, and the left one of the two poles that interpolate. The guess has
// these two as they are, and of the others the value in the middle.
func (s *secularEquation) start(i int) (b bracketed, origin, left int) {
	k := len(s.d)
	left = min(i, k-2)
	if i == k-1 { // the last root, above all poles
		origin = i
		s.apart(s.gaps, origin)
		for _, v := range s.z {
			b.hi += float64(v * v)
		}
		b.hi *= (1 + float64(precision*float64(k))) / s.inverse
		b.at = b.hi / 2
		s.evaluate(&b, left)
	} else {
		s.apart(s.gaps, i)
		b.hi = s.gaps[i+1]
		b.at = b.hi / 2
		s.evaluate(&b, left)
		origin = i
		if b.of < 0 { // nearer to the pole on the right, from which all is then measured
			origin = i + 1
			b.at -= s.gaps[origin]
			s.apart(s.gaps, origin)
			b.lo, b.hi = b.at, 0
		}
	}
	zl, zr := float64(s.z[left]*s.z[left]), float64(s.z[left+1]*s.z[left+1])
	rest := b.of - zl/(s.gaps[left]-b.at) - zr/(s.gaps[left+1]-b.at)
	guess := 0.0
	if origin == left {
		gap := s.gaps[left+1]
		guess = smaller(rest, float64(rest*gap)+zl+zr, float64(zl*gap))
	} else {
		gap := -s.gaps[left]
		x, y := float64(rest*gap)-zl-zr, float64(zr*gap)
		if i == k-1 { // the positive solution of rest t² + x t = y, else the negative one
			guess = positive(rest, x, y)
		} else {
			guess = -positive(rest, -x, y)
		}
	}
	if guess > b.lo && guess < b.hi {
		b.at = guess
	}
	return b, origin, left
}

// smaller returns the solution of c t² - a t + b = 0 that is the smaller one, for b above 0.
func smaller(c, a, b float64) float64 {
	root := math.Sqrt(math.Abs(float64(a*a) - float64(4*b*c)))
	if a > 0 {
		return 2 * b / (a + root)
	}
	return (a - root) / (2 * c)
}

// positive returns the solution of c t² + a t = b that is above 0, for b above 0.
func positive(c, a, b float64) float64 {
	root := math.Sqrt(math.Abs(float64(a*a) + float64(4*b*c)))
	if a > 0 {
		return 2 * b / (a + root)
	}
	return (root - a) / (2 * c)
}

// step returns how far it is from b.at to the root of the function with poles at left and
// the one after it that has the value and the derivative of the equation there.
func (s *secularEquation) step(b *bracketed, left, origin int, middle bool) float64 {
	dl, dr := s.gaps[left]-b.at, s.gaps[left+1]-b.at
	slope := b.dPsi + b.dPhi
	var c float64
	switch {
	case middle:
		c = b.of - float64(dl*b.dPsi) - float64(dr*b.dPhi)
	case origin == left:
		t := s.z[left] / dl
		c = b.of - float64(dr*slope) - float64((dl-dr)*t*t)
	default:
		t := s.z[left+1] / dr
		c = b.of - float64(dl*slope) - float64((dr-dl)*t*t)
	}
	x, y := float64((dl+dr)*b.of)-float64(dl*dr*slope), float64(dl*dr*b.of)
	if c == 0 {
		return y / x
	}
	root := math.Sqrt(math.Abs(float64(x*x) - float64(4*y*c)))
	var step float64
	switch {
	case dr < 0 && x >= 0: // above both poles
		step = (x + root) / (2 * c)
	case dr < 0:
		step = 2 * y / (x - root)
	case x <= 0:
		step = (x - root) / (2 * c)
	default:
		step = 2 * y / (x + root)
	}
	if b.of*step > 0 { // away from the root: Newton's, which is not
		step = -b.of / slope
	}
	return step
}

// solve finds all roots. Rows of delta [k, k] become the D_j - λ_i of root i, and above and
// origins where the roots are. It stores in z what z would have to be for the
// roots to be exact: Gu and Eisenstat, "A stable and efficient algorithm for the rank-one
// modification of the symmetric eigenproblem", SIAM J. Matrix Anal. Appl. 15(4), 1994.
func (s *secularEquation) solve(delta []float64) (origins []int, above []float64) {
	k := len(s.d)
	origins, above = make([]int, k), make([]float64, k)
	exact := make([]float64, k)
	for j := range exact {
		exact[j] = s.inverse
	}
	for i := range k {
		row := delta[i*k:][:k]
		origins[i], above[i] = s.root(row, i)
		s.apart(s.gaps, i)
		s.gaps[i] = -1
		for j, v := range s.gaps {
			exact[j] *= row[j] / v
		}
	}
	for j, v := range exact {
		s.z[j] = math.Copysign(math.Sqrt(math.Abs(v)), s.z[j])
	}
	return origins, above
}
