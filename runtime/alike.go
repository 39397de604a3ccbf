package runtime

import (
	"context"
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/alike"
	"tpsh/mesh"
	"tpsh/runtime/plan"
	"tpsh/runtime/tensor"
)

// In a plan a rank may run for all those that do the same: Config.Alike, and package
// alike. Whatever differs between ranks is then asked for by the functions below,
// which tell ranks apart where the answers do, and by nothing else: meshes, layouts
// and groups are the rank's own, and its number is Self where it only names the rank
// in a report. In a run they give the rank's own, at no cost.

// StartAlike starts a job of which one rank runs for all that do the same: run is
// called with each that runs, on shapes, for cfg.Plan. seen is told of each before.
func StartAlike(ctx context.Context, cfg Config, run func(ctx context.Context, r *Rank)) (*Job, error) {
	ctx, j := newJob(ctx, cfg, 0)
	var err error
	if j.alloc, err = tensor.NewHollow(); err != nil {
		return nil, err
	}
	j.alike = alike.New(cfg.Size, func(rank int) {
		if err := j.start(ctx, rank, run); err != nil {
			panic(fmt.Sprintf("runtime: rank %d of a plan: %v", rank, err)) // its groups are those of other ranks
		}
	})
	j.fabrics = []*comm.Fabric{j.alike.Fabric()}
	j.alike.Begin()
	return j, nil
}

// Kind is ranks that do the same: see package alike.
type Kind = alike.Kind

// An UnlikeError says that a program has not made again the calls that it made before.
type UnlikeError = alike.UnlikeError

// ErrEnded is the error of calls of a rank when another has ended the job.
var ErrEnded = alike.ErrEnded

// Wait waits until the programs of all ranks have ended, also of those that are told
// apart meanwhile.
func (j *Job) Wait() { j.done.Wait() }

// Kinds returns the kinds of ranks there are, of a job that StartAlike has started
// and whose programs have ended. The error is the one that has ended it before.
func (j *Job) Kinds() ([]*Kind, error) { return j.alike.Kinds(), j.alike.Failure() }

// Asked returns f of the rank, which tells apart the ranks that it runs for and of
// which f says something else. f is a pure function.
func Asked[T comparable](r *Rank, f func(rank int) T) T {
	if r.kind == nil {
		return f(r.id)
	}
	return alike.Ask(r.kind, f)
}

// Observed is Asked in a place to which a program that runs again comes again, in the same order, as it does
// to its own decisions: see alike.Observe.
func Observed[T comparable](r *Rank, f func(rank int) T) T {
	if r.kind == nil {
		return f(r.id)
	}
	return alike.Observe(r.kind, f)
}

// Repeats reports whether the rank does again what it was told apart after.
func (r *Rank) Repeats() bool { return r.kind != nil && r.kind.Repeats() }

// AskedPlace is Asked of a function of the rank's place in g, in which it is.
func AskedPlace[T comparable](r *Rank, g *comm.Group, f func(place int) T) T {
	if r.kind == nil {
		return f(g.Rank())
	}
	lines := r.linesOf(g)
	return alike.Ask(r.kind, func(rank int) T { return f(lines.Place(rank)) })
}

// partPlaces tells apart the ranks that the rank runs for and of whose places in g f
// says something else.
func (r *Rank) partPlaces(g *comm.Group, f func(place int) string) {
	if r.kind != nil {
		AskedPlace(r, g, f)
	}
}

// Alike reports whether the rank runs for others.
func (r *Rank) Alike() bool { return r.kind != nil }

// Alone reports whether the rank runs for none but itself.
func (r *Rank) Alone() bool { return r.kind == nil || len(r.kind.Members()) == 1 }

// Self returns the number of the rank that runs: for reports, where nothing hangs on
// it that differs between the ranks it runs for.
func (r *Rank) Self() int { return r.id }

// ID returns the rank's number, from 0. It tells apart all ranks that it runs for.
func (r *Rank) ID() int {
	if r.kind != nil {
		r.kind.Apart()
	}
	return r.id
}

// Lines returns which ranks each rank means by m.
func (r *Rank) Lines(m *mesh.Mesh) *alike.Lines {
	l := r.families[m]
	if l == nil {
		l = r.job.alike.Constant(m.Ranks())
		r.family(m, l)
	}
	return l
}

// family notes that by m each rank means l. Ranks that are in it and ranks that are
// not are told apart.
func (r *Rank) family(m *mesh.Mesh, l *alike.Lines) {
	if r.families == nil {
		r.families = map[*mesh.Mesh]*alike.Lines{}
	}
	if was := r.families[m]; was != nil {
		r.kind.Same(was, l)
		return
	}
	r.kind.Member(l)
	r.families[m] = l
}

