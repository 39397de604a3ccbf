package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"tpsh/runtime/hardware"
)

// A mesh that was given what calls cost has one model: plan_redistribute, explain, the
// trace's predicted_seconds and a plan on whatever hardware say the same seconds.
const costsText = `
m = DeviceMesh("cpu", list(range(world_size())), mesh_dim_names = ["x"], mesh_alpha = [80e-6], mesh_beta = [1e-9])
x = distribute_tensor(ones(64, 64), m, [Shard(0)])
whole = lambda: x.redistribute(placements = [Replicate()])
moves = plan_redistribute(m, (64, 64), float32, [Shard(0)], [Replicate()])
calls = comm_trace(whole)
assert.close(calls[0].predicted_seconds, moves.seconds, rtol = 1e-9)
assert.close(explain(whole).seconds, moves.seconds, rtol = 1e-9)
assert.close(moves.seconds, 80e-6 + 1e-9 * 3 * 16 * 64 * 4, rtol = 1e-9)
mark_step()
whole()
mark_step()
`

func TestMeshCostsAreThePlans(t *testing.T) {
	script := filepath.Join(t.TempDir(), "costs.star")
	if err := os.WriteFile(script, []byte(costsText), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := evaluate(context.Background(), question{Script: script, Ranks: 4})
	if err != nil {
		t.Fatal(err)
	}
	const want = 80e-6 + 1e-9*3*16*64*4
	for _, name := range []string{"dgx-a100-80g", "hgx-h100"} {
		m, err := hardware.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		calls := p.Play(m).Communication
		if len(calls) != 1 || math.Abs(calls[0].Seconds/want-1) > 1e-9 {
			t.Errorf("%s: got %+v, want one call of %g s", name, calls, want)
		}
	}
}
