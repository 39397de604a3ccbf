package tensorfiles

import (
	"fmt"
	"os"
	"slices"

	"tpsh/builtins/dcp"
	"tpsh/builtins/pickle"
	"tpsh/builtins/torchfile"
	"tpsh/runtime/ckpt"
)

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