// PlaceIn returns where in g each rank is that the rank runs for.
func (r *Rank) PlaceIn(g *comm.Group) func(rank int) int {
	if r.kind == nil {
		return func(int) int { return g.Rank() }
	}
	return r.linesOf(g).Place
}

// IndexAlong returns the index along dim of m of each rank that the rank runs for,
// which are in m.
func (r *Rank) IndexAlong(m *mesh.Mesh, dim int) func(rank int) int {
	return r.Of(m, func(rank int) int { return m.Coordinate(rank)[dim] })
}

// Of returns f of each rank that the rank runs for, which are in m, as each sees m: f is
// a function of a rank of m.
func (r *Rank) Of(m *mesh.Mesh, f func(rank int) int) func(rank int) int {
	if r.kind == nil {
		return f
	}
	lines, ranks := r.Lines(m), m.Ranks()
	return func(rank int) int { return f(ranks[lines.Place(rank)]) }
}

// RunsFor returns the ranks that the rank runs for.
func (r *Rank) RunsFor() []int {
	if r.kind == nil {
		return []int{r.id}
	}
	ranks := make([]int, len(r.kind.Members()))
	for i, rank := range r.kind.Members() {
		ranks[i] = int(rank)
	}
	return ranks
}

// SubMesh returns the mesh along dims of m that holds the rank, or outside of m that
// which holds its first.
func (r *Rank) SubMesh(m *mesh.Mesh, dims ...int) *mesh.Mesh {
	if r.kind == nil {
		return r.layouts.Mesh(m.Sub(r.near(m), dims...))
	}
	lines := r.linesAlong(m, dims)
	sub := r.layouts.Mesh(m.Sub(r.near(m), dims...))
	r.family(sub, lines)
	return sub
}

// near returns the rank, or outside of m its first.
func (r *Rank) near(m *mesh.Mesh) int {
	if _, ok := m.Position(r.id); ok {
		return r.id
	}
	return m.Ranks()[0]
}

// linesAlong returns the lines along dims of m.
func (r *Rank) linesAlong(m *mesh.Mesh, dims []int) *alike.Lines {
	return r.job.alike.Along(r.Lines(m), fmt.Sprint("along ", dims, " of ", m.Shape()), alike.Part{
		First: func(place int) int { return m.LineStart(place, dims...) },
		All:   func(place int) []int { return places(m, m.Line(m.Ranks()[place], dims...)) },
	})
}

// places returns where in m ranks are.
func places(m *mesh.Mesh, ranks []int) []int {
	list := make([]int, len(ranks))
	for i, rank := range ranks {
		list[i], _ = m.Position(rank)
	}
	return list
}

// SameRanks returns to, of ranks that are in m: each rank means by it those in the
// same places of the mesh that it means by m.
func (r *Rank) SameRanks(m, to *mesh.Mesh) *mesh.Mesh {
	to = r.layouts.Mesh(to)
	if r.kind != nil {
		r.family(to, r.linesIn(m, to.Ranks()))
	}
	return to
}

// GroupIn returns the one group of ranks, which are in m: each rank means by it those
// in the same places of the mesh that it means by m.
func (r *Rank) GroupIn(m *mesh.Mesh, ranks []int) (*comm.Group, error) {
	return r.groupLike(ranks, "", func() *alike.Lines { return r.linesIn(m, ranks) })
}

// linesIn returns the lines in which each rank means those in the places of ranks.
func (r *Rank) linesIn(m *mesh.Mesh, ranks []int) *alike.Lines {
	at := places(m, ranks)
	return r.job.alike.Along(r.Lines(m), fmt.Sprint("at ", at), alike.Part{
		First: func(int) int { return at[0] },
		All:   func(int) []int { return at },
	})
}

// MeshGroup returns the one group of the ranks of m that meshes and modes share.
func (r *Rank) MeshGroup(m *mesh.Mesh) (*comm.Group, error) {
	return r.groupLike(m.Ranks(), "", func() *alike.Lines { return r.Lines(m) })
}

// LineGroup is the MeshGroup of SubMesh.
func (r *Rank) LineGroup(m *mesh.Mesh, dims ...int) (*comm.Group, error) {
	return r.groupLike(m.Line(r.near(m), dims...), "", func() *alike.Lines { return r.linesAlong(m, dims) })
}

