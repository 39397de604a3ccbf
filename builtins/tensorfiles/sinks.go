package tensorfiles

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"tpsh/builtins/dcp"
	"tpsh/builtins/pickle"
	"tpsh/builtins/safetensors"
	"tpsh/builtins/torchfile"
	"tpsh/runtime/ckpt"
)

// An ownSink writes a checkpoint of tpsh's.
type ownSink struct {
	c       *copying
	root    *os.Root
	writers []*ckpt.Writer
	state   []byte
}

func newOwnSink(c *copying, root *os.Root) (sink, error) {
	for _, t := range c.tensors {
		if (&ckpt.Tensor{DType: string(t.DType)}).ItemSize() == 0 {
			return nil, fmt.Errorf("tensor %q is %s, which the format %s does not have; want %s or %s", t.Name, t.DType, Own, Safetensors, DCP)
		}
	}
	s := &ownSink{c: c, root: root, writers: make([]*ckpt.Writer, len(c.entries))}
	s.state, c.proof.Left = c.src.State()
	gen, err := ckpt.Begin(root)
	if err != nil {
		return nil, err
	}
	for w, list := range c.entries {
		if len(list) == 0 {
			continue
		}
		if s.writers[w], err = ckpt.Create(root, gen, w, list); err != nil {
			s.discard()
			return nil, err
		}
	}
	return s, nil
}

func (s *ownSink) entry(writer, entry int) error {
	if f := s.writers[writer]; f.At() != f.Offsets[entry] {
		panic(fmt.Sprintf("tensorfiles: entry %d is written at byte %d", entry, f.At()))
	}
	return nil
}

func (s *ownSink) write(writer int, data []byte) error {
	_, err := s.writers[writer].Write(data)
	return err
}

func (s *ownSink) finish(sums map[string]ckpt.Sum) error {
	list := make([]*ckpt.File, len(s.writers))
	for w, f := range s.writers {
		if f == nil {
			continue
		}
		s.writers[w] = nil
		var err error
		if list[w], err = f.Close(); err != nil {
			for _, done := range list[:w] {
				if done != nil {
					_ = s.root.Remove(done.Name) // the next save would
				}
			}
			return err
		}
	}
	tensors := []*ckpt.Tensor{}
	for _, t := range s.c.src.Tensors {
		tensors = append(tensors, &ckpt.Tensor{Name: t.Name, DType: string(t.DType), Shape: t.Shape, Sum: sums[t.Name], Pieces: []ckpt.Piece{}})
	}
	return ckpt.Commit(s.root, ckpt.Fresh(s.state, tensors, list, s.c.entries))
}

func (s *ownSink) discard() {
	for _, f := range s.writers {
		if f != nil {
			f.Discard()
		}
	}
}

// An output is a data file that is being written.
type output struct {
	name string
	f    *os.File
	*bufio.Writer
	n int64
}

// outputs are the data files of a sink.
type outputs struct {
	root *os.Root
	list []*output // by writer; nil for one that has nothing to write
	made []string
}

// create creates the file of a writer.
func (o *outputs) create(writer int, name string) (*output, error) {
	f, err := o.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	o.made = append(o.made, name)
	o.list[writer] = &output{name: name, f: f, Writer: bufio.NewWriterSize(f, writerBuffer)}
	return o.list[writer], nil
}

// Write implements io.Writer.
func (o *output) Write(data []byte) (int, error) {
	n, err := o.Writer.Write(data)
	o.n += int64(n)
	return n, err
}

// end puts all files on disk.
func (o *outputs) end() error {
	var all error
	for i, f := range o.list {
		if f == nil {
			continue
		}
		all = errors.Join(all, f.Flush(), f.f.Sync(), f.f.Close())
		o.list[i] = nil
	}
	return all
}

