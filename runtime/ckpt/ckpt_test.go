package ckpt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/mesh"
)

// folder returns an empty folder.
func folder(t interface {
	Fatal(...any)
	Cleanup(func())
}) *os.Root {
	dir, err := os.MkdirTemp("", "ckpt")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close(); os.RemoveAll(dir) })
	return root
}

// A sample is a tensor to save: how ranks hold it, and its elements, float32
// numbers that count from first.
type sample struct {
	name   string
	layout mesh.Layout
	first  int
}

// data returns the elements of box.
func (s *sample) data(box mesh.Box) []byte {
	var data []byte
	_ = Walk(Whole(s.layout.Shape()), box, box, func(at, _, n int) error {
		for i := range n {
			data = binary.LittleEndian.AppendUint32(data, uint32(s.first+at+i))
		}
		return nil
	})
	return data
}

// offer returns what rank holds.
func (s *sample) offer(rank int) Offer {
	o := Offer{Name: s.name, DType: "float32", Shape: s.layout.Shape()}
	for _, box := range s.layout.Boxes(rank) {
		if box.Numel() == 0 {
			continue
		}
		var sum Sum
		sum.AddBox(s.data(box), 4, o.Shape, box)
		o.Boxes, o.Sums = append(o.Boxes, box), append(o.Sums, sum)
	}
	return o
}

// save saves samples as so many ranks would.
func save(root *os.Root, size int, state string, samples ...*sample) error {
	gen, err := Begin(root)
	if err != nil {
		return err
	}
	offers := make([][]Offer, size)
	for rank := range offers {
		for _, s := range samples {
			offers[rank] = append(offers[rank], s.offer(rank))
		}
	}
	tensors, entries, err := Assign(offers)
	if err != nil {
		return err
	}
	files := make([]*File, size)
	for rank, list := range entries {
		if len(list) == 0 {
			continue
		}
		w, err := Create(root, gen, rank, list)
		if err != nil {
			return err
		}
		for _, e := range list {
			i := slices.IndexFunc(samples, func(s *sample) bool { return s.name == e.Name })
			if _, err := w.Write(samples[i].data(e.Box)); err != nil {
				w.Discard()
				return err
			}
		}
		if files[rank], err = w.Close(); err != nil {
			return err
		}
	}
	return Commit(root, Fresh([]byte(state), tensors, files, entries))
}

// drawLayout draws a way in which ranks hold a tensor of a shape.
func drawLayout(t *rapid.T, size int, shape []int, label string) mesh.Layout {
	ranks := make([]int, size)
	for i := range ranks {
		ranks[i] = i
	}
	n := Whole(shape).Numel()
	if rapid.Bool().Draw(t, label+" is flat") {
		ranges := make([][]mesh.Range, size)
		for lo := 0; lo < n; {
			hi := rapid.IntRange(lo+1, n).Draw(t, label+" range")
			k := rapid.IntRange(0, size-1).Draw(t, label+" rank")
			ranges[k] = append(ranges[k], mesh.Range{Lo: lo, Hi: hi})
			lo = hi
		}
		l, err := mesh.NewFlat(shape, ranks, ranges)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	dims := []int{size}
	if size%2 == 0 && rapid.Bool().Draw(t, label+" is on two dims") {
		dims = []int{2, size / 2}
	}
	m, err := mesh.New(dims, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	placements := make([]mesh.Placement, len(dims))
	for i := range placements {
		if d := rapid.IntRange(-1, len(shape)-1).Draw(t, label+" placement"); d >= 0 {
			placements[i] = mesh.Shard(d)
		}
	}
	l, err := mesh.Place(m, shape, placements)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What ranks save in any layout, others read in any other.
func TestAnyLayoutToAnyOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := folder(t)
		shape := rapid.SliceOfN(rapid.IntRange(0, 7), 0, 4).Draw(t, "shape")
		from, to := rapid.IntRange(1, 6).Draw(t, "from"), rapid.IntRange(1, 6).Draw(t, "to")
		w := &sample{"w", drawLayout(t, from, shape, "w"), 1}
		b := &sample{"b", drawLayout(t, from, []int{5}, "b"), 100}
		if err := save(root, from, `{"step":7}`, w, b); err != nil {
			t.Fatal(err)
		}
		readAs(t, root, w, drawLayout(t, to, shape, "target"))
		readAs(t, root, b, drawLayout(t, to, []int{5}, "target of b"))
	})
}

// readAs checks what ranks read that hold s in another layout.
func readAs(t *rapid.T, root *os.Root, s *sample, l mesh.Layout) {
	r, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, rank := range l.Ranks() {
		for _, box := range l.Boxes(rank) {
			got, want := make([]byte, 4*box.Numel()), s.data(box)
			if err := r.Read(got, r.Tensor(s.name), box); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s%v of %v: got %v, want %v", s.name, box, l, got, want)
			}
		}
	}
	if bad := r.Verify(10, func(int64) {}); len(bad) > 0 {
		t.Fatal(bad)
	}
}

