package hardware

import (
	"strings"
	"testing"
)

// The host takes for an operation what its manner says, on ranks that share cores, and
// longer after one that has filled the part of the cache that it works in.
func TestHost(t *testing.T) {
	const fields = "memory = 1e9\ncores = 2\ncache = 8e6\nissue = 0.01\nplaced = 0.02\nrecorded = 0.04\nbackward = 0.08\nscript = 0.16\nview = 0.32\ncold = 3"
	m := machine(t, strings.Replace(small, "memory = 1e9", fields, 1))
	for _, c := range []struct {
		h    Hosting
		want float64
	}{
		{Hosting{}, 0},
		{Hosting{Operation: true}, 0.01},
		{Hosting{Operation: true, Placed: true, Recorded: true}, 0.07},
		{Hosting{Operation: true, Backward: true}, 0.09},
		{Hosting{Placed: true, Recorded: true, Backward: true}, 0}, // of no operation
		{Hosting{Instructions: 2, Views: 1}, 0.64},
		{Hosting{Operation: true, Touched: 5e5}, 0.01 * 2.5},
		{Hosting{Operation: true, Touched: 1e9}, 0.01 * 4},
	} {
		near(t, "the host", m.Host(c.h), c.want)
		near(t, "in two turns", m.Among(4).Host(c.h), 2*c.want)
	}
	own := machine(t, strings.Replace(small, "memory = 1e9", strings.Replace(fields, "cores = 2", "", 1), 1))
	near(t, "of devices of their own", own.Host(Hosting{Operation: true, Placed: true}), 0)
	near(t, "issuing there", own.Issuing(Operation{}), 0.01)
	near(t, "issuing where cores are shared", m.Issuing(Operation{}), 0)
	near(t, "pieces", machine(t, strings.Replace(small, "memory = 1e9", "memory = 1e9\npiece = 0.2\nstrided = 0.1", 1)).Operation(Operation{Pieces: 3, Strided: 5}), 1.1)
}

// Cores share an operation by its elements, however many bytes each of them is.
func TestParts(t *testing.T) {
	m := machine(t, strings.Replace(small, "memory = 1e9", "memory = 1e9\ncores = 2\npart = 100\njoined = 0.5", 1)).Among(1)
	for _, bytes := range []float64{1e6, 3e6} {
		alone := m.Operation(Operation{Bytes: bytes})
		near(t, "of 199 elements", m.Operation(Operation{Bytes: bytes, Parted: 199}), alone)
		near(t, "of 200 elements", m.Operation(Operation{Bytes: bytes, Parted: 200}), alone/1.5)
	}
}
