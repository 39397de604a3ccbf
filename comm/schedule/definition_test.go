package schedule

import (
	"reflect"
	"slices"
	"testing"
)

// What the row of a kind says besides its definition follows from that; a kind that lacks
// something is told where it belongs.
func TestDefinitions(t *testing.T) {
	names := map[string]Kind{}
	for kind := range Kinds {
		row := &kindRows[kind]
		if row.name == "" || row.is.ins == nil || row.is.outs == nil || row.offers == nil || len(row.message) == 0 || len(row.direct) == 0 {
			t.Fatalf("kind %d (%q) lacks a name, a definition, offers or an algorithm of either family: see its row of kindRows in comm/schedule/table.go", kind, row.name)
		}
		if other, twice := names[row.name]; twice {
			t.Errorf("kinds %d and %d are both called %s in comm/schedule/table.go", other, kind, row.name)
		}
		names[row.name] = kind
		reduces, alike, joins := false, true, true
		for size := 1; size <= 4; size++ {
			for _, c := range simCases(kind, size) {
				r, a := c.checkDefinition(t)
				reduces, alike = reduces || r, alike && a
				for rank := range size {
					joins = joins && reflect.DeepEqual(row.is.outs(c.position(rank)), firstOfEach(c.position(rank)))
				}
			}
		}
		if row.reduces != reduces {
			t.Errorf("%s: reduces is %v in comm/schedule/table.go, by its definition %v", kind, row.reduces, reduces)
		}
		if row.joins != joins {
			t.Errorf("%s: joins is %v in comm/schedule/table.go, by its definition %v", kind, row.joins, joins)
		}
		if moves := kind != Barrier; moves && row.alike != alike {
			t.Errorf("%s: alike is %v in comm/schedule/table.go, by its definition %v", kind, row.alike, alike)
		}
	}
}

// checkDefinition checks what a call needs of its members, and reports whether it reduces
// blocks, and whether members have results that are alike.
func (c simCase) checkDefinition(t *testing.T) (reduces, alike bool) {
	row := &kindRows[c.kind]
	first := row.is.outs(c.position(0))
	alike = true
	for rank := range c.size {
		outs := row.is.outs(c.position(rank))
		alike = alike && reflect.DeepEqual(outs, first)
		for _, s := range slices.Concat(outs...) {
			at := c.position(s.Member)
			if s.Block >= row.is.ins(at) {
				t.Fatalf("%+v: member %d needs In[%d] of member %d, which by definition offers %d blocks", c, rank, s.Block, s.Member, row.is.ins(at))
			}
			if s.Member != rank && !row.offers(at) {
				t.Fatalf("%+v: member %d needs In[%d] of member %d, of which offers in comm/schedule/table.go says no", c, rank, s.Block, s.Member)
			}
		}
		reduces = reduces || slices.ContainsFunc(outs, func(list []Source) bool { return len(list) > 1 })
	}
	return reduces, alike
}
