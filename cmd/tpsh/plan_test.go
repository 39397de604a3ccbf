package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tpsh/lang"
	"tpsh/runtime"
	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

// planSizes are the numbers of ranks that examples are planned for, beside those that
// they cannot be run with.
var planSizes = map[string][]int{
	"colo_tensor.star": {4}, "comm_spec.star": {4}, "redistribute.star": {4}, "ring.star": {4}, "collectives.star": {1, 4}, "groups.star": {2, 4},
	"gpt_pipeline.star": {4}, "pipeline.star": {4}, "llama.star": {1, 2}, "flat.star": {2, 4}, "local_map.star": {2, 4}, "custom_op.star": {4}, "moe.star": {1},
}

// What a plan says is moved is what a trace counts in a run: every call, in order, on
// every rank.
func TestPlanMovesWhatARunDoes(t *testing.T) {
	scripts, err := filepath.Glob("../../examples/*.star")
	if err != nil || len(scripts) < 15 {
		t.Fatalf("got %d examples: %v", len(scripts), err)
	}
	for _, script := range scripts {
		sizes := planSizes[filepath.Base(script)]
		if sizes == nil {
			sizes = []int{4}
		}
		for _, n := range sizes {
			t.Run(fmt.Sprint(filepath.Base(script), "/", n), func(t *testing.T) {
				planAsRun(t, script, fewer[filepath.Base(script)], n)
			})
		}
	}
}

// planAsRun holds the calls of a plan, of each rank and of kinds, to those of a run.
func planAsRun(t *testing.T, script string, args []string, n int) {
	t.Helper()
	want := traceOf(t, script, args, n)
	p, err := evaluate(context.Background(), question{Script: script, Args: args, Ranks: n, Each: true})
	if err != nil {
		t.Fatal(err)
	}
	for rank := range n {
		compareCalls(t, rank, callsOf(p, rank), want[rank])
	}
	compareKinds(t, script, args, n, p)
}

// byBlocks are operators along a dim that is cut, which ranks carry out by their blocks
// of d [n], of unlike sizes: what they exchange does not depend on elements.
var byBlocks = []string{"d.flip(0)", "d.roll(3, 0)", "d.sort(0)", "d.median(0)", "d.kthvalue(n // 3)", "d.topk(5)", "d.argmax(0)", "d.cumsum(0)",
	"linalg.qr(d.reshape(n // 7, 7))", "linalg.svd(d.reshape(n // 7, 7))"}

func TestPlanMovesWhatBlocksDo(t *testing.T) {
	for _, n := range []int{3, 8} {
		for _, call := range byBlocks {
			script := filepath.Join(t.TempDir(), "blocks.star")
			text := "n = 10003\nd = distribute_tensor(arange(0.0, float(n)).sin(), init_device_mesh(\"cpu\", (world_size(),)), [Shard(0)])\n" + call + "\n"
			if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprint(call, "/", n), func(t *testing.T) { planAsRun(t, script, nil, n) })
		}
	}
}