// groupLike returns the group of ranks and an instance, which for each rank is that
// which lines say.
func (r *Rank) groupLike(ranks []int, instance string, lines func() *alike.Lines) (*comm.Group, error) {
	if r.kind == nil {
		return r.end.Group(ranks, instance)
	}
	l := lines()
	r.kind.Member(l)
	g, err := r.end.Group(ranks, instance)
	if err == nil {
		r.kind.Bind(g, l)
		g.OnRank(func() { alike.Ask(r.kind, l.Place) })
	}
	return g, err
}

// NewGroup returns a new group of ranks, in that order, which are the same for all
// ranks. Groups of the same ranks are told apart by how many of them the rank has
// made. It does not communicate.
func (r *Rank) NewGroup(ranks []int) (*comm.Group, error) {
	key := fmt.Sprint(ranks)
	g, err := r.groupLike(ranks, fmt.Sprintf("#%d", r.groups[key]+1), func() *alike.Lines { return r.job.alike.Constant(ranks) })
	if err != nil {
		return nil, err
	}
	r.groups[key]++
	return g, nil
}

// SharedGroup returns the one group of ranks, in that order, that meshes and modes
// share. Of how other ranks come to theirs nothing is known, so all are told apart.
func (r *Rank) SharedGroup(ranks []int) (*comm.Group, error) {
	r.ID()
	return r.end.Group(ranks, "")
}

// linesOf returns which ranks each rank means by g.
func (r *Rank) linesOf(g *comm.Group) *alike.Lines {
	if l := r.kind.LinesOf(g); l != nil {
		return l
	}
	l := r.job.alike.Constant(g.Ranks())
	r.kind.Bind(g, l)
	return l
}

// membersOf returns the members of g of each rank, for a recorder.
func (r *Rank) membersOf(g *comm.Group) func(rank int) []int {
	if r.kind == nil {
		ranks := g.Ranks()
		return func(int) []int { return ranks }
	}
	return r.linesOf(g).List
}

// RanksOf returns the ranks of g, and RanksOfMesh those of m: which they are differs
// between the ranks that the rank runs for.
func (r *Rank) RanksOf(g *comm.Group) []int {
	if r.kind != nil {
		l := r.linesOf(g)
		alike.Ask(r.kind, l.Index)
	}
	return g.Ranks()
}

// RanksOfMesh returns the ranks of m; see RanksOf.
func (r *Rank) RanksOfMesh(m *mesh.Mesh) []int {
	if r.kind != nil {
		l := r.Lines(m)
		alike.Ask(r.kind, l.Index)
	}
	return m.Ranks()
}

// PartFlat tells apart those of whose places in g f, a layout of places, says that
// they store other numbers of elements.
func (r *Rank) PartFlat(g *comm.Group, f *mesh.Flat) {
	r.partPlaces(g, func(place int) string {
		text := ""
		for _, span := range f.Ranges(place) {
			text += fmt.Sprint(" ", span.Hi-span.Lo)
		}
		return text
	})
}

// Part tells apart the ranks of m of which f says something else, as each sees m: f is
// a pure function of a rank of m.
func (r *Rank) Part(m *mesh.Mesh, f func(rank int) string) {
	if r.kind == nil {
		return
	}
	if _, ok := m.Position(r.id); !ok {
		r.Lines(m)
		return
	}
	lines, known := r.Lines(m), make([]*string, m.Size())
	alike.Ask(r.kind, func(rank int) string {
		place := lines.Place(rank)
		if place < 0 {
			return "outside"
		}
		if known[place] == nil {
			text := f(m.Ranks()[place])
			known[place] = &text
		}
		return *known[place]
	})
}

// Member reports whether the rank is in m.
func (r *Rank) Member(m *mesh.Mesh) bool {
	if r.kind != nil {
		r.Lines(m)
	}
	_, ok := m.Position(r.id)
	return ok
}

// FirstOf reports whether the rank is the first of m.
func (r *Rank) FirstOf(m *mesh.Mesh) bool {
	r.Part(m, func(rank int) string { return fmt.Sprint(rank == m.Ranks()[0]) })
	return r.id == m.Ranks()[0]
}

// EqualRanks reports whether the rank means the same ranks by a and b.
func (r *Rank) EqualRanks(a, b *mesh.Mesh) bool {
	if a == b {
		return true
	}
	if r.kind == nil {
		return slices.Equal(a.Ranks(), b.Ranks())
	}
	return r.kind.Same(r.Lines(a), r.Lines(b))
}

// planned returns the recorder that notes the rank's operations and calls.
func (j *Job) planned() *plan.Recorder {
	if j.cfg.Plan == nil {
		return nil
	}
	return j.cfg.Plan.Recorder()
}
