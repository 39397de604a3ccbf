package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The simulator runs the schedules of all members of a group at once, on
// symbols instead of bytes. A block is a list of cells; a cell is the list of
// contributions that were reduced to it, in their order. A cell stands for
// cellBytes bytes, so that chunks, whose edges are multiples of that, are lists
// of whole cells.

const cellBytes = 64

// A term is one contribution: cell at of In[block] of member.
type term struct{ member, block, at int }

type cell []term

type simMember struct {
	Position
	steps   []Step
	next    int // the step to do
	arrived int // meetings come to
	in, out [][]cell
	want    [][]cell // what out is to be
	noOut   bool
	slots   map[int][]cell
}

func (m *simMember) ended() bool { return m.next == len(m.steps) }

type mail struct{ from, to, tag int }

type simulation struct {
	members []*simMember
	mail    map[mail][]cell
	sent    func(from, to, cells int) // is told of each message, if it is set
	err     error
}

// runSchedules runs the members to their end, in an order of steps drawn from
// rng, and returns what is wrong with their schedules.
func runSchedules(members []*simMember, rng *rand.Rand) error { return runWatched(members, rng, nil) }

// runWatched is runSchedules, and tells sent of each message.
func runWatched(members []*simMember, rng *rand.Rand, sent func(from, to, cells int)) error {
	s := &simulation{members: members, mail: map[mail][]cell{}, sent: sent}
	for s.err == nil {
		if done := s.someStep(rng); done {
			break
		}
	}
	for m := range s.mail {
		s.failf("message %+v is never received", m)
	}
	return s.err
}

// someStep does a step of some member that can do one. It reports whether all
// members have ended.
func (s *simulation) someStep(rng *rand.Rand) (done bool) {
	ended, start := 0, rng.IntN(len(s.members))
	for i := range s.members {
		m := s.members[(start+i)%len(s.members)]
		if m.ended() {
			ended++
		} else if s.step(m, m.steps[m.next]) {
			m.next++
			return false
		}
	}
	if ended < len(s.members) {
		s.failf("%d members wait for ever", len(s.members)-ended)
	}
	return true
}

func (s *simulation) failf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// step does st for m, and reports false if it has to wait.
func (s *simulation) step(m *simMember, st Step) bool {
	switch st.Do {
	case DoSend:
		key := mail{m.Rank, st.Peer, st.Tag}
		if _, twice := s.mail[key]; twice || st.Peer == m.Rank {
			s.failf("message %+v is sent twice, or to its sender", key)
		}
		s.mail[key] = s.read(m, st.Src[0])
		if s.sent != nil {
			s.sent(m.Rank, st.Peer, len(s.mail[key]))
		}
	case DoRecv:
		key := mail{st.Peer, m.Rank, st.Tag}
		cells, ok := s.mail[key]
		if !ok {
			return false
		}
		delete(s.mail, key)
		s.write(m, st.Dst[0], cells)
	case DoCopy:
		s.write(m, st.Dst[0], s.read(m, st.Src[0]))
	case DoReduce, DoFold:
		sum := s.reduce(m, st.Src)
		for _, dst := range st.Dst {
			s.write(m, dst, sum)
		}
	case DoMeet:
		return s.meet(m)
	}
	return true
}

// meet lets m pass once every member has come to as many meetings.
func (s *simulation) meet(m *simMember) bool {
	meetings := 0
	for _, st := range m.steps[:m.next+1] {
		if st.Do == DoMeet {
			meetings++
		}
	}
	m.arrived = meetings
	return !slices.ContainsFunc(s.members, func(o *simMember) bool { return o.arrived < meetings })
}

func (s *simulation) reduce(m *simMember, src []Part) []cell {
	var sum []cell
	for i, p := range src {
		cells := s.read(m, p)
		if i == 0 {
			sum = make([]cell, len(cells))
			for at := range sum {
				sum[at] = make(cell, 0, len(src))
			}
		}
		if len(cells) != len(sum) {
			s.failf("member %d reduces %d and %d cells", m.Rank, len(sum), len(cells))
			return nil
		}
		for at, c := range cells {
			sum[at] = append(sum[at], c...)
		}
	}
	return sum
}

// owner returns the member whose part p is, and checks that m may use it now.
func (s *simulation) owner(m *simMember, p Part) *simMember {
	o := s.members[p.Member]
	if o == m {
		return o
	}
	switch {
	case m.steps[len(m.steps)-1].Do != DoMeet:
		s.failf("member %d uses %+v, and does not meet its owner after it", m.Rank, p)
	case o.ended():
		s.failf("member %d uses %+v, whose owner may have ended", m.Rank, p)
	case p.Mem == MemSlot:
		s.failf("member %d uses %+v, a slot of another", m.Rank, p)
	case p.Mem == MemOut && m.arrived == 0:
		s.failf("member %d uses %+v before a meeting", m.Rank, p)
	}
	return o
}