// unlike are calls to which members of a group put in unlike amounts, or from which they
// get unlike ones: n is the number of ranks, r this one's.
var unlike = []string{
	"all_to_all([ones(1 + (r + i) % 3, 2) for i in range(n)], 0, 0)",
	"all_to_all([ones(5 if i == 0 else 1) for i in range(n)], 0, 0)",
	"all_gather(ones(1 + r * r, 3), dim = 0)",
	"reduce_scatter(ones(2 * n + 1, 3))",
	"gather(ones(4 + r), dst = n - 1)",
	"gather(ones(7), dst = 1)",
	"scatter(ones(n + 2, 2), src = 1)",
	"broadcast(ones(6), src = n - 1)",
	"reduce(ones(9), dst = 1)",
	"collective_permute(ones(4), [(i, i + 1) for i in range(n - 1)])",
	"all_reduce(ones(10001))",
	"broadcast(ones(10001), src = 0)",
	"reduce(ones(10001), dst = n - 1)",
	"all_gather_object(list(range(r)))",
	"distribute_tensor(ones(3 * n + 1, 5), m, [Shard(0)]).redistribute(m, [Replicate()])",
	"distribute_tensor(ones(3 * n + 1, n + 2), m, [Shard(0)]).redistribute(m, [Shard(1)])",
	"DTensor.from_local(ones(2 * n + 1), m, [Partial()]).redistribute(m, [Shard(0)])",
	"distribute_tensor(ones(7 * n + 3), m, [Shard(0)]).roll(3, 0)",
	"distribute_tensor(ones(8 * n), m, [Shard(0)]).flip([0])",
	"distribute_tensor(ones(5 * n + 2), m, [Shard(0)]).flip([0])",
	"distribute_tensor(ones(6 * n), m, [Shard(0)]).narrow(0, 3, 4 * n)",
	"distribute_tensor(ones(3, 6 * n + 1), m, [Shard(1)]).narrow(1, n, 3 * n)",
	"distribute_tensor(ones(4 * n + 1, 3), m, [Shard(0)]).reshape(3, 4 * n + 1)",
	"[distribute_tensor(ones(8 * n, dtype = d), m, [Shard(0)]).narrow(0, 5, 4 * n) for d in [float32, float64, bfloat16]]",
	"[distribute_tensor(ones(5 * n + 1, n + 3), DeviceMesh(\"cpu\", [list(range(n // 2)), list(range(n // 2, n))] if n % 2 == 0 else [list(range(n))]), p).flip([0]) for p in [[Shard(0), Shard(1)], [Replicate(), Shard(0)], [Shard(0), Shard(0)]]]",
}

// Of such calls a plan says of each rank what a run of it moves, by kinds and of each by
// itself, and what that costs on a mesh that was given what bytes cost.
func TestPlanMovesUnlikeAmounts(t *testing.T) {
	for _, n := range []int{3, 8} {
		for i, call := range unlike {
			script := filepath.Join(t.TempDir(), fmt.Sprint("unlike", i, ".star"))
			text := "def main():\n    n, r = world_size(), rank()\n" +
				"    m = DeviceMesh(\"cpu\", list(range(n)), mesh_dim_names = [\"x\"], mesh_alpha = [1e-6], mesh_beta = [1e-9])\n    " + call + "\n\nmain()\n"
			if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprint(call, "/", n), func(t *testing.T) {
				planAsRun(t, script, nil, n)
				want := traceOf(t, script, nil, n)
				kinds, err := evaluate(context.Background(), question{Script: script, Ranks: n})
				if err != nil {
					t.Fatal(err)
				}
				for rank := range n {
					compareCalls(t, rank, callsOf(kinds, rank), want[rank])
				}
			})
		}
	}
}

// How many tokens of moe.star go where is what elements say: a plan takes them for even.
// But each token goes once, so the calls are those of a run, and their bytes on all
// ranks together.
func TestPlanMovesTokens(t *testing.T) {
	const n, script = 4, "../../examples/moe.star"
	want := traceOf(t, script, nil, n)
	p, err := evaluate(context.Background(), question{Script: script, Ranks: n, Each: true})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for rank := range n {
		got = append(got, callsOf(p, rank))
	}
	g, w := together(t, got), together(t, want)
	compareCalls(t, 0, g, w)
}

// together returns for each call its operation, which is the same on all ranks, and the
// bytes that they put in.
func together(t *testing.T, calls [][]string) (all []string) {
	t.Helper()
	for i := range calls[0] {
		bytes, op := 0, strings.Fields(calls[0][i])[0]
		for rank := range calls {
			fields := strings.Fields(calls[rank][i])
			if len(calls[rank]) != len(calls[0]) || fields[0] != op {
				t.Fatalf("call %d of rank %d is %q, want %s as on rank 0", i, rank, calls[rank][i], op)
			}
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			bytes += n
		}
		all = append(all, fmt.Sprint(op, " ", bytes))
	}
	return all
}

// everySize has TestPlanOfKinds plan every example for 1 to 16 ranks.
var everySize = flag.Bool("every-size", false, "plan every example by kinds and each rank by itself, on 1 to 16 ranks")

