package builtins_test

import (
	"context"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/runtime"
)

// loops are the bodies of loops, by name. The setup runs once; the time is
// that of one turn, the loop's own included.
var loops = []struct{ name, setup, body string }{
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

// BenchmarkScript measures loops of a script.
func BenchmarkScript(b *testing.B) {
	for _, l := range loops {
		source := l.setup + "\ndef loop(n):\n  for i in range(n):\n    " + l.body + "\n"
		b.Run(l.name, func(b *testing.B) { benchScript(b, source) })
	}
}

// benchScript runs source on one rank, and then its function loop.
func benchScript(b *testing.B, source string) {
	b.ReportAllocs()
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
			b.ResetTimer()
			_, err = starlark.Call(thread, globals["loop"], starlark.Tuple{starlark.MakeInt(b.N)}, nil)
			b.StopTimer()
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
