package schedule

import "sync"

// A Scheduler gives one member of a group its schedules, and keeps them.
type Scheduler struct {
	Rank, Size int

	mu        sync.Mutex
	kept      map[scheduleKey][]Step
	exchanges map[exchangeKey]*Exchange
	last      []Step // that was asked for
	lastKey   scheduleKey
}

type scheduleKey struct {
	algorithm *algorithm
	root      int
}

// Message returns the steps of a call where members send to each other. bytes
// is the length of the block that is broadcast or reduced; other kinds do not
// depend on it. The result is to be read only.
func (s *Scheduler) Message(kind Kind, root int, pairs [][2]int, bytes int) []Step {
	return s.steps(pick(kindRows[kind].message, bytes, s.Size), root, pairs)
}

// Direct returns the steps of a call where members read each other's blocks.
// It is otherwise like message.
func (s *Scheduler) Direct(kind Kind, root int, pairs [][2]int, bytes int) []Step {
	return s.steps(pick(kindRows[kind].direct, bytes, s.Size), root, pairs)
}

func (s *Scheduler) steps(a *algorithm, root int, pairs [][2]int) []Step {
	if pairs != nil {
		return a.steps(Position{s.Rank, s.Size, root, pairs})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scheduleKey{a, root}
	if s.lastKey == key {
		return s.last
	}
	steps, ok := s.kept[key]
	if !ok {
		steps = a.steps(Position{s.Rank, s.Size, root, nil})
		if s.kept == nil {
			s.kept = map[scheduleKey][]Step{}
		}
		s.kept[key] = steps
	}
	s.last, s.lastKey = steps, key
	return steps
}