// put writes a small file whole.
func (o *outputs) put(name string, data []byte) error {
	f, err := o.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	o.made = append(o.made, name)
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (o *outputs) discard() {
	for _, f := range o.list {
		if f != nil {
			f.f.Close()
		}
	}
	_ = remove(o.root, o.made)
}

// A dcpSink writes a folder of torch.distributed.checkpoint.
type dcpSink struct {
	outputs
	c      *copying
	open   []*torchfile.Writer // the entry that each writer is at
	starts []int64
	meta   dcp.Metadata
	places map[string][]dcp.Chunk
	now    []int // the number of the entry that each writer is at
}

func newDCPSink(c *copying, root *os.Root) (sink, error) {
	n := len(c.entries)
	s := &dcpSink{outputs: outputs{root: root, list: make([]*output, n)}, c: c, open: make([]*torchfile.Writer, n), starts: make([]int64, n), now: make([]int, n), places: map[string][]dcp.Chunk{}}
	for w, list := range c.entries {
		if len(list) == 0 && w > 0 {
			continue
		}
		if _, err := s.create(w, fmt.Sprintf("__%d_0.distcp", w)); err != nil {
			s.discard()
			return nil, err
		}
	}
	return s, nil
}

func (s *dcpSink) entry(writer, entry int) error {
	if err := s.close(writer); err != nil {
		return err
	}
	out, e := s.list[writer], &s.c.entries[writer][entry]
	s.starts[writer], s.now[writer] = out.n, entry
	w, err := torchfile.NewWriter(out, torchfile.DType(e.DType), e.Box.Shape())
	s.open[writer] = w
	return err
}

// close ends the entry that a writer is at, and notes where it lies.
func (s *dcpSink) close(writer int) error {
	w := s.open[writer]
	if w == nil {
		return nil
	}
	s.open[writer] = nil
	if err := w.Close(); err != nil {
		return err
	}
	e, out := &s.c.entries[writer][s.now[writer]], s.list[writer]
	s.places[e.Name] = append(s.places[e.Name], dcp.Chunk{
		Offsets: e.Box.Lo, Sizes: e.Box.Shape(),
		Place: dcp.Place{File: out.name, Offset: s.starts[writer], Length: out.n - s.starts[writer]},
	})
	return nil
}

func (s *dcpSink) write(writer int, data []byte) error {
	_, err := s.open[writer].Write(data)
	return err
}

func (s *dcpSink) finish(map[string]ckpt.Sum) error {
	for w := range s.open {
		if err := s.close(w); err != nil {
			return err
		}
	}
	s.meta.Paths = map[string][]any{}
	for _, t := range s.c.src.Tensors {
		if err := s.empty(t); err != nil {
			return err
		}
		chunks := s.places[t.Name]
		slices.SortFunc(chunks, func(a, b dcp.Chunk) int { return slices.Compare(a.Offsets, b.Offsets) })
		s.meta.Tensors = append(s.meta.Tensors, dcp.Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape, Chunks: chunks})
	}
	w := &leaves{s: s, used: map[string]bool{}}
	for _, t := range s.c.src.Tensors {
		w.used[t.Name] = true
	}
	if err := w.walk(nil, s.c.src.Tree); err != nil {
		return err
	}
	slices.SortFunc(s.meta.Values, func(a, b dcp.Value) int { return compareText(a.Name, b.Name) })
	data, err := s.meta.Encode()
	if err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	return s.put(dcp.Name, data)
}

// empty writes the entry of a tensor without elements, which no part has.
func (s *dcpSink) empty(t *Tensor) error {
	if t.Numel() > 0 {
		return nil
	}
	out := s.list[0]
	at := out.n
	w, err := torchfile.NewWriter(out, t.DType, t.Shape)
	if err == nil {
		err = w.Close()
	}
	s.places[t.Name] = []dcp.Chunk{{Offsets: make([]int, len(t.Shape)), Sizes: t.Shape, Place: dcp.Place{File: out.name, Offset: at, Length: out.n - at}}}
	return err
}

