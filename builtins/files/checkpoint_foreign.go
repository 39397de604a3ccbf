package files

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tpsh/builtins"
	"tpsh/builtins/tensorfiles"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
	"tpsh/runtime/op"
)

// A tensorReader reads the tensors of a checkpoint, of ours or another's.
type tensorReader interface {
	Tensor(name string) *ckpt.Tensor
	Read(dst []byte, t *ckpt.Tensor, box mesh.Box) error
	Close()
}

// A foreign is a checkpoint in a format of PyTorch's or of Hugging Face's.
type foreign struct {
	*tensorfiles.Set
	state []byte
}

// Tensor implements tensorReader.
func (f *foreign) Tensor(name string) *ckpt.Tensor {
	t := f.Set.Tensor(name)
	if t == nil {
		return nil
	}
	return &ckpt.Tensor{Name: t.Name, DType: string(t.DType), Shape: t.Shape}
}

// Read implements tensorReader.
func (f *foreign) Read(dst []byte, t *ckpt.Tensor, box mesh.Box) error {
	return f.Set.Read(dst, f.Set.Tensor(t.Name), box)
}

// describe returns what the checkpoint holds as text, by which ranks find that they have
// opened the same.
func (f *foreign) describe() []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n%s\n", f.Format, f.state)
	for _, t := range f.Tensors {
		fmt.Fprintln(&text, t.Name, t)
	}
	return text.Bytes()
}

// openForeign opens a checkpoint that is not of tpsh's own format: a folder, or a file in
// it.
func openForeign(root *os.Root, file string) (*foreign, error) {
	var set *tensorfiles.Set
	var err error
	if file != "" {
		set, err = tensorfiles.OpenRootFile(root, file)
	} else {
		set, err = tensorfiles.OpenRoot(root)
	}
	if err != nil {
		return nil, err
	}
	f := &foreign{Set: set}
	f.state, _ = set.State()
	return f, nil
}

// checkpointAt opens the folder of a checkpoint at path, an argument of fn; if the
// checkpoint is a file there, it returns its name too.
func checkpointAt(e *builtins.Env, fn, path string) (root *os.Root, file string, err error) {
	if abs, err := absolute(e, path); err == nil && folders(e).IsFile(abs) {
		root, err := folder(e, fn, filepath.Dir(path), false)
		return root, filepath.Base(abs), err
	}
	root, err = folder(e, fn, path, false)
	return root, "", err
}

// openStored opens what rank 0 has described: an index of tpsh's own, or a foreign
// checkpoint, if this rank finds the same.
func (l *loader) openStored(root *os.Root, index []byte) (tensorReader, []byte, error) {
	if !l.foreign {
		r, err := ckpt.NewReader(root, index)
		if err != nil {
			return nil, nil, err
		}
		return r, r.State, nil
	}
	f, err := openForeign(root, l.file)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(f.describe(), index) {
		f.Close()
		return nil, nil, &ckpt.FormatError{Problem: "it is not what rank 0 has found there"}
	}
	return f, f.state, nil
}

// described returns what rank 0 tells the others of the checkpoint, and whether that is of
// another format than tpsh's own.
func (l *loader) described(root *os.Root) (text []byte, isForeign bool, err error) {
	if l.file == "" {
		if _, bad := root.Stat(ckpt.IndexName); bad == nil {
			text, err = ckpt.ReadIndex(root)
			return text, false, err
		}
	}
	f, err := openForeign(root, l.file)
	if err != nil {
		return nil, true, err
	}
	defer f.Close()
	return f.describe(), true, nil
}

// damaged reports whether err says that what is read is no sound checkpoint.
func damaged(err error) bool {
	return errors.As(err, new(*ckpt.FormatError)) || errors.As(err, new(*tensorfiles.FormatError)) || errors.Is(err, errState)
}

// find returns what v, a dict, has under key. Of a foreign checkpoint, where files give
// tensors names of paths joined by dots, a key may also be such a path, or the beginning of
// some.
func (l *loader) find(v *savedValue, key string) *savedValue {
	if found := v.at(key); found != nil || !l.foreign {
		return found
	}
	part := &savedValue{kind: "dict"}
	for i, k := range v.keys {
		if rest, ok := strings.CutPrefix(k, key+"."); ok {
			part.keys, part.items = append(part.keys, rest), append(part.items, v.items[i])
		}
		if rest, ok := strings.CutPrefix(key, k+"."); ok && v.items[i].kind == "dict" {
			if found := l.find(v.items[i], rest); found != nil {
				return found
			}
		}
	}
	if len(part.keys) == 0 {
		return nil
	}
	return part
}

// noDType returns the error of a tensor of a dtype that tensors of a program do not have.
func (l *loader) noDType(t *ckpt.Tensor) error {
	return &op.ArgError{Func: l.fn, Param: "dir", Got: fmt.Sprintf("%q, %v", t.Name, t), Want: "a dtype that tensors have here", Rule: "tpsh ckpt reads and writes it"}
}
