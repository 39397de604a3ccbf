package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tpsh/runtime/plan"
	"tpsh/runtime/timeline"
)

// A lineData is a line of the script, what all ranks did there, and for whom.
type lineData struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
	sum
	Implicit string  `json:"implicit,omitempty"` // an operator that moved an input there, unasked
	Seconds  float64 `json:"seconds,omitempty"`  // of a plan
	What     string  `json:"what,omitempty"`     // of a plan: operation and mesh dims
}

// place cuts "file:line:col".
func place(where string) (file string, line int) {
	where, _, _ = cutLast(where)
	file, text, _ := cutLast(where)
	line, _ = strconv.Atoi(text)
	return file, line
}

// cutLast cuts text at its last colon.
func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// textOf returns a line of a source, or "".
func textOf(sources map[string]string, file string, line int) string {
	for n, text := range strings.Split(sources[file], "\n") {
		if n+1 == line {
			return text
		}
	}
	return ""
}

// lines returns what every line did. What backward does counts for the forward line
// whose gradient it is, where that is known.
func (b *builder) lines() []lineData {
	type key struct {
		file string
		line int
	}
	all := map[key]*lineData{}
	for _, r := range b.ranks {
		for i := range r.Events {
			e := &r.Events[i]
			file, line := place(cmp.Or(e.Forward, e.Line))
			if line == 0 {
				continue
			}
			d := all[key{file, line}]
			if d == nil {
				d = &lineData{File: file, Line: line, Text: textOf(b.sources, file, line)}
				all[key{file, line}] = d
			}
			d.add(e, b.waits[e])
			d.Implicit = cmp.Or(d.Implicit, e.Implicit)
		}
	}
	list := []lineData{}
	for _, d := range all {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(x, y lineData) int { return cmp.Or(strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line)) })
	return list
}

// planLines returns what a plan says of the lines that communicate.
func planLines(f *plan.Figures, sources map[string]string) []lineData {
	var list []lineData
	for _, row := range f.Communication {
		file, line := place(row.Where)
		list = append(list, lineData{File: file, Line: line, Text: textOf(sources, file, line),
			sum: sum{Calls: row.Calls, Bytes: row.Bytes, Wire: row.WireBytes}, Seconds: row.Seconds, What: strings.TrimSpace(row.Op + " " + row.Dims)})
	}
	return list
}

// A node is a module or a region, with what is in it.
type node struct {
	Name string `json:"name"`
	sum
	Own   sum     `json:"own"` // without the parts
	Parts []*node `json:"parts,omitempty"`
}

// tree adds the events of all ranks up by the path that each has.
func (b *builder) tree(name string, path func(*timeline.Event) []string) *node {
	root := &node{Name: name}
	for _, r := range b.ranks {
		for i := range r.Events {
			e := &r.Events[i]
			at := root
			at.add(e, b.waits[e])
			for _, word := range path(e) {
				at = at.part(word)
				at.add(e, b.waits[e])
			}
			at.Own.add(e, b.waits[e])
		}
	}
	return root
}

// part returns the part called name, which it makes if it is not there.
func (n *node) part(name string) *node {
	for _, p := range n.Parts {
		if p.Name == name {
			return p
		}
	}
	p := &node{Name: name}
	n.Parts = append(n.Parts, p)
	return p
}
