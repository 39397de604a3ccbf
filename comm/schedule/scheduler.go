package schedule

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Scheduler gives one member of a group its schedules, and keeps them.
type Scheduler struct {
	Rank, Size int
	Hosts      *Hosts // where the members are; nil if schedules gain nothing by it

	last atomic.Pointer[keptSteps] // those asked for last; nil at first

	mu        sync.Mutex // held to use the fields below
	kept      map[scheduleKey]*keptSteps
	exchanges map[exchangeKey]*Exchange
}

// keptSteps are the steps of a schedule that was asked for before, and of which.
type keptSteps struct {
	scheduleKey
	steps []Step
}

type scheduleKey struct {
	algorithm *algorithm
	root      int
}

// AcrossHosts returns the steps of a call where members send to each other, in a group on
// several hosts. It returns nil if the call gains nothing by it: then Message is for it.
// The result is to be read only.
func (s *Scheduler) AcrossHosts(c *HostCall) []Step {
	a := kindRows[c.Kind].hosts
	if s.Hosts == nil || a == nil || !a.pays(s.Hosts, c) {
		return nil
	}
	p := Position{Rank: s.Rank, Size: s.Size, Root: c.Root, Hosts: s.Hosts, Long: c.Long}
	if slices.Contains(c.Long, false) { // a call of its own
		return a.steps(p)
	}
	return s.steps(&a.algorithm, p)
}

// Message returns the steps of a call where members send to each other. bytes
// is the length of the block that is broadcast or reduced; other kinds do not
// depend on it. The result is to be read only.
func (s *Scheduler) Message(kind Kind, root int, pairs [][2]int, bytes int) []Step {
	return s.steps(pick(kindRows[kind].message, bytes, s.Size), Position{Rank: s.Rank, Size: s.Size, Root: root, Pairs: pairs})
}

// Direct returns the steps of a call where members read each other's blocks.
// It is otherwise like Message.
func (s *Scheduler) Direct(kind Kind, root int, pairs [][2]int, bytes int) []Step {
	return s.steps(pick(kindRows[kind].direct, bytes, s.Size), Position{Rank: s.Rank, Size: s.Size, Root: root, Pairs: pairs})
}

// Shared returns the steps that make a result which the members have in common, one
// for each block of it. The kind is one whose results are alike. Each step may be done
// in pieces, by any members in any order. It is to be read only.
func (s *Scheduler) Shared(kind Kind, root int) []Step {
	return sharedSteps(s.Direct(kind, root, nil, 0))
}

// sharedSteps returns the steps of a direct schedule for small blocks that make its
// results, by block.
func sharedSteps(direct []Step) []Step {
	var made []Step
	for _, st := range direct {
		if st.Do != DoMeet {
			made = append(made, st)
		}
	}
	slices.SortFunc(made, func(a, b Step) int { return a.Dst[0].Block - b.Dst[0].Block })
	return made
}

// steps returns the steps of an algorithm at p, which are kept unless there are pairs.
func (s *Scheduler) steps(a *algorithm, p Position) []Step {
	if p.Pairs != nil {
		return a.steps(p)
	}
	if last := s.last.Load(); last != nil && last.algorithm == a && last.root == p.Root {
		return last.steps
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scheduleKey{a, p.Root}
	steps := s.kept[key]
	if steps == nil {
		steps = &keptSteps{key, a.steps(p)}
		if s.kept == nil {
			s.kept = map[scheduleKey]*keptSteps{}
		}
		s.kept[key] = steps
	}
	s.last.Store(steps)
	return steps.steps
}
