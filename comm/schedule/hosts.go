package schedule

import "slices"

// Hosts says which members of a group are on which host. Bytes that cross from one host to
// another are worth sparing: they cost more than those that stay inside, and all members of a
// host share the way.
type Hosts struct {
	of      []int   // by member: its host; hosts are numbered as their first members are
	place   []int   // by member: its place among those of its host
	members [][]int // by host, ascending
	chains  int     // the members of the host that has most
}

// NewHosts returns the Hosts of a group whose member m is on host of[m], whatever the
// numbers. It is nil if nothing can be spared: all members are on one host, or each is on
// a host of its own. For example, of 7, 7, 9, 9 members 0 and 1 are on host 0, 2 and 3 on
// host 1.
func NewHosts(of []int) *Hosts {
	h := &Hosts{}
	var numbers []int
	for m, number := range of {
		host := slices.Index(numbers, number)
		if host < 0 {
			host = len(numbers)
			numbers, h.members = append(numbers, number), append(h.members, nil)
		}
		h.of, h.place = append(h.of, host), append(h.place, len(h.members[host]))
		h.members[host] = append(h.members[host], m)
		h.chains = max(h.chains, len(h.members[host]))
	}
	if len(h.members) < 2 || len(h.members) == len(of) {
		return nil
	}
	return h
}

// beside returns the other members of a member's host, starting after it.
func (h *Hosts) beside(m int) []int {
	list, at := h.members[h.of[m]], h.place[m]
	return slices.Concat(list[at+1:], list[:at])
}

// ordered reports whether the members of a host follow each other in the group, so that
// a reduction in the order of members goes host by host.
func (h *Hosts) ordered() bool { return slices.IsSorted(h.of) }

// entry returns the member of a host to which member m sends data for all of the host:
// the members of m's host send to others each, as far as there are so many.
func (h *Hosts) entry(m, host int) int {
	list := h.members[host]
	return list[h.place[m]%len(list)]
}

// relay returns from whom member m has a part that begins at owner and is for all
// members, and to whom m sends it, so that it comes to each host once: the owner sends it
// to an entry of each other host and to those of its own, and an entry to those beside
// it. parent is -1 for the owner.
//
// If without is a member, and not -1, it is for all but that one and, unless the owner is
// there, the rest of its host.
func (h *Hosts) relay(owner, m, without int) (parent int, children []int) {
	if entry := h.entry(owner, h.of[m]); h.of[m] != h.of[owner] {
		if m != entry {
			return entry, nil
		}
		return owner, h.beside(m)
	}
	if m != owner {
		return owner, nil
	}
	for i := 1; i < len(h.members); i++ {
		host := (h.of[m] + i) % len(h.members)
		if without < 0 || h.of[without] != host && h.of[without] != h.of[m] {
			children = append(children, h.entry(m, host))
		}
	}
	beside := slices.DeleteFunc(h.beside(m), func(r int) bool { return r == without })
	return -1, append(children, beside...)
}
