package tensorfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tpsh/builtins/dcp"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// Options say what Copy writes.
type Options struct {
	Format   string           // Own, DCP or Safetensors
	Target   *ckpt.Target     // how tensors are cut; nil for whole ones in one file
	FileSize int64            // of Safetensors without a Target: how many bytes a file may have; 0 for any
	MaxMem   int              // how many bytes the buffers may have together
	Progress func(done int64) // is told how many bytes of tensors are done; may be nil
}

// A Proof says what was copied.
type Proof struct {
	Tensors []Proved `json:"tensors"`
	Files   int      `json:"files"`
	Left    []string `json:"left_out,omitempty"` // values that the format has no place for
}

// A Proved is a tensor with its hashes.
type Proved struct {
	Name    string   `json:"name"`
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Read    ckpt.Sum `json:"read"`
	Written ckpt.Sum `json:"written"`
}

// maxSlab is how many bytes of a tensor are read at a time at most: so many stay in a
// core's cache between being read, hashed and written.
const maxSlab = 2 << 20

// writerBuffer is how many bytes the writer of a file keeps.
const writerBuffer = 256 << 10

// A sink is what Copy writes to, file by file.
type sink interface {
	// entry begins the next entry of a writer; the entry before is full.
	entry(writer, entry int) error
	write(writer int, data []byte) error
	// finish ends all files and makes them a checkpoint.
	finish(sums map[string]ckpt.Sum) error
	// discard removes what has been written.
	discard()
}

// Copy writes the tensors of s into the folder dst in another format, cut in another
// way. It reads every element once, in parts: two of them and a buffer for each file
// are what it has in memory, and no part is larger than the largest tensor. A value that
// is damaged is an error, as a tensor is. If it fails, nothing new is left
// in dst, nor dst if it is new.
func Copy(s *Set, dst string, o *Options) (_ *Proof, err error) {
	if p, ok := s.src.(*pieces); ok && len(p.damaged) > 0 {
		return nil, p.damaged[0]
	}
	c := &copying{src: s, o: o, proof: new(Proof)}
	if err := c.plan(); err != nil {
		return nil, err
	}
	if err := c.size(); err != nil {
		return nil, err
	}
	_, missing := os.Stat(dst)
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && missing != nil {
			os.Remove(dst) // unless there is something in it
		}
	}()
	root, err := os.OpenRoot(dst)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := c.open(root); err != nil {
		return nil, err
	}
	sums, err := c.stream()
	if err == nil {
		err = c.sink.finish(sums)
	}
	if err != nil {
		c.sink.discard()
		return nil, err
	}
	return c.proof, nil
}

// A copying is a call of Copy.
type copying struct {
	src     *Set
	o       *Options
	tensors []*Tensor      // in the order in which they are written
	entries [][]ckpt.Entry // by writer, in that order too
	places  map[string][]target
	slab    int
	sink    sink
	proof   *Proof
	done    int64
}

// A target is an entry of a writer.
type target struct {
	writer, entry int
	box           mesh.Box
}

// before orders tensors: those with larger elements first, so that all are aligned.
func before(a, b *Tensor) int {
	return cmp.Or(b.ItemSize()-a.ItemSize(), cmp.Compare(a.Name, b.Name))
}

// plan says who writes what.
func (c *copying) plan() error {
	g := c.o.Target
	if g == nil {
		var err error
		if g, err = ckpt.ParseTarget(ckpt.WholeTarget); err != nil {
			return err
		}
	}
	if c.o.Target != nil {
		if err := g.CheckRules(c.src.names()); err != nil {
			return err
		}
	}
	var offers [][]ckpt.Offer
	for _, t := range c.src.Tensors {
		boxes, err := g.Boxes(t.Name, string(t.DType), t.Shape)
		if err != nil {
			return err
		}
		if offers == nil {
			offers = make([][]ckpt.Offer, len(boxes))
		}
		for rank, list := range boxes {
			offers[rank] = append(offers[rank], ckpt.Offer{Name: t.Name, DType: string(t.DType), Shape: t.Shape, Boxes: list, Sums: make([]ckpt.Sum, len(list))})
		}
	}
	_, entries, err := ckpt.Assign(offers)
	if err != nil {
		return err
	}
	c.entries = entries
	if len(entries) == 0 {
		c.entries = make([][]ckpt.Entry, 1)
	}
	if c.o.Target == nil && c.o.FileSize > 0 {
		c.entries = c.split(c.entries[0])
	}
	c.order()
	return nil
}

