package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// defaultName is the name of the group of all ranks.
const defaultName = "0"

// sortedSet sorts ranks and drops repetitions.
func sortedSet(ranks []int) []int {
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// compareNames orders names of groups: numbers by value, before other text.
func compareNames(a, b string) int {
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	switch {
	case err1 == nil && err2 == nil:
		return cmp.Compare(x, y)
	case err1 == nil:
		return -1
	case err2 == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// link puts the dumps of the ranks together: it finds the groups and their
// members, and hangs calls and numbers on them.
func (j *Job) link() {
	for _, id := range j.ids() {
		if d := j.Ranks[id].raw; d != nil {
			j.linkGroups(d)
		}
	}
	for _, id := range j.ids() {
		if d := j.Ranks[id].raw; d != nil {
			j.linkCalls(j.Ranks[id], d)
			j.linkStatus(j.Ranks[id], d)
		}
	}
	j.findWorld()
	j.findMembers()
	for _, r := range j.Ranks {
		j.settle(r)
		r.index()
	}
}

// linkGroups makes the groups that a dump's pg_config has. One name may stand
// for several sets of ranks.
func (j *Job) linkGroups(d *dump) {
	for _, c := range d.groups {
		if !c.trusted {
			continue
		}
		id := c.name + "|" + fmt.Sprint(c.ranks)
		if j.Groups[id] == nil {
			j.Groups[id] = &Group{ID: id, Name: c.name, Desc: c.desc, Members: c.ranks, Exact: true, Listed: true}
		}
	}
}

// group returns the group of a name on a rank; it makes one if no pg_config has
// it.
func (j *Job) group(rank int, d *dump, name, desc string) *Group {
	if d != nil {
		for _, c := range d.groups {
			if c.trusted && c.name == name {
				return j.Groups[name+"|"+fmt.Sprint(c.ranks)]
			}
		}
	}
	if g := j.known(rank, name); g != nil {
		return g
	}
	g := j.Groups[name]
	if g == nil {
		g = &Group{ID: name, Name: name, Desc: desc}
		j.Groups[name] = g
	}
	if g.Desc == "" {
		g.Desc = desc
	}
	if i, found := slices.BinarySearch(g.Members, rank); !found {
		g.Members = slices.Insert(g.Members, i, rank)
	}
	return g
}

// known returns the one group of that name which another rank's pg_config has
// and to which rank belongs, or nil.
func (j *Job) known(rank int, name string) *Group {
	var found *Group
	for id, g := range j.Groups {
		if g.Exact && strings.HasPrefix(id, name+"|") {
			if _, ok := slices.BinarySearch(g.Members, rank); ok {
				if found != nil {
					return nil
				}
				found = g
			}
		}
	}
	return found
}

// linkCalls makes the calls of a rank from the entries of its dump.
func (j *Job) linkCalls(r *Rank, d *dump) {
	slices.SortStableFunc(d.entries, func(a, b *entry) int { return cmp.Compare(a.call.Record, b.call.Record) })
	groups, last := map[string]*Group{}, map[*Group]Place{}
	for i, e := range d.entries {
		g := groups[e.name]
		if g == nil {
			g = j.group(r.ID, d, e.name, e.desc)
			groups[e.name] = g
		}
		c := &e.call
		c.Rank, c.Group = r.ID, g
		if i == 0 {
			r.Truncated = c.Record > 0 || e.loose
		}
		if c.P2P {
			g.P2P = true
		} else {
			if p, ok := last[g]; ok && p.Seq == c.At.Seq {
				c.At.Sub = p.Sub + 1
			}
			last[g] = c.At
		}
		r.Calls = append(r.Calls, c)
	}
	r.index()
}

// linkStatus gives the rows of pg_status, which go by a number that each rank
// counts for itself, to groups. The recorder of NCCL adds a group's row with the first
// call there: where all rows have names, a group without one is unused.
func (j *Job) linkStatus(r *Rank, d *dump) {
	names := d.names()
	r.unused = map[string]bool{}
	if !d.gloo && len(d.status) > 0 && d.allNamed(names) {
		for _, c := range d.groups {
			if c.trusted {
				r.unused[j.group(r.ID, d, c.name, "").ID] = true
			}
		}
	}
	for id, name := range names {
		s, ok := d.status[id]
		if !ok {
			continue
		}
		g := j.group(r.ID, d, name, "")
		if d.gloo || !g.Exact {
			// These numbers count sends and receives of gloo as well, and lag
			// behind the entries.
			if r.last(g) != nil {
				continue
			}
		}
		r.Status[g.ID] = s
		r.unused[g.ID] = s.Made < 0 && !d.gloo
	}
}

// allNamed reports whether names has the name of every row of pg_status.
func (d *dump) allNamed(names map[string]string) bool {
	for id := range d.status {
		if names[id] == "" {
			return false
		}
	}
	return true
}

// names returns the names of the groups that pg_status has by pg_id. Entries
// tell the name of most. The rest follows from both being counted in the order
// in which groups are made: between two pg_ids whose names are known, there are
// as many names as pg_ids, or nothing is said.
func (d *dump) names() map[string]string {
	out := map[string]string{}
	for _, e := range d.entries {
		if e.pgID != "" {
			out[e.pgID] = e.name
		}
	}
	var names []string
	for _, c := range d.groups {
		if c.trusted {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		if _, ok := d.status[defaultName]; ok && out[defaultName] == "" {
			out[defaultName] = defaultName // gloo
		}
		return out
	}
	var ids []string
	for id := range d.status {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareNames)
	slices.SortFunc(names, compareNames)
	if slices.ContainsFunc(names, func(s string) bool { _, err := strconv.Atoi(s); return err != nil }) {
		fillLast(out, ids, names)
	} else {
		fillNames(out, ids, names)
	}
	return out
}

// fillLast adds to out the name that is left if one is, and one id: names that are no
// numbers, such as hashes of the members, are in no order. The first group is that of
// all ranks.
func fillLast(out map[string]string, ids, names []string) {
	if slices.Contains(names, defaultName) && slices.Contains(ids, defaultName) && out[defaultName] == "" {
		out[defaultName] = defaultName
	}
	var used []string
	for _, name := range out {
		used = append(used, name)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return out[id] != "" })
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(used, name) })
	if len(ids) == 1 && len(names) == 1 {
		out[ids[0]] = names[0]
	}
}

// fillNames adds to out the names of ids that stand between known ones.
func fillNames(out map[string]string, ids, names []string) {
	at := 0 // names before it are used
	for i := 0; i < len(ids); {
		k := i // the next id with a known name
		for k < len(ids) && out[ids[k]] == "" {
			k++
		}
		end := len(names)
		if k < len(ids) {
			end = slices.Index(names, out[ids[k]])
		}
		if end < at {
			return // names are in no order
		}
		if end-at == k-i {
			for n := range k - i {
				out[ids[i+n]] = names[at+n]
			}
		}
		i, at = k+1, end+1
	}
}

// findWorld finds how many ranks the job has.
func (j *Job) findWorld() {
	n := j.World
	for id, r := range j.Ranks {
		n = max(n, id+1)
		if r.raw != nil {
			for _, c := range r.raw.groups {
				if len(c.ranks) > 0 {
					n = max(n, c.ranks[len(c.ranks)-1]+1)
				}
			}
		}
		for _, c := range r.Calls {
			if c.Group.isDefault() && !c.P2P {
				n = max(n, c.groupSize())
			}
		}
	}
	j.World = min(n, maxRank)
}

// isDefault reports whether g is the group of all ranks.
func (g *Group) isDefault() bool { return g.Desc == "default_pg" || g.Name == defaultName }

// groupSize returns the number of ranks in the group of a gathering or
// scattering call: of gloo, one side has a dim more than the other, and of all
// backends a call on one tensor has so many times the elements; or 0.
func (c *Call) groupSize() int {
	big, small := c.Out, c.In
	if c.Op == "scatter" || c.Op == "_reduce_scatter_base" {
		big, small = small, big
	}
	switch c.Op {
	case "all_gather", "gather", "scatter": // of gloo
	case "_all_gather_base", "_reduce_scatter_base":
		if n, m := total(big), total(small); len(big) == 1 && len(small) == 1 && m > 0 && n%m == 0 && n/m < maxRank {
			return int(n / m)
		}
		return 0
	default:
		return 0
	}
	if len(big) != 1 || len(small) != 1 || len(big[0].Sizes) != len(small[0].Sizes)+1 || !slices.Equal(big[0].Sizes[1:], small[0].Sizes) {
		return 0
	}
	if n := big[0].Sizes[0]; n > 0 && n < maxRank {
		return int(n)
	}
	return 0
}

// findMembers completes the members of groups that no pg_config has.
func (j *Job) findMembers() {
	size := map[*Group]int{}
	for _, r := range j.Ranks {
		for _, c := range r.Calls {
			if !c.Group.Exact && !c.P2P {
				size[c.Group] = max(size[c.Group], c.groupSize())
			}
		}
	}
	for _, g := range j.Groups {
		switch {
		case g.Exact:
		case g.isDefault() || size[g] == j.World || len(g.Members) == j.World:
			g.Members, g.Exact = allRanks(j.World), true
		case size[g] == len(g.Members):
			g.Exact = true
		case !g.Several && len(g.Members)+len(j.outsiders(g)) == j.World:
			g.Exact = true
		}
	}
}

// outsiders returns the ranks that cannot be members of g, of which not all members
// are known: g has finished a call that needs all of them, and these, whose first
// calls are all recorded, have made none in it.
func (j *Job) outsiders(g *Group) (ids []int) {
	if !slices.ContainsFunc(g.Members, func(id int) bool { return j.Ranks[id] != nil && j.Ranks[id].finishedOne(g) }) {
		return nil
	}
	for _, id := range j.ids() {
		r := j.Ranks[id]
		if _, member := slices.BinarySearch(g.Members, id); !member && r.Dumped && !r.Truncated {
			ids = append(ids, id)
		}
	}
	return ids
}

// finishedOne reports whether r has finished a joint call of g and gone on to another:
// the end of a last one may be that it failed.
func (r *Rank) finishedOne(g *Group) bool {
	calls := r.in[g]
	return len(calls) > 1 && slices.ContainsFunc(calls[:len(calls)-1], func(c *Call) bool { return joint[c.Op] && c.Done == Done })
}

func allRanks(n int) []int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// settle finishes what the calls of r need to know of their group: the ranks of
// ends, and whether the group's numbers tell that they are done.
func (j *Job) settle(r *Rank) {
	if r.raw == nil {
		return
	}
	for _, e := range r.raw.entries {
		c := &e.call
		if c.P2P {
			c.Peer = peer(c.Group, e)
			continue
		}
		if c.Group.P2P {
			delete(r.Status, c.Group.ID) // it mixes two ways of counting
			continue
		}
		s := r.status(c.Group)
		if s.Done < 0 && s.Made < 0 {
			continue
		}
		if c.At.Seq <= s.Done && c.Done != Done {
			c.Done = Done
		} else if c.Done == Unrecorded {
			c.Done = Pending
		}
	}
}

// peer returns the rank at the other end of a send or receive, or -1.
func peer(g *Group, e *entry) int {
	if !g.Exact || e.dst < 0 || e.dst >= len(g.Members) {
		return -1
	}
	return g.Members[e.dst]
}