// By kinds a plan is what it is with each rank by itself, or the script fails in both
// with one report.
func TestPlanOfKinds(t *testing.T) {
	if !*everySize {
		t.Skip("TestPlanMovesWhatARunDoes compares small sizes; -every-size compares 1 to 16")
	}
	scripts, _ := filepath.Glob("../../examples/*.star")
	for _, script := range scripts {
		for n := 1; n <= 16; n++ {
			if testing.Short() && n > 8 && n%4 != 0 {
				continue // above 8, multiples of four stand for the others
			}
			t.Run(fmt.Sprint(filepath.Base(script), "/", n), func(t *testing.T) {
				t.Parallel()
				args := fewer[filepath.Base(script)]
				p, err := evaluate(context.Background(), question{Script: script, Args: args, Ranks: n, Each: true})
				if err == nil {
					compareKinds(t, script, args, n, p)
					return
				}
				if _, other := evaluate(context.Background(), question{Script: script, Args: args, Ranks: n}); other == nil || other.Error() != err.Error() {
					t.Errorf("got %v, want %v as each rank by itself", other, err)
				}
			})
		}
	}
}

// compareKinds compares a plan of each rank by itself with that of kinds.
func compareKinds(t *testing.T, script string, args []string, n int, each *plan.Program) {
	t.Helper()
	m, err := hardware.Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := evaluate(context.Background(), question{Script: script, Args: args, Ranks: n})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds.Kinds {
		compareCalls(t, int(k.Ranks[0]), callsOf(kinds, int(k.Ranks[0])), callsOf(each, int(k.Ranks[0])))
	}
	got, want := kinds.Play(m), each.Play(m)
	each.Merge()
	want.Kinds, want.ToldApart = len(each.Kinds), each.ToldApart
	if g, w := rounded(t, got), rounded(t, want); g != w {
		t.Errorf("by kinds:\n%s\nwant as each rank by itself:\n%s", g, w)
	}
}

// rounded returns f as JSON, with numbers to nine digits: sums may be taken in another
// order.
func rounded(t *testing.T, f *plan.Figures) string {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`-?[0-9.]+(e[-+]?[0-9]+)?`).ReplaceAllStringFunc(string(data), func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		if math.Abs(v) < 1e-15 { // what is left of a difference
			v = 0
		}
		return strconv.FormatFloat(v, 'g', 9, 64)
	})
}

// fewer are the arguments by which examples that train take few steps.
var fewer = map[string][]string{
	"gpt.star": {"2"}, "megatron.star": {"--steps", "2"}, "pipeline.star": {"--steps", "2"}, "resnet.star": {"--steps", "2"},
	"digits.star": {"--steps", "20"}, "digits_by_hand.star": {"--steps", "20"}, "fsdp.star": {"--steps", "5"},
}

// traceOf returns what each rank communicates in a run.
func traceOf(t *testing.T, script string, args []string, n int) [][]string {
	t.Helper()
	p, err := lang.ReadProgram(script)
	if err != nil {
		t.Fatal(err)
	}
	traces := make([]*runtime.Trace, n)
	s := &starter{limits: &limits{quiet: true}, ranks: n, transport: "inproc", args: args, flags: p.ReadFlags().Names()}
	s.seen = func(r *runtime.Rank) { traces[r.ID()] = r.StartTrace() }
	ranks, err := s.startHere()
	if err != nil {
		t.Fatal(err)
	}
	defer ranks.stop()
	session := lang.NewSession(ranks.conns, lang.Options{})
	defer session.Close()
	o, err := session.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if o.ExitStatus() != lang.StatusOK {
		var b strings.Builder
		o.Report(&b)
		t.Fatal(b.String())
	}
	list := make([][]string, n)
	for rank, trace := range traces {
		for _, r := range trace.Records {
			list[rank] = append(list[rank], fmt.Sprint(r.Op, " ", r.Bytes, " ", r.Wire))
		}
	}
	return list
}

