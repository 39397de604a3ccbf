package hardware

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

func TestBuiltins(t *testing.T) {
	names := Names()
	if got := strings.Join(names, " "); got != "dgx-a100-40g dgx-a100-80g gb200-nvl72 hgx-b200 hgx-h100 hgx-h200 mi300x tpu-v5p" {
		t.Fatalf("names: %s", got)
	}
	for _, name := range names {
		m, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := Text(name)
		if m.Name != name || m.Doc == "" || m.Memory() < 40e9 {
			t.Errorf("%s: got name %q, doc %q, memory %d", name, m.Name, m.Doc, m.Memory())
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, " = ") && !strings.HasPrefix(line, "name") && !strings.HasPrefix(line, "doc") && !strings.Contains(line, "#") {
				t.Errorf("%s.toml:%d: %q has no source beside it", name, i+1, line)
			}
		}
	}
}

const small = `name = "small"
memory = 1e9
memory_bandwidth = 1e11
[peak]
float32 = 1e12
[rest]
float32 = 1e11
[[level]]
name = "node"
size = 4
latency = 1e-6
bandwidth = 1e10
[[level]]
name = "cluster"
size = 100
latency = 1e-5
bandwidth = 1e10
shared_bandwidth = 8e9
`

func TestErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"memory = 1e9", "memroy = 1e9", `small.toml:2: memroy: no such field (did you mean memory?)`},
		{"memory = 1e9", "memory = 1GB", `small.toml:2: memory: got 1GB, want a number without "GB"`},
		{"memory = 1e9", `memory = "80 GiB"`, `small.toml:2: memory: got "80 GiB", want a number without "GiB"`},
		{"memory = 1e9", `memory = "many"`, `small.toml:2: memory: got string, want a number`},
		{"memory = 1e9", "memory = -4", `small.toml:2: memory: got -4, want 1 to 1e+18 (bytes a rank has)`},
		{"memory = 1e9", "memory = true", `small.toml:2: memory: got bool, want a number`},
		{"memory = 1e9", "", `memory: is missing: bytes a rank has`},
		{"memory = 1e9", "memory = 1e9\nmemory = 2e9", `small.toml:3:`},
		{"[peak]", "[peaks]", `small.toml:4: [peaks]: no such table (did you mean peak?)`},
		{"[peak]\nfloat32", "[peak]\nfloat23", `small.toml:5: peak.float23: no such field (did you mean float32?)`},
		{"[peak]", "[[peak]]", `want [peak]: a file has one`},
		{"[[level]]", "[level]", `small.toml:13: key level already exists`},
		{small[strings.Index(small, "[[level]]"):], "[level]\nname = \"node\"\n", `small.toml:8: level: got [level], want [[level]]`},
		{"latency = 1e-6", "latency = 1us", `small.toml:11: latency: got 1us, want a number without "us"`},
		{"latency = 1e-6\n", "", `small.toml:8: level.latency: is missing: seconds from one member to another`},
		{"latency = 1e-6", "latencies = 1e-6", `small.toml:11: level.latencies: no such field (did you mean latency?)`},
		{"size = 4", "size = 4.5", `small.toml:10: level.size: got 4.5, want a whole number`},
		{`name = "node"`, `name = "share"`, `small.toml:9: level.name: got "share", want one word`},
		{`name = "cluster"`, `name = "node"`, `level.name: got "node" twice`},
		{small, "= 4", `small.toml:1:`},
		{small, "", `memory: is missing`},
	} {
		_, err := Read("small.toml", []byte(strings.Replace(small, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q:\n got %v\nwant %s", c.to, c.from, err, c.want)
		}
	}
	if _, err := Load("dgx-a100"); err == nil || !strings.Contains(err.Error(), `no machine is called "dgx-a100" (did you mean dgx-a100-40g?)`) {
		t.Errorf("got %v", err)
	}
}

func machine(t testing.TB, text string) *Machine {
	m, err := Read("small.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A product far smaller than the ramp takes microseconds, in any type and however
// small its dims are.
func TestTinyProducts(t *testing.T) {
	for _, name := range Names() {
		m, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []dtype.DType{dtype.Float32, dtype.Float16, dtype.BFloat16} {
			for _, s := range [][3]int{{1, 1, 1}, {1, 64, 64}, {16, 64, 64}, {2, 16, 1024}, {1, 1024, 4096}, {256, 256, 256}} {
				flops := 2 * float64(s[0]*s[1]*s[2])
				bytes := float64(d.Size() * (s[0]*s[1] + s[1]*s[2] + s[0]*s[2]))
				if got := m.Operation(Operation{Products: 1, FLOPs: flops, Bytes: bytes, Dim: min(s[0], s[1], s[2]), DType: d}); got > 150e-6 {
					t.Errorf("%s: %v in %v takes %.3g s, want 150 µs at most", name, s, d, got)
				}
			}
		}
	}
}

func TestOperation(t *testing.T) {
	m := machine(t, small+"[share]\ntop = 0.5\nhalf_flops = 1e9\nhalf_dim = 100\n")
	near(t, "a product", m.Operation(Operation{Products: 1, FLOPs: 1e9, Dim: 100}), 1e9/(1e12*0.5)*(1+2))
	near(t, "its share", m.Share(Operation{Products: 1, FLOPs: 1e9, Dim: 100}), 0.5/3)
	near(t, "in bfloat16, which the file lacks", m.Operation(Operation{Products: 1, FLOPs: 1e9, Dim: 100, DType: dtype.BFloat16}), 1e9/(1e12*0.5)*(1+2))
	near(t, "three products", m.Operation(Operation{Products: 3, FLOPs: 3e9, Dim: 100}), 3e9/(1e12*0.5)*(1+2))
	near(t, "of a vector, at the pace of memory", m.Operation(Operation{Products: 1, FLOPs: 1e9, Bytes: 4e9, Dim: 1}), 1e9/(1e12*0.5)+0.04)
	near(t, "of three vectors", m.Operation(Operation{Products: 1, FLOPs: 3e11, Bytes: 4e9, Dim: 3}), 1e9/(1e12*0.5)+0.6)
	near(t, "traffic", m.Operation(Operation{FLOPs: 10, Bytes: 1e11}), 1)
	near(t, "arithmetic of the rest", m.Operation(Operation{FLOPs: 1e11, Bytes: 10}), 1)
	near(t, "traffic that a library spares", m.Set(map[string]float64{"fused": 0.25}).Operation(Operation{FLOPs: 10, Bytes: 1e11}), 0.25)
	near(t, "a product's, which it does not", m.Set(map[string]float64{"fused": 0.25}).Operation(Operation{Products: 1, Bytes: 1e11}), 1)
	near(t, "scores of a fused kernel", m.Operation(Operation{Bytes: 1e11, Inner: 1e11}), 1)
	near(t, "scores in memory", m.Set(map[string]float64{"inner": 3}).Operation(Operation{Bytes: 1e11, Inner: 1e11}), 4)
	near(t, "with a start", m.Set(map[string]float64{"start": 2}).Operation(Operation{Bytes: 1e11}), 3)
}

// Attention to a number of heads and sequences that a kernel does not take is several
// operations for the host; any other operation is one.
func TestIssuing(t *testing.T) {
	m, err := Read("small.toml", []byte(strings.Replace(small, "[peak]", "issue = 1e-5\nmatrices = 4\nodd = 3e-5\n[peak]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	attention := func(matrices float64) Operation {
		return Operation{Products: 2, FLOPs: 1e9, Inner: 1e6, Batch: 2 * matrices}
	}
	for _, c := range []struct {
		name string
		of   Operation
		want float64
	}{
		{"four matrices of scores", attention(4), 1e-5},
		{"64", attention(64), 1e-5},
		{"two", attention(2), 4e-5},
		{"six", attention(6), 4e-5},
		{"one, of no batch", Operation{Products: 2, FLOPs: 1e9, Inner: 1e6}, 4e-5},
		{"a product of two matrices each", Operation{Products: 1, FLOPs: 1e9, Batch: 2}, 1e-5},
		{"a sum", Operation{FLOPs: 10}, 1e-5},
	} {
		if got := m.Issuing(c.of); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: got %g s to issue it, want %g", c.name, got, c.want)
		}
	}
	if m, err = Read("small.toml", []byte(small)); err != nil {
		t.Fatal(err)
	}
	if got := m.Issuing(attention(2)); got != 0 {
		t.Errorf("a file that says nothing of it: got %g s, want 0", got)
	}
}

func TestGroups(t *testing.T) {
	m := machine(t, small)
	for _, c := range []struct {
		ranks []int
		want  Group
	}{
		{[]int{0, 1, 2, 3}, NewGroup(4)},
		{[]int{0, 4, 8}, NewGroup(1, 3)},
		{[]int{0, 1, 4, 5}, NewGroup(2, 2)},
		{[]int{3}, NewGroup()},
		{[]int{2, 3, 4}, Group{sizes: [4]int{2, 2, 1, 1}, n: 3}},
	} {
		if got := m.GroupOf(c.ranks); got != c.want {
			t.Errorf("%v: got %v, want %v", c.ranks, got, c.want)
		}
	}
}

func TestCollectives(t *testing.T) {
	m := machine(t, small)
	inside, across := NewGroup(4), NewGroup(1, 4)
	for _, c := range []struct {
		op    string
		g     Group
		bytes float64
		want  float64
	}{
		{"all_reduce", inside, 1e9, 2*3*1e-6 + 1.5*0.1},
		{"all_reduce", inside, 1, 4*1e-6 + 2e-10}, // a tree
		{"all_gather", inside, 1e9, 3*1e-6 + 0.3},
		{"reduce_scatter", inside, 4e9, 3*1e-6 + 0.3},
		{"broadcast", inside, 1e9, 2e-6 + 0.1},
		{"all_to_all", inside, 1e9, 3e-6 + 0.075},
		{"gather", inside, 1e9, 3e-6 + 0.3},
		{"scatter", inside, 4e9, 3e-6 + 0.3},
		{"barrier", inside, 0, 2e-6},
		{"send", NewGroup(2), 1e9, 1e-6 + 0.1},
		{"send", NewGroup(1, 2), 1e9, 1e-5 + 0.5}, // four ranks share 8e9
		{"all_reduce", across, 1e9, 2*3*1e-5 + 1.5*0.5},
		{"all_reduce", NewGroup(4, 4), 1e9, 2*3*1e-6 + 1.5*0.1 + 2*3*1e-5 + 1.5*0.125},
		{"all_gather", NewGroup(4, 2), 1e9, 1e-5 + 0.5 + 3e-6 + 0.6},
		{"all_reduce", NewGroup(), 1e9, 0},
	} {
		near(t, c.op, m.CollectiveOn(c.op, c.g, c.bytes), c.want)
	}
	near(t, "by ranks", m.Collective(Collective{"all_reduce", []int{0, 4, 8, 12}, 1e9}), m.CollectiveOn("all_reduce", across, 1e9))
}

// More bytes, more members and a farther level never take less time.
func TestMonotonic(t *testing.T) {
	m, err := Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]string{"all_reduce", "all_gather", "broadcast", "all_to_all", "send", "barrier"}).Draw(t, "op")
		a, b := rapid.IntRange(1, 8).Draw(t, "inside"), rapid.IntRange(1, 64).Draw(t, "across")
		bytes := rapid.Float64Range(0, 1e10).Draw(t, "bytes")
		at := m.CollectiveOn(op, NewGroup(a, b), bytes)
		if more := m.CollectiveOn(op, NewGroup(a, b), bytes*2); more < at {
			t.Errorf("%s of %g bytes on %dx%d: %g, of twice as many %g", op, bytes, a, b, at, more)
		}
		if far := m.CollectiveOn(op, NewGroup(1, a*b), bytes); far < at*(1-1e-9) {
			t.Errorf("%s on %dx%d: %g, with one a node %g", op, a, b, at, far)
		}
	})
}

