package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// failingCalls are calls that fail on all ranks, or on some of them; r is the rank's number.
var failingCalls = []string{
	"all_reduce(ones(2 + r))",
	"all_reduce(ones(2)) if r == 0 else barrier()",
	"all_reduce(ones(2)) if r == 0 else all_gather(ones(6), dim = 0)",
	"all_reduce(ones(2, dtype = float32 if r == 0 else float64))",
	"all_reduce(ones(2), op = \"sum\" if r == 0 else \"max\")",
	"broadcast(ones(3), src = 0 if r == 0 else 1)",
	"all_gather(ones(2, 2 + r), dim = 0)",
	"all_to_all([ones(1 + r, 2 + r) for _ in range(n)], 0, 0)",
	"reduce_scatter(ones(0 if r == 0 else n))",
	"scatter(ones(n - 1), src = 0)",
	"gather(ones(2, 2 + r), dst = 0)",
	"recv((r + 1) % n)",
	"fail(\"no\") if r == 1 else all_reduce(ones(5))",
	"all_reduce(ones(2), op = \"summ\")",
	"all_reduce(ones(3).reshape(2)) if r == 1 else all_reduce(ones(2))",
	"collective_permute(ones(4 + r), [(i, i + 1) for i in range(n - 1)])",
	"[all_reduce(ones(4)), all_gather(ones(3 + r), dim = 0), all_reduce(ones(2 + r))]",
	"all_reduce(ones(2 + r), group = new_group([0, 1]) if r < 2 else new_group([2, 3]))",
	"distribute_tensor(ones(8 + r), init_device_mesh(\"cpu\", (n,)), [Shard(0)])",
	"all_gather_object(r) if r else all_reduce(ones(2))",
	"all_gather(ones(2), dim = r)",
	"all_reduce(ones(2 + r), async_op = True)[1].wait()",
	"reduce(ones(2 + r), dst = 1)",
	"all_to_all(ones(5, 2 + r), 0, 0)",
	"reduce_scatter(ones(n, 2 + r))",
	"send(ones(3), n)",
	"all_reduce(ones(2 + r).requires_grad_()).sum().backward()",
}

// What a call that fails has moved, and is caught, is in a plan what it is in a trace, and so is what follows.
func TestPlanMovesWhatFails(t *testing.T) {
	const n = 4
	for i, call := range failingCalls {
		script := filepath.Join(t.TempDir(), fmt.Sprint("failing", i, ".star"))
		text := fmt.Sprintf("n, r = world_size(), rank()\ndef failing():\n    %s\n\nall_reduce(ones(3))\nattempt(failing)\nall_reduce(ones(4))\n", call)
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(call, func(t *testing.T) { planAsRun(t, script, nil, n) })
	}
}
