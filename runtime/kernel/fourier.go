package kernel

import "gonum.org/v1/gonum/dsp/fourier"

// A Fourier transforms rows of n complex numbers. It is not for use by several
// goroutines at a time.
type Fourier struct {
	fft *fourier.CmplxFFT
}

// NewFourier returns a Fourier of rows of n numbers, at least one.
func NewFourier(n int) *Fourier { return &Fourier{fourier.NewCmplxFFT(n)} }

// Transform is
//
//	for k := range row {
//		dst[k] = scale * sum over j of row[j] * exp(∓2πi jk / n)
//	}
//
// with - in the exponent or, if inverse, +. dst may be row. It panics if the
// lengths are not n.
func (f *Fourier) Transform(dst, row []complex128, inverse bool, scale float64) {
	check2(len(dst), len(row))
	if inverse {
		f.fft.Sequence(dst, row)
	} else {
		f.fft.Coefficients(dst, row)
	}
	if scale != 1 {
		for i, z := range dst {
			dst[i] = complex(real(z)*scale, imag(z)*scale)
		}
	}
}
