package schedule

import "slices"

// A HostCall has the lengths on which the schedule of a call depends in a group on several hosts, where
// members send to each other.
type HostCall struct {
	Kind Kind
	Root int

	// Bytes is the length of the block that is broadcast or reduced, and of ReduceScatter
	// that of all blocks of a member.
	Bytes int

	// Folded is how many bytes stand for that much while it is reduced by a Fold; 0 if the
	// members have none.
	Folded int

	// Long says of AllGather, by member, whether it offers a block for which Far holds.
	Long []bool
}

// A hostAlgorithm is one for groups on several hosts. Its bytes do not count in the figures of a
// call, which do not depend on where members are.
type hostAlgorithm struct {
	algorithm

	// pays reports whether to use it.
	pays func(h *Hosts, c *HostCall) bool
}

func onSeveralHosts(steps func(s Position) []Step, pays func(h *Hosts, c *HostCall) bool) *hostAlgorithm {
	return &hostAlgorithm{algorithm{name: "hosts", steps: steps}, pays}
}

// farBytes is the length from which a block is worth a way through a member that
// sends it on, so that it comes to a host once. Such a stop takes some 20 µs, in which a
// link of 1 to 3 GB/s carries as much.
const farBytes = 32 << 10

// Far reports whether to have a block of so many bytes come to each host once.
func Far(bytes int) bool { return bytes >= farBytes }

func farBroadcast(_ *Hosts, c *HostCall) bool { return Far(c.Bytes) }

func farGather(_ *Hosts, c *HostCall) bool { return slices.Contains(c.Long, true) }

const (
	// leastChainPiece and mostChainPiece bound the pieces in which a chain of hosts works.
	leastChainPiece = 64 << 10
	mostChainPiece  = 512 << 10
	// chainPieces is how many pieces there are between those bounds: while the first is on
	// its way along a chain of a few hosts, a small part of the others is.
	chainPieces = 16
)

// PieceBytes returns how much a call moves at a time whose members are a chain of hosts:
// of the block that is reduced, or of all blocks of a member together.
func (c *HostCall) PieceBytes() int {
	return min(max(c.Bytes/chainPieces, leastChainPiece), mostChainPiece)
}

// chainPays returns the test whether to reduce along a chain of hosts: if what a host
// then sends less to others is more than its link carries while the first piece is on its
// way along the chain, and back. crossing returns the bytes that cross between hosts without a
// chain, and those of results that cross with one; besides, folds cross to all but the first.
func chainPays(crossing func(bytes, members, hosts int) (direct, results int)) func(h *Hosts, c *HostCall) bool {
	return func(h *Hosts, c *HostCall) bool {
		if c.Folded == 0 || !h.ordered() {
			return false
		}
		hosts := len(h.members)
		direct, results := crossing(c.Bytes, len(h.of), hosts)
		spared := direct - results - c.Folded*(hosts-1)
		return spared/hosts >= 2*(hosts-1)*(c.PieceBytes()+farBytes)
	}
}

// The bytes that cross between hosts without a chain, and those of results with one, if all hosts have
// as many members.
func allReduceCrossing(bytes, members, hosts int) (direct, results int) {
	return 2 * bytes * members / hosts * (hosts - 1), bytes * (hosts - 1)
}

func reduceCrossing(bytes, members, hosts int) (direct, results int) {
	return bytes*members/hosts*(hosts-1) + bytes/hosts*(hosts-1), bytes
}

func reduceScatterCrossing(bytes, members, hosts int) (direct, results int) {
	return bytes * members / hosts * (hosts - 1), bytes / hosts * (hosts - 1)
}
