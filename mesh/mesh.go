package mesh

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxRanks is the most ranks that a mesh can have.
const maxRanks = 1 << 20

// A Mesh is an n-dimensional array of ranks in row-major order. A rank's
// position is its index in that order. Meshes are immutable; slices that their
// methods return are to be read only unless they say otherwise.
type Mesh struct {
	ranks       []int
	shape       []int
	strides     []int     // of positions
	names       []string  // of the dims; nil if they have none
	alpha, beta []float64 // by dim; nil where the mesh does not say
	positions   map[int]int
}

// New returns the mesh of a shape that holds ranks in row-major order; nil
// ranks are 0, 1, 2 and so on. names gives each dim a name, or is nil. It
// returns an *Error unless there is a rank, all are different and none
// negative, and the names are different.
func New(shape, ranks []int, names []string) (*Mesh, error) {
	size, err := meshSize(shape)
	if err != nil {
		return nil, err
	}
	if ranks == nil {
		ranks = make([]int, size)
		for i := range ranks {
			ranks[i] = i
		}
	}
	if len(ranks) != size {
		got := fmt.Sprintf("%d ranks", len(ranks))
		if len(ranks) == 1 {
			got = "1 rank"
		}
		return nil, &Error{"mesh", got, strconv.Itoa(size), "shape " + Tuple(shape)}
	}
	if err := checkNames(names, shape); err != nil {
		return nil, err
	}
	m := newMesh(slices.Clone(shape), slices.Clone(ranks), slices.Clone(names))
	for i, r := range ranks {
		if r < 0 {
			return nil, &Error{"mesh", fmt.Sprintf("rank %d at %s", r, Tuple(m.coordinate(i))), "non-negative ranks", ""}
		}
		if j := m.positions[r]; j != i { // the later one is in the map
			return nil, &Error{"mesh", fmt.Sprintf("rank %d at %s and %s", r, Tuple(m.coordinate(i)), Tuple(m.coordinate(j))), "every rank at most once", ""}
		}
	}
	return m, nil
}

// meshSize returns the number of ranks in a mesh of a shape.
func meshSize(shape []int) (int, error) {
	if len(shape) == 0 {
		return 0, &Error{"mesh", "no dims", "at least one", ""}
	}
	size := 1
	for i, n := range shape {
		if n <= 0 {
			return 0, &Error{"mesh", fmt.Sprintf("size %d of dim %d", n, i), "a positive int", "a mesh holds at least one rank"}
		}
		if n > maxRanks/size {
			return 0, &Error{"mesh", "shape " + Tuple(shape), fmt.Sprintf("at most %d ranks", maxRanks), ""}
		}
		size *= n
	}
	return size, nil
}

func checkNames(names []string, shape []int) error {
	if names == nil {
		return nil
	}
	if len(names) != len(shape) {
		return &Error{"mesh_dim_names", listOf(len(names)), strconv.Itoa(len(shape)), "one for each dim of the mesh"}
	}
	for i, name := range names {
		if name == "" {
			return &Error{"mesh_dim_names", fmt.Sprintf(`"" at index %d`, i), "a name", ""}
		}
		if slices.Contains(names[:i], name) {
			return &Error{"mesh_dim_names", fmt.Sprintf("%q twice", name), "different names", ""}
		}
	}
	return nil
}

// newMesh returns the mesh of arguments that are known to be right, and keeps
// them.
func newMesh(shape, ranks []int, names []string) *Mesh {
	m := &Mesh{ranks: ranks, shape: shape, strides: make([]int, len(shape)), names: names, positions: make(map[int]int, len(ranks))}
	for i, r := range ranks {
		m.positions[r] = i
	}
	stride := 1
	for i := len(shape) - 1; i >= 0; i-- {
		m.strides[i] = stride
		stride *= shape[i]
	}
	return m
}