// callsOf returns what a rank of p communicates.
func callsOf(p *plan.Program, rank int) []string {
	var list []string
	kind := p.Kinds[p.KindOf[rank]]
	for i := range kind.Events {
		e := &kind.Events[i]
		switch e.Do {
		case plan.Collective, plan.Issue, plan.Send, plan.Recv:
			c := p.Calls[e.Index]
			place := slices.Index(kind.Groups[e.Group].Of(rank), rank)
			list = append(list, fmt.Sprint(c.Op, " ", c.At(place), " ", p.Wire(e, place)))
		}
	}
	return list
}

func compareCalls(t *testing.T, rank int, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("rank %d, call %d of %d: got %s, want %s", rank, i, len(want), g, w)
			return
		}
	}
}

// With --zero 3 a layer is gathered by one call, and its gradients are reduced by one: seven of
// each a pass, of four layers, the words, the places and the head. What is gathered is copied to
// where it is read, and what is reduced to where it is sent from.
func TestPlanGathersLayers(t *testing.T) {
	p, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: 4, Args: []string{"--tp", "1", "--zero", "3", "--steps", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	calls, begun, computed, ahead := map[string]int{}, []int{}, 0, 0
	moved, copied := map[string]int64{}, int64(0)
	for i := range p.Kinds[0].Events {
		e := &p.Kinds[0].Events[i]
		switch e.Do {
		case plan.Compute:
			computed++
			if o := &p.Operations[e.Index]; o.Name == "fully_shard" {
				copied += int64(o.Bytes)
			}
		case plan.Issue:
			calls[p.Calls[e.Index].Op]++
			moved[p.Calls[e.Index].Op] += p.Calls[e.Index].Bytes
			begun = append(begun, computed)
		case plan.Wait:
			if e.Phase == plan.Forward && computed > begun[e.Index] {
				ahead++
			}
		case plan.Collective:
			calls[p.Calls[e.Index].Op]++
			moved[p.Calls[e.Index].Op] += p.Calls[e.Index].Bytes
		}
	}
	if want := 2 * (4*moved["all_gather"] + moved["reduce_scatter"]); copied != want {
		t.Errorf("copies read and write %d bytes, want %d: twice what is gathered and what is reduced", copied, want)
	}
	const passes = 2 // micro-batches
	if got, want := calls["reduce_scatter"], 7*passes; got != want {
		t.Errorf("got %d reduce_scatters, want %d", got, want)
	}
	if got, want := calls["all_gather"], 14*passes; got != want {
		t.Errorf("got %d all_gathers, want %d: forward and backward", got, want)
	}
	if ahead < 5 { // the places and the layers of the second pass; the first has shown the order
		t.Errorf("%d gathers of forward have something computed beside them, want 5 at least", ahead)
	}
}

// Ranks that have done the same are one kind, and play as one by one.
func TestPlanKinds(t *testing.T) {
	m, err := hardware.Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	for script, args := range map[string][]string{
		"megatron.star": {"--tp", "2", "--pp", "2", "--steps", "1"}, "fsdp.star": fewer["fsdp.star"], "moe.star": nil,
	} {
		var figures []*plan.Figures
		for _, apart := range []bool{false, true} {
			p, err := evaluate(context.Background(), question{Script: "../../examples/" + script, Ranks: 8, Args: args, Each: apart})
			if err != nil {
				t.Fatal(err)
			}
			figures = append(figures, p.Play(m))
		}
		a, b := figures[0], figures[1]
		if a.Kinds >= b.Kinds && script == "megatron.star" || b.Kinds != 8 {
			t.Errorf("%s: got %d kinds of 8 ranks", script, a.Kinds)
		}
		if math.Abs(a.StepSeconds/b.StepSeconds-1) > 1e-12 || a.Memory != b.Memory || math.Abs(a.FLOPs/b.FLOPs-1) > 1e-12 {
			t.Errorf("%s: %d kinds take %v s and %v bytes, want %v and %v as each rank by itself", script, a.Kinds, a.StepSeconds, a.Memory, b.StepSeconds, b.Memory)
		}
	}
}

// The gradient of a weight that leaves a checkpoint is nobody else's: it is not copied.
func TestPlanCheckpointsCopyNothing(t *testing.T) {
	p, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: 1, Args: []string{"--recompute", "full", "--steps", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	again := 0
	for _, e := range p.Kinds[0].Events {
		if e.Phase == plan.Recompute {
			again++
		}
		if o := p.Operations[e.Index]; e.Do == plan.Compute && e.Phase == plan.Backward && o.Name == "clone" && o.Bytes > 1024 {
			t.Errorf("got a clone that moves %v bytes, want none", o.Bytes)
		}
	}
	if again == 0 {
		t.Error("got nothing that is computed again")
	}
}

// The parameters of a model are those of all of its layers, whichever rank has them.
func TestPlanCountsParameters(t *testing.T) {
	const layers, hidden, words, seq = 4, 64, 96, 16
	const want = 12*layers*hidden*hidden + 13*layers*hidden + (words+seq)*hidden
	for _, args := range [][]string{{"--tp", "1"}, {"--tp", "2"}, {"--tp", "1", "--pp", "2"}} {
		p, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: 2,
			Args: append(args, "--layers", fmt.Sprint(layers), "--hidden", fmt.Sprint(hidden), "--vocab", fmt.Sprint(words), "--seq", fmt.Sprint(seq), "--steps", "1")})
		if err != nil {
			t.Fatal(err)
		}
		if p.Parameters != want {
			t.Errorf("%v: got %d parameters, want %d", args, p.Parameters, want)
		}
	}
}

