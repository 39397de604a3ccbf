package mesh

import (
	"math"
	"testing"
)

// The worked figures of ColossalAI's formulas.
func TestCosts(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	for _, c := range []struct {
		n                              int
		size                           float64
		gather, reduce, scatter, toAll float64
	}{
		{2, 16, 9.1, 17.01, 9.001, 5.001},
		{4, 2048, 1537.1, 3073.01, 1537.001, 769.001},
		{8, 8, 8.1, 15.01, 8.001, 4.501},
		{1, 1000, 1.1, 1.01, 1.001, 1.001},
	} {
		m := mustMesh(t, 3, c.n)
		near("AllGatherCost", m.AllGatherCost(c.size, 1), c.gather)
		near("AllReduceCost", m.AllReduceCost(c.size, 1), c.reduce)
		near("ReduceScatterCost", m.ReduceScatterCost(c.size, 1), c.scatter)
		near("AllToAllCost", m.AllToAllCost(c.size, 1), c.toAll)
	}
	m, err := mustMesh(t, 2, 2).WithCosts([]float64{1, 10}, []float64{2, 4})
	if err != nil {
		t.Fatal(err)
	}
	near("AllGatherCost", m.AllGatherCost(8, 1), 10+4*0.5*8+0.1)
	near("MixGatherCost", m.MixGatherCost(8), 10+2*0.75*8+0.1)
	near("flattened AllGatherCost", m.Flatten().AllGatherCost(8, 0), 10+4*0.75*8+0.1)
	near("MixGatherCost", mustMesh(t, 2, 2).MixGatherCost(8), 7.1)
}
