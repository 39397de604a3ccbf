package mesh

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ranks may hold blocks of unlike sizes, in units that the placement says: a quarter of the
// rows here and the rest there, or all on one rank. What is cut is a dim of the tensor, or its
// leading dims in row-major order. Blocks begin between rows of the first dim, so that
// each is one box.

// maxUnits is the most units that a RaggedShard may have: block times units is an int.
const maxUnits = 1 << 31

// RaggedShard is the placement of ranks that hold blocks of a tensor's dims, in
// proportion to units, of which there is one for each rank along the mesh dim: rank i holds
// units[i] of their sum. dims is one dim, or the leading ones: 0, 1, ... It returns an *Error
// if it is neither, or if units are negative, all 0, or more than 2**31.
//
// The placement is that of "Flexible and High-Performance FSDP at Scale" (arXiv 2602.22437).
func RaggedShard(dims, units []int) (Placement, error) {
	for i, d := range dims {
		if len(dims) > 1 && d != i {
			return Placement{}, &Error{"dims", Tuple(dims), "one dim, or 0, 1 and so on", "leading dims are cut as one, in row-major order"}
		}
	}
	if len(dims) == 0 {
		return Placement{}, &Error{"dims", Tuple(dims), "one dim, or 0, 1 and so on", ""}
	}
	sum := 0
	for i, n := range units {
		if n < 0 || n > maxUnits-sum {
			return Placement{}, &Error{"local_units", fmt.Sprintf("%d at index %d", n, i), "a non-negative int", "the units of all ranks are 2**31 at most"}
		}
		sum += n
	}
	if sum == 0 {
		return Placement{}, &Error{"local_units", Tuple(units), "a positive sum", "each rank holds its share of the units of all"}
	}
	return Placement{kind: ragged, dim: dims[0], factor: len(dims), units: join(units, ":")}, nil
}

// Units returns how much each rank along a mesh dim holds of the dims that p cuts, if p is a
// RaggedShard.
func (p Placement) Units() (dims, units []int, ok bool) {
	if p.kind != ragged {
		return nil, nil, false
	}
	for i := range p.factor {
		dims = append(dims, p.dim+i)
	}
	units, _ = parseInts(p.units, ":")
	return dims, units, true
}

// Along returns p, a RaggedShard, as one of the dim alone.
func (p Placement) Along(dim int) Placement {
	if p.dim != dim {
		p.dim, p.factor = dim, 1
	}
	return p
}

// Cut returns the half-open range [lo, hi) of an axis of n elements that block i of parts
// holds as p has it, which cuts: its Block, or its share of units.
func (p Placement) Cut(n, parts, i int) (lo, hi int) {
	if p.kind != ragged {
		return Block(n, parts, i)
	}
	sum, before, own := 0, 0, 0
	for k, text := 0, p.units; text != ""; k++ {
		first, rest, _ := strings.Cut(text, ":")
		unit, _ := strconv.Atoi(first)
		if k < i {
			before += unit
		} else if k == i {
			own = unit
		}
		sum, text = sum+unit, rest
	}
	return share(n, before, sum), share(n, before+own, sum)
}

// share returns n times part by sum, rounded down.
func share(n, part, sum int) int { return n/sum*part + n%sum*part/sum }

// checkUnits returns an *Error unless the units of placements on m are as many as ranks along
// the mesh dim, and blocks of whole rows.
func checkUnits(m *Mesh, shape []int, placements []Placement) error {
	var l *Placed // made where there are units
	for at, p := range placements {
		dims, units, ok := p.Units()
		if !ok {
			continue
		}
		if len(units) != m.shape[at] {
			return &Error{"placements", fmt.Sprintf("%s at index %d", p.Script(), at), fmt.Sprintf("%d local_units", m.shape[at]),
				fmt.Sprintf("one for each rank along dim %d of the mesh %s", at, m.Short())}
		}
		if dims[len(dims)-1] >= len(shape) {
			return &Error{"placements", fmt.Sprintf("%s at index %d", p.Script(), at), fmt.Sprintf("at most %d dims", len(shape)), "shape " + Tuple(shape)}
		}
		if l == nil {
			l = newPlaced(m, shape, placements)
		}
		whole := p.Rows()
		for pos := range m.Size() {
			if n := l.leftBefore(pos, at); n%whole != 0 {
				return &Error{"placements", fmt.Sprintf("%s at index %d", p.Script(), at), "blocks of whole rows",
					fmt.Sprintf("the units need a multiple of %d rows of dim %d, of which %s leaves %d", whole, p.dim, Tuple(shape), n)}
			}
		}
	}
	return nil
}

// Rows returns the least number of elements along a dim that p cuts between them: the sum of
// the units of a RaggedShard, by what they have in common, and 1 of other placements.
func (p Placement) Rows() int {
	_, units, ok := p.Units()
	if !ok {
		return 1
	}
	sum, common := 0, 0
	for _, n := range units {
		sum += n
		for common, n = n, common; n != 0; {
			common, n = n, common%n
		}
	}
	return sum / common
}

// Chunked returns placements with Shards in place of RaggedShards.
func Chunked(placements []Placement) []Placement {
	out := slices.Clone(placements)
	for i, p := range out {
		if p.kind == ragged {
			out[i] = Shard(p.dim)
		}
	}
	return out
}

// leftBefore returns the size of the tensor's dim that the mesh dim at cuts, as those that cut
// before it leave it at a position.
func (l *Placed) leftBefore(pos, at int) int {
	d := l.placements[at].dim
	lo, hi := 0, l.shape[d]
	for _, i := range l.order {
		if i == at {
			break
		}
		if l.placements[i].dim == d {
			from, to := l.placements[i].Cut(hi-lo, l.mesh.shape[i], l.mesh.index(pos, i))
			lo, hi = lo+from, lo+to
		}
	}
	return hi - lo
}

func raggedTexts(p Placement) (text, script string) {
	dims, units, _ := p.Units()
	return fmt.Sprintf("%s, %s", join(dims, "+"), p.units), fmt.Sprintf("dims=%s, local_units=%s", Tuple(dims), Tuple(units))
}

// parseRagged takes tuples, too: (0,),(1,2,1).
func parseRagged(arg string) (Placement, bool) {
	between, within := ",", ","
	first, second, tuples := strings.Cut(arg, "),(")
	if tuples {
		first, second = strings.Trim(first, "(,"), strings.Trim(second, ",)")
	} else {
		between, within = "+", ":"
		first, second, _ = strings.Cut(arg, ",")
	}
	dims, ofDims := parseInts(first, between)
	units, ofUnits := parseInts(strings.TrimPrefix(second, " "), within)
	if !ofDims || !ofUnits {
		return Placement{}, false
	}
	p, err := RaggedShard(dims, units)
	return p, err == nil
}

// parseInts is the inverse of join.
func parseInts(text, sep string) (ints []int, ok bool) {
	for _, one := range strings.Split(text, sep) {
		n, err := strconv.Atoi(one)
		if err != nil {
			return nil, false
		}
		ints = append(ints, n)
	}
	return ints, true
}
