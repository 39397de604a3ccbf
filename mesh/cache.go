package mesh

import "encoding/binary"

// maxKept is the number of layouts, and of plans, that a Cache keeps.
const maxKept = 1 << 12

// A Cache keeps meshes, layouts and plans, so that equal ones are mostly the
// same pointer and found quickly. It forgets layouts and plans when it has too
// many: equal layouts may then be different pointers, so that pointers that are
// equal say that layouts are, but not the reverse. Plans are read only.
//
// The zero value is empty and ready for use, by one goroutine at a time.
type Cache struct {
	Store   *Store // of the ranks that share memory: what the cache lacks comes from there; nil for one of its own
	meshes  map[string]*Mesh
	order   []*Mesh // as they were given
	layouts map[layoutKey]*Placed
	plans   map[planKey]*Plan
}

type layoutKey struct {
	mesh *Mesh
	rest string // shape and placements
}

type planKey struct {
	src, dst *Placed
	itemSize int
}

// Mesh returns the mesh equal to m that was given first.
func (c *Cache) Mesh(m *Mesh) *Mesh {
	key := m.key()
	if first, ok := c.meshes[key]; ok {
		return first
	}
	m = c.store().mesh(key, m)
	if c.meshes == nil {
		c.meshes = map[string]*Mesh{}
	}
	c.meshes[key] = m
	c.order = append(c.order, m)
	return m
}

// Meshes returns the meshes that there are, in the order in which they were given.
func (c *Cache) Meshes() []*Mesh { return c.order }

// Place returns the layout that the function Place returns. m should be one that
// Mesh returned: layouts are kept by pointer.
func (c *Cache) Place(m *Mesh, shape []int, placements []Placement) (*Placed, error) {
	var buf [128]byte
	b := appendInts(buf[:0], shape)
	for _, p := range placements {
		if p.cuts() && p.dim < 0 {
			p.dim += len(shape)
		}
		b = append(b, byte(p.kind), byte(p.op))
		b = binary.AppendVarint(binary.AppendVarint(b, int64(p.dim)), int64(p.factor))
		b = appendText(b, p.units)
	}
	if l, ok := c.layouts[layoutKey{m, string(b)}]; ok {
		return l, nil
	}
	key := layoutKey{m, string(b)}
	l, err := c.store().place(key, shape, placements)
	if err != nil {
		return nil, err
	}
	if len(c.layouts) >= maxKept {
		clear(c.layouts)
		clear(c.plans)
	}
	if c.layouts == nil {
		c.layouts = map[layoutKey]*Placed{}
	}
	c.layouts[key] = l
	return l, nil
}

// Plan returns the plan that NewPlan returns for layouts that Place returned.
// The layouts on its way are kept, too.
func (c *Cache) Plan(src, dst *Placed, itemSize int) (*Plan, error) {
	key := planKey{src, dst, itemSize}
	if p, ok := c.plans[key]; ok {
		return p, nil
	}
	p, err := c.store().plan(key, func(placements []Placement) *Placed {
		l, err := c.Place(src.mesh, src.shape, placements)
		if err != nil {
			panic(err) // they are the source's and the target's
		}
		return l
	})
	if err != nil {
		return nil, err
	}
	if len(c.plans) >= maxKept {
		clear(c.plans)
	}
	if c.plans == nil {
		c.plans = map[planKey]*Plan{}
	}
	c.plans[key] = p
	return p, nil
}

func (c *Cache) store() *Store {
	if c.Store == nil {
		c.Store = &Store{}
	}
	return c.Store
}
