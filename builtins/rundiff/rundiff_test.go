package rundiff

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tpsh/builtins/safetensors"
	"tpsh/mesh"
)

// A dump is the tensors of a file, by name.
type dump map[string]*array

// save writes a dump as float32.
func save(t testing.TB, path string, d dump) {
	t.Helper()
	var list []*safetensors.Tensor
	for name, a := range d {
		list = append(list, &safetensors.Tensor{Name: name, DType: safetensors.F32, Shape: a.shape})
	}
	data, err := safetensors.AppendHeader(nil, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		for _, v := range d[x.Name].data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// random returns an array of random numbers.
func random(seed uint64, shape ...int) *array {
	r := rand.New(rand.NewPCG(seed, 1))
	a := &array{shape, make([]float64, numel(shape))}
	for i := range a.data {
		a.data[i] = r.NormFloat64()
	}
	return a
}

// on returns the blocks of ranks on a mesh.
func on(w *array, m []int, placements ...mesh.Placement) []*array {
	l := &layout{mesh: m, placements: placements}
	n := 1
	for _, s := range m {
		n *= s
	}
	for i := range n {
		l.ranks = append(l.ranks, i)
	}
	out := make([]*array, n)
	for i := range out {
		out[i] = w.slice(l.box(w.shape, i))
	}
	return out
}

// compare compares a reference, whole, with what ranks have, in one step of several.
func compare(t *testing.T, ref map[int]dump, cand map[int][]dump, o *Options) *Report {
	t.Helper()
	dir := t.TempDir()
	for step, d := range ref {
		save(t, filepath.Join(dir, "ref", fmt.Sprintf("step%d.safetensors", step)), d)
	}
	for step, ranks := range cand {
		for r, d := range ranks {
			save(t, filepath.Join(dir, "cand", fmt.Sprintf("step%d.rank%d.safetensors", step, r)), d)
		}
	}
	rep, err := Compare(filepath.Join(dir, "ref"), filepath.Join(dir, "cand"), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// Each kind of difference is recognised in one tensor, after one that is right.
func TestKinds(t *testing.T) {
	const n = 4
	w, old, x := random(1, 8, 12), random(2, 8, 12), random(3, 8, 12)
	parts := make([]*array, n) // that add up to w
	parts[n-1] = w
	for i := range n - 1 {
		parts[i] = random(uint64(10+i), 8, 12)
		parts[n-1] = parts[n-1].plus(-1, parts[i])
	}
	all := func(a *array) []*array { return []*array{a, a, a, a} }
	zero := func(list []*array, i int) []*array {
		list = slices.Clone(list)
		list[i] = list[i].scaled(0)
		return list
	}
	square := random(4, 12, 12)
	rounded := w.scaled(1)
	for i, v := range rounded.data {
		rounded.data[i] = roundBF16(v)
	}
	one := []int{n}
	s0, s1, r := mesh.Shard(0), mesh.Shard(1), mesh.Replicate()
	for _, test := range []struct {
		name   string
		w      *array
		c      []*array
		kind   string
		factor float64
		ranks  string
	}{
		{"whole", w, all(w), "", 0, ""},
		{"rows", w, on(w, one, s0), "", 0, ""},
		{"columns", w, on(w, one, s1), "", 0, ""},
		{"both", w, on(w, []int{2, 2}, s0, s1), "", 0, ""},
		{"noise", w, all(w.plus(1e-6, x)), "", 0, ""},
		{"summands", w, parts, MissingSum, 0, "[]"},
		{"means", w, []*array{parts[0].scaled(4), parts[1].scaled(4), parts[2].scaled(4), parts[3].scaled(4)}, MissingSum, 0, "[]"},
		{"twice", w, all(w.scaled(4)), DoubleSum, 4, "[]"},
		{"mean", w, all(w.scaled(0.25)), MeanForSum, 0.25, "[]"},
		{"factor", w, on(w.scaled(4), one, s0), Factor, 4, "[]"},
		{"root", w, all(w.scaled(math.Sqrt(4) * math.Sqrt(2))), Factor, math.Sqrt(8), "[]"},
		{"stale", w, all(old), Stale, 0, "[]"},
		{"stale on a rank", w, append(on(w, one, s0)[:3:3], on(old, one, s0)[3]), Stale, 0, "[3]"},
		{"zero", w, zero(on(w, one, s0), 2), MissingPart, 0, "[2]"},
		{"rank order", w, []*array{on(w, one, s0)[1], on(w, one, s0)[0], on(w, one, s0)[2], on(w, one, s0)[3]}, Permuted, 0, "[0 1]"},
		{"transposed", square, all(square.permuted([]int{1, 0})), Transposed, 0, "[]"},
		{"joined", square, all(cutAndJoin(square, 0, 1, 4)), WrongDim, 0, "[]"},
		{"joined in shape", square, all(&array{square.shape, cutAndJoin(square, 1, 0, 4).data}), WrongDim, 0, "[]"},
		{"rounded", w, all(rounded), Rounded, 0, "[]"},
		{"other", w, all(x), Other, 0, "[]"},
	} {
		before := random(9, 8, 12)
		fine := on(before, one, r)
		cand := map[int][]dump{0: make([]dump, n), 1: make([]dump, n)}
		for i := range n {
			cand[0][i] = dump{"a": fine[i], "b": on(test.w, one, r)[0].scaled(1)}
			cand[1][i] = dump{"a": fine[i], "b": test.c[i], "c": all(x)[i]}
		}
		ref := map[int]dump{0: {"a": before, "b": test.w}, 1: {"a": before, "b": test.w, "c": x}}
		if strings.HasPrefix(test.name, "stale") {
			ref[0]["b"] = old
			for i := range n {
				cand[0][i]["b"] = old
			}
		}
		rep := compare(t, ref, cand, &Options{})
		if test.kind == "" {
			if !rep.Equal {
				t.Errorf("%s: got %s: %s, want equal", test.name, *rep.Kind, rep.Says)
			}
			continue
		}
		factor := 0.0
		if rep.Factor != nil {
			factor = *rep.Factor
		}
		if rep.Equal || *rep.First != "b" || *rep.Kind != test.kind || math.Abs(factor-test.factor) > 1e-6 || fmt.Sprint(rep.Ranks) != test.ranks {
			t.Errorf("%s: got %v, factor %v, ranks %v: %s; want %s, %v, %s", test.name, value(rep.Kind), factor, rep.Ranks, rep.Says, test.kind, test.factor, test.ranks)
		}
	}
}

func value(s *string) string {
	if s == nil {
		return "equal"
	}
	return *s
}

// A plan names dims, places and order.
func TestPlan(t *testing.T) {
	w := random(1, 8, 12)
	parts := []*array{random(2, 8, 12), random(2, 8, 12), nil, nil}
	parts[2] = w.plus(-1, parts[0])
	parts[3] = parts[2]
	cand := map[int][]dump{0: {}}
	for i := range 4 {
		cand[0] = append(cand[0], dump{"z": w, "b": parts[i], "a": w.scaled(2)})
	}
	rule := Rule{Pattern: "*"}
	if err := rule.Parse([]string{"Replicate()", "R"}); err != nil {
		t.Fatal(err)
	}
	o := &Options{Plan: &Plan{Mesh: []int{2, 2}, Names: []string{"dp", "tp"}, Ranks: []int{0, 1, 2, 3}, Rules: []Rule{rule}, Order: []string{"z", "b", "a"}}}
	rep := compare(t, map[int]dump{0: {"z": w, "b": w, "a": w}}, cand, o)
	if rep.Equal || *rep.First != "b" || *rep.Kind != MissingSum || *rep.MeshDim != "dp" {
		t.Errorf("got %v %v", value(rep.First), rep.Says)
	}
	// A plan that says that they are summands accepts them.
	summand := Rule{Pattern: "b"}
	if err := summand.Parse([]string{"Partial(\"sum\")", "R"}); err != nil {
		t.Fatal(err)
	}
	o.Plan.Rules = []Rule{summand, rule}
	rep = compare(t, map[int]dump{0: {"z": w, "b": w, "a": w}}, cand, o)
	if rep.Equal || *rep.First != "a" || *rep.Kind != DoubleSum {
		t.Errorf("got %v %v", value(rep.First), rep.Says)
	}
	// Blocks of another cut than the plan's are one, though all elements are there.
	if err := summand.Parse([]string{"Shard(0)", "R"}); err != nil {
		t.Fatal(err)
	}
	for i, a := range on(w, []int{2, 2}, mesh.Shard(1), mesh.Replicate()) {
		cand[0][i] = dump{"z": w, "b": a, "a": w}
	}
	o.Plan.Rules = []Rule{summand, rule}
	rep = compare(t, map[int]dump{0: {"z": w, "b": w, "a": w}}, cand, o)
	if rep.Equal || *rep.First != "b" || *rep.Kind != WrongDim || *rep.MeshDim != "dp" {
		t.Errorf("got %v %v", value(rep.First), rep.Says)
	}
	// Of two dims that cut one, a plan says in which order.
	if err := summand.Parse([]string{"_StridedShard(0, split_factor=2)", "Shard(0)"}); err != nil {
		t.Fatal(err)
	}
	o.Plan.Rules = []Rule{summand, rule}
	for _, c := range []struct {
		cut  []mesh.Placement
		want bool
	}{{[]mesh.Placement{mesh.StridedShard(0, 2), mesh.Shard(0)}, true}, {[]mesh.Placement{mesh.Shard(0), mesh.Shard(0)}, false}} {
		for i, a := range on(w, []int{2, 2}, c.cut...) {
			cand[0][i] = dump{"z": w, "b": a, "a": w}
		}
		if rep = compare(t, map[int]dump{0: {"z": w, "b": w, "a": w}}, cand, o); rep.Equal != c.want {
			t.Errorf("blocks as %v: equal is %v, want %v: %v", c.cut, rep.Equal, c.want, rep.Says)
		}
	}
	if err := new(Rule).Parse([]string{"X"}); err == nil {
		t.Error("got no error")
	}
}

// Words of paths tell ranks and steps.
func TestTake(t *testing.T) {
	for _, test := range []struct {
		text, rest string
		rank, step int
	}{
		{"acts.rank3", "acts", 3, -1}, {"rank_12/step-7", "", 12, 7}, {"step3.rank0", "", 0, 3}, {"rank0/acts", "acts", 0, -1},
		{"grads/step_002/rank1", "grads", 1, 2}, {"franked1", "franked1", -1, -1}, {"iter5", "", -1, 5}, {"layers.3.w", "layers.3.w", -1, -1},
	} {
		rest, rank := take(rankWord.Get(), test.text)
		rest, step := take(stepWord.Get(), rest)
		if strings.Trim(rest, "/._-") != test.rest || rank != test.rank || step != test.step {
			t.Errorf("%s: got %q, %d, %d", test.text, rest, rank, step)
		}
	}
}

// Folders without tensors, or with none in common, and files that lie are errors.
func TestCompareErrors(t *testing.T) {
	dir := t.TempDir()
	save(t, filepath.Join(dir, "a", "x.safetensors"), dump{"w": random(1, 3)})
	save(t, filepath.Join(dir, "b", "x.safetensors"), dump{"v": random(1, 3)})
	for name, text := range map[string]string{
		"npz/x.npz": "PK\x03\x04 no more", "npy/x.npy": "\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'", "pt/x.pt": "no", "none/readme.md": "",
		"long/x.npy": "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,), }    \n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for cand, want := range map[string]string{
		"b": "no tensor of one name", "none": "no .safetensors", "npz": "zip", "npy": "ends", "pt": "which torch.save does not write", "long": "bytes, want 4000000000", "absent": "no such file",
	} {
		_, err := Compare(filepath.Join(dir, "a"), filepath.Join(dir, cand), &Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", cand, err, want)
		}
	}
}

// Rounding is that of the formats.
func TestRound(t *testing.T) {
	for _, test := range []struct{ x, bf16, half float64 }{
		{1, 1, 1}, {1.00390625, 1, 1.00390625}, {1.01171875, 1.015625, 1.01171875}, {0, 0, 0}, {65504, 65536, 65504}, {1.0001, 1, 1}, {-3.3333333, -3.328125, -3.333984375}, {math.Inf(1), math.Inf(1), math.Inf(1)},
	} {
		if b, h := roundBF16(test.x), roundHalf(test.x); b != test.bf16 || h != test.half {
			t.Errorf("%v: got %v and %v, want %v and %v", test.x, b, h, test.bf16, test.half)
		}
	}
	if half(0x3c00) != 1 || half(0x0001) != 0x1p-24 || half(0xfc00) != math.Inf(-1) || half(0x7e00) == half(0x7e00) {
		t.Error("half is wrong")
	}
}

// Elements of one byte are compared as any others; the numbers are PyTorch's.
func TestOfOneByte(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		dtype string
		bytes []byte
		want  []float64
	}{
		{"float8_e4m3fn", []byte{0x7e, 0x01, 0x38, 0xc1, 0xff}, []float64{448, 0x1p-9, 1, -2.25, nan}},
		{"float8_e5m2", []byte{0x7b, 0x01, 0x3c, 0xfc, 0x7e}, []float64{57344, 0x1p-16, 1, math.Inf(-1), nan}},
		{"float8_e4m3fnuz", []byte{0x7f, 0x01, 0x38, 0xc1, 0x80}, []float64{240, 0x1p-10, 0.5, -1.125, nan}},
		{"float8_e5m2fnuz", []byte{0x7f, 0x01, 0x3c, 0xc1, 0x80}, []float64{57344, 0x1p-17, 0.5, -1.25, nan}},
		{"float8_e8m0fnu", []byte{0x00, 0x7f, 0x82, 0xff}, []float64{0x1p-127, 1, 8, nan}},
		{"int8", []byte{0x00, 0x7f, 0x80}, []float64{0, 127, -128}},
	} {
		a, err := numbers(test.dtype, []int{len(test.bytes)}, test.bytes)
		if err != nil {
			t.Errorf("%s: %v", test.dtype, err)
			continue
		}
		for i, want := range test.want {
			if got := a.data[i]; got != want && !(got != got && want != want) {
				t.Errorf("%s %#02x: got %v, want %v", test.dtype, test.bytes[i], got, want)
			}
		}
	}
}

// A tensor that the same ranks have in both runs is whole, however few they are; one
// that a rank has lost is not.
func TestSomeRanksOnly(t *testing.T) {
	ref, lost := t.TempDir(), t.TempDir()
	x := random(1, 4)
	for r := range 3 {
		save(t, filepath.Join(ref, fmt.Sprintf("x.rank%d.safetensors", r)), dump{"x": x})
		save(t, filepath.Join(lost, fmt.Sprintf("x.rank%d.safetensors", r)), dump{"x": x})
		if r > 0 {
			save(t, filepath.Join(ref, fmt.Sprintf("loss.rank%d.safetensors", r)), dump{"loss": x})
		}
	}
	save(t, filepath.Join(lost, "loss.rank2.safetensors"), dump{"loss": x})
	if r, err := Compare(ref, ref, &Options{}); err != nil || !r.Equal {
		t.Errorf("a run and itself: got %v (%v), want them equal", r, err)
	}
	r, err := Compare(ref, lost, &Options{})
	if err != nil || r.Equal || *r.Kind != MissingPart || fmt.Sprint(r.Ranks) != "[1]" {
		t.Errorf("rank 1 has lost its loss: got %+v (%v), want a part missing", r, err)
	}
}

// Blocks that fit their places in a cut between more ranks say which ranks' files are not there.
func TestRanksNotThere(t *testing.T) {
	ref, cand := t.TempDir(), t.TempDir()
	w, x := random(1, 6, 10), random(2, 6)
	save(t, filepath.Join(ref, "a.safetensors"), dump{"w": w, "x": x})
	for r, c := range on(w, []int{4}, mesh.Shard(1)) { // of 3, 3, 3 and 1 columns
		if r != 1 {
			save(t, filepath.Join(cand, fmt.Sprintf("a.rank%d.safetensors", r)), dump{"w": c, "x": x})
		}
	}
	r, err := Compare(ref, cand, &Options{})
	if err != nil || r.Equal || *r.Kind != MissingPart || fmt.Sprint(r.Ranks) != "[1]" {
		t.Errorf("got %+v (%v), want the part of rank 1 missing", r, err)
	}
}

// What is right or wrong of itself is so whatever follows: the same number on all ranks is no
// summand, blocks may be parts of the transposed whole, a number has dims or none.
func TestByItself(t *testing.T) {
	const n = 5
	w := random(1, 10, 15)
	all := func(a *array) []*array { return slices.Repeat([]*array{a}, n) }
	uneven := on(w.permuted([]int{1, 0}).slice(mesh.Box{Lo: []int{0, 0}, Hi: []int{11, 10}}), []int{n}, mesh.Shard(0))
	uneven[0], uneven[3] = uneven[3], uneven[0] // of 3 rows and of 2
	for _, test := range []struct {
		name string
		w    *array
		c    []*array
		kind string
	}{
		{"the mean on all", w, all(w.scaled(1.0 / n)), MeanForSum},
		{"summands of nothing", w.scaled(0), all(w.scaled(0)), ""},
		{"parts of the transposed", w, on(w.permuted([]int{1, 0}), []int{n}, mesh.Shard(0)), Transposed},
		{"uneven parts in another order", w.permuted([]int{1, 0}).slice(mesh.Box{Lo: []int{0, 0}, Hi: []int{11, 10}}), uneven, Permuted},
		{"parts of what has other dims", w, all(&array{[]int{2, 3}, w.data[:6]}), WrongDim},
		{"a number", &array{[]int{}, w.data[:1]}, all(&array{[]int{1}, w.data[:1]}), ""},
		{"another number", &array{[]int{}, w.data[:1]}, all(&array{[]int{1}, w.data[1:2]}), Other},
	} {
		cand := map[int][]dump{0: make([]dump, n)}
		for i := range n {
			cand[0][i] = dump{"a": w, "b": test.c[i], "c": w}
		}
		rep := compare(t, map[int]dump{0: {"a": w, "b": test.w, "c": w}}, cand, &Options{})
		if got := strings.ReplaceAll(value(rep.Kind), "equal", ""); got != test.kind {
			t.Errorf("%s: got %q: %s, want %q", test.name, got, rep.Says, test.kind)
		}
	}
}

// Summands that nothing says to be wrong are spoken of.
func TestSummandsKept(t *testing.T) {
	w, x := random(1, 4, 6), random(2, 4, 6)
	rep := compare(t, map[int]dump{0: {"b": w, "c": w}}, map[int][]dump{0: {{"b": w.plus(-1, x), "c": w}, {"b": x, "c": w}}}, &Options{})
	if !rep.Equal || !strings.Contains(strings.Join(rep.Notes, "\n"), `1 taken for summands that are added up later, such as "b", P(sum) on [2]`) {
		t.Errorf("got %t, %q", rep.Equal, rep.Notes)
	}
}