// The models of table 1 of Narayanan and others (SC21) have the sizes that stand there.
func TestPlanCountsTheTable(t *testing.T) {
	for _, c := range []struct {
		layers, hidden, heads int
		want                  string // billions
	}{
		{24, 2304, 24, "1.7"}, {30, 3072, 32, "3.6"}, {36, 4096, 32, "7.5"}, {40, 6144, 48, "18.4"}, {48, 8192, 64, "39.1"},
		{60, 10240, 80, "76.1"}, {80, 12288, 96, "145.6"}, {96, 16384, 128, "310.1"}, {105, 20480, 128, "529.6"}, {128, 25600, 160, "1008.0"},
	} {
		p, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: 1, Laps: 1,
			Args: []string{"--layers", fmt.Sprint(c.layers), "--hidden", fmt.Sprint(c.hidden), "--heads", fmt.Sprint(c.heads), "--steps", "1"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%.1f", float64(p.Parameters)/1e9); got != c.want {
			t.Errorf("%d layers of %d: got %s billion parameters, want %s", c.layers, c.hidden, got, c.want)
		}
		if want := int64(c.layers)*(12*int64(c.hidden)+13)*int64(c.hidden) + (51200+2048)*int64(c.hidden); p.Parameters != want {
			t.Errorf("%d layers of %d: got %d parameters, want %d", c.layers, c.hidden, p.Parameters, want)
		}
	}
}

// Ranks that share a layer have whole heads.
func TestPlanRefusesPartsOfHeads(t *testing.T) {
	_, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: 16,
		Args: []string{"--layers", "2", "--hidden", "3072", "--heads", "24", "--tp", "16"}})
	if err == nil || !strings.Contains(err.Error(), "got --heads 24, want a multiple of 16, the ranks that share a layer (--tp)") {
		t.Errorf("got %v", err)
	}
}

// Where only memory is asked for, fewer micro-batches take as much of it.
func TestPlanMemoryAlone(t *testing.T) {
	m, err := hardware.Builtin("hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--tp", "1", "--batch", "48"}, {"--tp", "2", "--pp", "2", "--batch", "32", "--zero", "1"},
		{"--tp", "1", "--pp", "4", "--batch", "24", "--recompute", "full"}, {"--tp", "1", "--pp", "2", "--chunks", "2", "--batch", "32"},
	} {
		q := question{Script: "../../examples/megatron.star", Ranks: 4, Args: append(args, "--hidden", "64")}
		var memory [2]plan.Fit
		var events [2]int
		for i := range memory {
			q.Laps = i
			p, err := evaluate(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			memory[i], events[i] = p.Fullest(m), len(p.Kinds[0].Events)
		}
		const losses = 48 * 4 // a number of each micro-batch is kept
		if d := memory[0].Peak - memory[1].Peak; d < 0 || d > losses {
			t.Errorf("%v: memory alone takes %d bytes, want %d", args, memory[1].Peak, memory[0].Peak)
		}
		if events[1]*2 > events[0] {
			t.Errorf("%v: memory alone takes %d events, want fewer than half of %d", args, events[1], events[0])
		}
	}
}

