package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"
)

// growthScripts move tensors in every way in which ranks send each other pieces. One
// rank of n sends some, whatever n is, or one to each of n.
var growthScripts = []struct{ name, text string }{
	{"narrow", "distribute_tensor(zeros(4 * n, 8), m, [Shard(0)]).narrow(0, 3, 2 * n)"},
	{"roll", "distribute_tensor(zeros(4 * n, 8), m, [Shard(0)]).roll(3, 0)"},
	{"flip", "distribute_tensor(zeros(4 * n, 8), m, [Shard(0)]).flip([0])"},
	{"cat", "x = distribute_tensor(zeros(4 * n, 8), m, [Shard(0)])\ncat([x, x])"},
	{"reshape", "distribute_tensor(zeros(4 * n, 6), m, [Shard(0)]).reshape(3, -1)"},
	{"convolution", "F.conv2d(distribute_tensor(zeros(1, 1, 4 * n, 6), m, [Shard(2)]), zeros(1, 1, 3, 3), padding = 1)"},
	{"cumsum", "distribute_tensor(zeros(4 * n, 6), m, [Shard(0)]).cumsum(0)"},
	{"a ring", "x = zeros(8)\nfor _ in range(4):\n    send(x, (rank() + 1) % n)\n    x = x + recv((rank() - 1) % n)"},
	{"a pipeline", "for _ in range(4):\n    x = zeros(8) if rank() == 0 else recv(rank() - 1)\n    if rank() < n - 1:\n        send(x * 2, rank() + 1)"},
	{"halos", "if rank() > 0:\n    send(zeros(8), rank() - 1)\nif rank() < n - 1:\n    recv(rank() + 1)"},
	{"from each rank in turn", "x = zeros(8)\nfor i in range(n):\n    x = x + broadcast(x, src = i)"},
	{"another dim", "distribute_tensor(zeros(4 * n, 2 * n), m, [Shard(0)]).redistribute(m, [Shard(1)])"},
	{"another dim, unevenly", "distribute_tensor(zeros(4 * n + 3, 2 * n + 1), m, [Shard(0)]).redistribute(m, [Shard(1)])"},
	{"gather, unevenly", "distribute_tensor(zeros(4 * n + 3, 8), m, [Shard(0)]).redistribute(m, [Replicate()])"},
	{"scatter a sum, unevenly", "DTensor.from_local(zeros(4 * n + 3, 8), m, [Partial()]).redistribute(m, [Shard(0)])"},
	{"another mesh", "distribute_tensor(zeros(4 * n, 8), m, [Shard(0)]).redistribute(DeviceMesh('cpu', list(range(n // 2))), [Shard(0)])"},
	{"dims exchanged", "m = init_device_mesh('cpu', (n // 4, 4))\ndistribute_tensor(zeros(4 * n, 4 * n), m, [Shard(0), Shard(1)]).redistribute(m, [Shard(1), Shard(0)])"},
}

// What a plan takes grows as its ranks do: nothing of it is a table of ranks by ranks.
func TestPlanGrowsWithRanks(t *testing.T) {
	for _, s := range growthScripts {
		t.Run(s.name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "x.star")
			text := "n = world_size()\nm = init_device_mesh('cpu', (n,))\n" + s.text + "\n"
			if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			few, many := allocatedBy(t, script, 128), allocatedBy(t, script, 1024)
			if most := 11 * few; many > most { // eight times the ranks
				t.Errorf("got %s allocated for 1024 ranks, want %s at most: 128 take %s", megabytes(many), megabytes(most), megabytes(few))
			}
		})
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// allocatedBy returns how much memory the evaluation of a script on so many ranks
// allocates, and checks that they are few kinds.
func allocatedBy(t *testing.T, script string, ranks int) uint64 {
	t.Helper()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	p, err := evaluate(context.Background(), question{Script: script, Ranks: ranks})
	if err != nil {
		t.Fatal(err)
	}
	goruntime.ReadMemStats(&after)
	if n := len(p.Kinds); n > 8 {
		t.Errorf("got %d kinds of %d ranks, want 8 at most", n, ranks)
	}
	return after.TotalAlloc - before.TotalAlloc
}