// A target that a checkpoint does not have room for, or whose words are wrong, is
// an error.
func TestTargetErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":              `got "" for a dim of the mesh`,
		"4":             `got "4" for a dim of the mesh, want a name and a size`,
		"tp=0":          `got "tp=0"`,
		"a=2,a=2":       `"a"`,
		"tp=2:w":        `got the rule "w", want a pattern and placements`,
		"tp=2:[=R":      `got the pattern "["`,
		"tp=2:w=S(0),R": `got 2 placements in the rule "w=S(0),R", want at most 1`,
		"tp=2:w=P(sum)": `got the placement "P(sum)"`,
		"tp=2:w=X":      `got the placement "X"`,
		"a=16384,b=2":   `got a mesh of 32768 ranks, want at most 16384`,
	} {
		if _, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	g, err := ParseTarget("tp=2:*=S(1)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Boxes("w", "float32", []int{4}); err == nil || !strings.HasPrefix(err.Error(), `tensor "w", float32[4]: `) {
		t.Errorf("got %v", err)
	}
}

// A rule may say in which order dims of the mesh cut.
func TestTargetOrder(t *testing.T) {
	g, err := ParseTarget("dp=2,tp=2:*=_S(0, 2), S(0)")
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := g.Boxes("w", "float32", []int{8})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(boxes), "[[[0:2]] [[4:6]] [[2:4]] [[6:8]]]"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if g, err = ParseTarget("dp=2,tp=2:*=_S(0, 3), S(0)"); err == nil {
		_, err = g.Boxes("w", "float32", []int{8})
	}
	if err == nil || !strings.Contains(err.Error(), "want split_factor=1 or 2") {
		t.Errorf("got %v", err)
	}
}

// A rule that counts for no tensor is an error, which says why it does not.
func TestTargetRules(t *testing.T) {
	names := []string{"a.weight", "b.weight", "c/w", "d.bias"}
	for text, want := range map[string]string{
		"n=2":                           "",
		"n=2:*.weight=S(0)":             "",
		"n=2:a.*=R;*.weight=S(0);c*=R":  "",
		"n=2:*.weigth=S(0)":             `the rule "*.weigth=S(0)" matches none of the 4 tensors: a.weight, b.weight, c/w, ...`,
		"n=2:*.weight=S(0); *.scale=R ": `the rule "*.scale=R" matches none`,
		"n=2:*=flat;*.bias=R":           `the rule "*.bias=R" counts for no tensor: for those that it matches one before it does`,
	} {
		g, err := ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := g.CheckRules(names); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// one returns a sample w of n rows of 5 numbers from first on, on one rank.
func one(n, first int) *sample {
	m, err := mesh.New([]int{1}, nil, nil)
	if err != nil {
		panic(err)
	}
	l, err := mesh.Place(m, []int{n, 5}, []mesh.Placement{mesh.Replicate()})
	if err != nil {
		panic(err)
	}
	return &sample{"w", l, first}
}

// Ranks that disagree are told how, and who.
func TestAssignConflicts(t *testing.T) {
	box := func(lo, hi int) []mesh.Box { return []mesh.Box{{Lo: []int{lo}, Hi: []int{hi}}} }
	offer := func(n int, boxes []mesh.Box, sum uint64) []Offer {
		return []Offer{{"w", "float32", []int{n}, boxes, []Sum{{0, sum}}}}
	}
	for _, c := range []struct {
		offers [][]Offer
		want   string
	}{
		{[][]Offer{offer(4, box(0, 4), 1), nil, nil}, `for "w" on ranks: float32[4] on 0, nothing on 1,2`},
		{[][]Offer{offer(4, box(0, 4), 1), offer(5, box(0, 5), 1)}, `for "w" on ranks: float32[4] on 0, float32[5] on 1`},
		{[][]Offer{offer(4, box(0, 4), 1), offer(4, box(0, 4), 2)}, `different elements for "w" on ranks 0 and 1, want the same on all ranks that hold it`},
		{[][]Offer{offer(4, box(0, 2), 1), offer(4, box(0, 2), 2)}, `hold its block [0:2]`},
		{[][]Offer{offer(4, box(0, 2), 1), offer(4, box(3, 4), 2)}, `overlap or leave a gap, want blocks that make up float32[4]`},
		{[][]Offer{offer(4, box(0, 3), 1), offer(4, box(2, 4), 2)}, `overlap or leave a gap`},
	} {
		_, _, err := Assign(c.offers)
		var conflict *ConflictError
		if !errors.As(err, &conflict) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Of what all hold, different ranks write different tensors.
func TestAssignSpreads(t *testing.T) {
	offers := make([][]Offer, 4)
	for rank := range offers {
		for i := range 100 {
			o := one(1, 1).offer(0)
			o.Name = fmt.Sprint("layer.", i)
			offers[rank] = append(offers[rank], o)
		}
	}
	_, entries, err := Assign(offers)
	if err != nil {
		t.Fatal(err)
	}
	for rank, list := range entries {
		if len(list) < 10 || len(list) > 50 {
			t.Errorf("rank %d writes %d of 100", rank, len(list))
		}
	}
}