// A few micro-batches tell how long a step of many takes, and what memory.
func TestPlanShortest(t *testing.T) {
	m, err := hardware.Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--tp", "2", "--batch", "48"}, {"--tp", "1", "--pp", "4", "--batch", "24", "--layers", "6"}, {"--tp", "1", "--pp", "2", "--batch", "32", "--vocab", "9000"},
		{"--tp", "2", "--pp", "2", "--chunks", "2", "--batch", "32", "--recompute", "full"}, {"--tp", "2", "--pp", "2", "--batch", "4"},
		{"--tp", "1", "--pp", "4", "--chunks", "2", "--batch", "32", "--layers", "8"},
	} {
		q := question{Script: "../../examples/megatron.star", Ranks: 4, Args: append(args, "--hidden", "512", "--seq", "512")}
		whole, short := wholeAndShort(t, q)
		want, got := whole.Play(m).StepSeconds, short.Seconds(m)
		if math.Abs(got/want-1) > 2e-3 {
			t.Errorf("%v: %d events tell %.6g s, want %.6g", args, len(short.Kinds[0].Events), got, want)
		}
		if a, b := whole.Fullest(m).Peak, short.Fullest(m).Peak; math.Abs(float64(a)/float64(b)-1) > 1e-3 {
			t.Errorf("%v: they tell %d bytes, want %d", args, b, a)
		}
	}
}

// wholeAndShort returns the plan of all micro-batches, and the one of few.
func wholeAndShort(t *testing.T, q question) (whole, short *plan.Program) {
	t.Helper()
	whole, err := evaluate(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	short, err = shortest(context.Background(), q, true)
	if err != nil {
		t.Fatal(err)
	}
	return whole, short
}

// Of a script with one step, or none marked, that step is played.
func TestPlanShortestOfOneStep(t *testing.T) {
	m, err := hardware.Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	q := question{Script: "../../examples/megatron.star", Ranks: 2, Args: []string{"--pp", "2", "--tp", "1", "--steps", "1", "--batch", "32"}}
	whole, short := wholeAndShort(t, q)
	if want, got := whole.Play(m).StepSeconds, short.Seconds(m); math.Abs(got/want-1) > 2e-3 {
		t.Errorf("got %.6g s, want %.6g", got, want)
	}
}

// What backward keeps of a layer is what Korthikanti and others (arXiv 2205.05198) count
// for Megatron-LM, in bytes for each of the elements between layers: 10 + 24/t, and 34/t
// with sequence parallelism, without the masks of two dropouts (2, and 2/t), and with a
// copy of the queries (2/t). Attention keeps no scores.
func TestPlanKeepsWhatMegatronKeeps(t *testing.T) {
	const ranks, hidden, seq = 8, 2048, 512
	for _, c := range []struct {
		sequence string
		bytes    float64 // of an element and layer
	}{{"--no-sequence-parallel", 10 - 2 + 26./ranks}, {"--sequence-parallel", 34. / ranks}} {
		var kept [2]int64
		for i := range kept {
			p, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: ranks, Laps: 1, Args: []string{c.sequence,
				"--layers", fmt.Sprint(i + 1), "--hidden", fmt.Sprint(hidden), "--heads", "16", "--seq", fmt.Sprint(seq), "--vocab", "1024", "--tp", fmt.Sprint(ranks), "--batch", "1"}})
			if err != nil {
				t.Fatal(err)
			}
			kept[i] = p.Kinds[0].Memory.Activations
		}
		if got := float64(kept[1]-kept[0]) / (hidden * seq); math.Abs(got/c.bytes-1) > 0.005 {
			t.Errorf("%s: a layer keeps %.4f bytes an element, want %.4f", c.sequence, got, c.bytes)
		}
	}
}

