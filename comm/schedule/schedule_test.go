package schedule

import (
	"os"
	"reflect"
	"runtime/debug"
	"testing"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // as the command does
	os.Exit(m.Run())
}

// Chunks tile a block, and are cut at multiples of align.
func TestChunksTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := rapid.SampledFrom([]int{0, 1, 2, 4, 8, 12, 16, 128}).Draw(t, "align")
		length := rapid.IntRange(0, 5000).Draw(t, "elements") * max(1, align)
		parts := rapid.IntRange(1, 17).Draw(t, "parts")
		next := 0
		for i := range parts {
			lo, hi := ChunkOf(length, align, i, parts)
			if lo != next || hi < lo {
				t.Fatalf("chunk %d is [%d, %d), want it to start at %d", i, lo, hi, next)
			}
			if align > 0 && hi%align != 0 || hi%64 != 0 && hi != length {
				t.Fatalf("chunk %d is [%d, %d), want an end at a multiple of %d and of 64", i, lo, hi, align)
			}
			if ChunkLen(length, align, i, parts) != hi-lo {
				t.Fatalf("chunkLen of chunk %d is not %d", i, hi-lo)
			}
			next = hi
		}
		if next != length {
			t.Fatalf("chunks end at %d, want %d", next, length)
		}
	})
}

// TestWireBytesMatchesSteps: WireBytes is what the send steps of the message schedule add up to.
func TestWireBytesMatchesSteps(t *testing.T) {
	for kind := range Kinds {
		for row := range kindRows[kind].message {
			a := &kindRows[kind].message[row]
			for size := 1; size <= 9; size++ {
				if a.suits != nil && !a.suits(largeBytes, size) && a.name != "rooted" {
					continue
				}
				for _, c := range simCases(kind, size) {
					for _, m := range c.members(a, func(int) bool { return false }) {
						checkWire(t, c, a, m)
					}
				}
			}
		}
	}
}

func checkWire(t *testing.T, c simCase, a *algorithm, m *simMember) {
	t.Helper()
	var in []Block
	for _, cells := range m.in {
		in = append(in, Block{Rows: 1, Width: len(cells) * cellBytes})
	}
	want := 0
	for _, st := range m.steps {
		if st.Do == DoSend {
			want += sentLen(st.Src[0], m.Position, in, c.cells*cellBytes, 4)
		}
	}
	if got := a.wire(m.Position, in, c.cells*cellBytes, 4); got != want {
		t.Errorf("%s, %+v, member %d: got %d bytes, want %d", a.name, c, m.Rank, got, want)
	}
}

// What a member sends to each other is what it sends in all, and nothing goes to itself.
func TestSends(t *testing.T) {
	block := func(n int) []Block { return []Block{{Rows: 1, Width: n}} }
	for _, kind := range []Kind{Broadcast, AllGather, AllReduce, Reduce} {
		for _, n := range []int{8, 1 << 20} {
			for rank := range 5 {
				s := Position{Rank: rank, Size: 5, Root: 2}
				to, sum := Sends(kind, s, block(n), n, 4), 0
				for _, b := range to {
					sum += b
				}
				if want := WireBytes(kind, s, block(n), n, 4); sum != want || to[rank] != 0 {
					t.Errorf("%v of %d bytes, member %d: got %v, want %d in all, and none to itself", kind, n, rank, to, want)
				}
			}
		}
	}
}