// cells returns the cells of p in the blocks of its owner.
func cells(blocks [][]cell, p Part) []cell {
	block := blocks[p.Block]
	s := p.Span(Block{Rows: 1, Width: len(block) * cellBytes}, cellBytes)
	return block[s.Lo/cellBytes : s.Hi/cellBytes]
}

func (s *simulation) read(m *simMember, p Part) []cell {
	o := s.owner(m, p)
	switch p.Mem {
	case MemIn:
		return cells(o.in, p)
	case MemSlot:
		slot, ok := o.slots[p.Block]
		if !ok || p.Parts != 0 {
			s.failf("member %d reads %+v, an empty slot or a part of one", m.Rank, p)
		}
		return slot
	}
	if o != m || o.noOut {
		s.failf("member %d reads %+v, results of another or none", m.Rank, p)
		return nil
	}
	read := cells(o.out, p)
	if slices.ContainsFunc(read, func(c cell) bool { return c == nil }) {
		s.failf("member %d reads %+v, which is not written", m.Rank, p)
	}
	return read
}

func (s *simulation) write(m *simMember, p Part, written []cell) {
	o := s.owner(m, p)
	switch {
	case p.Mem == MemIn:
		s.failf("member %d writes %+v", m.Rank, p)
	case p.Mem == MemSlot:
		if _, twice := o.slots[p.Block]; twice || p.Parts != 0 {
			s.failf("member %d writes %+v, a full slot or a part of one", m.Rank, p)
		}
		o.slots[p.Block] = written
	case o.noOut && m.steps[len(m.steps)-1].Do == DoMeet:
		// Where nothing can be written, nothing is.
	case o.noOut:
		s.failf("member %d writes %+v without results", m.Rank, p)
	default:
		s.fill(m, p, cells(o.out, p), written)
	}
}

func (s *simulation) fill(m *simMember, p Part, dst, src []cell) {
	if len(dst) != len(src) {
		s.failf("member %d writes %d cells to the %d of %+v", m.Rank, len(src), len(dst), p)
		return
	}
	for i := range dst {
		if dst[i] != nil {
			s.failf("member %d writes cell %d of %+v a second time", m.Rank, i, p)
		}
		dst[i] = src[i]
	}
}

// A simCase is a call to simulate.
type simCase struct {
	kind  Kind
	size  int
	root  int
	pairs [][2]int
	cells int // the length that the lengths of blocks vary about
}

// position returns that of a member in the case.
func (c simCase) position(member int) Position {
	return Position{Rank: member, Size: c.size, Root: c.root, Pairs: c.pairs}
}

// inCells returns the length of In[block] of a member, -1 if it has none.
func (c simCase) inCells(member, block int) int {
	row := &kindRows[c.kind]
	switch {
	case block >= row.is.ins(c.position(member)):
		return -1
	case row.oneBlock:
		return c.cells
	case row.reduces: // members offer as much as each other
		member = 0
	}
	return (c.cells + 3*block + 2*member) % (c.cells + 2)
}

// in returns In[block] of a member.
func (c simCase) in(member, block int) []cell {
	n := max(0, c.inCells(member, block))
	cells, terms := make([]cell, n), make([]term, n)
	for at := range cells {
		terms[at] = term{member, block, at}
		cells[at] = terms[at : at+1 : at+1]
	}
	return cells
}

// want returns the Out that the definition of the kind asks for.
func (c simCase) want(member int) [][]cell {
	var out [][]cell
	for _, sources := range kindRows[c.kind].is.outs(c.position(member)) {
		block := make([]cell, max(0, c.inCells(sources[0].Member, sources[0].Block)))
		terms := make([]term, 0, len(block)*len(sources))
		for at := range block {
			for _, s := range sources {
				terms = append(terms, term{s.Member, s.Block, at})
			}
			block[at] = terms[len(terms)-len(sources):]
		}
		out = append(out, block)
	}
	return out
}

// members returns the members of the case, those in noOut without results.
func (c simCase) members(a *algorithm, noOut func(rank int) bool) []*simMember {
	var members []*simMember
	for rank := range c.size {
		m := &simMember{Position: c.position(rank), slots: map[int][]cell{}}
		m.steps = a.steps(m.Position)
		for block := range kindRows[c.kind].is.ins(m.Position) {
			m.in = append(m.in, c.in(rank, block))
		}
		if m.noOut = noOut(rank); !m.noOut {
			m.want = c.want(rank)
			for _, w := range m.want {
				m.out = append(m.out, make([]cell, len(w)))
			}
		} else if a.wire != nil {
			m.steps = WithoutOut(m.steps)
		}
		members = append(members, m)
	}
	return members
}

// check simulates the case and compares the results with what they must be.
func (c simCase) check(a *algorithm, noOut func(rank int) bool, rng *rand.Rand) error {
	members := c.members(a, noOut)
	if err := runSchedules(members, rng); err != nil {
		return err
	}
	for rank, m := range members {
		if !m.noOut && len(m.want) > 0 && !sameBlocks(m.out, m.want) {
			return fmt.Errorf("member %d: got %v, want %v", rank, m.out, m.want)
		}
	}
	return nil
}