// leaves writes the values of a tree that are no tensors, and notes the paths.
type leaves struct {
	s    *dcpSink
	used map[string]bool
}

// walk goes over the value at path. As PyTorch does, it takes a dict apart, and a list
// or tuple that holds a tensor; any other is a value.
func (w *leaves) walk(path []any, v any) error {
	switch v := v.(type) {
	case *Tensor:
		w.s.meta.Paths[v.Name] = path
		return nil
	case *pickle.Dict:
		for key, item := range v.All() {
			if err := w.walk(append(slices.Clone(path), key), item); err != nil {
				return err
			}
		}
		if v.Len() > 0 || len(path) == 0 {
			return nil
		}
	case *pickle.List:
		return w.items(path, v.Items, v)
	case pickle.Tuple:
		return w.items(path, v, v)
	}
	return w.leaf(path, v)
}

func (w *leaves) items(path []any, list []any, v any) error {
	if !holdsTensor(v) {
		return w.leaf(path, v)
	}
	for i, item := range list {
		if err := w.walk(append(slices.Clone(path), i), item); err != nil {
			return err
		}
	}
	return nil
}

// leaf writes a value into the first file.
func (w *leaves) leaf(path []any, v any) error {
	name := ""
	for _, part := range path {
		name = join2(name, fmt.Sprint(part))
	}
	name = (&naming{w.used}).name(name)
	var data []byte
	var err error
	if o, ok := v.(*Opaque); ok {
		data = o.file
	} else if data, err = torchfile.ValueFile(v); err != nil {
		return err
	}
	out := w.s.list[0]
	at := out.n
	if _, err := out.Write(data); err != nil {
		return err
	}
	w.s.meta.Paths[name] = path
	w.s.meta.Values = append(w.s.meta.Values, dcp.Value{Name: name, Place: dcp.Place{File: out.name, Offset: at, Length: int64(len(data))}})
	return nil
}

// A safetensorsSink writes safetensors files: of whole tensors, with an index where
// there are several, or of parts, with what PyTorch wants to know of their places.
type safetensorsSink struct {
	outputs
	c *copying
}

func newSafetensorsSink(c *copying, root *os.Root) (sink, error) {
	s := &safetensorsSink{outputs{root: root, list: make([]*output, len(c.entries))}, c}
	for w, list := range c.entries {
		if len(list) == 0 && c.proof.Files > 0 {
			continue
		}
		if err := s.begin(w, list); err != nil {
			s.discard()
			return nil, err
		}
	}
	c.proof.Left = valuePaths("", c.src.Tree, nil)
	return s, nil
}

// fileName returns the name of a writer's file: that of a single file, that of one of
// several with whole tensors, or that of one with parts.
func (s *safetensorsSink) fileName(writer int) string {
	n := len(s.c.entries)
	switch {
	case n == 1:
		return "model.safetensors"
	case s.c.o.Target == nil:
		return fmt.Sprintf("model-%05d-of-%05d.safetensors", writer+1, n)
	}
	return fmt.Sprintf("shard-%05d-model-00001-of-00001.safetensors", writer+1)
}