func TestWireBytes(t *testing.T) {
	block := func(n int) []Block { return []Block{{Rows: 1, Width: n}} }
	each := func(n, size int) []Block {
		var blocks []Block
		for range size {
			blocks = append(blocks, block(n)...)
		}
		return blocks
	}
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		kind  Kind
		seat  Position
		in    []Block
		bytes int
		want  int
	}{
		{"barrier", Barrier, Position{Rank: 1, Size: 4}, nil, 0, 0},
		{"small all_reduce", AllReduce, Position{Rank: 1, Size: 4}, block(8), 8, 24},
		{"large all_reduce", AllReduce, Position{Rank: 1, Size: 4}, block(mib), mib, 2 * mib * 3 / 4},
		{"large all_reduce of two", AllReduce, Position{Rank: 1, Size: 2}, block(mib), mib, mib},
		{"small all_reduce of a crowd, root", AllReduce, Position{Rank: 0, Size: 1000}, block(8), 8, 8 * (31 + 31)},
		{"small all_reduce of a crowd, leader", AllReduce, Position{Rank: 32, Size: 1000}, block(8), 8, 8 * (31 + 1 + 31)},
		{"small all_reduce of a crowd", AllReduce, Position{Rank: 33, Size: 1000}, block(8), 8, 8},
		{"all_reduce of one", AllReduce, Position{Rank: 0, Size: 1}, block(mib), mib, 0},
		{"all_gather", AllGather, Position{Rank: 3, Size: 4}, block(10), 0, 30},
		{"reduce_scatter", ReduceScatter, Position{Rank: 2, Size: 4}, each(10, 4), 0, 30},
		{"all_to_all", AllToAll, Position{Rank: 2, Size: 4}, each(10, 4), 0, 30},
		{"small broadcast, root", Broadcast, Position{Rank: 2, Size: 4, Root: 2}, block(8), 8, 24},
		{"small broadcast", Broadcast, Position{Rank: 1, Size: 4, Root: 2}, nil, 8, 0},
		{"large broadcast, root", Broadcast, Position{Rank: 2, Size: 5, Root: 2}, block(mib), mib, mib},
		{"large broadcast", Broadcast, Position{Rank: 1, Size: 5, Root: 2}, nil, mib, mib / 4 * 3},
		{"gather", Gather, Position{Rank: 1, Size: 4, Root: 2}, block(8), 0, 8},
		{"gather, root", Gather, Position{Rank: 2, Size: 4, Root: 2}, block(8), 0, 0},
		{"scatter, root", Scatter, Position{Rank: 2, Size: 4, Root: 2}, each(8, 4), 0, 24},
		{"scatter", Scatter, Position{Rank: 1, Size: 4, Root: 2}, nil, 0, 0},
		{"reduce", Reduce, Position{Rank: 1, Size: 4, Root: 2}, block(8), 8, 8},
		{"large reduce, root", Reduce, Position{Rank: 2, Size: 4, Root: 2}, block(mib), mib, mib / 4 * 3},
		{"permute", Permute, Position{Rank: 1, Size: 4, Pairs: [][2]int{{1, 1}, {1, 2}, {0, 3}}}, block(8), 0, 8},
	} {
		if got := WireBytes(c.kind, c.seat, c.in, c.bytes, 4); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", c.name, got, c.want)
		}
	}
}

func TestSchedulerKeepsSchedules(t *testing.T) {
	s := &Scheduler{Rank: 1, Size: 3}
	a, b := s.Message(Broadcast, 2, nil, 8), s.Message(Broadcast, 2, nil, 9)
	if &a[0] != &b[0] {
		t.Error("a schedule is made twice")
	}
	for _, other := range [][]Step{
		s.Message(Broadcast, 0, nil, 8), s.Message(Broadcast, 2, nil, largeBytes), s.Direct(Broadcast, 2, nil, 8),
		s.Message(Permute, -1, [][2]int{{0, 1}}, 0), s.Message(Permute, -1, [][2]int{{1, 0}}, 0),
	} {
		if reflect.DeepEqual(other, a) {
			t.Errorf("got the schedule of another call: %+v", other)
		}
		a = other
	}
}

func TestSlotsOf(t *testing.T) {
	s := Position{Rank: 1, Size: 4}
	if got := slotsOf(allReducePairwise(s)); got != 4 {
		t.Errorf("all_reduce: got %d slots, want 4", got)
	}
	if got := slotsOf(allGatherExchange(s)); got != 0 {
		t.Errorf("all_gather: got %d slots, want 0", got)
	}
	if got := slotsOf(WithoutOut(allGatherExchange(s))); got != 3 {
		t.Errorf("all_gather without results: got %d slots, want 3", got)
	}
}

// In a crowd a member hears from few others in an all_reduce, and all send little together.
func TestCrowdHearsFromFew(t *testing.T) {
	for _, size := range []int{crowd, 300, 1000} {
		messages, most := 0, 0
		for rank := range size {
			s := &Scheduler{Rank: rank, Size: size}
			peers := map[int]bool{}
			for _, st := range s.Message(AllReduce, -1, nil, 1<<10) {
				switch st.Do {
				case DoSend:
					messages++
				case DoRecv:
					peers[st.Peer] = true
				}
			}
			most = max(most, len(peers))
		}
		if messages > 3*size || most > 2*leadsOf(size) {
			t.Errorf("%d members: got %d messages, and from %d members to one, want at most %d and %d", size, messages, most, 3*size, 2*leadsOf(size))
		}
	}
}
