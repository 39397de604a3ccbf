package tensorfiles

import (
	"bytes"
	"fmt"

	"tpsh/builtins/pickle"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// A Difference says in what two sets differ.
type Difference struct {
	Name string // of a tensor, or the path of a value
	Says string
}

// Diff compares the tensors of two sets element by element, bit by bit, however each
// is cut, and their values where both formats have room for such. Buffers have at most
// most bytes.
func Diff(a, b *Set, most int, progress func(done int64)) ([]Difference, error) {
	d := &differ{a: a, b: b, most: max(1, min(most, 2*maxSlab)/4), progress: progress}
	for _, t := range a.Tensors {
		if err := d.tensor(t); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	for _, t := range b.Tensors {
		if a.Tensor(t.Name) == nil {
			d.add(t.Name, "%v in the second alone", t)
		}
	}
	if hasValues(a) && hasValues(b) {
		d.values("", a.Tree, b.Tree)
	}
	return d.list, nil
}

// hasValues reports whether a format has values beside tensors.
func hasValues(s *Set) bool { return s.Format != Safetensors }

// A differ is a call of Diff.
type differ struct {
	a, b     *Set
	most     int
	progress func(int64)
	done     int64
	list     []Difference
}

func (d *differ) add(name, format string, args ...any) {
	d.list = append(d.list, Difference{name, fmt.Sprintf(format, args...)})
}

// tensor compares a tensor of the first with that of the second.
func (d *differ) tensor(t *Tensor) error {
	u := d.b.Tensor(t.Name)
	if u == nil {
		d.add(t.Name, "%v in the first alone", t)
		return nil
	}
	if t.String() != u.String() {
		d.add(t.Name, "%v and %v", t, u)
		return nil
	}
	size, count, first := t.ItemSize(), 0, -1
	err := ckpt.Slabs(ckpt.Whole(t.Shape), max(1, d.most/size), func(box mesh.Box) error {
		x, y := make([]byte, box.Numel()*size), make([]byte, box.Numel()*size)
		if err := d.a.Read(x, t, box); err != nil {
			return err
		}
		if err := d.b.Read(y, u, box); err != nil {
			return err
		}
		d.done += int64(len(x))
		d.progress(d.done)
		if bytes.Equal(x, y) {
			return nil
		}
		for i := 0; i < len(x); i += size {
			if !bytes.Equal(x[i:i+size], y[i:i+size]) {
				if count++; first < 0 {
					first = ckpt.Place(t.Shape, box) + i/size
				}
			}
		}
		return nil
	})
	if count > 0 {
		d.add(t.Name, "%d of %d elements of %v differ, the first at %v", count, t.Numel(), t, index(t.Shape, first))
	}
	return err
}

// index returns the index of an element by its place.
func index(shape []int, at int) []int {
	list := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		list[i] = at % shape[i]
		at /= shape[i]
	}
	return list
}

// values compares what is no tensor.
func (d *differ) values(path string, a, b any) {
	x, ok := a.(*pickle.Dict)
	y, ok2 := b.(*pickle.Dict)
	if !ok || !ok2 {
		if p, q := text(a), text(b); p != q {
			d.add(path, "%.60s and %.60s", p, q)
		}
		return
	}
	for key, item := range x.All() {
		if other, ok := y.Lookup(key); ok {
			d.values(join2(path, key.(string)), item, other)
		} else if !holdsTensor(item) {
			d.add(join2(path, key.(string)), "%.60s in the first alone", text(item))
		}
	}
	for key, item := range y.All() {
		if _, ok := x.Lookup(key); !ok && !holdsTensor(item) {
			d.add(join2(path, key.(string)), "%.60s in the second alone", text(item))
		}
	}
}

// text returns a value as JSON.
func text(v any) string {
	w := &stateWriter{}
	w.value("", v)
	return string(w.text)
}

// holdsTensor reports whether there is a tensor, or what cannot be read here, in v.
func holdsTensor(v any) bool {
	if d, ok := v.(*pickle.Dict); ok {
		for _, item := range d.All() {
			if holdsTensor(item) {
				return true
			}
		}
	}
	items, _ := pickle.Items(v)
	for _, item := range items {
		if holdsTensor(item) {
			return true
		}
	}
	switch v.(type) {
	case *Tensor, *Opaque:
		return true
	}
	return false
}