// begin writes the header of a writer's file.
func (s *safetensorsSink) begin(writer int, list []ckpt.Entry) error {
	var tensors []*safetensors.Tensor
	type saved struct {
		Offsets []int `json:"saved_offsets"`
	}
	places := map[string]saved{}
	names := map[string]bool{}
	add := func(name string, d torchfile.DType, shape, lo []int) error {
		kind, ok := safetensorsType(d)
		if !ok {
			return fmt.Errorf("tensor %q is %s, which safetensors files do not have", name, d)
		}
		if names[name] {
			return fmt.Errorf("tensor %q has several blocks on rank %d, and a safetensors file has one of a name: want another layout, or the format %s or %s", name, writer, DCP, Own)
		}
		names[name], places[name] = true, saved{lo}
		tensors = append(tensors, &safetensors.Tensor{Name: name, DType: kind, Shape: shape})
		return nil
	}
	for i := range list {
		e := &list[i]
		if err := add(e.Name, torchfile.DType(e.DType), e.Box.Shape(), e.Box.Lo); err != nil {
			return err
		}
	}
	for _, t := range s.c.src.Tensors {
		if t.Numel() == 0 && writer == s.first() {
			if err := add(t.Name, t.DType, t.Shape, make([]int, len(t.Shape))); err != nil {
				return err
			}
		}
	}
	meta := map[string]string{"format": "pt"}
	if s.c.o.Target != nil && len(s.c.entries) > 1 {
		text, err := json.Marshal(places)
		if err != nil {
			return err
		}
		meta[shardingKey], meta["DCP_VERSION"] = string(text), "1.0"
	}
	head, err := safetensors.AppendHeader(nil, tensors, meta)
	if err != nil {
		return err
	}
	out, err := s.create(writer, s.fileName(writer))
	if err == nil {
		_, err = out.Write(head)
	}
	return err
}

// first returns the first writer that has a file.
func (s *safetensorsSink) first() int {
	return max(0, slices.IndexFunc(s.c.entries, func(list []ckpt.Entry) bool { return len(list) > 0 }))
}

// safetensorsOrder returns the order in which a file has the data of tensors.
func safetensorsOrder(tensors []*Tensor) func(a, b *Tensor) int {
	var list []*safetensors.Tensor
	for _, t := range tensors {
		kind, _ := safetensorsType(t.DType)
		list = append(list, &safetensors.Tensor{Name: t.Name, DType: kind, Shape: t.Shape})
	}
	// It sorts; what it cannot write the sink will find again, and say so.
	_, _ = safetensors.AppendHeader(nil, list, nil)
	number := map[string]int{}
	for i, t := range list {
		number[t.Name] = i
	}
	return func(a, b *Tensor) int { return number[a.Name] - number[b.Name] }
}

// safetensorsType returns what safetensors files call a dtype.
func safetensorsType(d torchfile.DType) (safetensors.DType, bool) {
	for kind, name := range safetensorsTypes {
		if name == d {
			return kind, true
		}
	}
	return "", false
}

func (s *safetensorsSink) entry(int, int) error { return nil }

func (s *safetensorsSink) write(writer int, data []byte) error {
	_, err := s.list[writer].Write(data)
	return err
}

func (s *safetensorsSink) finish(map[string]ckpt.Sum) error {
	if err := s.end(); err != nil {
		return err
	}
	if s.c.o.Target != nil || len(s.c.entries) == 1 {
		return nil
	}
	files := map[string]string{}
	for w, list := range s.c.entries {
		for i := range list {
			files[list[i].Name] = s.fileName(w)
		}
	}
	for _, t := range s.c.src.Tensors {
		if t.Numel() == 0 {
			files[t.Name] = s.fileName(s.first())
		}
	}
	data, err := json.MarshalIndent(map[string]any{
		"metadata":   map[string]any{"total_size": s.c.src.Bytes()},
		"weight_map": files,
	}, "", "  ")
	if err != nil {
		return err
	}
	return s.put("model.safetensors.index.json", append(data, '\n'))
}

// valuePaths appends the paths of the values of a tree that are no tensors.
func valuePaths(path string, v any, list []string) []string {
	switch v := v.(type) {
	case *Tensor:
		return list
	case *pickle.Dict:
		for key, item := range v.All() {
			list = valuePaths(join2(path, key.(string)), item, list)
		}
		return list
	case *pickle.List, pickle.Tuple:
		if !holdsTensor(v) {
			return append(list, path)
		}
		items, _ := pickle.Items(v)
		for i, item := range items {
			list = valuePaths(join2(path, fmt.Sprint(i)), item, list)
		}
		return list
	}
	return append(list, path)
}
