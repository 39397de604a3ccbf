package alike_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tpsh/comm"
	"tpsh/comm/alike"
)

// A rank is what a program of these tests has.
type rank struct {
	t     *testing.T
	job   *alike.Job
	kind  *alike.Kind
	end   *comm.Endpoint
	world *comm.Group
	said  []string // what it has observed
}

// evaluate runs program on stand-ins of size ranks, and returns what each of them has
// said, by its kind: "[0 2]: a b".
func evaluate(t *testing.T, size int, program func(r *rank) error) (kinds []string, failure error) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	said := map[int][]string{}
	var job *alike.Job
	job = alike.New(size, func(id int) {
		r := &rank{t: t, job: job, kind: job.KindOf(id), end: job.Fabric().Endpoint(id)}
		wg.Go(func() {
			var err error
			if r.world, err = r.group(comm.FirstRanks(size), job.Constant(comm.FirstRanks(size))); err == nil {
				err = program(r)
			}
			mu.Lock()
			said[id] = r.said
			mu.Unlock()
			r.end.End(err)
		})
	})
	defer job.Close()
	job.Begin()
	wg.Wait()
	for _, k := range job.Kinds() {
		kinds = append(kinds, fmt.Sprint(k.Members(), ": ", strings.Join(said[k.Rank()], " ")))
	}
	return kinds, job.Failure()
}

// group returns the group of ranks, which for each rank is that which lines say.
func (r *rank) group(ranks []int, lines *alike.Lines) (*comm.Group, error) {
	g, err := r.end.Group(ranks, "")
	if err == nil {
		r.kind.Bind(g, lines)
	}
	return g, err
}

// pairs returns the group of ranks 2i and 2i+1 that holds the rank.
func (r *rank) pairs() *comm.Group {
	all := r.job.Constant(comm.FirstRanks(r.job.Fabric().Size()))
	lines := r.job.Along(all, "pairs", alike.Part{
		First: func(place int) int { return place &^ 1 },
		All:   func(place int) []int { return []int{place &^ 1, place | 1} },
	})
	g, err := r.group(lines.List(r.kind.Rank()), lines)
	if err != nil {
		r.t.Error(err)
	}
	return g
}

// gather calls all_gather with n rows on g, and says what all members have put in.
func (r *rank) gather(g *comm.Group, n int) error {
	var sizes []int
	op := &comm.Op{Kind: comm.AllGather, Hollow: true, Align: 1, In: []comm.Block{{Rows: 1, Width: n, Pitch: n}}, Prepare: func(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
		for _, m := range members {
			sizes = append(sizes, m.Free)
		}
		return nil, nil
	}}
	op.Desc = comm.Desc{Op: "all_gather", DType: "uint8", Shape: []int{n}, Root: -1, Dims: [2]int{0, -1}}
	_, err := g.Run(context.Background(), op)
	r.said = append(r.said, fmt.Sprint(sizes))
	return err
}

// ask says f of the rank.
func (r *rank) ask(f func(rank int) int) int {
	v := alike.Ask(r.kind, f)
	r.said = append(r.said, fmt.Sprint(v))
	return v
}

func check(t *testing.T, got []string, failure error, want ...string) {
	t.Helper()
	if failure != nil {
		t.Fatal(failure)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got kinds %q, want %q", got, want)
	}
}

// Ranks are told apart by what they ask and by nothing else, at any place of a program,
// and meet in calls before and after.
func TestAsk(t *testing.T) {
	got, failure := evaluate(t, 6, func(r *rank) error {
		if err := r.gather(r.world, 2); err != nil {
			return err
		}
		r.ask(func(int) int { return 7 })
		if r.ask(func(rank int) int { return rank / 4 }) == 1 {
			r.ask(func(rank int) int { return rank % 2 })
		}
		return r.gather(r.world, 2)
	})
	all := "[2 2 2 2 2 2]"
	check(t, got, failure, "[0 1 2 3]: "+all+" 7 0 "+all, "[4]: "+all+" 7 1 0 "+all, "[5]: "+all+" 7 1 1 "+all)
}

