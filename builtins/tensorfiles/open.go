package tensorfiles

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tpsh/builtins/dcp"
	"tpsh/builtins/torchfile"
	"tpsh/runtime/ckpt"
)

// modelName is the file of a model in a folder of Hugging Face's before safetensors; beside
// it lies what its training has left, which is no part of it and may be no tensors.
const modelName = "pytorch_model.bin"

// OpenFolder opens what is in a folder. root is the same folder, if it is one out
// of which nothing leads.
func OpenFolder(dir Folder, root *os.Root) (*Set, error) {
	list, err := dir.Names()
	if err != nil {
		return nil, err
	}
	has := func(name string) bool { return slices.Contains(list, name) }
	switch {
	case has(ckpt.IndexName):
		return openOwn(dir, root)
	case has(dcp.Name):
		return openDCP(dir)
	}
	for _, ext := range []string{".safetensors", ".bin", ".pt", ".pth"} {
		if i := slices.IndexFunc(list, func(name string) bool { return strings.HasSuffix(name, ext+".index.json") }); i >= 0 {
			return openIndexed(dir, list[i], ext)
		}
	}
	if has(modelName) && len(withExt(list, []string{".safetensors"})) == 0 {
		return openFiles(dir, []string{modelName})
	}
	for _, exts := range [][]string{{".safetensors"}, {".bin", ".pt", ".pth"}} {
		if of := withExt(list, exts); len(of) > 0 {
			return openFiles(dir, of)
		}
	}
	if of := withExt(list, []string{".gguf"}); len(of) > 0 {
		return nil, unknown(dir, of[0])
	}
	return nil, bad("", "it is a folder without the file %s, %s or any .safetensors, .pt or .bin, and so no checkpoint", ckpt.IndexName, dcp.Name)
}

// OpenFile opens a file of tensors.
func OpenFile(dir Folder, name string) (*Set, error) {
	switch {
	case len(withExt([]string{name}, torchExts)) > 0:
		return openFiles(dir, []string{name})
	case strings.HasSuffix(name, ".safetensors"):
		return openFiles(dir, []string{name})
	case name == dcp.Name:
		return openDCP(dir)
	case strings.HasSuffix(name, ".index.json"):
		return openIndexed(dir, name, filepath.Ext(strings.TrimSuffix(name, ".index.json")))
	}
	return nil, unknown(dir, name)
}

// unknown returns the error of a file of which the name does not say what it holds: its
// first bytes may.
func unknown(dir Folder, name string) error {
	file, err := openRegular(dir, name)
	if err != nil {
		return err
	}
	defer file.Close()
	var start [16]byte
	n, _ := file.ReadAt(start[:], 0)
	if err := torchfile.AlienKind(start[:n]); err != torchfile.ErrAlien {
		return bad(name, "%w", err)
	}
	return bad(name, "its name does not say what it holds, want .pt, .pth, .bin, .ckpt or .safetensors")
}

// torchExts are the endings of the files that torch.save writes.
var torchExts = []string{".pt", ".pth", ".bin", ".ckpt"}

// withExt returns the names of list that end in one of exts.
func withExt(list, exts []string) []string {
	var of []string
	for _, name := range list {
		if slices.Contains(exts, filepath.Ext(name)) {
			of = append(of, name)
		}
	}
	return of
}

// openFiles opens all of the files, which are of one kind.
func openFiles(dir Folder, list []string) (*Set, error) {
	if filepath.Ext(list[0]) == ".safetensors" {
		return openSafetensors(dir, list)
	}
	return openTorch(dir, list)
}

// openIndexed opens the files that an index of Hugging Face's lists, of which each
// tensor is in the one that the index says.
func openIndexed(dir Folder, index, ext string) (*Set, error) {
	data, err := readSmall(dir, index)
	if err != nil {
		return nil, err
	}
	var x struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, bad(index, "no index: %v", err)
	}
	if x.WeightMap == nil {
		return nil, bad(index, "no index: it has no weight_map")
	}
	var list []string
	for name, file := range x.WeightMap {
		if !local(file) || filepath.Ext(file) != ext {
			return nil, bad(index, "tensor %.60q lies in %.60q, want the name of a %s file in the folder", name, file, ext)
		}
		if !slices.Contains(list, file) {
			list = append(list, file)
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return nil, bad(index, "no index: it lists no tensors")
	}
	s, err := openFiles(dir, list)
	if err != nil {
		return nil, err
	}
	for name, file := range x.WeightMap {
		t := s.Tensor(name)
		if t == nil || !slices.ContainsFunc(t.Pieces, func(p Piece) bool { return s.Files[p.File] == file }) && t.Numel() > 0 {
			s.Close()
			return nil, bad(index, "tensor %.60q is not in %s", name, file)
		}
	}
	return s, nil
}

// OpenSafetensors opens a safetensors file, whatever its name.
func OpenSafetensors(path string) (*Set, error) {
	return openSafetensors(plain(filepath.Dir(path)), []string{filepath.Base(path)})
}