// split divides the entries of one writer among several, so that each has no more
// bytes than a file may have, but for one entry that has more.
func (c *copying) split(list []ckpt.Entry) [][]ckpt.Entry {
	var all [][]ckpt.Entry
	left := int64(0)
	slices.SortFunc(list, func(a, b ckpt.Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range list {
		n := c.src.Tensor(e.Name).Bytes()
		if len(all) == 0 || n > left {
			all, left = append(all, nil), c.o.FileSize
		}
		all[len(all)-1] = append(all[len(all)-1], e)
		left -= n
	}
	return all
}

// order puts tensors and entries in the order in which they are written.
func (c *copying) order() {
	c.tensors = slices.Clone(c.src.Tensors)
	slices.SortFunc(c.tensors, before)
	if c.o.Format == Safetensors {
		slices.SortStableFunc(c.tensors, safetensorsOrder(c.tensors))
	}
	number := map[string]int{}
	for i, t := range c.tensors {
		number[t.Name] = i
	}
	c.places = map[string][]target{}
	for w, list := range c.entries {
		slices.SortFunc(list, func(a, b ckpt.Entry) int {
			return cmp.Or(number[a.Name]-number[b.Name], slices.Compare(a.Box.Lo, b.Box.Lo))
		})
		for i := range list {
			c.places[list[i].Name] = append(c.places[list[i].Name], target{w, i, list[i].Box})
		}
		c.proof.Files += min(1, len(list))
	}
}

// size says how large the parts are that are read at a time.
func (c *copying) size() error {
	largest, buffers := int64(64<<10), c.proof.Files*writerBuffer
	for _, t := range c.tensors {
		largest = max(largest, t.Bytes())
	}
	least := buffers + 256<<10
	if c.o.MaxMem < least {
		return fmt.Errorf("got %d bytes of memory, want at least %d for %d files", c.o.MaxMem, least, c.proof.Files)
	}
	// Of a part, as much again may be read to be put in order.
	c.slab = int(min(maxSlab, largest/2, int64(c.o.MaxMem-buffers)/3))
	return nil
}

// open opens what is written to. A folder that is not empty is refused, but for one
// of tpsh's format, which puts a new checkpoint in the place of the old in one step.
func (c *copying) open(root *os.Root) (err error) {
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	if c.o.Format == Own {
		if i := slices.IndexFunc(list, foreign); i >= 0 {
			return fmt.Errorf("the folder %s has %s, of a checkpoint of another format; want a new one", root.Name(), list[i].Name())
		}
		c.sink, err = newOwnSink(c, root)
		return err
	}
	if len(list) > 0 {
		return fmt.Errorf("the folder %s is not empty: it has %s; want a new one", root.Name(), list[0].Name())
	}
	switch c.o.Format {
	case DCP:
		c.sink, err = newDCPSink(c, root)
	case Safetensors:
		c.sink, err = newSafetensorsSink(c, root)
	default:
		err = fmt.Errorf("got the format %q, want %s, %s or %s", c.o.Format, Own, DCP, Safetensors)
	}
	return err
}

// foreign reports whether a file of a folder is of a checkpoint of another format
// than tpsh's, which would lie beside the new one as if it were the same.
func foreign(e fs.DirEntry) bool {
	ext := filepath.Ext(e.Name())
	return !ckpt.IsData(e.Name()) && (e.Name() == dcp.Name || ext == ".distcp" || ext == ".safetensors" || slices.Contains(torchExts, ext))
}

// A part is what has been read of a tensor: the elements of a box.
type part struct {
	t    *Tensor
	box  mesh.Box
	data []byte
	to   []target // to which it goes

}

// stream writes what it reads, of which it is one part ahead, and proves that the two
// are the same.
func (c *copying) stream() (map[string]ckpt.Sum, error) {
	free, full, stop := make(chan []byte, 2), make(chan part), make(chan struct{})
	free <- nil
	free <- nil
	read := map[string]ckpt.Sum{}
	var failed error
	go func() {
		defer close(full)
		failed = c.readAll(read, free, full, stop)
	}()
	written, at, err := map[string]ckpt.Sum{}, map[int]int{}, error(nil)
	for p := range full {
		if err = c.write(p, written, at); err != nil {
			close(stop)
			for range full {
			}
			return nil, err
		}
		free <- p.data
	}
	if failed != nil {
		return nil, failed
	}
	return written, c.prove(read, written)
}

// readAll reads the tensors and sends them to full, in parts with buffers from free,
// until stop is closed. It compares their hashes with those that were saved.
func (c *copying) readAll(sums map[string]ckpt.Sum, free <-chan []byte, full chan<- part, stop <-chan struct{}) error {
	for _, t := range c.tensors {
		var sum, old ckpt.Sum
		to := c.places[t.Name]
		send := func(box mesh.Box, to []target) error {
			var buf []byte
			select {
			case buf = <-free:
			case <-stop:
				return os.ErrClosed
			}
			n := box.Numel() * t.ItemSize()
			buf = slices.Grow(buf[:0], n)[:n]
			if err := c.src.Read(buf, t, box); err != nil {
				return fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			sum.AddBox(buf, t.ItemSize(), t.Shape, box)
			if c.src.oldSums {
				old.AddOldBox(buf, t.ItemSize(), t.Shape, box)
			}
			select {
			case full <- part{t: t, box: box, data: buf, to: to}:
				return nil
			case <-stop:
				return os.ErrClosed
			}
		}
		if err := c.parts(t, to, send); err != nil {
			return err
		}
		sums[t.Name] = sum
		if !c.src.oldSums {
			old = sum
		}
		if t.Sum != nil && *t.Sum != old {
			return fmt.Errorf("tensor %q: the hash of what was read is %v, and of what was saved %v", t.Name, old, *t.Sum)
		}
	}
	return nil
}

// parts calls send for parts of t, so that each writer gets its elements in the order
// in which it writes them.
func (c *copying) parts(t *Tensor, to []target, send func(mesh.Box, []target) error) error {
	most := max(1, c.slab/t.ItemSize())
	if inOrder(t.Shape, to) {
		return ckpt.Slabs(ckpt.Whole(t.Shape), most, func(box mesh.Box) error { return send(box, to) })
	}
	for i := range to {
		if err := ckpt.Slabs(to[i].box, most, func(box mesh.Box) error { return send(box, to[i:i+1]) }); err != nil {
			return err
		}
	}
	return nil
}

// inOrder reports whether, in row-major order of a tensor, each writer has the
// elements of one of its boxes before those of the next.
func inOrder(shape []int, to []target) bool {
	last := map[int]int{}
	for _, x := range to {
		first, end := within(ckpt.Whole(shape), x.box)
		if before, ok := last[x.writer]; ok && first <= before {
			return false
		}
		last[x.writer] = end
	}
	return true
}

// write writes a part to the files that are to have it. at is the entry that each
// writer is at.
func (c *copying) write(p part, sums map[string]ckpt.Sum, at map[int]int) error {
	size, sum := p.t.ItemSize(), sums[p.t.Name]
	for _, to := range p.to {
		common, ok := to.box.Intersect(p.box)
		if !ok {
			continue
		}
		if n, ok := at[to.writer]; !ok || n != to.entry {
			if err := c.sink.entry(to.writer, to.entry); err != nil {
				return err
			}
			at[to.writer] = to.entry
		}
		whole := ckpt.Whole(p.t.Shape)
		err := ckpt.Walk(p.box, whole, common, func(from, place, n int) error {
			data := p.data[from*size : (from+n)*size]
			sum.AddRun(data, size, place)
			return c.sink.write(to.writer, data)
		})
		if err != nil {
			return err
		}
	}
	sums[p.t.Name] = sum
	c.done += int64(len(p.data))
	if c.o.Progress != nil {
		c.o.Progress(c.done)
	}
	return nil
}

// prove compares what has been read of each tensor with what has been written.
func (c *copying) prove(read, written map[string]ckpt.Sum) error {
	for _, t := range c.src.Tensors {
		r, w := read[t.Name], written[t.Name]
		if r != w {
			return fmt.Errorf("tensor %q: the hash of what was written is %v, and of what was read %v", t.Name, w, r)
		}
		c.proof.Tensors = append(c.proof.Tensors, Proved{t.Name, string(t.DType), t.Shape, r, w})
	}
	return nil
}

// remove removes files of root.
func remove(root *os.Root, names []string) error {
	var all error
	for _, name := range names {
		all = errors.Join(all, root.Remove(name))
	}
	return all
}
