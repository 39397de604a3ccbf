package hardware

import "tpsh/runtime/dtype"

// An Operation is one call of an operator on one rank.
type Operation struct {
	Product bool        // work of the matrix units, else the rest
	FLOPs   float64     //
	Bytes   float64     // read and written
	Inner   float64     // bytes of what it makes on its way and a fused kernel keeps to itself, as attention its scores
	Dim     int         // the smallest of m, n and k of a product; 0 for the rest
	DType   dtype.DType // of the arithmetic
}

// Operation returns the seconds that the device takes for o: the greater of its
// arithmetic and its memory traffic, at the rates that its size reaches, after
// its start.
func (m *Machine) Operation(o Operation) float64 {
	return max(m.arithmetic(o), m.traffic(o)) + o.Inner*m.inner/(m.memoryBandwidth*m.memoryShare) + m.start
}

// traffic returns the seconds of o's memory traffic.
func (m *Machine) traffic(o Operation) float64 {
	t := o.Bytes / (m.memoryBandwidth * m.memoryShare)
	if !o.Product {
		t *= m.fused
	}
	return t
}

// arithmetic returns the seconds of o's FLOPs alone.
func (m *Machine) arithmetic(o Operation) float64 {
	switch {
	case o.FLOPs <= 0:
		return 0
	case !o.Product:
		return o.FLOPs / rate(m.rest, o.DType)
	}
	// FLOPs / (peak · share), without dividing by a share that may be tiny.
	s := m.share
	t := (o.FLOPs + s.halfFLOPs) / (rate(m.products, o.DType) * s.top)
	if o.Dim > 0 {
		t *= 1 + s.halfDim/float64(o.Dim)
	}
	return t
}

// Share returns the part of the peak that the product o reaches.
func (m *Machine) Share(o Operation) float64 {
	return o.FLOPs / (rate(m.products, o.DType) * m.arithmetic(o))
}

// rate returns the FLOP/s of arithmetic in d: that of the type it is done in,
// where a file has none for d.
func rate(rates [dtype.Count]float64, d dtype.DType) float64 {
	for _, d := range []dtype.DType{d, d.Compute(), dtype.Float32} {
		if rates[d] > 0 {
			return rates[d]
		}
	}
	return rates[dtype.Float32]
}
