package ckpt

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tpsh/mesh"
)

// A Target says how the tensors of a checkpoint are to be cut.
type Target struct {
	mesh  *mesh.Mesh
	rules []rule // for a tensor the first that matches its name counts
}

// A rule says how the tensors are cut whose names match a pattern.
type rule struct {
	text       string // as it was written
	pattern    string
	flat       bool // in even ranges of the elements
	placements []mesh.Placement
}

// WholeTarget has one writer write every tensor in one piece.
const WholeTarget = "n=1:*=R"

// ParseTarget reads a Target: the sizes of the dims of a mesh, each with its name,
// a colon, and rules, of which the first counts that matches a tensor's name.
//
//	dp=2,tp=4:*.bias=R;*.weight=S(0);*=flat
//
// A rule is a pattern, in which * stands for any text, an equals sign, and one
// placement for each of the last dims of the mesh, the others being R; or flat,
// which cuts the elements in even ranges. Tensors that no rule matches are R:
// one of the ranks writes all of such a one.
func ParseTarget(s string) (*Target, error) {
	dims, rules, _ := strings.Cut(s, ":")
	var shape []int
	var names []string
	for _, dim := range strings.Split(dims, ",") {
		name, size, ok := strings.Cut(dim, "=")
		n, err := strconv.Atoi(size)
		if !ok || name == "" || err != nil || n < 1 || n > 1<<14 {
			return nil, fmt.Errorf("got %q for a dim of the mesh, want a name and a size, as tp=4", dim)
		}
		shape, names = append(shape, n), append(names, name)
	}
	m, err := mesh.New(shape, nil, names)
	if err != nil {
		return nil, err
	}
	if m.Size() > 1<<14 {
		return nil, fmt.Errorf("got a mesh of %d ranks, want at most %d", m.Size(), 1<<14)
	}
	g := &Target{mesh: m}
	for _, text := range strings.Split(rules, ";") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		r, err := parseRule(strings.TrimSpace(text), m.NDim())
		if err != nil {
			return nil, err
		}
		g.rules = append(g.rules, r)
	}
	return g, nil
}

// parseRule reads a rule for a mesh of ndim dims.
func parseRule(text string, ndim int) (r rule, err error) {
	i := strings.LastIndexByte(text, '=')
	if i < 1 {
		return r, fmt.Errorf("got the rule %q, want a pattern and placements, as *.weight=S(0)", text)
	}
	r.text, r.pattern = text, text[:i]
	if _, err := path.Match(r.pattern, ""); err != nil {
		return r, fmt.Errorf("got the pattern %q, want one without an open [", r.pattern)
	}
	if text[i+1:] == "flat" {
		r.flat = true
		return r, nil
	}
	list := splitPlacements(text[i+1:])
	if len(list) > ndim {
		return r, fmt.Errorf("got %d placements in the rule %q, want at most %d, one for each dim of the mesh", len(list), text, ndim)
	}
	r.placements = make([]mesh.Placement, ndim-len(list), ndim)
	for _, s := range list {
		p, err := mesh.ParsePlacement(strings.TrimSpace(s))
		if _, partial := p.Partial(); err != nil || partial {
			return r, fmt.Errorf("got the placement %q in the rule %q, want R, S(dim), _S(dim, factor), RS(dim, 1:2) or flat", s, text)
		}
		r.placements = append(r.placements, p)
	}
	return r, nil
}

// splitPlacements returns the placements of a list, which are divided by the commas that are
// in no brackets.
func splitPlacements(text string) []string {
	var list []string
	start, depth := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			list, start = append(list, text[start:i]), i+1
		}
	}
	return append(list, text[start:])
}

// matches reports whether the rule is for the tensor called name.
func (r *rule) matches(name string) bool { return MatchName(r.pattern, name) }

// MatchName reports whether a pattern matches the name of a tensor. The pattern is one of
// path.Match, but for slashes, which are letters like any other.
func MatchName(pattern, name string) bool {
	clean := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(clean.Replace(pattern), clean.Replace(name))
	return ok && err == nil
}

// first returns the number of the rule that counts for the tensor called name, or -1.
func (g *Target) first(name string) int {
	return slices.IndexFunc(g.rules, func(r rule) bool { return r.matches(name) })
}

// CheckRules returns an error unless every rule counts for one of the tensors called
// names: one that counts for none was meant for something else.
func (g *Target) CheckRules(names []string) error {
	used := make([]bool, len(g.rules))
	for _, name := range names {
		if i := g.first(name); i >= 0 {
			used[i] = true
		}
	}
	i := slices.Index(used, false)
	if i < 0 {
		return nil
	}
	r := &g.rules[i]
	if slices.ContainsFunc(names, r.matches) {
		return fmt.Errorf("the rule %q counts for no tensor: for those that it matches one before it does", r.text)
	}
	some := strings.Join(names[:min(3, len(names))], ", ")
	if len(names) > 3 {
		some += ", ..."
	}
	return fmt.Errorf("the rule %q matches none of the %d tensors: %s", r.text, len(names), some)
}

// layout returns how t is to be cut.
func (g *Target) layout(t *Tensor) (mesh.Layout, error) {
	placements := make([]mesh.Placement, g.mesh.NDim())
	if i := g.first(t.Name); i >= 0 {
		if g.rules[i].flat {
			return mesh.NewFlat(t.Shape, g.mesh.Ranks(), mesh.EvenRanges(t.Numel(), g.mesh.Size()))
		}
		placements = g.rules[i].placements
	}
	l, err := mesh.Place(g.mesh, t.Shape, placements)
	if err != nil {
		return nil, fmt.Errorf("tensor %q, %v: %w", t.Name, t, err)
	}
	return l, nil
}

// Boxes returns what each rank of the mesh holds of a tensor: boxes, none of them
// empty.
func (g *Target) Boxes(name, dtype string, shape []int) ([][]mesh.Box, error) {
	l, err := g.layout(&Tensor{Name: name, DType: dtype, Shape: shape})
	if err != nil {
		return nil, err
	}
	list := make([][]mesh.Box, g.mesh.Size())
	for rank := range list {
		for _, box := range l.Boxes(rank) {
			if box.Numel() > 0 {
				list[rank] = append(list[rank], box)
			}
		}
	}
	return list, nil
}
