package mesh

import "sync"

// maxStored is the number of layouts, and of plans, that a Store keeps.
const maxStored = 4 * maxKept

// A Store is behind the caches of ranks that share memory: what one of them has made no
// other makes again. It forgets layouts and plans as a Cache does.
//
// The zero value is empty and ready for use, by several goroutines at a time.
type Store struct {
	mu      sync.Mutex
	meshes  map[string]*Mesh
	layouts map[layoutKey]*Placed
	plans   map[planKey]*storedPlan
}

// A storedPlan is one that is made when it is first wanted.
type storedPlan struct {
	once sync.Once
	plan *Plan
	err  error
}

// mesh returns the mesh with the key of m that was given first.
func (s *Store) mesh(key string, m *Mesh) *Mesh {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.meshes[key]; ok {
		return first
	}
	if s.meshes == nil {
		s.meshes = map[string]*Mesh{}
	}
	s.meshes[key] = m
	return m
}

// place returns the layout of key.
func (s *Store) place(key layoutKey, shape []int, placements []Placement) (*Placed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.layouts[key]; ok {
		return l, nil
	}
	l, err := Place(key.mesh, shape, placements)
	if err != nil {
		return nil, err
	}
	if len(s.layouts) >= maxStored {
		clear(s.layouts)
		clear(s.plans)
	}
	if s.layouts == nil {
		s.layouts = map[layoutKey]*Placed{}
	}
	s.layouts[key] = l
	return l, nil
}

// plan returns the plan of key; with makes the layouts on its way. Who wants one that
// another makes waits for it.
func (s *Store) plan(key planKey, with func([]Placement) *Placed) (*Plan, error) {
	p := s.planOf(key)
	p.once.Do(func() { p.plan, p.err = newPlan(key.src, key.dst, key.itemSize, with) })
	return p.plan, p.err
}

func (s *Store) planOf(key planKey) *storedPlan {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.plans[key]; ok {
		return p
	}
	if len(s.plans) >= maxStored {
		clear(s.plans)
	}
	if s.plans == nil {
		s.plans = map[planKey]*storedPlan{}
	}
	p := &storedPlan{}
	s.plans[key] = p
	return p
}
