package ckpt

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tpsh/mesh"
)

// An Offer is what one rank holds of a tensor: boxes, none of them empty, and
// the Sum of each.
type Offer struct {
	Name  string     `json:"name"`
	DType string     `json:"dtype"`
	Shape []int      `json:"shape"`
	Boxes []mesh.Box `json:"boxes"`
	Sums  []Sum      `json:"sums"`
}

// A ConflictError says that ranks do not agree on what is to be saved.
type ConflictError struct {
	Name      string // of the tensor
	Got, Want string
}

func (e *ConflictError) Error() string { return "got " + e.Got + ", want " + e.Want }

// Assign returns the tensors that the offers of ranks make up, by name and
// without their pieces, and which entries each rank is to write, in the order
// of a data file. Of ranks that hold the same box one writes it, another one for
// another name. The error is a *ConflictError.
//
// It is pure, so that every rank finds the same.
func Assign(offers [][]Offer) ([]*Tensor, [][]Entry, error) {
	byName := map[string]*assignment{}
	for rank, list := range offers {
		for i := range list {
			name := list[i].Name
			if byName[name] == nil {
				byName[name] = &assignment{name, make([]*Offer, len(offers))}
			}
			byName[name].offers[rank] = &list[i]
		}
	}
	tensors, entries := []*Tensor{}, make([][]Entry, len(offers))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		a := byName[name]
		t, err := a.run(entries)
		if err != nil {
			return nil, nil, err
		}
		tensors = append(tensors, t)
	}
	for _, list := range entries {
		slices.SortFunc(list, func(a, b Entry) int { return order(&a, &b) })
	}
	return tensors, entries, nil
}

// An assignment is what Assign does for one tensor.
type assignment struct {
	name   string
	offers []*Offer // by rank
}

// run returns the tensor, and adds what ranks are to write to entries.
func (a *assignment) run(entries [][]Entry) (*Tensor, error) {
	if err := a.checkKind(); err != nil {
		return nil, err
	}
	first := a.offers[0]
	t := &Tensor{Name: a.name, DType: first.DType, Shape: first.Shape, Pieces: []Piece{}}
	var boxes []mesh.Box
	holders, sums := map[string][]int{}, map[string]Sum{}
	for rank, o := range a.offers {
		for i, box := range o.Boxes {
			at := box.String()
			if len(holders[at]) == 0 {
				boxes, sums[at] = append(boxes, box), o.Sums[i]
				t.Sum.Add(o.Sums[i])
			} else if sums[at] != o.Sums[i] {
				return nil, &ConflictError{a.name, fmt.Sprintf("different elements for %q on ranks %d and %d", a.name, holders[at][0], rank), "the same on all ranks that hold " + a.described(box)}
			}
			holders[at] = append(holders[at], rank)
		}
	}
	if !Tiles(t.Shape, boxes) {
		return nil, &ConflictError{a.name, fmt.Sprintf("blocks for %q that overlap or leave a gap", a.name), "blocks that make up " + t.String()}
	}
	h := fnv.New32a()
	h.Write([]byte(a.name))
	for _, box := range boxes {
		list := holders[box.String()]
		writer := list[int(h.Sum32()%uint32(len(list)))]
		entries[writer] = append(entries[writer], Entry{a.name, t.DType, t.Shape, box})
	}
	return t, nil
}

// described returns box as a message shows it.
func (a *assignment) described(box mesh.Box) string {
	if slices.Equal(box.Shape(), a.offers[0].Shape) {
		return "it"
	}
	return "its block " + box.String()
}

// checkKind returns an error unless all ranks have a tensor of one dtype and
// shape.
func (a *assignment) checkKind() error {
	var kinds []string
	ranks := map[string][]string{}
	for rank, o := range a.offers {
		kind := "nothing"
		if o != nil {
			kind = Describe(o.DType, o.Shape)
		}
		if ranks[kind] == nil {
			kinds = append(kinds, kind)
		}
		ranks[kind] = append(ranks[kind], strconv.Itoa(rank))
	}
	if len(kinds) == 1 {
		return nil
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s on %s", kind, strings.Join(ranks[kind], ","))
	}
	return &ConflictError{a.name, fmt.Sprintf("for %q on ranks: %s", a.name, strings.Join(kinds, ", ")), "the same keys, dtypes and shapes on all ranks"}
}