// A program that runs again from the beginning is not asked again what its ranks have in common.
func TestObserve(t *testing.T) {
	asked := map[int]int{} // by rank that says something else: how often of any
	var mu sync.Mutex
	got, failure := evaluate(t, 6, func(r *rank) error {
		for i := range 3 {
			v := alike.Observe(r.kind, func(rank int) bool {
				mu.Lock()
				defer mu.Unlock()
				asked[i]++
				return rank == i
			})
			r.said = append(r.said, fmt.Sprint(v))
			if err := r.gather(r.world, 1); err != nil {
				return err
			}
		}
		return nil
	})
	all := "[1 1 1 1 1 1]"
	check(t, got, failure, "[0]: true "+all+" false "+all+" false "+all, "[1]: false "+all+" true "+all+" false "+all,
		"[2]: false "+all+" false "+all+" true "+all, "[3 4 5]: false "+all+" false "+all+" false "+all)
	// Of 6 ranks, then of 5 and of the one told apart, and so on; of those that run again each itself.
	if want := map[int]int{0: 6 + 3, 1: 5 + 1 + 2, 2: 4 + 2 + 1}; !maps.Equal(asked, want) {
		t.Errorf("got %v questions, want %v", asked, want)
	}
}

// What members put in is an observation, where the groups of a kind differ in it.
func TestGroupsThatDiffer(t *testing.T) {
	got, failure := evaluate(t, 8, func(r *rank) error {
		n := 1
		if r.ask(func(rank int) int { return rank / 6 }) == 1 {
			n = r.ask(func(rank int) int { return rank })
		}
		return r.gather(r.pairs(), n)
	})
	check(t, got, failure, "[0 1 2 3 4 5]: 0 [1 1]", "[6]: 1 6 [6 7]", "[7]: 1 7 [6 7]")

	got, failure = evaluate(t, 8, func(r *rank) error {
		n := 1 + r.ask(func(rank int) int { return map[bool]int{true: 1}[rank == 5] })
		if err := r.gather(r.pairs(), n); err != nil {
			return err
		}
		return r.gather(r.pairs(), 3)
	})
	check(t, got, failure, "[0 1 2 3 6 7]: 0 [1 1] [3 3]", "[4]: 0 [1 2] [3 3]", "[5]: 1 [1 2] [3 3]")
}

