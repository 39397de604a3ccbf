package gemm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	goruntime "runtime"
	"slices"
	"sync"
	"syscall"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// needAMX skips a test of what only AMX has.
func needAMX(t *testing.T) {
	t.Helper()
	if !slices.Contains(vec.Sets(), vec.AMX) {
		t.Skip("this machine has no AMX")
	}
}

// randomHalf returns a matrix of numbers of a kind that lies by rows, N, or by columns, T.
func randomHalf(rows, cols int, layout byte, kind halfKind, seed uint64) Operand[float32] {
	o := Operand[float32]{Grid: Grid{Row: cols, Col: 1}, BF16: make([]dtype.BF16, rows*cols)}
	if layout == 'T' {
		o.Grid = Grid{Row: 1, Col: rows}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range o.BF16 {
		o.BF16[i] = kind.draw(r)
	}
	return o
}

// The tile instruction itself adds in the order of bfloat16, where the notes of panels say
// that it does, and in all sizes of tiles: whatever numbers the operands and c have.
func TestTileInstruction(t *testing.T) {
	needAMX(t)
	exactly := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, n, k := 1+r.IntN(panelSide), 1+r.IntN(panelSide), 1+r.IntN(3*PairBlock)
		one := tiled{amxFuncs: &amxTiles, m: m, n: n, k: k, c: make([]float32, m*n), leastA: []uint16{0xffff}, leastB: []uint16{0xffff}}
		kinds := halfKinds
		one.a = randomHalf(m, k, "NT"[r.IntN(2)], kinds[r.IntN(len(kinds))], seed)
		one.b = randomHalf(k, n, "NT"[r.IntN(2)], kinds[r.IntN(len(kinds))], seed+1)
		ws, size := room[float32](), ceil(k, PairBlock)*panelBlock
		a, b := ws.packedA(size), ws.packedB(size)
		one.packA(ws, a, 0, m, 0, k)
		one.packB(ws, b, 0, k, 0, n)
		add := r.IntN(2) == 1
		want := make([]float32, m*n)
		for i := range want {
			if add {
				want[i] = float32(r.NormFloat64())
				one.c[i] = want[i]
			}
			want[i] = pairSum(one.a.row(i/n, k), one.b.col(i%n, k), want[i])
		}
		one.multiplyPanels(0, m, a, size, 0, n, b, k, add)
		ws.leave()
		if !exact(one.leastA[0], one.leastB[0]) {
			continue
		}
		exactly++
		for i := range want {
			if !same(one.c[i], want[i]) {
				t.Fatalf("seed %d, [%d, %d] by [%d, %d], add %v: element %d is %v, want %v", seed, m, k, k, n, add, i, one.c[i], want[i])
			}
		}
	}
	if exactly < 50 {
		t.Errorf("tiles multiply %d of 300 products as float32 does, want more", exactly)
	}
}

// tiledSizes lead down every path of tiles: few rows and many, several groups of columns and
// of steps, parts of tiles, several goroutines.
var tiledSizes = [][3]int{
	{1, 1, 9000}, {1, 700, 700}, {700, 1, 700}, {5, 1100, 300}, {64, 64, 4200}, {65, 33, 600}, {300, 100, 1100}, {97, 1100, 100}, {200, 200, 31},
	{33, 1, 5000}, {1, 3000, 20},
}

// Tiles give what kernels of AVX-512 do on every path, and compute again what they cannot.
func TestTiledPaths(t *testing.T) {
	needAMX(t)
	for i, size := range tiledSizes {
		for j, layout := range layouts {
			m, n, k := size[0], size[1], size[2]
			p := &Product[float32]{M: m, N: n, K: k, Count: 1, C: poisoned[float32](m * n)}
			p.A, p.B = randomHalf(m, k, layout[0], halfKinds[0], uint64(i)), randomHalf(k, n, layout[1], halfKinds[0], uint64(j))
			if i%2 == 1 {
				p.A.BF16[m*k/2], p.B.BF16[k*n/3] = 1, 0x0080 // a subnormal number, and one that is nearly
			}
			p.compute(&avx512F32, crew.Crew{})
			want := p.C
			for helpers := range 3 {
				one := tiled{amxFuncs: &amxTiles, plain: &avx512BF16, m: m, n: n, k: k, a: p.A, b: p.B, c: poisoned[float32](m * n), shared: 1 << 16}
				one.run(crew.Of(helpers))
				expect(t, p, fmt.Sprintf("tiles, %d helpers", helpers), one.c, want)
			}
		}
	}
}

// A product comes out right though signals arrive, collections stop the goroutine and others
// take its core while tiles are in use: what a processor keeps in them is part of a thread.
func TestTilesThroughSignals(t *testing.T) {
	needAMX(t)
	const m, n, k = 64, 64, 8192
	p := &Product[float32]{M: m, N: n, K: k, Count: 1, C: poisoned[float32](m * n)}
	p.A, p.B = randomHalf(m, k, 'N', halfKinds[0], 1), randomHalf(k, n, 'T', halfKinds[0], 2)
	p.compute(&avx512F32, crew.Crew{})
	want := p.C

	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGUSR1)
	defer signal.Stop(arrived)
	done := make(chan struct{})
	var disturbing, computing sync.WaitGroup
	for _, disturb := range []func(){
		func() { syscall.Kill(os.Getpid(), syscall.SIGUSR1) },
		goruntime.GC,
		goruntime.Gosched,
	} {
		disturbing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					disturb()
				}
			}
		})
	}
	for range 2 * goruntime.GOMAXPROCS(0) {
		computing.Go(func() {
			q := *p
			for range 20 {
				q.C = poisoned[float32](m * n)
				q.compute(&amxF32, crew.Crew{})
				for i := range want {
					if !same(q.C[i], want[i]) {
						t.Errorf("element %d is %v, want %v", i, q.C[i], want[i])
						return
					}
				}
			}
		})
	}
	computing.Wait()
	close(done)
	disturbing.Wait()
}
