package tensorfiles

import (
	"bufio"
	"errors"
	"fmt"
	"os"

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
