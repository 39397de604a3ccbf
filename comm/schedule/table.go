package schedule

import (
	"cmp"
	"fmt"
	"slices"
)

// A kindRow is all that is to be known of a kind: a new one is a constant in kinds.go,
// a row here, and its algorithms.
type kindRow struct {
	name string

	// is says what the kind comes to.
	is definition

	// root is the parameter by which scripts name the root, "" if there is none.
	root string

	// paired says that a call has pairs of members.
	paired bool

	// reduces says that blocks are reduced.
	reduces bool

	// oneBlock says that the schedule depends on the length of a block: the root's
	// if fromRoot is set too, and else the one that each member offers alike.
	oneBlock, fromRoot bool

	// alike says that every member has the same result.
	alike bool

	// joins says that this is the blocks of all members.
	joins bool

	// mutual says that every member offers blocks.
	mutual bool

	// offers reports whether a member offers blocks that others need.
	offers func(p Position) bool

	message, direct []algorithm

	// hosts is the algorithm by messages for large blocks in a group on several hosts; nil
	// if message spares those as much.
	hosts *hostAlgorithm
}

// everyMember, nobody, onlyRoot and notRoot are values of kindRow.offers.
func everyMember(Position) bool { return true }
func nobody(Position) bool      { return false }
func onlyRoot(p Position) bool  { return p.Rank == p.Root }
func notRoot(p Position) bool   { return p.Rank != p.Root }

// inPairs reports whether the member is the first of a pair with another.
func inPairs(p Position) bool {
	return slices.ContainsFunc(p.Pairs, func(pair [2]int) bool { return pair[0] == p.Rank && pair[1] != p.Rank })
}

var kindRows = [Kinds]kindRow{
	Barrier: {
		name: "barrier", is: definition{none, nothing},
		offers:  nobody,
		message: []algorithm{{"none", nil, noSteps, sendsNothing}},
		direct:  []algorithm{{"none", nil, noSteps, nil}},
	},
	Broadcast: {
		name: "broadcast", is: definition{offeredBy(onlyRoot, one), firstOfRoot},
		root: "src", oneBlock: true, fromRoot: true, alike: true, offers: onlyRoot,
		message: []algorithm{{"scatter", Large, broadcastScatter, broadcastScatterWire}, {"flat", nil, broadcastFlat, broadcastFlatWire}},
		direct:  []algorithm{{"direct", nil, broadcastDirect, nil}},
		hosts:   onSeveralHosts(broadcastHosts, farBroadcast),
	},
	AllGather: {
		name: "all_gather", is: definition{one, firstOfEach},
		alike: true, joins: true, mutual: true, offers: everyMember,
		message: []algorithm{{"exchange", nil, allGatherExchange, allGatherExchangeWire}},
		direct:  []algorithm{{"direct", nil, allGatherDirect, nil}},
		hosts:   onSeveralHosts(allGatherHosts, farGather),
	},
	Gather: {
		name: "gather", is: definition{one, resultsAt(onlyRoot, firstOfEach)},
		root: "dst", offers: notRoot,
		message: []algorithm{{"flat", nil, gatherFlat, gatherFlatWire}},
		direct:  []algorithm{{"direct", nil, gatherDirect, nil}},
	},
	Scatter: {
		name: "scatter", is: definition{offeredBy(onlyRoot, forEach), ownOfRoot},
		root: "src", offers: onlyRoot,
		message: []algorithm{{"flat", nil, scatterFlat, scatterFlatWire}},
		direct:  []algorithm{{"direct", nil, scatterDirect, nil}},
	},
	AllToAll: {
		name: "all_to_all", is: definition{forEach, ownOfEach},
		mutual: true, offers: everyMember,
		message: []algorithm{{"exchange", nil, allToAllExchange, allToAllExchangeWire}},
		direct:  []algorithm{{"direct", nil, allToAllDirect, nil}},
	},
	AllReduce: {
		name: "all_reduce", is: definition{one, firstsReduced},
		reduces: true, oneBlock: true, alike: true, mutual: true, offers: everyMember,
		message: []algorithm{{"pairwise", Large, allReducePairwise, allReducePairwiseWire}, {"rooted", crowded, allReduceRooted, allReduceRootedWire}, {"gather", nil, allReduceGather, allReduceGatherWire}},
		direct:  []algorithm{{"split", largeDirect, allReduceSplit, nil}, {"direct", nil, allReduceDirect, nil}},
		hosts:   onSeveralHosts(allReduceHosts, chainPays(allReduceCrossing)),
	},
	Reduce: {
		name: "reduce", is: definition{one, resultsAt(onlyRoot, firstsReduced)},
		root: "dst", reduces: true, oneBlock: true, mutual: true, offers: everyMember,
		message: []algorithm{{"pairwise", Large, reducePairwise, reducePairwiseWire}, {"flat", nil, reduceFlat, reduceFlatWire}},
		direct:  []algorithm{{"split", largeDirect, reduceSplit, nil}, {"direct", nil, reduceDirect, nil}},
		hosts:   onSeveralHosts(reduceHosts, chainPays(reduceCrossing)),
	},
	ReduceScatter: {
		name: "reduce_scatter", is: definition{forEach, ownReduced},
		reduces: true, mutual: true, offers: everyMember,
		message: []algorithm{{"pairwise", nil, reduceScatterPairwise, reduceScatterPairwiseWire}},
		direct:  []algorithm{{"direct", nil, reduceScatterDirect, nil}},
		hosts:   onSeveralHosts(reduceScatterHosts, chainPays(reduceScatterCrossing)),
	},
	Permute: {
		name: "permute", is: definition{one, ofPair}, paired: true, offers: inPairs,
		message: []algorithm{{"flat", nil, permuteFlat, permuteFlatWire}},
		direct:  []algorithm{{"direct", nil, permuteDirect, nil}},
	},
}

// String returns the name of k: "all_reduce".
func (k Kind) String() string {
	if k < Kinds {
		return kindRows[k].name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// RootName returns the parameter by which scripts name the root, "src" or "dst".
func (k Kind) RootName() string { return cmp.Or(kindRows[k].root, "src") }

// Rooted reports whether one member of a call is its root.
func (k Kind) Rooted() bool { return kindRows[k].root != "" }

// Reduces reports whether k reduces blocks.
func (k Kind) Reduces() bool { return kindRows[k].reduces }

// Paired reports whether a call has pairs of members, by which its blocks go.
func (k Kind) Paired() bool { return kindRows[k].paired }

// Alike reports whether every member has the same result.
func (k Kind) Alike() bool { return kindRows[k].alike }

// Joins reports whether every member's result is the blocks of all.
func (k Kind) Joins() bool { return kindRows[k].joins }

// Sizing returns the member on the length of whose In[0] the schedule of a call
// depends, seen from a position; not ok if it depends on none.
func (k Kind) Sizing(p Position) (member int, ok bool) {
	if kindRows[k].fromRoot {
		return p.Root, true
	}
	return p.Rank, kindRows[k].oneBlock
}

// FromRoot reports whether all that is moved is the root's.
func (k Kind) FromRoot() bool { return kindRows[k].fromRoot }

// Even reports whether blocks of members must be as long as each other: those that are
// reduced together, or of which the schedule depends on the length.
func (k Kind) Even() bool { return kindRows[k].oneBlock || kindRows[k].reduces }

// Mutual reports whether every member offers blocks of which others need some.
func (k Kind) Mutual() bool { return kindRows[k].mutual }

// Offers reports whether the member at p offers blocks that others need.
func (k Kind) Offers(p Position) bool { return kindRows[k].offers(p) }
