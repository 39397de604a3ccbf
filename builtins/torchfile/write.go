package torchfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"

	"tpsh/builtins/pickle"
)

// align is the multiple of bytes, from the start of an archive, at which a
// storage lies.
const align = 64

// A Writer writes a file of one tensor, as torch.save(tensor) does.
type Writer struct {
	z    *zip.Writer
	data io.Writer
	left int64 // bytes of the tensor still to come
}

// NewWriter begins the file of a tensor: then come its elements in row-major
// order, and Close.
func NewWriter(w io.Writer, d DType, shape []int) (*Writer, error) {
	text, err := pickle.Append(nil, tensorValue(d, shape))
	if err != nil {
		return nil, err
	}
	count := &counter{w: w}
	z := zip.NewWriter(count)
	if err := writeHead(z, text); err != nil {
		return nil, err
	}
	const name = "archive/data/0"
	if err := z.Flush(); err != nil {
		return nil, err
	}
	// Before the name come what ends the entry before, and a header.
	at := count.n + 16 + 30 + int64(len(name))
	data, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Extra: padding(at)})
	if err != nil {
		return nil, err
	}
	n := int64(d.Size())
	for _, size := range shape {
		n *= int64(size)
	}
	return &Writer{z, data, n}, nil
}

// writeHead writes what a file has beside storages.
func writeHead(z *zip.Writer, text []byte) error {
	for _, e := range []struct{ name, text string }{
		{"data.pkl", string(text)}, {"byteorder", "little"}, {"version", "3\n"},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + e.name, Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			return err
		}
	}
	return nil
}

// padding returns a field of a header that makes what follows, at byte at without
// it, lie at a multiple of align. The field is one that readers pass over.
func padding(at int64) []byte {
	n := int((align - (at+4)%align) % align)
	return append([]byte{'F', 'B', byte(n), 0}, bytes.Repeat([]byte{'Z'}, n)...)
}

// tensorValue returns what the pickle of a tensor without gaps is of.
func tensorValue(d DType, shape []int) any {
	storage, units := pickle.Class("torch."+d.storageClass()), 1
	for _, n := range shape {
		units *= n
	}
	rebuild := "torch._utils._rebuild_tensor_v2"
	if d.storageClass() == "" {
		storage, rebuild = "torch.storage.UntypedStorage", "torch._utils._rebuild_tensor_v3"
		units *= d.Size()
	}
	size, strides := pickle.Tuple{}, pickle.Tuple{}
	for i, s := range RowMajor(shape) {
		size, strides = append(size, shape[i]), append(strides, s)
	}
	args := pickle.Tuple{
		pickle.PersistentID{ID: pickle.Tuple{"storage", storage, "0", "cpu", units}},
		0, size, strides, false, &pickle.Object{Class: "collections.OrderedDict", Args: pickle.Tuple{}},
	}
	if d.storageClass() == "" {
		args = append(args, pickle.Class("torch."+string(d)))
	}
	return &pickle.Object{Class: rebuild, Args: args}
}

// Write writes elements.
func (w *Writer) Write(data []byte) (int, error) {
	w.left -= int64(len(data))
	return w.data.Write(data)
}

// Close ends the file. What it is written to stays open. It fails if elements are
// missing.
func (w *Writer) Close() error {
	if w.left != 0 {
		return fmt.Errorf("a tensor of which %d bytes have not been written", w.left)
	}
	return w.z.Close()
}

// A counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(data []byte) (int, error) {
	n, err := c.w.Write(data)
	c.n += int64(n)
	return n, err
}

// ValueFile returns a file of a value without tensors.
func ValueFile(v any) ([]byte, error) {
	text, err := pickle.Append(nil, v)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	if err := writeHead(z, text); err != nil {
		return nil, err
	}
	err = z.Close()
	return buf.Bytes(), err
}