func TestRewrite(t *testing.T) {
	got, err := Rewrite([]byte(small), []Change{
		{"node.latency", 2e-6, "fitted"}, {"issue", 3e-6, "fitted"}, {"share.top", 0.5, "fitted"}, {"share.half_dim", 7, "fitted"}, {"cluster.reached", 0.25, "fitted"},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := machine(t, string(got))
	want := map[string]float64{"node.latency": 2e-6, "issue": 3e-6, "share.top": 0.5, "share.half_dim": 7, "cluster.reached": 0.25, "cluster.latency": 1e-5}
	for _, c := range m.Constants() {
		if v, ok := want[c.Name]; ok && c.Value(m) != v {
			t.Errorf("%s: got %v, want %v in\n%s", c.Name, c.Value(m), v, got)
		}
	}
	if strings.Count(string(got), "# fitted") != 5 {
		t.Errorf("comments:\n%s", got)
	}
	// A table of dotted keys has no header, and gets none.
	dotted := strings.Replace(small, "[peak]", "share.top = 0.9\nshare.half_flops = 1e6\n[peak]", 1)
	if got, err = Rewrite([]byte(dotted), []Change{{"share.half_dim", 7, "fitted"}, {"share.top", 0.5, "fitted"}}); err != nil {
		t.Fatal(err)
	}
	if m := machine(t, string(got)); m.share != (share{0.5, 1e6, 7}) {
		t.Errorf("got %+v in\n%s", m.share, got)
	}
	if _, err := Rewrite([]byte(small), []Change{{Name: "share.tops"}}); err == nil {
		t.Error("an unknown constant was written")
	}
}

// Whatever reads is rewritten the same, and nothing panics.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range Names() {
		text, _ := Text(name)
		f.Add(text)
	}
	f.Add([]byte("memory = 80GB"))
	f.Add([]byte("level = [{name = 'x'}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read("x", data)
		if err != nil {
			return
		}
		again, err := Rewrite(data, nil)
		if err != nil || string(again) != string(data) {
			t.Fatalf("rewritten: %v", err)
		}
		m.CollectiveOn("all_reduce", m.GroupOf([]int{0, 1, 5}), 10)
	})
}