// WithCosts returns m with a latency and a time per byte for each dim; nil
// stands for the defaults. It returns an *Error unless there is one for each
// dim, finite and not negative.
func (m *Mesh) WithCosts(alpha, beta []float64) (*Mesh, error) {
	for _, c := range []struct {
		param string
		costs []float64
	}{{"mesh_alpha", alpha}, {"mesh_beta", beta}} {
		if c.costs != nil && len(c.costs) != len(m.shape) {
			return nil, &Error{c.param, listOf(len(c.costs)), strconv.Itoa(len(m.shape)), "one for each dim of the mesh"}
		}
		for i, x := range c.costs {
			if !(x >= 0 && x <= math.MaxFloat64) {
				return nil, &Error{c.param, fmt.Sprintf("%v at index %d", x, i), "a finite number that is not negative", ""}
			}
		}
	}
	return m.withCosts(slices.Clone(alpha), slices.Clone(beta)), nil
}

func (m *Mesh) withCosts(alpha, beta []float64) *Mesh {
	n := *m
	n.alpha, n.beta = alpha, beta
	return &n
}

// Shape returns the sizes of the dims.
func (m *Mesh) Shape() []int { return m.shape }

// NDim returns the number of dims.
func (m *Mesh) NDim() int { return len(m.shape) }

// Size returns the number of ranks.
func (m *Mesh) Size() int { return len(m.ranks) }

// Ranks returns the ranks in row-major order.
func (m *Mesh) Ranks() []int { return m.ranks }

// Names returns the names of the dims, or nil.
func (m *Mesh) Names() []string { return m.names }

// Dim returns the dim called name.
func (m *Mesh) Dim(name string) (dim int, ok bool) {
	dim = slices.Index(m.names, name)
	return dim, dim >= 0
}

// Position returns the place of rank in row-major order, if it is in the mesh.
func (m *Mesh) Position(rank int) (pos int, ok bool) {
	pos, ok = m.positions[rank]
	return pos, ok
}

// Coordinate returns the indices of rank, in a slice of its own; nil if it is
// not in the mesh.
func (m *Mesh) Coordinate(rank int) []int {
	pos, ok := m.positions[rank]
	if !ok {
		return nil
	}
	return m.coordinate(pos)
}

func (m *Mesh) coordinate(pos int) []int {
	c := make([]int, len(m.shape))
	for i := range c {
		c[i] = m.index(pos, i)
	}
	return c
}

// index returns the index along dim of a position.
func (m *Mesh) index(pos, dim int) int { return pos / m.strides[dim] % m.shape[dim] }

// Line returns the ranks that agree with rank in every dim but dims, in
// row-major order and in a slice of its own; nil if rank is not in the mesh.
// dims are different and ascend. Along all dims it is the mesh.
func (m *Mesh) Line(rank int, dims ...int) []int {
	pos, ok := m.positions[rank]
	if !ok {
		return nil
	}
	line := m.line(pos, dims)
	for i, p := range line {
		line[i] = m.ranks[p]
	}
	return line
}

// LineStart returns the position of the first rank of the Line of the one at position
// pos.
func (m *Mesh) LineStart(pos int, dims ...int) int {
	for _, d := range dims {
		pos -= m.index(pos, d) * m.strides[d]
	}
	return pos
}

// Lines returns every Line along dims, in the order of their first ranks.
func (m *Mesh) Lines(dims ...int) [][]int {
	lines := m.lines(dims)
	for _, line := range lines {
		for i, p := range line {
			line[i] = m.ranks[p]
		}
	}
	return lines
}

// line returns the positions that agree with pos in every dim but dims.
func (m *Mesh) line(pos int, dims []int) []int { return m.lineIn(nil, pos, dims) }

