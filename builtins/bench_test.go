package builtins_test

import (
	"context"
	"slices"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/runtime"
)

// loops are the bodies of loops, by name. The setup runs once; the time is
// that of one turn, the loop's own included.
var loops = []loopCase{
	{"empty", "", "pass"},
	{"add/f32/8x8", "x, y = ones(8, 8), ones(8, 8)", "z = x + y"},
	{"add/f32/8x8/recorded", "x, y = ones(8, 8, requires_grad=True), ones(8, 8)", "z = x + y"},
	{"addNumber/f32/8x8", "x = ones(8, 8)", "z = x + 1.5"},
	{"add/f32/8x8/placed", placed, "z = x + y"},
	{"add/f32/8x8/placedRecorded", placed + "\nx.requires_grad_()", "z = x + y"},
	{"addNumber/f32/8x8/placed", placed, "z = x + 1.5"},
	{"sum/f32/8x8/placed", placed, "z = x.sum(dim=1)"},
	{"matmul/f32/8x8/placed", placed, "z = matmul(x, w)"},
	{"linear/f32/8x8/placed", placed, "z = F.linear(x, w)"},
	{"backward/f32/8x8/placed", placed + "\nx.requires_grad_()", "(x * x).sum().backward()"},
	{"redistribute/f32/8x8/placed", placed, "z = x.redistribute(placements=[Replicate()])"},
	{"exp/f32/8x8", "x = ones(8, 8)", "z = x.exp()"},
	{"sum/f32/8x8", "x = ones(8, 8)", "z = x.sum(dim=0)"},
	{"index/f32/8x8", "x = ones(8, 8)", "z = x[3]"},
	{"matmul/f32/8x8", "x, y = ones(8, 8), ones(8, 8)", "z = matmul(x, y)"},
	{"linear/f32/8x8", "m, x = nn.Linear(8, 8), ones(8, 8)", "y = m(x)"},
	{"adam/f32/8x8", "w = ones(8, 8, requires_grad=True)\nw.grad = ones(8, 8)\nopt = optim.Adam([w])", "opt.step()"},
	{"backward/f32/8x8", "x = ones(8, 8, requires_grad=True)", "(x * x).sum().backward()"},
}

// placed makes distributed tensors x and y, which are cut, and w, which is whole.
const placed = "mesh = init_device_mesh(\"cpu\", (1,))\n" +
	"x, y = [distribute_tensor(ones(8, 8), mesh, [Shard(0)]) for _ in range(2)]\n" +
	"w = distribute_tensor(ones(8, 8), mesh, [Replicate()])"

// A loopCase is a loop of a script.
type loopCase struct{ name, setup, body string }

// source returns a program with a function that makes so many turns.
func (l loopCase) source() string {
	return l.setup + "\ndef loop(n):\n  for i in range(n):\n    " + l.body + "\n"
}

// BenchmarkScript measures loops of a script.
func BenchmarkScript(b *testing.B) {
	for _, l := range loops {
		b.Run(l.name, func(b *testing.B) { benchScript(b, l.source()) })
	}
}

// A small operation allocates its result's storage and one object with the value of the script and
// its tensor, of distributed tensors with the block as well, and little else.
func TestSmallOperationsAllocate(t *testing.T) {
	for name, most := range map[string]float64{"add/f32/8x8": 2, "addNumber/f32/8x8": 3, "add/f32/8x8/placed": 2, "addNumber/f32/8x8/placed": 3,
		"add/f32/8x8/recorded": 4, "add/f32/8x8/placedRecorded": 5, "redistribute/f32/8x8/placed": 22} {
		i := slices.IndexFunc(loops, func(l loopCase) bool { return l.name == name })
		const turns = 1000
		var got float64
		script(t, loops[i].source(), func(loop func(turns int)) {
			got = testing.AllocsPerRun(3, func() { loop(turns) }) / turns
		})
		if got > most+0.5 {
			t.Errorf("%s: got %.1f allocations a turn, want at most %v", name, got, most)
		}
	}
}

// benchScript runs source on one rank, and then its function loop.
func benchScript(b *testing.B, source string) {
	b.ReportAllocs()
	script(b, source, func(loop func(turns int)) {
		b.ResetTimer()
		loop(b.N)
		b.StopTimer()
	})
}

// script runs source on one rank, and then f with its function loop.
func script(b testing.TB, source string, f func(loop func(turns int))) {
	done := make(chan error, 1)
	job, err := runtime.Start(context.Background(), runtime.Config{Size: 1, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		done <- func() error {
			env := builtins.New(r, builtins.Options{})
			env.Begin(ctx)
			thread := &starlark.Thread{}
			names := env.Predeclared()
			env.Attach(thread, nil)
			globals, err := builtinstest.Execute(thread, "bench.star", source, names)
			if err != nil {
				return err
			}
			f(func(turns int) {
				if err == nil {
					_, err = starlark.Call(thread, globals["loop"], starlark.Tuple{starlark.MakeInt(turns)}, nil)
				}
			})
			return env.End(err)
		}()
	})
	if err != nil {
		b.Fatal(err)
	}
	defer job.Stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
