package builtins

import (
	"testing"
	"time"
)

func TestZZSpeed(t *testing.T) {
	for _, tr := range transports {
		for i := 0; i < 3; i++ {
			s := script{name: "b.star", source: `
x = ones(2)
def f():
    for _ in range(100000):
        all_reduce(x)
f()
`}
			t0 := time.Now()
			check(t, s.run(t, tr, 2))
			t.Log(tr, time.Since(t0)/100000)
		}
	}
	s := script{name: "b.star", source: `
x = ones(2)
def f():
    for _ in range(100000):
        all_reduce(x, op="sum", group=None)
f()
`}
	t0 := time.Now()
	check(t, s.run(t, "inproc", 1))
	t.Log("1 rank", time.Since(t0)/100000)
}
