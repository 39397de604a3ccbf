package plan

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/hardware"
	"tpsh/runtime/pipeline"
)

func machine(t *testing.T) *hardware.Machine {
	t.Helper()
	m, err := hardware.Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stages returns a program of ranks in a pipeline: each waits for the one before it,
// computes, and sends to the next; then all reduce.
func stages(n int) *Program {
	p := NewProgram(n)
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for rank := range n {
		r := p.Recorder()
		g := r.Group("world", "pp", Cost{}, func(int) []int { return all })
		call := func(do Do, peer int, c Call) {
			at, _ := r.Begin(do, g, Forward, "a.star:1:1", "")
			r.Peer(at, peer, nil, 0, true)
			r.Finish(at, c, c.Bytes)
		}
		if rank > 0 {
			call(Recv, rank-1, Call{Op: "recv"})
		}
		r.Compute(Operation{Name: "matmul", Operation: hardware.Operation{Products: 1, FLOPs: 1e12, Bytes: 1e6, Dim: 1024, DType: dtype.BFloat16}}, Manner{}, Forward, "a.star:2:1")
		if rank < n-1 {
			call(Send, rank+1, Call{Op: "send", Bytes: 1 << 20})
		}
		at, _ := r.Begin(Collective, g, Forward, "a.star:3:1", "")
		r.Finish(at, Call{Op: "all_reduce", Bytes: 8}, 8)
		p.Add(r, []int32{int32(rank)})
	}
	return p
}

// The parts of a rank's time add up to the step, stages wait in turn, and the FLOPs
// are those of all.
func TestPlay(t *testing.T) {
	f := stages(4).Play(machine(t))
	sum := f.Seconds.Arithmetic + f.Seconds.Communication + f.Seconds.Bubble + f.Seconds.Waiting
	if d := sum/f.StepSeconds - 1; d > 1e-9 || d < -1e-9 {
		t.Errorf("the parts add up to %g, want %g", sum, f.StepSeconds)
	}
	if f.FLOPs != 4e12 {
		t.Errorf("got %g FLOPs, want 4e12", f.FLOPs)
	}
	one := stages(1).Play(machine(t))
	if r := f.StepSeconds / one.StepSeconds; r < 2 || r > 4 {
		t.Errorf("four stages in turn take %g times as long as one, want nearly 4 (a step of no arithmetic counts too)", r)
	}
}

// What a host issues after a message begins when the message is there, where hosts wait
// for them: the device is idle until then. Elsewhere the host is ahead of it.
func TestHostWaitsForMessages(t *testing.T) {
	took := func(waits string) float64 {
		p := NewProgram(2)
		for rank := range 2 {
			r := p.Recorder()
			g := r.Group("world", "pp", Cost{}, func(int) []int { return []int{0, 1} })
			do, bytes := Send, int64(1<<30)
			if rank == 1 {
				do, bytes = Recv, 0
			}
			at, _ := r.Begin(do, g, Forward, "a.star:1:1", "")
			r.Peer(at, 1-rank, nil, 0, true)
			r.Finish(at, Call{Op: "message", Bytes: bytes}, bytes)
			for range 10 {
				r.Compute(Operation{Name: "add", Operation: hardware.Operation{FLOPs: 1, Bytes: 8}}, Manner{}, Forward, "a.star:2:1")
			}
			p.Add(r, []int32{int32(rank)})
		}
		text, _ := hardware.Text("dgx-a100-80g")
		m, err := hardware.Read("a.toml", regexp.MustCompile(`(?m)^waits = \S+`).ReplaceAll(text, []byte("waits = "+waits)))
		if err != nil {
			t.Fatal(err)
		}
		return p.Play(m.Set(map[string]float64{"issue": 1e-4})).StepSeconds
	}
	if d := took("1") - took("0"); d < 9e-4 || d > 1.1e-3 {
		t.Errorf("a host that waits issues ten operations of 100 µs %g s later, want about 1e-3", d)
	}
}

// What is computed between a call that was issued and the wait for it hides the call, but not
// where ranks leave no core free to carry it.
func TestCallsAreCarried(t *testing.T) {
	play := func(ranks int) *Figures {
		p := NewProgram(ranks)
		all, members := make([]int32, ranks), make([]int, ranks)
		for i := range all {
			all[i], members[i] = int32(i), i
		}
		r := p.Recorder()
		g := r.Group("world", "dp", Cost{}, func(int) []int { return members })
		at, issue := r.Begin(Issue, g, Forward, "a.star:1:1", "")
		r.Finish(at, Call{Op: "all_gather", Bytes: 1 << 20}, 1<<20)
		r.Compute(Operation{Name: "matmul", Operation: hardware.Operation{Products: 1, FLOPs: 1e11, Bytes: 1e6, Dim: 1024, DType: dtype.Float32}}, Manner{}, Forward, "a.star:2:1")
		r.Wait(issue, Forward, "a.star:3:1")
		p.Add(r, all)
		text, _ := hardware.Text("dgx-a100-80g")
		m, err := hardware.Read("a.toml", regexp.MustCompile(`(?m)^waits = \S+`).ReplaceAll(text, []byte("cores = 2")))
		if err != nil {
			t.Fatal(err)
		}
		return p.Play(m)
	}
	for ranks, hidden := range map[int]bool{2: true, 4: false} {
		f := play(ranks)
		row := f.Communication[0]
		if got := row.HiddenSeconds == row.Seconds; got != hidden || row.Seconds <= 0 || !hidden && row.HiddenSeconds > 0 {
			t.Errorf("%d ranks on two cores: %g of %g s of the call are hidden", ranks, row.HiddenSeconds, row.Seconds)
		}
		if d := f.StepSeconds - f.Seconds.Arithmetic - f.Seconds.Communication; d > 1e-9 || d < -1e-9 {
			t.Errorf("%d ranks on two cores: arithmetic and communication are off the step by %g s", ranks, d)
		}
	}
}

// Messages are listed where they are sent and where they are received: there with the
// time that they take, which is hidden, for what a rank waits is bubble or waiting.
func TestMessagesAreListed(t *testing.T) {
	f := stages(3).Play(machine(t))
	var sum float64
	rows := map[string]Row{}
	for _, r := range f.Communication {
		rows[r.Op] = r
		sum += r.Seconds - r.HiddenSeconds
	}
	if !near(sum, f.Seconds.Communication) {
		t.Errorf("rows take %g s that nothing hides, want %g", sum, f.Seconds.Communication)
	}
	middle := 0
	for _, op := range []string{"send", "recv"} {
		if r, ok := rows[op]; ok {
			middle += r.Calls
			if r.Seconds <= 0 || r.HiddenSeconds != r.Seconds || (r.Bytes > 0) != (op == "send") {
				t.Errorf("got %+v, want the time of a message, hidden, and bytes of the send", r)
			}
		}
	}
	if want := map[int]int{0: 1, 1: 2, 2: 1}[f.Slowest]; middle != want {
		t.Errorf("got %d messages of rank %d, want %d", middle, f.Slowest, want)
	}
}

// What is left of a program without its events says what memory it takes.
func TestKeepMemory(t *testing.T) {
	p, m := stages(3), machine(t)
	p.Kinds[1].Memory = Memory{Peak: 3 << 20, Parameters: 3 << 20}
	want := p.Fullest(m)
	p.KeepMemory()
	if got := p.Fullest(m); got != want || got.Parameters != 3<<20 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i, k := range p.Kinds {
		if k.Events != nil {
			t.Errorf("kind %d: %d events are kept", i, len(k.Events))
		}
	}
}

// Ranks that do the same are one kind, and play as they do one by one.
func TestMerge(t *testing.T) {
	alike := func() *Program {
		p := NewProgram(8)
		for rank := range 8 {
			r := p.Recorder()
			pair := []int{rank &^ 1, rank | 1}
			name := "group [0, 1]"
			if rank > 1 {
				name = "group"
			}
			g := r.Group(name, "tp", Cost{}, func(int) []int { return pair })
			r.Compute(Operation{Name: "add", Operation: hardware.Operation{FLOPs: 1e9, Bytes: 1e9}}, Manner{}, Forward, "b.star:1:1")
			at, _ := r.Begin(Collective, g, Forward, "b.star:2:1", "")
			r.Finish(at, Call{Op: "all_reduce", Bytes: 1 << 20}, 1<<20)
			if rank == 7 {
				r.Compute(Operation{Name: "print"}, Manner{}, Forward, "b.star:3:1")
			}
			p.Add(r, []int32{int32(rank)})
		}
		return p
	}
	each, merged := alike(), alike()
	merged.Merge()
	if len(merged.Kinds) != 2 || !slices.Equal(merged.ToldApart, []string{"b.star:3:1"}) {
		t.Fatalf("got %d kinds told apart at %v, want 2 at b.star:3:1", len(merged.Kinds), merged.ToldApart)
	}
	a, b := each.Play(machine(t)), merged.Play(machine(t))
	if a.StepSeconds != b.StepSeconds || a.Seconds != b.Seconds || a.FLOPs != b.FLOPs {
		t.Errorf("merged ranks take %v, want %v as each by itself", b.Seconds, a.Seconds)
	}
}

// The lines told apart are all at which kinds part, whether from the first or from another.
func TestToldApart(t *testing.T) {
	p := NewProgram(4)
	for rank := range 4 {
		r := p.Recorder()
		if rank > 0 {
			r.Compute(Operation{Name: "add"}, Manner{}, Forward, "b.star:1:1")
		}
		r.Compute(Operation{Name: "mul"}, Manner{}, Forward, "b.star:2:1")
		if rank > 1 {
			r.Compute(Operation{Name: "exp"}, Manner{}, Forward, "b.star:3:1")
		}
		if rank == 2 {
			r.Compute(Operation{Name: "log"}, Manner{}, Forward, "b.star:4:1") // where rank 3 has ended
		}
		p.Add(r, []int32{int32(rank)})
	}
	p.Merge()
	if want := []string{"b.star:1:1", "b.star:3:1", "b.star:4:1"}; !slices.Equal(p.ToldApart, want) {
		t.Errorf("got %v, want %v", p.ToldApart, want)
	}
}

// Of kinds of the same events that call groups of other sizes, the lines told apart are those of the calls.
func TestToldApartBySize(t *testing.T) {
	p := NewProgram(6)
	for rank := range 6 {
		ranks := []int{0, 1}
		if rank > 1 {
			ranks = []int{2, 3, 4, 5}
		}
		r := p.Recorder()
		g := r.Group(fmt.Sprint(ranks), "dp", Cost{}, func(int) []int { return ranks })
		r.Read(Forward, "b.star:1:1")
		at, _ := r.Begin(Collective, g, Forward, "b.star:2:1", "")
		r.Finish(at, Call{Op: "barrier"}, 0)
		r.Mark(Forward, "b.star:3:1")
		p.Add(r, []int32{int32(rank)})
	}
	p.Merge()
	if want := []string{"b.star:2:1"}; len(p.Kinds) != 2 || !slices.Equal(p.ToldApart, want) {
		t.Errorf("got %d kinds told apart at %v, want 2 at %v, where they call groups of two sizes", len(p.Kinds), p.ToldApart, want)
	}
}

// What a rank waits for that no other keeps waiting is no way from rank to rank.
func TestPathStaysOnARank(t *testing.T) {
	p, all := NewProgram(2), []int{0, 1}
	r := p.Recorder()
	g := r.Group("world", "dp", Cost{}, func(int) []int { return all })
	at, issue := r.Begin(Issue, g, Forward, "a.star:1:1", "")
	r.Finish(at, Call{Op: "all_reduce", Bytes: 1 << 30}, 1<<30)
	r.Wait(issue, Forward, "a.star:2:1")
	p.Add(r, []int32{0, 1})
	f := p.Play(machine(t))
	if len(f.CriticalPath.Changes) > 0 || f.CriticalPath.Messages <= 0 || len(f.CriticalPath.Ranks) != 1 {
		t.Errorf("got %+v, want a path on one rank, and the time of the call", f.CriticalPath)
	}
}

// Deeds that take no time are when what came before them is over.
func TestReplayOfRead(t *testing.T) {
	p := NewProgram(1)
	r := p.Recorder()
	work := Operation{Name: "matmul", Operation: hardware.Operation{Products: 1, FLOPs: 1e12, Bytes: 1e6, Dim: 1024, DType: dtype.BFloat16}}
	for range 2 {
		r.Read(Forward, "a.star:1:1")
		r.Compute(work, Manner{}, Forward, "a.star:2:1")
		r.Read(Forward, "a.star:3:1")
		r.Mark(Forward, "a.star:4:1")
	}
	p.Add(r, []int32{0})
	m := machine(t)
	deeds := p.Replay(m).Rank(0)
	if len(deeds) != 3 {
		t.Fatalf("got %d deeds, want 3", len(deeds))
	}
	if first, last := deeds[0], deeds[2]; math.Abs(first.Begin/m.Step-1) > 1e-9 || first.Host != m.Step || last.Begin != deeds[1].End || last.End != last.Begin {
		t.Errorf("got a read from %g to %g and one from %g to %g, want them at %g and %g", first.Begin, first.End, last.Begin, last.End, m.Step, deeds[1].End)
	}
}

// What a library holds of each kind decides which moment is the fullest.
func TestMomentsOfMemory(t *testing.T) {
	m, err := hardware.Builtin("hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	m = m.Set(map[string]float64{"use.fixed": 0})
	forward := Memory{Peak: 12e9, Activations: 10e9, Temporaries: 2e9}
	step := Memory{Peak: 8e9, Temporaries: 8e9}
	p := NewProgram(1)
	p.Kinds = []*Kind{{Ranks: []int32{0}, Memory: Memory{Peak: 12e9, Activations: 10e9, Temporaries: 8e9}, Moments: Moments{forward, forward, step}}}
	for share, want := range map[float64]int64{1: 12e9, 0.8: 10e9, 0.1: 8e9} {
		if got := p.Fullest(m.Set(map[string]float64{"use.activations": share})).Peak; got != want {
			t.Errorf("activations held by %v: got %d bytes, want %d", share, got, want)
		}
	}
}

// A critical path is as long as the step: what is on ranks, with what the machine adds to
// every step, and between them.
func TestCriticalPath(t *testing.T) {
	m := machine(t)
	programs := map[string]*Program{"stages": stages(4)}
	for name, chunks := range map[string]int{"gpipe": 1, "1f1b": 1, "interleaved": 2} {
		programs[name] = scheduled(pipeline.New(name, 4, 8, chunks))
	}
	for name, p := range programs {
		f := p.Play(m)
		sum := f.CriticalPath.Messages
		for _, s := range f.CriticalPath.Ranks {
			sum += s.Seconds
		}
		if math.Abs(sum-f.StepSeconds) > 1e-9*f.StepSeconds {
			t.Errorf("%s: the path takes %g s, the step %g", name, sum, f.StepSeconds)
		}
		if len(f.CriticalPath.Ranks) < 2 || len(f.CriticalPath.Changes) == 0 {
			t.Errorf("%s: got %+v, want a path over several ranks", name, f.CriticalPath)
		}
	}
}

// What a library's buffers hold is counted by the largest tensor that a collective with a
// gradient gathers or reduces: here an all_gather of a quarter, in backward.
func TestBuffersOfGathers(t *testing.T) {
	m := machine(t)
	p := NewProgram(4)
	r := p.Recorder()
	g := r.Group("tp", "tp", Cost{}, func(int) []int { return []int{0, 1, 2, 3} })
	for _, c := range []struct {
		op      string
		bytes   int64
		forward string
	}{
		{"all_gather", 1e9, ""}, // of an optimizer
		{"reduce_scatter", 2e9, "a.star:2:1"},
		{"all_gather", 1e9, "a.star:3:1"},
		{"all_reduce", 3e9, "a.star:4:1"},
	} {
		at, _ := r.Begin(Collective, g, Backward, "a.star:1:1", c.forward)
		r.Finish(at, Call{Op: c.op, Bytes: c.bytes, Joins: c.op == "all_gather"}, c.bytes)
	}
	p.Add(r, []int32{0, 1, 2, 3})
	without := p.Fullest(m).Peak
	with := p.Fullest(m.Set(map[string]float64{"use.buffers": 1.5})).Peak
	if got, want := with-without, int64(6e9); got != want {
		t.Errorf("buffers of 1.5 bytes for each byte gathered: got %d bytes more, want %d", got, want)
	}
}

// A call to which members put in unlike amounts is over when the one that puts in the most
// is done.
func TestUnlikeAmountsEndTogether(t *testing.T) {
	m := machine(t)
	seconds := func(bytes ...int64) float64 {
		p := NewProgram(len(bytes))
		for rank, n := range bytes {
			r := p.Recorder()
			g := r.Group("world", "tp", Cost{}, func(int) []int { return []int{0, 1} })
			at, _ := r.Begin(Collective, g, Forward, "a.star:1:1", "")
			r.Finish(at, Call{Op: "all_gather", Bytes: n, Joins: true}, n)
			p.Add(r, []int32{int32(rank)})
		}
		return p.Play(m).StepSeconds
	}
	most := seconds(8e9, 8e9)
	for _, unlike := range [][]int64{{1e6, 8e9}, {8e9, 1e6}} {
		if got := seconds(unlike...); got != most {
			t.Errorf("members put in %v bytes: got %g s, want %g as if both put in the most", unlike, got, most)
		}
	}
	if few := seconds(1e6, 1e6); few >= most {
		t.Errorf("two that put in 1e6 bytes: got %g s, want less than %g", few, most)
	}
}

// What a message costs depends on where it goes, also to members of a large group whose places
// are a power of two apart.
func TestMessagesInLargeGroup(t *testing.T) {
	const far = 1<<12 + 1 // on another node than rank 1
	p := NewProgram(far + 1)
	all, others := make([]int, far+1), []int32{}
	for rank := range all {
		if all[rank] = rank; rank > 0 {
			others = append(others, int32(rank))
		}
	}
	r := p.Recorder()
	g := r.Group("world", "pp", Cost{}, func(int) []int { return all })
	for _, to := range []struct {
		peer int
		line string
	}{{1, "near.star:1:1"}, {far, "far.star:1:1"}} {
		at, _ := r.Begin(Send, g, Forward, to.line, "")
		r.Peer(at, to.peer, nil, 0, false)
		r.Finish(at, Call{Op: "send", Bytes: 1 << 30}, 1<<30)
	}
	p.Add(r, []int32{0})
	p.Add(p.Recorder(), others)
	seconds := map[string]float64{}
	for _, row := range p.Play(machine(t)).Communication {
		seconds[row.Where] = row.Seconds
	}
	if near, away := seconds["near.star:1:1"], seconds["far.star:1:1"]; near <= 0 || away <= near {
		t.Errorf("a message takes %g s within a node and %g s between nodes, want more between", near, away)
	}
}