// Rows that ask the same are evaluated once.
func TestPlanRowsAlike(t *testing.T) {
	rows := []*measuredRow{{ranks: 2, rank: -1}, {ranks: 2, rank: 1, bytes: 1e9}, {ranks: 2, rank: -1, seconds: 1}, {ranks: 1, rank: -1}, {ranks: 2, rank: -1, args: []string{"--tp", "1"}}}
	for _, r := range rows {
		r.args = append(r.args, "--steps", "1", "--layers", "1")
	}
	std := &stdio{out: io.Discard, err: io.Discard}
	if err := evaluateRows(context.Background(), std, question{Script: "../../examples/megatron.star"}, rows); err != nil {
		t.Fatal(err)
	}
	programs := map[*plan.Program]int{}
	for _, r := range rows {
		programs[r.program]++
	}
	if rows[0].program == nil || rows[0].program != rows[1].program || len(programs) != 4 {
		t.Errorf("got %d programs of %d rows, want one of the first two, and one of each other", len(programs), len(rows))
	}
}

// With --fused a layer keeps one tensor of an MLP's inner size less, and with --keep-gathered
// what is gathered for the MLP, or for attention too, instead of this rank's part of it.
func TestPlanKeepsOfSwiGLU(t *testing.T) {
	const ranks, hidden, ffn, seq = 4, 512, 1024, 256
	kept := func(flags ...string) int64 {
		t.Helper()
		args := []string{"--llama", "--layers", "2", "--hidden", fmt.Sprint(hidden), "--ffn", fmt.Sprint(ffn), "--heads", "8", "--seq", fmt.Sprint(seq), "--precision", "bf16", "--tp", fmt.Sprint(ranks), "--batch", "1"}
		p, err := evaluate(context.Background(), question{Script: "../../examples/megatron.star", Ranks: ranks, Laps: 1, Args: append(args, flags...)})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Kinds) != 1 {
			t.Errorf("%v: got %d kinds, told apart at %v, want 1", flags, len(p.Kinds), p.ToldApart)
		}
		return p.Kinds[0].Memory.Activations
	}
	const layers, size = 2, 2 // bytes of a bfloat16
	plain := kept()
	if got, want := plain-kept("--fused"), int64(layers*size*seq*ffn/ranks); got != want {
		t.Errorf("--fused keeps %d bytes less, want %d", got, want)
	}
	for n := range 3 {
		if got, want := kept("--keep-gathered", fmt.Sprint(n))-plain, int64(n*layers*size*seq*hidden*(ranks-1)/ranks); got != want {
			t.Errorf("--keep-gathered %d keeps %d bytes more, want %d", n, got, want)
		}
	}
}

// Rows of the Ultra-Scale Playbook take what nanotron took, with the constants of its
// memory that docs/plan.md has: those of a few gigabytes, of which most is parameters,
// and those of which most is logits.
func TestPlanOfPlaybook(t *testing.T) {
	rows := "model,nodes,micro_batch,accumulation,batch,dp,pp,tp,zero,gigabytes\n" +
		"1B,1,1,256,256,1,1,8,0,5.4\n1B,1,4,32,256,2,2,2,1,27.7\n1B,4,1,8,256,32,1,1,1,23.8\n1B,4,2,4,256,32,1,1,1,34.9\n"
	list, m := measuredRuns(t, "hgx-h100", rows, "playbook.star", "--llama", "--seq", "4096", "--precision", "bf16")
	m.Use.Activations, m.Use.Temporaries, m.Use.Gradients, m.Use.Fixed, m.Use.Buffers = 1.12, 1.36, 1.6, 0.18e9, 2.1
	for _, r := range list {
		got := float64(r.program.On(m, r.rank).Peak)
		if e := got/r.bytes - 1; math.Abs(e) > 0.1 {
			t.Errorf("%s: got %.1f GB, want %.1f (%+.0f %%)", strings.Join(r.args, " "), got/1e9, r.bytes/1e9, 100*e)
		} else {
			t.Logf("%s: %+.1f %%", strings.Join(r.args, " "), 100*e)
		}
	}
}