// Ranks on cores that they share have parts of them, and take turns when they are more.
func TestAmong(t *testing.T) {
	m := machine(t, small)
	if m.Among(8) != m {
		t.Error("devices of their own: got another machine, want the same")
	}
	shared := machine(t, strings.Replace(small, "memory = 1e9", "memory = 1e9\nstart = 1\ncores = 4", 1))
	o := Operation{Products: 1, FLOPs: 1e12}
	near(t, "alone", shared.Among(1).Operation(o), 2)
	near(t, "two of four cores", shared.Among(2).Operation(o), 3)
	near(t, "two turns", shared.Among(8).Operation(o), 10)
	near(t, "two turns of which half wait", shared.AmongBusy(8, 4).Operation(o), 5)
	if shared.Crowded(4) || !shared.Crowded(5) || m.Crowded(5) {
		t.Error("Crowded: want it of 5 ranks on 4 cores alone")
	}
	if !shared.Among(4).Carries() || shared.Among(5).Carries() || !m.Among(5).Carries() {
		t.Error("Carries: want calls beside what ranks compute, but of 5 ranks on 4 cores")
	}
	near(t, "memory", float64(shared.Among(4).Memory()), 0.25e9)
	near(t, "latency of two turns", shared.Among(8).Levels[0].Latency, 2*shared.Levels[0].Latency)
	near(t, "the machine itself", shared.Operation(o), 2)
	c := Collective{Op: "barrier", Ranks: []int{0, 1}}
	slow := machine(t, strings.Replace(small, "memory = 1e9", "memory = 1e9\nstart = 1\ncores = 4\nswitch = 0.5", 1))
	near(t, "a call where each rank has a core", slow.Among(4).Collective(c), shared.Among(4).Collective(c))
	near(t, "a call where three ranks have one", slow.Among(12).Collective(c), shared.Among(12).Collective(c)+2*0.5)
}