// lineIn is line, in the room of buf if that is enough.
func (m *Mesh) lineIn(buf []int, pos int, dims []int) []int {
	size := 1
	for _, d := range dims {
		size *= m.shape[d]
	}
	line := slices.Grow(buf[:0], size)[:size]
	line[0] = m.LineStart(pos, dims...)
	known := 1
	for _, d := range dims {
		n, stride := m.shape[d], m.strides[d]
		for k := known - 1; k >= 0; k-- { // each makes room for its successors
			start := line[k]
			for i := range n {
				line[k*n+i] = start + i*stride
			}
		}
		known *= n
	}
	return line
}

// lines returns every line of positions along dims.
func (m *Mesh) lines(dims []int) [][]int {
	var lines [][]int
	for pos := range m.ranks {
		if m.first(pos, dims) {
			lines = append(lines, m.line(pos, dims))
		}
	}
	return lines
}

// first reports whether pos is the first of its line along dims.
func (m *Mesh) first(pos int, dims []int) bool {
	return m.LineStart(pos, dims...) == pos
}

// Sub returns the mesh of m.Line(rank, dims...), which has these dims alone; nil
// if rank is not in the mesh.
func (m *Mesh) Sub(rank int, dims ...int) *Mesh {
	ranks := m.Line(rank, dims...)
	if ranks == nil {
		return nil
	}
	sub := newMesh(pick(m.shape, dims), ranks, pick(m.names, dims))
	return sub.withCosts(pick(m.alpha, dims), pick(m.beta, dims))
}

// Flatten returns the mesh of one dim that holds the ranks in row-major order.
// Its name is the names joined by "_", its costs the greatest of each kind.
func (m *Mesh) Flatten() *Mesh {
	var names []string
	if m.names != nil {
		names = []string{strings.Join(m.names, "_")}
	}
	n := m.NDim()
	return newMesh([]int{len(m.ranks)}, m.ranks, names).withCosts(greatest(m.alpha, 0, n), greatest(m.beta, 0, n))
}

// Join returns m with the first counts[0] of its dims as one dim, the next counts[1] as
// another, and so on: their ranks lie in row-major order. names are those of the
// joined dims, nil for none, the costs of each the greatest of each kind. Join panics unless
// counts add up to the dims.
func (m *Mesh) Join(counts []int, names []string) *Mesh {
	s, at := make([]int, len(counts)), 0
	var alpha, beta []float64
	for i, n := range counts {
		s[i] = numel(m.shape[at : at+n])
		alpha, beta = append(alpha, greatest(m.alpha, at, n)...), append(beta, greatest(m.beta, at, n)...)
		at += n
	}
	if at != m.NDim() {
		panic(fmt.Sprintf("mesh: %d dims joined by %v", m.NDim(), counts))
	}
	return newMesh(s, m.ranks, names).withCosts(alpha, beta)
}

// greatest returns the greatest of n of costs, from at on, as costs of one dim.
func greatest(costs []float64, at, n int) []float64 {
	if costs == nil {
		return nil
	}
	return []float64{slices.Max(costs[at : at+n])}
}

// Named returns m with names for its dims, or an error if they are none.
func (m *Mesh) Named(names ...string) (*Mesh, error) {
	n, err := New(m.shape, m.ranks, names)
	if err != nil {
		return nil, err
	}
	return n.withCosts(m.alpha, m.beta), nil
}

// Permute returns the mesh whose dim i is dim order[i] of m. Placements of a
// tensor on it cut in that order.
func (m *Mesh) Permute(order ...int) *Mesh {
	ranks := []int{m.ranks[0]}
	for _, d := range order {
		starts := ranks
		ranks = make([]int, 0, len(m.ranks))
		for _, r := range starts {
			for i := range m.shape[d] {
				ranks = append(ranks, m.ranks[m.positions[r]+i*m.strides[d]])
			}
		}
	}
	p := newMesh(pick(m.shape, order), ranks, pick(m.names, order))
	return p.withCosts(pick(m.alpha, order), pick(m.beta, order))
}