// sameBlocks reports whether blocks hold the same.
func sameBlocks(a, b [][]cell) bool {
	return slices.EqualFunc(a, b, func(a, b []cell) bool {
		return slices.EqualFunc(a, b, func(a, b cell) bool { return slices.Equal(a, b) && (a == nil) == (b == nil) })
	})
}

// simCases lists the calls of a kind in a group of size members: every root,
// and blocks of no, few, as many and more cells than there are members.
func simCases(kind Kind, size int) []simCase {
	var cases []simCase
	for _, cells := range []int{0, 1, size - 1, size, size + 1, 3*size + 2} {
		switch {
		case kind.Rooted():
			for root := range size {
				cases = append(cases, simCase{kind, size, root, nil, cells})
			}
		case kind.Paired():
			for _, pairs := range simPairs(size) {
				cases = append(cases, simCase{kind, size, -1, pairs, cells})
			}
		default:
			cases = append(cases, simCase{kind, size, -1, nil, cells})
		}
	}
	return cases
}

// simPairs returns no pairs, a ring, the identity, a fan-out of member 0, and
// a chain that leaves its ends open.
func simPairs(size int) [][][2]int {
	lists := make([][][2]int, 5)
	for r := range size {
		lists[1] = append(lists[1], [2]int{r, (r + 1) % size})
		lists[2] = append(lists[2], [2]int{r, r})
		lists[3] = append(lists[3], [2]int{0, r})
		if r+1 < size {
			lists[4] = append(lists[4], [2]int{r + 1, r})
		}
	}
	return lists
}

// everyAlgorithm runs f for each way in which data are moved: by messages, whether those
// come one by one or with the contracts (message), also on several hosts (hosts); where
// members read and write each other's blocks (direct); through shared memory (staged), to which some may add messages
// (mixed); and where members have one result (shared).
func everyAlgorithm(t *testing.T, f func(t *testing.T, kind Kind, a *algorithm)) {
	for kind := range Kinds {
		row := &kindRows[kind]
		staged := []algorithm{{"staged", nil, func(p Position) []Step { return stagedSteps(kind, p) }, sendsNothing}}
		families := map[string][]algorithm{"hosts": onHosts(kind), "message": row.message, "direct": row.direct, "staged": staged, "mixed": mixed(kind), "shared": shared(kind)}
		for family, rows := range families {
			for i := range rows {
				t.Run(fmt.Sprintf("%s/%s/%s", family, kind, rows[i].name), func(t *testing.T) {
					f(t, kind, &rows[i])
				})
			}
		}
	}
}

// Every schedule, at every size and with every root, does what its kind says:
// every result complete, no contribution missing or twice, reductions in rank
// order, and no member or message left waiting.
func TestSchedules(t *testing.T) {
	most := 16
	if testing.Short() {
		most = 8
	}
	everyAlgorithm(t, func(t *testing.T, kind Kind, a *algorithm) {
		for size := 1; size <= most; size++ {
			for i, c := range simCases(kind, size) {
				err := c.check(a, func(int) bool { return false }, rand.New(rand.NewPCG(uint64(i), 0)))
				if err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
			}
		}
	})
}

// A schedule gives the same whatever order the members' steps are done in.
func TestSchedulesInAnyOrder(t *testing.T) {
	everyAlgorithm(t, func(t *testing.T, kind Kind, a *algorithm) {
		for seed := range uint64(200) {
			rng := rand.New(rand.NewPCG(seed, 1))
			cases := simCases(kind, 1+rng.IntN(6))
			c := cases[rng.IntN(len(cases))]
			if err := c.check(a, func(int) bool { return false }, rng); err != nil {
				t.Fatalf("seed %d: %+v: %v", seed, c, err)
			}
		}
	})
}

// Members that have no blocks for their results keep nobody waiting, and do
// not change what the others get.
func TestSchedulesWithoutOut(t *testing.T) {
	everyAlgorithm(t, func(t *testing.T, kind Kind, a *algorithm) {
		for seed := range uint64(300) {
			rng := rand.New(rand.NewPCG(seed, 2))
			cases := simCases(kind, 1+rng.IntN(8))
			c := cases[rng.IntN(len(cases))]
			without := rng.Uint64()
			noOut := func(rank int) bool { return without>>rank&1 == 1 }
			if err := c.check(a, noOut, rng); err != nil {
				t.Fatalf("seed %d: %+v: %v", seed, c, err)
			}
		}
	})
}

// Every kind has an algorithm in both families at every length and size.
func TestEveryKindHasAlgorithms(t *testing.T) {
	for kind := range Kinds {
		for _, bytes := range []int{0, 1, largeBytes - 1, largeBytes, 1 << 30} {
			for size := 1; size <= 16; size++ {
				if pick(kindRows[kind].message, bytes, size).wire == nil {
					t.Errorf("message algorithm of kind %d has no wire", kind)
				}
				pick(kindRows[kind].direct, bytes, size)
			}
		}
	}
}
