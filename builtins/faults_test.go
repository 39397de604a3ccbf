package builtins_test

import (
	"errors"
	"strings"
	"testing"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/runtime"
)

// dying is a program on three ranks of which rank 1 dies in its second
// all_reduce. The others catch that, and each group without the dead rank
// goes on.
const dying = `
faults.kill(1, at="all_reduce#2")
pair = new_group([0, 2])
assert.eq(all_reduce(ones(1)), [3])
r = attempt(lambda: attempt(lambda: all_reduce(ones(1))))
assert.eq(rank() != 1, True)
e = r.value.error
assert.eq((r.ok, e.kind, e.function, e.ranks), (True, "peer", "all_reduce", [1]))
assert.contains(str(e), "rank 1 failed: faults.kill: rank 1 was killed at all_reduce#2")
assert.fails(lambda: barrier(), "^barrier: rank 1 failed: ")
assert.fails(lambda: recv(1), "^recv: rank 1 failed: ")
assert.eq(all_reduce(ones(1), group=pair), [2])
`

func TestKill(t *testing.T) {
	for _, transport := range builtinstest.Transports {
		t.Run(transport, func(t *testing.T) {
			s := builtinstest.Script{Name: "dying.star", Source: dying}
			results := s.Run(t, transport, 3)
			var killed *runtime.KilledError
			if err := results[1].Err; !errors.As(err, &killed) {
				t.Errorf("rank 1: got %v, want its death", err)
			}
			builtinstest.Check(t, []builtinstest.Result{results[0], results[2]})
			for _, r := range []int{0, 2} {
				var k interface{ Killed() bool }
				if errors.As(results[r].Err, &k) && k.Killed() {
					t.Errorf("rank %d: got %v, want it to have lived", r, results[r].Err)
				}
			}
		})
	}
}

// A survivor that does not catch the death of a peer is not itself dead.
func TestKillUncaught(t *testing.T) {
	for _, transport := range builtinstest.Transports {
		s := builtinstest.Script{Name: "dying.star", Source: `
faults.kill(1, at="barrier#1")
barrier()
`}
		results := s.Run(t, transport, 2)
		var k interface{ Killed() bool }
		if err := results[0].Err; err == nil || errors.As(err, &k) && k.Killed() {
			t.Errorf("%s: rank 0: got %v, want the failure of a peer", transport, err)
		}
		if err := results[0].Err; err != nil && !strings.Contains(err.Error(), "barrier: rank 1 failed: faults.kill") {
			t.Errorf("%s: rank 0: got %v", transport, err)
		}
	}
}

// Every function that takes a group communicates, and says so in its row.
func TestCommunicates(t *testing.T) {
	n := 0
	for _, r := range builtins.Rows() {
		if strings.Contains(r.Text(), "group is None for all ranks") && !r.Communicates {
			t.Errorf("%s takes a group, and its row does not say that it communicates", r.Name)
		}
		if r.Communicates {
			n++
		}
	}
	if n < 28 {
		t.Errorf("%d functions communicate, want 28 at least", n)
	}
}
