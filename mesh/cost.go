package mesh

import "slices"

// The costs of collectives along one dim of a mesh by the formulas of
// ColossalAI's DeviceMesh (colossalai/device/device_mesh.py, v0.2.8). size is
// what its callers call the number of bytes, whatever they count, and the costs
// have no unit. They are for scripts; plans have a model of their own.

// AllGatherCost returns a + b(n-1)/n*size + 0.1, where n is the size of dim and
// a and b are the mesh's latency and time per byte there, 1 where it has none.
func (m *Mesh) AllGatherCost(size float64, dim int) float64 {
	n, a, b := m.costs(dim)
	return a + float64(b*(n-1)/n*size) + 0.1
}

// AllReduceCost returns a + 2b(n-1)/n*size + 0.01, as AllGatherCost has them.
func (m *Mesh) AllReduceCost(size float64, dim int) float64 {
	n, a, b := m.costs(dim)
	return a + float64(b*2*(n-1)/n*size) + 0.01
}

// ReduceScatterCost returns a + b(n-1)/n*size + 0.001, as AllGatherCost has
// them.
func (m *Mesh) ReduceScatterCost(size float64, dim int) float64 {
	n, a, b := m.costs(dim)
	return a + float64(b*(n-1)/n*size) + 0.001
}

// AllToAllCost returns a + b(n-1)/n²*size*n/2 + 0.001, as AllGatherCost has
// them. The factor n/2 is a penalty.
func (m *Mesh) AllToAllCost(size float64, dim int) float64 {
	n, a, b := m.costs(dim)
	return a + float64(b*(n-1)/n/n*size*(n/2)) + 0.001
}

// MixGatherCost returns a + b(n-1)/n*size + 0.1, where n is the number of ranks,
// a the greatest latency of a dim and b the least time per byte.
func (m *Mesh) MixGatherCost(size float64) float64 {
	n, a, b := float64(len(m.ranks)), 1.0, 1.0
	if m.alpha != nil {
		a = slices.Max(m.alpha)
	}
	if m.beta != nil {
		b = slices.Min(m.beta)
	}
	return a + float64(b*(n-1)/n*size) + 0.1
}

// costs returns the size of dim, and the mesh's latency and time per byte there.
func (m *Mesh) costs(dim int) (n, a, b float64) {
	dims := []int{dim}
	return float64(m.shape[dim]), dearest(m.alpha, dims, 1), dearest(m.beta, dims, 1)
}