// move calls a collective of kind on the bytes of in, and says the bytes that come of it,
// n to a block.
func (r *rank) move(kind comm.Kind, blocks, n int, in ...string) error {
	op := &comm.Op{Kind: kind, Align: 1, Desc: comm.Desc{Op: kind.String(), Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
	if kind.Rooted() {
		op.Desc.Root = 1
	}
	if kind == comm.Permute {
		op.Desc.Pairs = [][2]int{{0, 2}, {2, 0}}
	}
	for _, text := range in {
		op.In = append(op.In, comm.Whole([]byte(text)))
	}
	out := make([][]byte, blocks)
	op.Prepare = func([]comm.Member, comm.Flags) (list []comm.Block, err error) {
		for i := range out {
			out[i] = make([]byte, n)
			list = append(list, comm.Whole(out[i]))
		}
		return list, nil
	}
	_, err := r.world.Run(context.Background(), op)
	r.said = append(r.said, fmt.Sprintf("%q", out))
	return err
}

// Elements go where the direct schedule of their kind says.
func TestElements(t *testing.T) {
	got, failure := evaluate(t, 3, func(r *rank) error {
		me := alike.Ask(r.kind, func(rank int) int { return rank })
		own := string(rune('a' + me))
		var parts, none []string
		for i := range 3 {
			parts = append(parts, fmt.Sprint(own, i))
		}
		root := map[bool]int{true: 3}[me == 1]
		return errors.Join(
			r.move(comm.Broadcast, 1, 1, own),
			r.move(comm.AllGather, 3, 1, own),
			r.move(comm.Gather, root, 1, own),
			r.move(comm.Scatter, 1, 2, map[bool][]string{true: parts, false: none}[me == 1]...),
			r.move(comm.AllToAll, 3, 2, parts...),
			r.move(comm.Permute, 1, 1, own),
		)
	})
	check(t, got, failure,
		`[0]: ["b"] ["a" "b" "c"] [] ["b0"] ["a0" "b0" "c0"] ["c"]`,
		`[1]: ["b"] ["a" "b" "c"] ["a" "b" "c"] ["b1"] ["a1" "b1" "c1"] ["\x00"]`,
		`[2]: ["b"] ["a" "b" "c"] [] ["b2"] ["a2" "b2" "c2"] ["a"]`)

	_, failure = evaluate(t, 2, func(r *rank) error { return r.move(comm.AllReduce, 1, 1, "x") })
	if got, want := fmt.Sprint(failure), "all_reduce: got elements, want shapes alone"; got != want {
		t.Errorf("got failure %q, want %q", got, want)
	}
}

// A message is for the place that it is sent to, from whatever kind is there.
func TestMessages(t *testing.T) {
	got, failure := evaluate(t, 8, func(r *rank) error {
		g := r.pairs()
		if r.ask(func(rank int) int { return rank % 2 }) == 0 {
			meta := []byte{byte(r.ask(func(rank int) int { return rank / 6 }))}
			return g.Send(1, 0, comm.Message{Meta: meta, Data: make([]byte, 5)}, "here")
		}
		m, err := g.Recv(context.Background(), 0, 0, nil)
		r.said = append(r.said, fmt.Sprint("got ", m.Meta))
		return err
	})
	check(t, got, failure, "[0 2 4]: 0 0", "[1 3 5]: 1 got [0]", "[6]: 0 1", "[7]: 1 got [1]")
}

// around returns the member of a ring that is n after the rank.
func (r *rank) around(n int) alike.Peer {
	size := r.job.Fabric().Size()
	of := func(rank int) int { return (rank + n + size) % size }
	return alike.Peer{Place: of(r.kind.Rank()), Of: of}
}

// send sends n bytes, and receive says what has been received.
func (r *rank) send(to alike.Peer, n int) error {
	return alike.Send(r.world, to, 0, comm.Message{Meta: []byte{byte(n)}, Data: make([]byte, n)}, "here")
}

func (r *rank) receive(from alike.Peer) error {
	m, err := alike.Recv(context.Background(), r.world, from, 0, func() string { return "" }, nil)
	r.said = append(r.said, fmt.Sprint("got ", m.Meta))
	return err
}

// Each rank sends to a member of its own, and all are of one kind.
func TestRing(t *testing.T) {
	got, failure := evaluate(t, 4, func(r *rank) error {
		r.send(r.around(1), 5)
		r.send(r.around(2), 6)
		r.send(r.around(1), 7)
		r.receive(r.around(-2))
		r.receive(r.around(-1))
		return r.receive(r.around(-1))
	})
	check(t, got, failure, "[0 1 2 3]: got [6] got [5] got [7]")
}

// Ranks of which one member is another's by two ways are told apart.
func TestRingMeetsItself(t *testing.T) {
	got, failure := evaluate(t, 3, func(r *rank) error {
		r.send(alike.Peer{Place: 0}, 1)
		r.send(r.around(1), 2)
		if r.ask(func(rank int) int { return min(rank, 1) }) == 0 {
			for from := range 3 {
				r.receive(alike.Peer{Place: from})
			}
		}
		return r.receive(r.around(-1))
	})
	check(t, got, failure, "[0]: 0 got [1] got [1] got [1] got [2]", "[1]: 1 got [2]", "[2]: 1 got [2]")
}

// Ranks that wait for each other in turn are of one kind, but for the first and the last.
func TestWave(t *testing.T) {
	got, failure := evaluate(t, 8, func(r *rank) error {
		if r.ask(func(rank int) int { return min(rank, 1) }) == 1 {
			r.receive(r.around(-1))
		}
		if r.ask(func(rank int) int { return rank / 7 }) == 0 {
			r.send(r.around(1), 3)
		}
		return r.gather(r.world, 1)
	})
	ones := "[1 1 1 1 1 1 1 1]"
	check(t, got, failure, "[0]: 0 0 "+ones, "[1 2 3 4 5 6]: 1 got [3] 0 "+ones, "[7]: 1 got [3] 1 "+ones)
}

// What a wave has promised and does not keep ends the evaluation.
func TestWaveBreaks(t *testing.T) {
	for name, program := range map[string]func(r *rank) error{
		"another message":   func(r *rank) error { return r.send(r.around(1), 4) },
		"none":              func(r *rank) error { return nil },
		"not before a call": func(r *rank) error { r.gather(r.world, 1); return r.send(r.around(1), 3) },
		"not before another": func(r *rank) error {
			r.receive(r.around(1))
			return r.send(r.around(1), 3)
		},
	} {
		_, failure := evaluate(t, 8, func(r *rank) error {
			if r.ask(func(rank int) int { return min(rank, 1) }) == 0 {
				r.send(r.around(1), 3)
				return r.gather(r.world, 1)
			}
			r.receive(r.around(-1))
			return program(r)
		})
		if !errors.As(failure, new(*alike.UnlikeError)) {
			t.Errorf("%s: got %v, want that ranks have not done the same", name, failure)
		}
	}
}

// Calls that do not agree, waits that never end and a failure end the evaluation.
func TestFailures(t *testing.T) {
	_, failure := evaluate(t, 4, func(r *rank) error {
		return r.gather(r.world, 1)
	})
	if failure != nil {
		t.Error(failure)
	}
	var mismatch *comm.MismatchError
	_, failure = evaluate(t, 4, func(r *rank) error {
		op := &comm.Op{Kind: comm.Barrier, Hollow: true}
		op.Desc = comm.Desc{Op: "barrier", Root: -1, Free: -1, Detail: fmt.Sprint(r.ask(func(rank int) int { return rank / 3 }))}
		_, err := r.world.Run(context.Background(), op)
		return err
	})
	if !errors.As(failure, &mismatch) || len(mismatch.Calls) != 4 {
		t.Errorf("got %v, want a mismatch of four ranks", failure)
	}
	var deadlock *comm.DeadlockError
	_, failure = evaluate(t, 4, func(r *rank) error {
		if r.ask(func(rank int) int { return rank / 3 }) == 1 {
			return nil
		}
		return r.gather(r.world, 1)
	})
	if !errors.As(failure, &deadlock) || !slices.Equal(deadlock.Ended, []int{3}) {
		t.Errorf("got %v, want a deadlock for which rank 3 has ended", failure)
	}
	fault := errors.New("a fault")
	_, failure = evaluate(t, 4, func(r *rank) error {
		if r.ask(func(rank int) int { return rank / 3 }) == 1 {
			return fault
		}
		return r.gather(r.world, 1)
	})
	if failure == nil || failure.Error() != fault.Error() {
		t.Errorf("got %v, want %v", failure, fault)
	}
}

// A rank is asked where it is in a call while it is in it, and not when it has gone on.
func TestMismatchIsToldOnce(t *testing.T) {
	for range 20 {
		_, failure := evaluate(t, 64, func(r *rank) error {
			var left atomic.Bool
			op := &comm.Op{Kind: comm.Barrier, Hollow: true, Where: func() string {
				if left.Load() {
					panic("asked where it was in a call that is over")
				}
				return "a.star:1:1"
			}}
			op.Desc = comm.Desc{Op: "barrier", Root: -1, Free: -1, Detail: fmt.Sprint(r.ask(func(rank int) int { return rank }) / 63)}
			_, err := r.world.Run(context.Background(), op)
			left.Store(true)
			return err
		})
		if mismatch := new(comm.MismatchError); !errors.As(failure, &mismatch) {
			t.Fatalf("got %v, want a mismatch", failure)
		}
	}
}

// A program that does something else the second time cannot be evaluated so.
func TestUnlike(t *testing.T) {
	runs := make(chan int, 9)
	_, failure := evaluate(t, 4, func(r *rank) error {
		runs <- 0
		if err := r.gather(r.world, len(runs)); err != nil {
			return err
		}
		r.ask(func(rank int) int { return rank })
		return nil
	})
	var unlike *alike.UnlikeError
	if !errors.As(failure, &unlike) {
		t.Errorf("got %v, want that ranks have not done the same", failure)
	}
}

// What nobody receives is told, once for each kind.
func TestUnreceived(t *testing.T) {
	var job *alike.Job
	done := make(chan bool, 2)
	job = alike.New(4, func(id int) {
		go func() {
			r := &rank{t: t, job: job, kind: job.KindOf(id), end: job.Fabric().Endpoint(id)}
			if alike.Ask(r.kind, func(rank int) int { return rank % 2 }) == 0 {
				r.pairs().Send(1, 3, comm.Message{}, "there")
			}
			r.end.End(nil)
			done <- true
		}()
	})
	defer job.Close()
	job.Begin()
	<-done
	<-done
	want := []comm.Unreceived{{Src: 0, Dst: 1, Group: "group [0, 1]", Tag: 3, Where: "there"}}
	if left := job.Fabric().Unreceived(); !slices.Equal(left, want) {
		t.Errorf("got %v, want %v", left, want)
	}
}