// Split returns m with dim replaced by dims of the given sizes, the first
// outermost: dim is then read as a number in mixed radix. The new dims have the
// costs of the old one, and its name with _0, _1 and so on after it. Split
// panics unless the sizes are positive and multiply to that of dim.
func (m *Mesh) Split(dim int, sizes []int) *Mesh {
	if numel(sizes) != m.shape[dim] || slices.ContainsFunc(sizes, func(n int) bool { return n <= 0 }) {
		panic(fmt.Sprintf("mesh: dim %d of %v split into %v", dim, m.shape, sizes))
	}
	var names []string
	if m.names != nil {
		for i := range sizes {
			names = append(names, m.names[dim]+"_"+strconv.Itoa(i))
		}
		names = slices.Replace(slices.Clone(m.names), dim, dim+1, names...)
	}
	s := newMesh(slices.Replace(slices.Clone(m.shape), dim, dim+1, sizes...), m.ranks, names)
	return s.withCosts(repeat(m.alpha, dim, len(sizes)), repeat(m.beta, dim, len(sizes)))
}

// repeat returns costs with n times the cost of dim in its place.
func repeat(costs []float64, dim, n int) []float64 {
	if costs == nil {
		return nil
	}
	return slices.Replace(slices.Clone(costs), dim, dim+1, slices.Repeat(costs[dim:dim+1], n)...)
}

// pick returns the elements of list at dims; nil if list is.
func pick[T any](list []T, dims []int) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(dims))
	for i, d := range dims {
		out[i] = list[d]
	}
	return out
}

// Equal reports whether m and n have the same ranks, shape, names and costs.
func (m *Mesh) Equal(n *Mesh) bool {
	return m == n || m.key() == n.key()
}

// key returns a string that two meshes share if they are equal.
func (m *Mesh) key() string {
	b := appendInts(appendInts(nil, m.shape), m.ranks)
	b = binary.AppendUvarint(b, uint64(len(m.names)))
	for _, name := range m.names {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	for _, costs := range [][]float64{m.alpha, m.beta} {
		b = binary.AppendUvarint(b, uint64(len(costs)))
		for _, x := range costs {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return string(b)
}

// appendInts appends the number of ints and the ints themselves to b.
func appendInts(b []byte, ints []int) []byte {
	b = binary.AppendUvarint(b, uint64(len(ints)))
	for _, n := range ints {
		b = binary.AppendVarint(b, int64(n))
	}
	return b
}

// String returns m as a script writes it, without the device:
// DeviceMesh([[0, 1], [2, 3]], mesh_dim_names=("dp", "tp")).
func (m *Mesh) String() string {
	var b strings.Builder
	b.WriteString("DeviceMesh(")
	m.nested(&b, 0, 0)
	if m.names != nil {
		quoted := make([]string, len(m.names))
		for i, name := range m.names {
			quoted[i] = strconv.Quote(name)
		}
		comma := ""
		if len(quoted) == 1 {
			comma = ","
		}
		fmt.Fprintf(&b, ", mesh_dim_names=(%s%s)", strings.Join(quoted, ", "), comma)
	}
	return b.String() + ")"
}

// nested writes the ranks from position pos on in the dims from dim on.
func (m *Mesh) nested(b *strings.Builder, dim, pos int) {
	if dim == len(m.shape) {
		b.WriteString(strconv.Itoa(m.ranks[pos]))
		return
	}
	b.WriteByte('[')
	for i := range m.shape[dim] {
		if i > 0 {
			b.WriteString(", ")
		}
		m.nested(b, dim+1, pos+i*m.strides[dim])
	}
	b.WriteByte(']')
}

// Short returns the sizes of the dims, with their names if they have any:
// (dp=2, tp=4) or (2, 4).
func (m *Mesh) Short() string {
	if m.names == nil {
		return Tuple(m.shape)
	}
	dims := make([]string, len(m.shape))
	for i, n := range m.shape {
		dims[i] = m.names[i] + "=" + strconv.Itoa(n)
	}
	return "(" + strings.Join(dims, ", ") + ")"
}
