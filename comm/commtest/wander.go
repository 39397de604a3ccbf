package commtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"tpsh/comm"
)

// Wander has all ranks of a fabric of two or more make calls that are drawn at random, the same
// on every rank for a seed: every kind of collective on several groups, waited
// for at once by some and later by others, on blocks of up to so many elements, and messages. It
// checks every result, and returns the error with which each rank has ended. Of
// a fabric that other processes have a part in it runs the ranks of this one.
func Wander(t testing.TB, fabric *comm.Fabric, seed uint64, rounds, most int) []error {
	trials := sharedTrials{made: map[int]*sharedTrial{}}
	return runOn(t, fabric, func(r *rank) error {
		w := &wanderer{rank: r, dice: rand.New(rand.NewPCG(seed, 0)), most: most, local: fabric.Local(), trials: &trials}
		for _, ranks := range [][]int{upTo(r.size), reversed(r.size), upTo(r.size)[r.size/2:], {r.size - 1, 0}} {
			w.groups = append(w.groups, r.group(ranks, fmt.Sprint("wander ", len(w.groups))))
		}
		w.groups[0] = r.world
		for i := range rounds {
			if err := w.round(i); err != nil {
				return fmt.Errorf("seed %d, round %d: %w", seed, i, err)
			}
		}
		return w.settle(0)
	})
}

func reversed(size int) []int {
	ranks := make([]int, size)
	for i := range ranks {
		ranks[i] = size - 1 - i
	}
	return ranks
}

// A wanderer is a rank that makes calls drawn at random.
type wanderer struct {
	*rank
	dice   *rand.Rand
	most   int
	local  []int // the ranks of this process
	groups []*comm.Group
	trials *sharedTrials
	later  []func() error // wait for calls that were issued, and compare
}

// sharedTrials are the trials of ranks of this process, each of which draws the same.
type sharedTrials struct {
	mu   sync.Mutex
	made map[int]*sharedTrial // by round
}

// A sharedTrial is made by whoever of some ranks needs it first.
type sharedTrial struct {
	get   func() *trial
	taken int // by how many ranks
}

// in returns the trial of a round, which so many ranks will ask for. The last to do so drops it.
func (s *sharedTrials) in(round, ranks int, make func() *trial) *trial {
	s.mu.Lock()
	one := s.made[round]
	if one == nil {
		one = &sharedTrial{get: sync.OnceValue(make)}
		s.made[round] = one
	}
	if one.taken++; one.taken == ranks {
		delete(s.made, round)
	}
	s.mu.Unlock()
	return one.get()
}

func (w *wanderer) round(i int) error {
	g := w.groups[w.dice.IntN(len(w.groups))]
	kind := w.dice.IntN(len(kinds) + 1)
	n, uneven, strided := w.length(), w.dice.IntN(3), w.dice.IntN(4) == 0
	issuers := w.dice.IntN(1<<w.size) & w.dice.IntN(1<<w.size)
	root, limit := w.dice.IntN(g.Size()), w.dice.IntN(4)
	if kind == len(kinds) {
		return w.exchange(g, n, 1+root)
	}
	if g.Rank() >= 0 {
		tr := w.trials.in(i, w.here(g), func() *trial {
			return newTrial(kinds[kind], g.Size(), root, func(i int) int { return n * (3 - uneven*(i%2)) / 3 }, strided)
		})
		if err := w.call(g, tr, issuers>>w.Rank()&1 == 1); err != nil {
			return err
		}
	}
	return w.settle(limit)
}

// here returns how many members of g are in this process.
func (w *wanderer) here(g *comm.Group) (n int) {
	for _, r := range w.local {
		if slices.Contains(g.Ranks(), r) {
			n++
		}
	}
	return n
}

// length draws a number of elements, of every order of magnitude alike.
func (w *wanderer) length() int {
	n := 1
	for n < w.most && w.dice.IntN(16) > 0 {
		n *= 2
	}
	return min(w.dice.IntN(2*n), w.most)
}

func (w *wanderer) call(g *comm.Group, tr *trial, issue bool) error {
	if !issue {
		return tr.run(w.rank, g)
	}
	op, out := tr.op(g.Rank())
	work := g.Issue(op)
	w.later = append(w.later, func() error {
		if _, err := work.Wait(w.ctx); err != nil {
			return err
		}
		return tr.compare(g.Rank(), op, out)
	})
	return nil
}

// settle waits for the calls that were issued first, until no more than so many are left.
func (w *wanderer) settle(left int) error {
	for len(w.later) > left {
		first := w.later[0]
		w.later = w.later[1:]
		if err := first(); err != nil {
			return fmt.Errorf("what was issued before: %w", err)
		}
	}
	return nil
}

// exchange has each member send n numbers to the one so many places on.
func (w *wanderer) exchange(g *comm.Group, n, on int) error {
	if g.Rank() < 0 {
		return nil
	}
	size := g.Size()
	to, from := (g.Rank()+on)%size, (g.Rank()+size-on%size)%size
	if err := g.Send(to, on, comm.Message{Data: pattern(g.Rank(), on, n)}, ""); err != nil {
		return err
	}
	m, err := g.Recv(w.ctx, from, on, nil)
	if err != nil {
		return err
	}
	defer m.Release()
	if !bytes.Equal(m.Data, pattern(from, on, n)) {
		return errors.New("a message has other bytes than were sent")
	}
	return nil
}

// Huge has all ranks make a collective of each way to move data once, on blocks
// of so many elements; otherwise it is Wander.
func Huge(t testing.TB, fabric *comm.Fabric, elements int) []error {
	ways := []comm.Kind{comm.Broadcast, comm.AllGather, comm.AllReduce, comm.Permute}
	trials := sharedTrials{made: map[int]*sharedTrial{}}
	return runOn(t, fabric, func(r *rank) error {
		for i, k := range ways {
			tr := trials.in(i, len(fabric.Local()), func() *trial {
				return newTrial(k, r.size, 0, func(int) int { return elements }, false)
			})
			if err := tr.run(r, r.world); err != nil {
				return fmt.Errorf("%s: %w", k.String(), err)
			}
		}
		return nil
	})
}
