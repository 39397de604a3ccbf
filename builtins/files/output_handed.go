package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"tpsh/builtins"
	"tpsh/internal/lazyregexp"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// spareFolder is a folder in that of outputs. Who starts a run in order to read what
// it hands over, once and at once, as the Python package does, makes it. It holds links
// to descriptors of that process, which are files in memory: outputs are written into
// these, as long as there are some. Outputs that are equal then share a file, and an
// input that is such a link is handed back as it is, unless it was changed.
const spareFolder = ".spare"

// leastHanded is the size in bytes from which on it is worth the while.
const leastHanded = 64 << 10

// handed is what the ranks of a process know of what they hand over.
type handed struct {
	once   sync.Once
	wanted bool // there is a spareFolder

	mu      sync.Mutex
	inputs  []*handedInput
	writing map[string][]*handedOutput // by the name of the output
	written map[string]string          // the file that was last written for a name
}

// A handedInput is an input, and the link that it was read through.
type handedInput struct {
	dt     dtype.DType
	shape  shape.Shape
	data   []byte
	target string
}

// A handedOutput is an output that a rank is writing.
type handedOutput struct {
	t       *tensor.Tensor
	file    string
	readers sync.WaitGroup // who compare theirs with t
	done    chan struct{}  // closed once err is known
	err     error
}

// handedOf returns what the ranks hand over together; nil if nobody waits for that.
func handedOf(e *builtins.Env) *handed {
	if e.Options.Shared == nil || e.Options.Out == "" || e.Planning() {
		return nil
	}
	h := builtins.SharedOf[handed](e.Options.Shared)
	h.once.Do(func() {
		info, err := os.Stat(filepath.Join(e.Options.Out, spareFolder))
		h.wanted = err == nil && info.IsDir()
		h.writing, h.written = map[string][]*handedOutput{}, map[string]string{}
	})
	if !h.wanted {
		return nil
	}
	return h
}

// descriptorLink is how links to memory are written.
var descriptorLink = lazyregexp.New(`^/proc/[0-9]+/fd/[0-9]+$`)

// descriptor returns where link leads, if that is a descriptor of a process; else "".
func descriptor(link string, err error) string {
	if err != nil || !descriptorLink.Get().MatchString(link) {
		return ""
	}
	return link
}

// noteInput remembers the input x, whose elements are the file at path, mapped into
// memory. h may be nil.
func (h *handed) noteInput(path string, x *tensor.Tensor) {
	target := ""
	if h != nil {
		target = descriptor(os.Readlink(path))
	}
	if target == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inputs = append(h.inputs, &handedInput{x.DType(), x.Shape(), x.Bytes(), target})
}

// unchanged returns the link through which t was read; "" if it is no input, or not
// as it was.
func (h *handed) unchanged(t *tensor.Tensor) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	data := t.Bytes()
	for _, in := range h.inputs {
		if in.dt == t.DType() && in.shape.Equal(t.Shape()) && &in.data[0] == &data[0] {
			return in.target
		}
	}
	return ""
}

// write makes header and the elements of t, which lie one after the other, the file of
// an output. shared says that other ranks may have outputs of that name, with the same
// header.
func (h *handed) write(root *os.Root, name, file string, header []byte, t *tensor.Tensor, shared bool) (err error) {
	if !shared {
		return h.writeNew(root, file, header, t)
	}
	if target := h.unchanged(t); target != "" && replaceFile(root, file, func(draft string) error { return root.Symlink(target, draft) }) == nil {
		return nil
	}
	o := &handedOutput{t: t, file: file, done: make(chan struct{})}
	last, earlier := h.begin(name, o)
	defer func() {
		o.err = err
		h.end(name, o)
	}()
	for _, other := range earlier {
		equal := other.t.DType() == t.DType() && other.t.Shape().Equal(t.Shape()) && bytes.Equal(other.t.Bytes(), t.Bytes())
		other.readers.Done()
		if !equal || last != "" {
			continue
		}
		if <-other.done; other.err == nil {
			last = other.file
		}
	}
	if last != "" && last != file && replaceFile(root, file, func(draft string) error { return linkEqual(root, last, draft, header, t) }) == nil {
		return nil
	}
	return h.writeNew(root, file, header, t)
}

// begin notes that o is being written, and returns the file that was last written
// for an output of the name, and the outputs that others are writing; o's rank
// owes each of them a Done of readers.
func (h *handed) begin(name string, o *handedOutput) (last string, earlier []*handedOutput) {
	h.mu.Lock()
	defer h.mu.Unlock()
	earlier = append(earlier, h.writing[name]...)
	for _, other := range earlier {
		other.readers.Add(1)
	}
	h.writing[name] = append(h.writing[name], o)
	return h.written[name], earlier
}

// end notes that o was written, and returns when nobody looks at its tensor any more.
func (h *handed) end(name string, o *handedOutput) {
	h.mu.Lock()
	all := h.writing[name]
	for i, other := range all {
		if other == o {
			h.writing[name] = append(all[:i:i], all[i+1:]...)
		}
	}
	if o.err == nil {
		h.written[name] = o.file
	}
	h.mu.Unlock()
	close(o.done)
	o.readers.Wait()
}

// linkEqual makes draft a link to the file called other if that holds what is to be
// written.
func linkEqual(root *os.Root, other, draft string, header []byte, t *tensor.Tensor) error {
	if err := root.Link(other, draft); err != nil {
		return err
	}
	f, err := openHanded(root, draft, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size := len(header) + len(t.Bytes())
	if info, err := f.Stat(); err != nil || info.Size() != int64(size) || !mappable {
		return errors.Join(errors.ErrUnsupported, err)
	}
	data, release, err := mapPart(f, 0, size)
	if err != nil {
		return err
	}
	defer release()
	if !bytes.Equal(data[:len(header)], header) || !bytes.Equal(data[len(header):], t.Bytes()) {
		return errors.ErrUnsupported
	}
	return nil
}

// writeNew writes the output into a spare, if there is one, or else a file.
func (h *handed) writeNew(root *os.Root, file string, header []byte, t *tensor.Tensor) error {
	return replaceFile(root, file, func(draft string) error {
		f, err := claimSpare(root, draft, int64(len(header)+len(t.Bytes())))
		if err != nil {
			f, err = root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		}
		if err != nil {
			return err
		}
		return writeParts(f, header, t.Bytes())
	})
}

// claimSpare makes the spare that is best for size bytes the file called draft: the
// smallest that is large enough, or else the largest.
func claimSpare(root *os.Root, draft string, size int64) (*os.File, error) {
	list, err := fs.ReadDir(root.FS(), spareFolder)
	if err != nil {
		return nil, err
	}
	for range list {
		best, room := "", int64(-1)
		for _, entry := range list {
			spare := path.Join(spareFolder, entry.Name())
			info, err := os.Stat(descriptor(root.Readlink(spare)))
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if has := info.Size(); has >= size && (room < size || has < room) || room < size && has > room {
				best, room = spare, has
			}
		}
		if best == "" {
			break
		}
		if err := root.Rename(best, draft); err != nil {
			continue // another rank was quicker
		}
		f, err := openHanded(root, draft, os.O_WRONLY)
		if err == nil && room > size {
			err = f.Truncate(size)
		}
		return f, err
	}
	return nil, fs.ErrNotExist
}

// openHanded opens a file of outputs, which may be a link to a descriptor.
func openHanded(root *os.Root, name string, flag int) (*os.File, error) {
	if target := descriptor(root.Readlink(name)); target != "" {
		return os.OpenFile(target, flag, 0)
	}
	return root.OpenFile(name, flag, 0)
}
