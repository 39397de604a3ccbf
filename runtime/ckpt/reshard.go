package ckpt

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"tpsh/mesh"
)

// A Plan says how a checkpoint is to be cut anew.
type Plan struct {
	Moves []Move // one for each tensor, in the order in which they are written
	Files int    // how many data files there will be

	tensors []*Tensor
	entries [][]Entry // by writer
}

// A Move is what a Plan does with a tensor.
type Move struct {
	*Tensor
	Pieces int   // how many there will be
	Moved  int64 // the bytes that another writer will have than has them now
}

// NewPlan returns the Plan that cuts the tensors of x as g says.
func NewPlan(x *Index, g *Target) (*Plan, error) {
	offers := make([][]Offer, g.mesh.Size())
	for _, t := range x.Tensors {
		l, err := g.layout(t)
		if err != nil {
			return nil, err
		}
		for rank := range offers {
			o := Offer{Name: t.Name, DType: t.DType, Shape: t.Shape}
			for _, box := range l.Boxes(rank) {
				if box.Numel() > 0 {
					o.Boxes = append(o.Boxes, box)
				}
			}
			o.Sums = make([]Sum, len(o.Boxes))
			offers[rank] = append(offers[rank], o)
		}
	}
	tensors, entries, err := Assign(offers)
	if err != nil {
		return nil, err
	}
	p := &Plan{tensors: tensors, entries: entries}
	for i, t := range x.Tensors {
		tensors[i].Sum = t.Sum // both by name; what is written must have it
		p.Moves = append(p.Moves, Move{Tensor: t})
	}
	slices.SortFunc(p.Moves, func(a, b Move) int {
		return order(&Entry{Name: a.Name, DType: a.DType}, &Entry{Name: b.Name, DType: b.DType})
	})
	moves := map[string]*Move{}
	for i := range p.Moves {
		moves[p.Moves[i].Name] = &p.Moves[i]
	}
	for writer, list := range entries {
		p.Files += min(1, len(list))
		for i := range list {
			m := moves[list[i].Name]
			m.Pieces++
			m.Moved += x.foreign(m.Tensor, list[i].Box, writer)
		}
	}
	return p, nil
}

// foreign returns the bytes of box of t that other writers than one have.
func (x *Index) foreign(t *Tensor, box mesh.Box, writer int) (bytes int64) {
	for i := range t.Pieces {
		p := &t.Pieces[i]
		if common, ok := p.Box().Intersect(box); ok && x.Files[p.File].writer() != writer {
			bytes += int64(common.Numel() * t.ItemSize())
		}
	}
	return bytes
}

// writer returns the number of the writer of f.
func (f *File) writer() int {
	n, _ := strconv.Atoi(f.Name[9:14]) // by the form of names
	return n
}

// maxSlab is how many bytes of a tensor are read at a time at most: enough that
// a read is little work beside what it reads.
const maxSlab = 16 << 20

// slabSize returns how many bytes may be read at a time, if all buffers together
// have maxMem: two slabs are under way at a time.
func (p *Plan) slabSize(maxMem int) (int, error) {
	least := p.Files*bufferSize + 4*chunkSize
	if maxMem < least {
		return 0, fmt.Errorf("got %d bytes of memory, want at least %d for %d files", maxMem, least, p.Files)
	}
	return min(maxSlab, (maxMem-p.Files*bufferSize-chunkSize)/2), nil
}

// Reshard writes the checkpoint of r into a folder, which may be its own, cut as
// the plan says. Its buffers have at most maxMem bytes. progress is told how many
// bytes of tensors are done. It compares the Sum of what it writes with that of
// what was saved: where they differ the folder is left as it was, as after any
// error.
func (p *Plan) Reshard(r *Reader, dst *os.Root, maxMem int, progress func(done int64)) error {
	size, err := p.slabSize(maxMem)
	if err != nil {
		return err
	}
	gen, err := Begin(dst)
	if err != nil {
		return err
	}
	w := &resharding{plan: p, dst: dst, gen: gen, places: map[string][]target{}, writers: make([]*Writer, len(p.entries)), progress: progress}
	defer w.discard()
	if err := w.create(); err != nil {
		return pathless(err)
	}
	if err := w.stream(r, size); err != nil {
		return err
	}
	files := make([]*File, len(w.writers))
	for i, f := range w.writers {
		if f == nil {
			continue
		}
		w.writers[i] = nil
		if files[i], err = f.Close(); err != nil {
			w.remove(files)
			return pathless(err)
		}
	}
	return pathless(Commit(dst, Fresh(r.State, p.tensors, files, p.entries)))
}

