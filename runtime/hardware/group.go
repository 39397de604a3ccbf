package hardware

// A Group says how many members a group of ranks has on each level, innermost
// first: {8, 4} is eight in each of four nodes, {1, 4} one in each. Trailing
// levels may be left out. It is the group's shape as algorithms see it: where
// nodes hold different numbers of members the largest counts.
type Group struct {
	sizes [maxLevels]int
	n     int // members in all
}

// maxLevels is how many levels a machine may have.
const maxLevels = 4

// NewGroup returns the group with so many members on each level.
func NewGroup(sizes ...int) Group {
	g := Group{n: 1}
	for i := range g.sizes {
		g.sizes[i] = 1
		if i < len(sizes) && sizes[i] > 0 {
			g.sizes[i] = sizes[i]
		}
		g.n *= g.sizes[i]
	}
	return g
}

// Members returns the number of ranks in the group.
func (g Group) Members() int { return g.n }

// GroupOf returns the shape on m of the group of ranks.
func (m *Machine) GroupOf(ranks []int) Group {
	g := Group{n: len(ranks)}
	for i := range g.sizes {
		g.sizes[i] = 1
	}
	below := ranks
	for i, l := range m.Levels[:min(len(m.Levels), maxLevels)] {
		last := i == len(m.Levels)-1
		members := map[int]int{} // of each holder on this level
		var holders []int
		seen := map[int]bool{}
		for _, r := range below {
			if seen[r] {
				continue
			}
			seen[r] = true
			h := r / l.Size
			if last {
				h = 0
			}
			if members[h] == 0 {
				holders = append(holders, h)
			}
			members[h]++
			g.sizes[i] = max(g.sizes[i], members[h])
		}
		below = holders
	}
	return g
}

// outermost returns the highest level that g spans, -1 if it has one member.
func (g Group) outermost() int {
	for i := maxLevels - 1; i >= 0; i-- {
		if g.sizes[i] > 1 {
			return i
		}
	}
	return -1
}
