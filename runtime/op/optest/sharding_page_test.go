package optest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/op"
)

const shardingIntro = `# What operators do with distributed tensors

This page is generated from the operator table, by calls on 2 and on 4 ranks. It
says for each operator, of inputs placed in different ways, how its result is
placed and how many bytes a rank receives.

How to read it:

- A placement is that of one input, in their order, along one dim of a mesh. ` + "`R`" + ` is
  ` + "`Replicate()`" + `: every rank holds all of the tensor. ` + "`S(0)`" + ` is ` + "`Shard(0)`" + `: each rank holds
  a block of dim 0. ` + "`P(sum)`" + ` is ` + "`Partial(\"sum\")`" + `: each rank holds a term of a sum that
  nobody has computed yet. ` + "`-`" + ` stands for a number or None.
- ` + "`S(0) R -> S(0)`" + ` says: with the first input as ` + "`S(0)`" + ` and the second as ` + "`R`" + `, the result
  is ` + "`S(0)`" + `. Several results stand beside each other.
- Bytes are those that a rank receives for the call itself, on average over the
  ranks; 0 means that nothing is sent. A result that is ` + "`P(sum)`" + ` is reduced when it is
  needed: ` + "`x.redistribute(placements=[Replicate()])`" + ` does that, and
  ` + "`plan_redistribute`" + ` says what it costs.
- "gathers" marks calls in which every rank receives all of an input that was cut.
- "refused" is an error: an operation in place keeps the placements of its target.
- Inputs that are all replicated are not listed: the result is replicated then,
  and nothing is sent. Plain tensors and numbers count as replicated.
- Where there are many ways to place the inputs, those are shown in which one input
  is not replicated, and those that need no communication. ` + "`P(max)`" + ` is shown for
  operators of one tensor.
- A line without operators goes on with those above it. The columns "on 2" and "on 4"
  are the bytes on 2 and on 4 ranks.
- On a mesh of several dims, each dim is one of these cases, in whatever order they cut: of
  operands of which one dim is cut by several mesh dims in one order (_StridedShard) the
  result is cut in that order, too. Where operands differ in it, one is moved.

`

// shardingPage returns the page.
func shardingPage(calls []*docCall) string {
	var b strings.Builder
	b.WriteString(shardingIntro)
	b.WriteString("## Operators that may gather\n\n")
	b.WriteString("These have every rank receive all of an input that is cut in the way said, because\nno way is known that moves less. No other operator does so where that input alone\nis cut and none is larger. Inputs that are cut in ways that do not go together may\ncost a gather of one of them.\n\n")
	for _, name := range slices.Sorted(maps.Keys(mayGather)) {
		fmt.Fprintf(&b, "- `%s`: %s\n", name, mayGather[name])
	}
	internal := func(c *docCall) bool { return c.tr.d.Surface == op.Internal }
	b.WriteString("\n## Operators\n\n")
	writeTable(&b, groupsOf(slices.DeleteFunc(slices.Clone(calls), internal)))
	b.WriteString("\n## Operators that others are made of\n\nGradients, indexing and optimizers use these.\n\n")
	writeTable(&b, groupsOf(slices.DeleteFunc(slices.Clone(calls), func(c *docCall) bool { return !internal(c) })))
	return b.String()
}

// A docGroup is calls that take the same and do the same.
type docGroup struct {
	names []string
	takes string
	body  string
}

// groupsOf returns calls in groups, in the order of the first of each.
func groupsOf(calls []*docCall) []*docGroup {
	var list []*docGroup
	byKey := map[string]*docGroup{}
	for _, c := range calls {
		takes, body := c.tr.takes(), c.body()
		g := byKey[takes+body]
		if g == nil {
			g = &docGroup{takes: takes, body: body}
			byKey[takes+body] = g
			list = append(list, g)
		}
		g.names = append(g.names, c.tr.d.Name)
	}
	return list
}

// writeTable writes groups as one table. The first line of a group names it.
func writeTable(b *strings.Builder, groups []*docGroup) {
	b.WriteString("| operators | placements | on 2 | on 4 | |\n| --- | --- | ---: | ---: | --- |\n")
	for _, g := range groups {
		first := fmt.Sprintf("**%s** of `%s`", strings.Join(g.names, ", "), g.takes)
		for line := range strings.Lines(g.body) {
			fmt.Fprintf(b, "| %s %s", first, line)
			first = ""
		}
	}
}

// body returns the lines of the table of c, the cheapest first: cases that cost
// the same stand in one.
func (c *docCall) body() string {
	type cost struct {
		bytes [2]int
		note  string
	}
	lines := map[cost][]string{}
	var order []cost
	for i := range c.found[0] {
		two, four := c.found[0][i], c.found[1][i]
		k := cost{bytes: [2]int{two.bytes, four.bytes}}
		to := two.to
		switch {
		case two.to == "refused":
			k.note = "refused"
		case two.gathers || four.gathers:
			k.note = "gathers"
		}
		if four.to != two.to {
			to += " (on 4: " + four.to + ")"
		}
		if lines[k] == nil {
			order = append(order, k)
		}
		if k.note == "refused" {
			lines[k] = append(lines[k], "`"+c.cases[0][i].text()+"`")
			continue
		}
		lines[k] = append(lines[k], "`"+c.cases[0][i].text()+" -> "+to+"`")
	}
	slices.SortStableFunc(order, func(a, b cost) int {
		if a.note != b.note && (a.note == "refused" || b.note == "refused") {
			return strings.Compare(a.note, b.note)
		}
		return (a.bytes[0] - b.bytes[0]) + (a.bytes[1] - b.bytes[1])
	})
	var b strings.Builder
	for _, k := range order {
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", strings.Join(lines[k], ", "), k.bytes[0], k.bytes[1], k.note)
	}
	return b.String()
}

// text returns the placements of the inputs: S(0) R.
func (c *ringCase) text() string {
	var list []string
	for i, p := range c.place {
		switch {
		case p != nil:
			list = append(list, p[0].String())
		case c.tr.in[i] != nil:
			list = append(list, "-")
		}
	}
	return strings.Join(list, " ")
}

// shortOf returns the placements of results on a mesh of one dim.
func shortOf(layouts []*mesh.Placed) string {
	var list []string
	for _, l := range layouts {
		list = append(list, l.Placements()[0].String())
	}
	return strings.Join(list, " ")
}
