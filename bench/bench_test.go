// Package bench measures tpsh from a script: what a user's loop costs, the
// loop itself included.
//
//	go test ./bench -run '^$' -bench . -count 5
//
// prints Go's benchmark format, which benchstat reads. The machine is shared,
// so take the best of several.
package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"tpsh/builtins"
	_ "tpsh/cmd/tpsh/vocabularies"
	"tpsh/lang"
	"tpsh/runtime"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // as the command does
	os.Exit(m.Run())
}

// runScript runs source on n ranks in process and fails b if it fails.
func runScript(b *testing.B, n int, source string) {
	b.Helper()
	fronts, backs := make([]lang.Conn, n), make([]*lang.PipeConn, n)
	for i := range n {
		fronts[i], backs[i] = lang.Pipe()
	}
	job, err := runtime.Start(context.Background(), runtime.Config{Size: n, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		lang.Serve(ctx, backs[r.ID()], builtins.New(r, builtins.Options{}))
		backs[r.ID()].Close()
	})
	if err != nil {
		b.Fatal(err)
	}
	s := lang.NewSession(fronts, lang.Options{})
	outcome, err := s.Run(context.Background(), lang.Program{Path: "bench.star", Source: source})
	s.Close()
	job.Stop()
	if err != nil {
		b.Fatal(err)
	}
	if !outcome.OK() {
		outcome.Report(os.Stderr)
		b.Fatal("the script failed")
	}
}

// line makes the mesh of all ranks.
const line = "mesh = DeviceMesh(\"cpu\", list(range(world_size()))); "

// mlp makes a network of two layers, cut along the ranks, and a step that
// trains it.
const mlp = line + `
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, target = randn(32, 64), randn(32, 64)
def step():
    loss = F.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
`

// loops are bodies of a script's loop, run on some ranks, and what stands
// before it.
var loops = []struct {
	name         string
	ranks, count int
	before, body string
}{
	{"empty loop", 1, 100_000, "", "pass"},
	{"add 8x8", 1, 100_000, "x, y = rand(8, 8), rand(8, 8)", "x + y"},
	{"add 8x8 with gradient", 1, 100_000, "x, y = rand(8, 8, requires_grad=True), rand(8, 8)", "x + y"},
	{"matmul 8x8", 1, 100_000, "x, y = rand(8, 8), rand(8, 8)", "x.matmul(y)"},
	{"matmul 32x32", 1, 50_000, "x, y = rand(32, 32), rand(32, 32)", "x.matmul(y)"},
	{"matmul 64x64", 1, 20_000, "x, y = rand(64, 64), rand(64, 64)", "x.matmul(y)"},
	{"matmul 128x128", 1, 5000, "x, y = rand(128, 128), rand(128, 128)", "x.matmul(y)"},
	{"matmul 64 of 16x16", 1, 10_000, "x, y = rand(64, 16, 16), rand(64, 16, 16)", "x.matmul(y)"},
	{"matmul 32 of 64x64", 1, 1000, "x, y = rand(32, 64, 64), rand(32, 64, 64)", "x.matmul(y)"},
	{"sum 8x8", 1, 100_000, "x = rand(8, 8)", "x.sum()"},
	{"all_reduce 8 B on 2", 2, 100_000, "x = ones(2)", "all_reduce(x)"},
	{"all_reduce 8 B on 4", 4, 20_000, "x = ones(2)", "all_reduce(x)"},
	{"all_reduce 1 MiB on 2", 2, 500, "x = ones(1 << 18)", "all_reduce(x)"},
	{"all_reduce 64 MiB on 2", 2, 100, "x = ones(1 << 24)", "all_reduce(x)"},
	{"barrier on 2", 2, 100_000, "", "barrier()"},
	{"send and recv 8 B on 2", 2, 50_000, "x, peer = ones(2), 1 - rank()", "send(x, peer); recv(peer)"},
	{"DTensor add 8x8", 1, 100_000, line + "x, y = [distribute_tensor(rand(8, 8), mesh, [Shard(0)]) for _ in range(2)]", "x + y"},
	{"DTensor add 8x8 on 2", 2, 100_000, line + "x, y = [distribute_tensor(rand(8, 8), mesh, [Shard(0)]) for _ in range(2)]", "x + y"},
	{"DTensor add 8x8 with gradient", 1, 100_000, line + "x, y = [distribute_tensor(rand(8, 8), mesh, [Shard(0)]).requires_grad_(True) for _ in range(2)]", "x + y"},
	{"DTensor times number 8x8 on 2", 2, 100_000, line + "x = distribute_tensor(rand(8, 8), mesh, [Shard(0)])", "x * 2.0"},
	{"DTensor linear 8x8 on 2", 2, 100_000, line + "x, w = distribute_tensor(rand(8, 8), mesh, [Replicate()]), distribute_tensor(rand(8, 8), mesh, [Shard(0)])", "F.linear(x, w)"},
	{"linear 8x8", 1, 100_000, "x, w = rand(8, 8), rand(8, 8)", "F.linear(x, w)"},
	{"redistribute 64 MiB S(0) to S(1) on 2", 2, 50, line + "x = DTensor.rand((4096, 4096), mesh, [Shard(0)])", "x.redistribute(placements=[Shard(1)])"},
	{"copy 32 MiB on each of 2", 2, 50, "x = rand(2048, 4096)", "x.clone()"},
	{"training step on 1", 1, 1000, mlp, "step()"},
	{"training step on 2", 2, 1000, mlp, "step()"},
	{"training step on 4", 4, 1000, mlp, "step()"},
	{"make and drop 64 MiB", 1, 100, "", "empty(1 << 24).fill_(1.0)"},
}

// BenchmarkScript reports the time of one turn of a loop in a script.
func BenchmarkScript(b *testing.B) {
	for _, l := range loops {
		b.Run(l.name, func(b *testing.B) {
			source := fmt.Sprintf("%s\ndef body():\n    for _ in range(%d):\n        %s\nbody()\n", l.before, l.count, l.body)
			for range b.N {
				runScript(b, l.ranks, source)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.count), "ns/turn")
		})
	}
}

// BenchmarkStart reports the time of `tpsh run -n 8 examples/hello.star` from
// start to exit.
func BenchmarkStart(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "tpsh")
	if out, err := exec.Command("go", "build", "-o", bin, "tpsh/cmd/tpsh").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	b.ResetTimer()
	for range b.N {
		if out, err := exec.Command(bin, "run", "-n", "8", "../examples/hello.star").CombinedOutput(); err != nil {
			b.Fatalf("tpsh run: %v\n%s", err, out)
		}
	}
}
