package mesh

import (
	"sync"
	"testing"
)

// What is equal is one pointer.
func TestCache(t *testing.T) {
	var c Cache
	m := c.Mesh(mustMesh(t, 2, 2))
	if c.Mesh(mustMesh(t, 2, 2)) != m || c.Mesh(mustMesh(t, 4)) == m {
		t.Error("Mesh keeps equal meshes apart, or different ones not")
	}
	place := func(placements ...Placement) *Placed {
		t.Helper()
		l, err := c.Place(m, []int{4, 4}, placements)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	rows, whole := place(Shard(0), Replicate()), place(Replicate(), Replicate())
	if place(Shard(-2), Replicate()) != rows || place(Replicate(), Shard(0)) == rows {
		t.Error("Place keeps equal layouts apart, or different ones not")
	}
	if _, err := c.Place(m, []int{4, 4}, []Placement{Shard(-4), Replicate()}); err == nil {
		t.Error("Place takes Shard(-4)")
	}
	plan := func(src, dst *Placed, itemSize int) *Plan {
		t.Helper()
		p, err := c.Plan(src, dst, itemSize)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan(rows, whole, 4)
	if plan(rows, whole, 4) != p || plan(rows, whole, 8) == p || plan(whole, rows, 4) == p {
		t.Error("Plan keeps equal plans apart, or different ones not")
	}
	p = plan(place(Shard(0), Replicate()), place(Replicate(), Shard(1)), 4)
	if p.Steps[0].Dst != place(Shard(0), Shard(1)) || p.Steps[1].Dst != place(Replicate(), Shard(1)) {
		t.Error("the layouts of a plan's steps are not the cache's")
	}
	if _, err := c.Plan(rows, mustPlace(t, mustMesh(t, 4), []int{4, 4}, Replicate()), 4); err == nil {
		t.Error("Plan goes to another mesh")
	}
}

// A cache does not grow without end, and what it forgets is still right.
func TestCacheIsBounded(t *testing.T) {
	var c Cache
	m := c.Mesh(mustMesh(t, 2))
	for n := range 2*maxKept + 1 {
		rows, err := c.Place(m, []int{n}, []Placement{Shard(0)})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := c.Place(m, []int{n}, []Placement{Replicate()})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := c.Plan(rows, whole, 1); err != nil || p.Bytes != (n+1)/2 {
			t.Fatalf("the plan for %d elements is %+v, %v", n, p, err)
		}
	}
	if len(c.layouts) > maxKept || len(c.plans) > maxKept {
		t.Errorf("%d layouts and %d plans are kept", len(c.layouts), len(c.plans))
	}
}

// What is equal is one pointer for all ranks of a Store, which bounds what it keeps, too.
func TestStore(t *testing.T) {
	var s Store
	caches := [4]Cache{}
	var plans [4]*Plan
	each := func(sizes int, do func(i int, src, dst *Placed)) {
		var ranks sync.WaitGroup
		for i := range caches {
			ranks.Go(func() {
				c := &caches[i]
				c.Store = &s
				m := c.Mesh(mustMesh(t, 2, 2))
				for n := range sizes {
					src, err := c.Place(m, []int{n, 4}, []Placement{Shard(0), Replicate()})
					if err != nil {
						t.Error(err)
						return
					}
					dst, err := c.Place(m, []int{n, 4}, []Placement{Replicate(), Shard(1)})
					if err != nil {
						t.Error(err)
						return
					}
					do(i, src, dst)
				}
			})
		}
		ranks.Wait()
	}
	each(20, func(i int, src, dst *Placed) {
		var err error
		if plans[i], err = caches[i].Plan(src, dst, 4); err != nil {
			t.Error(err)
		}
	})
	for i := range caches {
		if plans[i] == nil || plans[i] != plans[0] || caches[i].Meshes()[0] != caches[0].Meshes()[0] {
			t.Errorf("caches 0 and %d keep different plans or meshes", i)
		}
	}
	each(maxStored/2+1, func(int, *Placed, *Placed) {}) // one after the other forgets what is kept
	if len(s.layouts) > maxStored || len(s.plans) > maxStored {
		t.Errorf("%d layouts and %d plans are kept", len(s.layouts), len(s.plans))
	}
}