// A resharding is a call of Reshard.
type resharding struct {
	plan     *Plan
	dst      *os.Root
	gen      int
	writers  []*Writer // nil for one that has nothing to write
	places   map[string][]target
	done     int64
	progress func(int64)
}

// A target is where a part of a tensor goes: to an entry of a writer.
type target struct {
	writer *Writer
	box    mesh.Box
	offset int64
}

// create begins the data files.
func (w *resharding) create() error {
	for i, list := range w.plan.entries {
		if len(list) == 0 {
			continue
		}
		f, err := Create(w.dst, w.gen, i, list)
		if err != nil {
			return err
		}
		w.writers[i] = f
		for k := range list {
			w.places[list[k].Name] = append(w.places[list[k].Name], target{f, list[k].Box, f.Offsets[k]})
		}
	}
	return nil
}

// discard removes the files that are not ended.
func (w *resharding) discard() {
	for _, f := range w.writers {
		if f != nil {
			f.Discard()
		}
	}
}

// remove removes files that are.
func (w *resharding) remove(files []*File) {
	for _, f := range files {
		if f != nil {
			_ = w.dst.Remove(f.Name)
		}
	}
}

// A slab is a part of a tensor that has been read: a range of its elements in
// row-major order.
type slab struct {
	*Tensor
	box  mesh.Box
	data []byte
}

// stream writes what it reads from r, of which it reads size bytes at a time,
// one slab ahead.
func (w *resharding) stream(r *Reader, size int) error {
	free, full, stop := make(chan []byte, 2), make(chan slab), make(chan struct{})
	free <- nil
	free <- nil
	var failed error
	go func() {
		defer close(full)
		failed = w.readAll(r, size, free, full, stop)
	}()
	defer func() { // the goroutine has ended when full is closed
		close(stop)
		for range full {
		}
	}()
	sums := map[string]*Sum{}
	for s := range full {
		sum := sums[s.Name]
		if sum == nil {
			sum = new(Sum)
			sums[s.Name] = sum
		}
		if err := w.write(s, sum); err != nil {
			return pathless(err)
		}
		free <- s.data
	}
	if failed != nil {
		return failed
	}
	return w.prove(sums)
}

// readAll reads the tensors in the order of the plan and sends them to full, in
// slabs with buffers from free, until stop is closed.
func (w *resharding) readAll(r *Reader, size int, free <-chan []byte, full chan<- slab, stop <-chan struct{}) error {
	for _, m := range w.plan.Moves {
		err := slabs(whole(m.Shape), max(1, size/m.ItemSize()), func(box mesh.Box) error {
			var buf []byte
			select {
			case buf = <-free:
			case <-stop:
				return os.ErrClosed
			}
			n := box.Numel() * m.ItemSize()
			buf = slices.Grow(buf[:0], n)[:n]
			if err := r.Read(buf, m.Tensor, box); err != nil {
				return fmt.Errorf("tensor %q: %w", m.Name, err)
			}
			select {
			case full <- slab{m.Tensor, box, buf}:
				return nil
			case <-stop:
				return os.ErrClosed
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes s to the files that are to have it, and adds to sum what it
// writes. Each file's pieces, and their elements, come in the order of the slabs.
func (w *resharding) write(s slab, sum *Sum) error {
	size, first := s.ItemSize(), place(s.Shape, s.box)
	for _, to := range w.places[s.Name] {
		common, ok := to.box.Intersect(s.box)
		if !ok {
			continue
		}
		err := walk(s.box, to.box, common, func(from, at, n int) error {
			if to.writer.At() != to.offset+int64(at*size) {
				panic(fmt.Sprintf("ckpt: %s%v is written at byte %d", s.Name, to.box, to.writer.At()))
			}
			data := s.data[from*size : (from+n)*size]
			sum.addRun(data, size, first+from)
			_, err := to.writer.Write(data)
			return err
		})
		if err != nil {
			return err
		}
	}
	w.done += int64(len(s.data))
	w.progress(w.done)
	return nil
}

// prove compares what has been written of each tensor with what was saved.
func (w *resharding) prove(sums map[string]*Sum) error {
	for _, m := range w.plan.Moves {
		var got Sum
		if s := sums[m.Name]; s != nil {
			got = *s
		}
		if got != m.Sum {
			return fmt.Errorf("tensor %q: the content hash of what was written is %v, and of what was saved %v", m.Name, got, m.Sum)
		}
	}
	return nil
}
