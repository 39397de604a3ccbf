package rundiff

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// A Rule gives the tensors whose names match a pattern, in which * stands for any text,
// placements, one for each dim of the mesh.
type Rule struct {
	Pattern    string
	Placements []mesh.Placement
}

// scriptWords are what scripts call placements, and their short names.
var scriptWords = strings.NewReplacer("Replicate()", "R", "_StridedShard(", "_S(", "split_factor=", "", "RaggedShard(", "RS(", "Shard(", "S(", "Partial(", "P(", `"`, "", "dims=", "", "local_units=", "", "dim=", "", " ", "")

// Parse gives the rule the placements that are written in list, as R, S(0) and P(sum) or as in a
// script.
func (r *Rule) Parse(list []string) error {
	r.Placements = nil
	for _, s := range list {
		s = scriptWords.Replace(s)
		p, err := mesh.ParsePlacement(s)
		if err != nil {
			return err
		}
		r.Placements = append(r.Placements, p)
	}
	return nil
}

// A Plan says how the ranks of a run hold its tensors.
type Plan struct {
	Mesh  []int    // sizes of the dims
	Names []string // of the dims; may be nil
	Ranks []int    // in row-major order of the mesh; nil for 0, 1, 2 and so on
	Rules []Rule   // the first that matches a name counts
	Order []string // patterns of names in the order of computation; may be nil
}

// rule returns the placements of a name, or nil.
func (p *Plan) rule(name string) []mesh.Placement {
	if p == nil {
		return nil
	}
	for _, r := range p.Rules {
		if ckpt.MatchName(r.Pattern, name) {
			return r.Placements
		}
	}
	return nil
}

// A layout says how the ranks of a mesh hold a tensor.
type layout struct {
	mesh       []int
	ranks      []int // of the mesh, in row-major order
	placements []mesh.Placement
	even       bool // pieces differ by one element at most, the longer first; else chunks of ceil
}

func (l *layout) String() string {
	s := make([]string, len(l.placements))
	for i, p := range l.placements {
		s[i] = p.String()
	}
	text := strings.Join(s, ", ") + fmt.Sprintf(" on %v", l.mesh)
	if l.even {
		text += " in even pieces"
	}
	return text
}

// partial returns the dims of the mesh along which ranks hold summands.
func (l *layout) partial() []int {
	var dims []int
	for i, p := range l.placements {
		if _, ok := p.Partial(); ok {
			dims = append(dims, i)
		}
	}
	return dims
}

// at returns the place in the mesh of the i-th of its ranks.
func (l *layout) at(i int) []int {
	c := make([]int, len(l.mesh))
	for d := len(l.mesh) - 1; d >= 0; d-- {
		c[d] = i % l.mesh[d]
		i /= l.mesh[d]
	}
	return c
}

// box returns what the i-th rank of the mesh has of a tensor of a shape.
func (l *layout) box(shape []int, i int) mesh.Box {
	b := mesh.Box{Lo: make([]int, len(shape)), Hi: slices.Clone(shape)}
	c := l.at(i)
	order, _ := mesh.CutOrder(l.mesh, l.placements)
	for _, m := range order {
		d, _ := l.placements[m].Shard()
		lo, hi := cutRange(l.placements[m], b.Lo[d], b.Hi[d], l.mesh[m], c[m], l.even)
		b.Lo[d], b.Hi[d] = lo, hi
	}
	return b
}

// cutRange returns the i-th of n pieces of a range.
func cutRange(p mesh.Placement, lo, hi, n, i int, even bool) (int, int) {
	size := hi - lo
	if _, _, ragged := p.Units(); even && !ragged {
		q, r := size/n, size%n
		at := i*q + min(i, r)
		if i < r {
			q++
		}
		return lo + at, lo + at + q
	}
	from, to := p.Cut(size, n, i)
	return lo + from, lo + to
}

// groups returns, for a dim of the mesh, the places of the ranks that differ in that dim
// alone.
func (l *layout) groups(dim int) [][]int {
	seen := map[string]int{}
	var all [][]int
	for i := range l.ranks {
		c := l.at(i)
		c[dim] = 0
		k := fmt.Sprint(c)
		if _, ok := seen[k]; !ok {
			seen[k] = len(all)
			all = append(all, nil)
		}
		all[seen[k]] = append(all[seen[k]], i)
	}
	return all
}

// meshes returns the meshes that n ranks may make: of one dim, and of two.
func meshes(n int) [][]int {
	all := [][]int{{n}}
	for a := 2; a <= n/2; a++ {
		if n%a == 0 && n/a > 1 {
			all = append(all, []int{a, n / a})
		}
	}
	return all
}

// layouts returns those in which ranks may hold a tensor of a shape, simple ones first:
// the shapes of their blocks are as given, by place in the mesh.
func layouts(ranks []int, shape []int, blocks [][]int, p *Plan, name string) []*layout {
	if given := p.rule(name); given != nil {
		l := &layout{mesh: p.Mesh, ranks: ranks, placements: given}
		if p.Ranks != nil {
			l.ranks = p.Ranks
		}
		if l.fits(shape, blocks) {
			return []*layout{l}
		}
	}
	list := meshes(len(ranks))
	if p != nil && len(p.Mesh) > 0 {
		list = [][]int{p.Mesh}
	}
	var all []*layout
	for _, m := range list {
		for _, placements := range combinations(len(m), len(shape)) {
			for _, even := range []bool{false, true} {
				l := &layout{m, ranks, placements, even}
				if even && !l.uneven(shape) {
					continue
				}
				if l.fits(shape, blocks) {
					all = append(all, l)
				}
			}
		}
	}
	return all
}

// combinations returns all lists of n placements of a tensor of some dims: replicated, cut,
// and a summand.
func combinations(n, ndim int) [][]mesh.Placement {
	one := []mesh.Placement{mesh.Replicate()}
	for d := range ndim {
		one = append(one, mesh.Shard(d))
	}
	one = append(one, mesh.Partial(mesh.Sum))
	all := [][]mesh.Placement{nil}
	for range n {
		var longer [][]mesh.Placement
		for _, list := range all {
			for _, p := range one {
				longer = append(longer, append(slices.Clone(list), p))
			}
		}
		all = longer
	}
	return all
}

// uneven reports whether some cut is not even, so that there are two ways of it.
func (l *layout) uneven(shape []int) bool {
	for m, p := range l.placements {
		if d, ok := p.Shard(); ok && shape[d]%l.mesh[m] != 0 {
			return true
		}
	}
	return false
}

// fits reports whether blocks have the shapes that l gives them.
func (l *layout) fits(shape []int, blocks [][]int) bool {
	n := 1
	for _, m := range l.mesh {
		n *= m
	}
	if n != len(blocks) || len(l.ranks) != n || len(l.placements) != len(l.mesh) {
		return false
	}
	for _, p := range l.placements {
		if d, ok := p.Shard(); ok && (d < 0 || d >= len(shape)) {
			return false
		}
	}
	if _, bad := mesh.CutOrder(l.mesh, l.placements); bad >= 0 {
		return false
	}
	for i := range blocks {
		if !slices.Equal(l.box(shape, i).Shape(), blocks[i]) {
			return false
		}
	}
	return true
}

// isPartial reports whether p is that of summands.
func isPartial(p mesh.Placement) bool {
	_, ok := p.Partial()
	return ok
}
