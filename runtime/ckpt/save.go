package ckpt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// draft is the name of an index before it takes the place of the old one.
const draft = IndexName + ".new"

// Begin returns the generation of the next save in a folder: one above those of
// all data files there. It removes what a save that died has left, which may take
// the room that this one needs. Two saves at a time in one folder are not
// provided for.
func Begin(root *os.Root) (generation int, err error) {
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return 0, err
	}
	last := 0
	for _, entry := range list {
		if m := fileName.Get().FindStringSubmatch(entry.Name()); m != nil {
			n, _ := strconv.Atoi(m[1])
			last = max(last, n)
		}
	}
	if last == 99999999 {
		return 0, errors.New("no more numbers for saves here: save into a new folder")
	}
	data, err := root.ReadFile(IndexName)
	if errors.Is(err, fs.ErrNotExist) {
		clean(root, new(Index))
	} else if x, bad := Decode(data); err == nil && bad == nil {
		clean(root, x)
	}
	return last + 1, nil
}

// Commit makes x, whose data files are on disk, the index of the folder, and then
// removes the data files of other saves. After an error the old checkpoint
// stands and the new data files are gone, unless the error says otherwise.
func Commit(root *os.Root, x *Index) error {
	if err := replace(root, x); err != nil {
		// What cannot be removed the next save will remove.
		Remove(root, draft)
		for _, f := range x.Files {
			Remove(root, f.Name)
		}
		return err
	}
	if err := syncFolder(root); err != nil {
		return fmt.Errorf("the new checkpoint is written, but may not survive a loss of power: %w", err)
	}
	clean(root, x)
	return nil
}

// replace puts x in the place of the old index, in one step.
func replace(root *os.Root, x *Index) error {
	data, err := x.Encode()
	if err != nil {
		return err
	}
	if err := write(root, draft, data); err != nil {
		return err
	}
	if err := syncFolder(root); err != nil {
		return err
	}
	Step("rename %s", draft)
	return root.Rename(draft, IndexName)
}

// Remove removes a file of a save. One that stays for an error is in nobody's way.
func Remove(root *os.Root, name string) {
	Step("remove %s", name)
	_ = root.Remove(name)
}

// write makes data the contents of a file, on disk.
func write(root *os.Root, name string, data []byte) error {
	Step("create %s", name)
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	Step("write %s", name)
	_, err = f.Write(data)
	if err == nil {
		Step("sync %s", name)
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder puts the names in the folder on disk.
func syncFolder(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	Step("sync the folder")
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrInvalid) {
		err = nil // a file system that keeps names without being asked
	}
	return errors.Join(err, f.Close())
}

// clean removes the data files that x does not name, and a draft of an index.
func clean(root *os.Root, x *Index) {
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	keep := map[string]bool{}
	for _, f := range x.Files {
		keep[f.Name] = true
	}
	for _, entry := range list {
		if name := entry.Name(); name == draft || IsData(name) && !keep[name] {
			Remove(root, name)
		}
	}
}

// Fresh returns the index of tensors, which lack their pieces, by what each of
// some writers has written: its file, nil if there is none, and the entries in
// that, in its order.
func Fresh(state []byte, tensors []*Tensor, files []*File, entries [][]Entry) *Index {
	x := &Index{State: state, Tensors: tensors}
	for i, f := range files {
		if f == nil {
			continue
		}
		_, offsets := header(entries[i])
		for k := range entries[i] {
			e := &entries[i][k]
			t := x.Tensor(e.Name)
			t.Pieces = append(t.Pieces, Piece{e.Box.Lo, e.Box.Hi, len(x.Files), offsets[k]})
		}
		x.Files = append(x.Files, f)
	}
	return x
}

// ReadIndex returns the bytes of the index in a folder. A folder without one is a
// *FormatError.
func ReadIndex(root *os.Root) ([]byte, error) {
	data, err := root.ReadFile(IndexName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &FormatError{"", "it is a folder without the file " + IndexName + ", and so no checkpoint"}
	}
	return data, pathless(err)
}

// pathless returns err with the last part alone of the path that it names.
func pathless(err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", p.Path[strings.LastIndexByte(p.Path, '/')+1:], p.Err)
}
