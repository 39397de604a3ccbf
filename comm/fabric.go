package comm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A Fabric connects size ranks, which communicate through its Endpoints. All that
// a script can see of it is the same on every transport.
type Fabric struct {
	endpoints []*Endpoint
	transport Transport
	tasks     sync.WaitGroup  // the goroutines that Go has started
	ctx       context.Context // ends when the fabric is closed, and they with it
	cancel    context.CancelCauseFunc
	all       func() []int // the ranks, which nobody changes
}

// FirstRanks returns the ranks from 0 to n-1.
func FirstRanks(n int) []int {
	ranks := make([]int, n)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

func (f *Fabric) newEndpoint(rank int) *Endpoint {
	e := &Endpoint{fabric: f, rank: rank, groups: map[string]*Group{}}
	e.transport = f.transport.JoinRank(e)
	return e
}

// Size returns the number of ranks.
func (f *Fabric) Size() int { return len(f.endpoints) }

// Endpoint returns the side of f that belongs to a rank. It panics unless
// 0 <= rank < Size, and the rank is in this process.
func (f *Fabric) Endpoint(rank int) *Endpoint {
	e := f.endpoints[rank]
	if e == nil {
		panic(fmt.Sprintf("comm: rank %d is in another process", rank))
	}
	return e
}

// Local returns the ranks that are in this process.
func (f *Fabric) Local() []int {
	var ranks []int
	for r, e := range f.endpoints {
		if e != nil {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Unreceived returns the messages that were sent and never received, by
// destination, source, group and tag, and then in the order sent. It is called
// after all ranks have ended, and returns when nothing is on its way any more.
func (f *Fabric) Unreceived() []Unreceived {
	all := f.transport.Unreceived()
	slices.SortStableFunc(all, CompareUnreceived)
	return all
}

// Notice asks for a line whenever a rank has waited for longer than after,
// which says which rank waits for which and where. fn gets one line for each such
// wait, on a goroutine of f. Notice is called at most once.
func (f *Fabric) Notice(after time.Duration, fn func(line string)) {
	f.transport.Notice(after, fn)
}

// Close fails every call that is under way, and returns when all goroutines
// that f has started have ended. Nothing may be called on f afterwards but
// Unreceived.
func (f *Fabric) Close() {
	f.Abort()
	f.tasks.Wait()
}

// An Endpoint is one rank's side of a Fabric. Its methods, and those of its
// groups, are for one goroutine at a time; Close waits for the others.
type Endpoint struct {
	fabric    *Fabric
	rank      int
	transport RankTransport
	groups    map[string]*Group
	failed    []int // the ranks of which this one has had a PeerError

	caught atomic.Pointer[Caught] // the errors that it has caught, nil for none

	mu    sync.Mutex
	where func() string // nil if not set
}

// Rank returns the rank of e in the fabric.
func (e *Endpoint) Rank() int { return e.rank }

// Group returns the group of the given ranks in the given order. Groups with
// the same ranks in the same order are told apart by instance; the same ranks,
// order and instance give the same group, with one count of calls. Making a
// group does not communicate; ranks outside it may make it, and members that
// never call it need not.
func (e *Endpoint) Group(ranks []int, instance string) (*Group, error) {
	if err := e.checkRanks(ranks); err != nil {
		return nil, err
	}
	key := e.groupKey(ranks, instance)
	if g := e.groups[key]; g != nil {
		return g, nil
	}
	g := &Group{
		endpoint: e,
		ranks:    e.fabric.keep(ranks),
		rank:     slices.Index(ranks, e.rank),
		key:      key,
		name:     e.groupName(ranks, instance),
	}
	if g.rank >= 0 {
		g.transport = e.transport.JoinGroup(g)
	}
	e.groups[key] = g
	return g, nil
}

// checkRanks checks the ranks of a group.
func (e *Endpoint) checkRanks(ranks []int) error {
	size := e.fabric.Size()
	bad := func(want string) error {
		return &ArgError{"group", "ranks", listText(ranks), want}
	}
	if len(ranks) == 0 {
		return bad("at least one rank")
	}
	ascends := true
	for i, r := range ranks {
		if r < 0 || r >= size {
			return bad(fmt.Sprintf("0..%d (there are %d ranks)", size-1, size))
		}
		if i > 0 && ascends {
			ascends = ranks[i-1] < r
		}
		if !ascends && slices.Contains(ranks[:i], r) {
			return bad(fmt.Sprintf("each rank once (%d is there twice)", r))
		}
	}
	return nil
}

// keep returns ranks for a group to keep: a copy, but that of all ranks is one.
func (f *Fabric) keep(ranks []int) []int {
	if f.isWorld(ranks) {
		return f.all()
	}
	return slices.Clone(ranks)
}

// isWorld reports whether ranks are all of them, in their order. They have been
// checked.
func (f *Fabric) isWorld(ranks []int) bool { return len(ranks) == f.Size() && slices.IsSorted(ranks) }

// worldName is the name of the group of all ranks in their order.
const worldName = "world"

// groupKey returns a text that tells a group from all others, on every rank alike. That of
// all ranks is short: each of them has it.
func (e *Endpoint) groupKey(ranks []int, instance string) string {
	if e.fabric.isWorld(ranks) {
		return worldName + instance
	}
	return listText(ranks) + instance
}

// groupName returns the name of a group in reports.
func (e *Endpoint) groupName(ranks []int, instance string) string {
	if instance == "" && e.fabric.isWorld(ranks) {
		return worldName
	}
	name := "group " + listText(ranks)
	if instance != "" {
		return name + " " + strconv.Quote(instance)
	}
	return name
}

// End says that the rank has ended: normally if cause is nil, and otherwise
// because of cause, with which the other ranks' calls on groups that hold this
// rank fail. Calls that the rank had arrived at before are completed. Only the
// first End counts; it is called when the rank is in no call.
func (e *Endpoint) End(cause error) {
	if cause != nil {
		// Only its text reaches the other ranks, on every transport: what else the error
		// says holds for this rank alone.
		cause = errors.New(cause.Error())
	}
	e.transport.End(cause)
}

// Where sets the function that tells the source line that the rank is at. It is called only
// for a report while the rank waits, on any goroutine, where a call brings
// nothing of its own.
func (e *Endpoint) Where(fn func() string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.where = fn
}

// observe notes the news of peers in an error of a call of this rank: the failure of
// one, and errors that they have caught. told have the error as well.
func (e *Endpoint) observe(err error, told []int) {
	e.learn(err, told)
	var peer *PeerError
	if errors.As(err, &peer) && !slices.Contains(e.failed, peer.Rank) {
		e.failed = append(e.failed, peer.Rank)
	}
}

// CompareUnreceived orders messages by destination, source, group and tag.
func CompareUnreceived(a, b Unreceived) int {
	return cmp.Or(
		cmp.Compare(a.Dst, b.Dst),
		cmp.Compare(a.Src, b.Src),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Tag, b.Tag),
	)
}
