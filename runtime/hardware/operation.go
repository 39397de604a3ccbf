package hardware

import (
	"math"

	"tpsh/runtime/dtype"
)

// An Operation is one call of an operator on one rank.
type Operation struct {
	Products int         // that it is: work of the matrix units; 0 for the rest
	FLOPs    float64     //
	Bytes    float64     // read and written
	Inner    float64     // bytes of what it makes on its way and a fused kernel keeps to itself, as attention its scores
	Batch    float64     // how many matrices the products of a batch have, each alone; 0 for none
	Rows     float64     // of what works row by row: softmax, norms, losses
	Strided  float64     // elements of inputs that do not lie as they are computed with: of a transposed or a broadcast one
	Pieces   float64     // of these inputs, each of which a single stride serves
	Dim      int         // the smallest of m, n and k of the products; 0 for the rest
	DType    dtype.DType // of the arithmetic
	Parted   float64     // elements that several cores may share, made each for itself or by rows; 0 for none
}

// Operation returns the seconds that the device takes for o: the greater of its
// arithmetic and its memory traffic, at the rates that its size reaches, after
// its start.
func (m *Machine) Operation(o Operation) float64 {
	t := max(m.arithmetic(o), m.traffic(o)) + o.Strided*m.strided + o.Pieces*m.piece + o.Rows*m.row + o.Inner*m.inner/(m.memoryBandwidth*m.memoryShare)
	return t/m.hands(o) + m.start
}

// hands returns how many cores an operation beside products is worth: those that share it.
func (m *Machine) hands(o Operation) float64 {
	if m.part <= 0 {
		return 1
	}
	return 1 + (max(1, min(m.helpers, math.Floor(o.Parted/m.part)))-1)*m.joined
}

// Issuing returns the seconds of the host to issue o, with what it issues besides where
// no kernel takes as many matrices of scores as attention has.
func (m *Machine) Issuing(o Operation) float64 {
	t := m.Issue
	if m.Shared() {
		t = 0 // of Host
	}
	if o.Inner > 0 && m.matrices > 1 && math.Mod(o.scores(), m.matrices) != 0 {
		t += m.odd
	}
	return t
}

// scores returns how many matrices of scores o, attention, has: as many as each of its
// products.
func (o *Operation) scores() float64 { return max(1, o.Batch/float64(max(1, o.Products))) }

// traffic returns the seconds of o's memory traffic: as many bytes as the caches hold
// are read and written there.
func (m *Machine) traffic(o Operation) float64 {
	near := 0.0
	if m.cacheBandwidth > 0 {
		near = min(o.Bytes, m.cache)
	}
	t := (o.Bytes - near) / (m.memoryBandwidth * m.memoryShare)
	if near > 0 {
		t += near / m.cacheBandwidth
	}
	if o.Products == 0 {
		t *= m.fused
	}
	return t
}

// arithmetic returns the seconds of o's FLOPs alone.
func (m *Machine) arithmetic(o Operation) float64 {
	switch {
	case o.FLOPs <= 0:
		return 0
	case o.Products == 0:
		return o.FLOPs / rate(m.rest, o.DType)
	}
	full := o.FLOPs / (rate(m.products, o.DType) * m.crew(o) * m.share.top)
	return float64(o.Products)*m.ramp() + o.Batch*m.each + max(full, min(full*m.narrowness(o), m.streamed(o)))
}

// crew returns how many cores the product o is worth: those on which it is computed, of
// which the further ones add less.
func (m *Machine) crew(o Operation) float64 {
	cores := max(1, m.helpers)
	if m.spread > 0 {
		cores = min(cores, 1+math.Floor(o.FLOPs/m.spread))
	}
	return 1 + (cores-1)*m.helped
}

// ramp returns the seconds that any product takes more to get going, whatever its
// type and its dims: those of halfFLOPs at the rate of the fastest float type.
func (m *Machine) ramp() float64 { return m.share.halfFLOPs / (m.fastest() * m.share.top) }

// narrowness returns how many times as long a product takes as one without a small
// dim.
func (m *Machine) narrowness(o Operation) float64 {
	if o.Dim <= 0 {
		return 1
	}
	return 1 + m.share.halfDim/float64(o.Dim)
}

// streamed returns the seconds of a product that is done as so many products of a
// matrix and a vector, each at the pace of memory, as its smallest dim says. No
// library takes longer because a dim is small.
func (m *Machine) streamed(o Operation) float64 {
	if o.Bytes <= 0 {
		return math.Inf(1)
	}
	return float64(o.Dim) * m.traffic(o)
}

// Share returns the part of the peak that the product o reaches.
func (m *Machine) Share(o Operation) float64 {
	return o.FLOPs / (rate(m.products, o.DType) * m.crew(o) * m.arithmetic(o))
}

// fastest returns the FLOP/s of products in the fastest float type.
func (m *Machine) fastest() float64 {
	var most float64
	for d, r := range m.products {
		if dtype.DType(d).IsFloat() {
			most = max(most, r)
		}
	}
	return most
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
