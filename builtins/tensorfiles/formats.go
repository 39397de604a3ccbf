package tensorfiles

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"

	"tpsh/builtins/dcp"
	"tpsh/builtins/pickle"
	"tpsh/builtins/safetensors"
	"tpsh/builtins/torchfile"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// An own is a checkpoint of tpsh's.
type own struct {
	*ckpt.Reader
	root *os.Root // nil if it is another's to close
}

// openOwn opens a checkpoint of tpsh's.
func openOwn(dir Folder, root *os.Root) (*Set, error) {
	src := &own{}
	if p, ok := dir.(plain); ok {
		var err error
		if root, err = os.OpenRoot(string(p)); err != nil {
			return nil, err
		}
		src.root = root
	}
	r, err := ckpt.Open(root)
	if err != nil {
		if src.root != nil {
			src.root.Close()
		}
		return nil, about("", err)
	}
	src.Reader = r
	s := &Set{Format: Own, src: src, oldSums: r.OldSums()}
	for _, f := range r.Files {
		s.Files = append(s.Files, f.Name)
	}
	for _, t := range r.Tensors {
		x := &Tensor{Name: t.Name, DType: torchfile.DType(t.DType), Shape: t.Shape, Sum: &t.Sum, own: t}
		for i := range t.Pieces {
			x.Pieces = append(x.Pieces, Piece{Box: t.Pieces[i].Box(), File: t.Pieces[i].File, Offset: t.Pieces[i].Offset})
		}
		s.Tensors = append(s.Tensors, x)
	}
	if s.Tree, err = decodeState(r.State, s.Tensor); err != nil {
		s.Close()
		return nil, bad(ckpt.IndexName, "%w", err)
	}
	return s, nil
}

func (o *own) read(dst []byte, t *Tensor, box mesh.Box) error { return o.Reader.Read(dst, t.own, box) }

func (o *own) verify(_ *Set, buf []byte, progress func(done int64)) []error {
	return o.Reader.Verify(len(buf), progress)
}

func (o *own) close() {
	o.Reader.Close()
	if o.root != nil {
		o.root.Close()
	}
}

// openDCP opens a folder of torch.distributed.checkpoint.
func openDCP(dir Folder) (*Set, error) {
	data, err := readSmall(dir, dcp.Name)
	if err != nil {
		return nil, err
	}
	m, err := dcp.Decode(data)
	if err != nil {
		return nil, about(dcp.Name, err)
	}
	s := &Set{Format: DCP}
	number := map[string]int{}
	file := func(name string) int {
		if _, ok := number[name]; !ok {
			number[name] = len(s.Files)
			s.Files = append(s.Files, name)
		}
		return number[name]
	}
	for i := range m.Tensors {
		t := &m.Tensors[i]
		x := &Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape}
		for k := range t.Chunks {
			c := &t.Chunks[k]
			if slices.Contains(c.Sizes, 0) {
				continue
			}
			box := mesh.Box{Lo: c.Offsets, Hi: make([]int, len(c.Sizes))}
			for d := range box.Hi {
				box.Hi[d] = c.Offsets[d] + c.Sizes[d]
			}
			if c.Place.Length == 0 {
				return nil, bad(dcp.Name, "tensor %.60q has an entry of no bytes", t.Name)
			}
			x.Pieces = append(x.Pieces, Piece{Box: box, File: file(c.Place.File), Offset: c.Place.Offset, entry: c.Place.Length})
		}
		s.Tensors = append(s.Tensors, x)
	}
	src := &pieces{files: newFiles(dir, nil)}
	s.src = src
	if err := s.check(); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for i := range m.Values {
		v := &m.Values[i]
		n := file(v.Place.File)
		src.names = s.Files
		if values[v.Name], err = src.value(v, n); err != nil {
			s.Close()
			return nil, err
		}
	}
	src.names = s.Files
	s.Tree, err = grow(s.Tensors, values, m.Paths)
	if err != nil {
		s.Close()
		return nil, bad(dcp.Name, "%w", err)
	}
	return s, nil
}

// maxValue bounds the entry of a value that is no tensor.
const maxValue = 256 << 20

// value reads a value that is no tensor. One that cannot be read here is kept as
// an Opaque.
func (p *pieces) value(v *dcp.Value, file int) (any, error) {
	size, err := p.size(file)
	if err != nil {
		return nil, err
	}
	if v.Place.Length > maxValue || v.Place.Offset > size-v.Place.Length {
		return nil, bad(p.names[file], "the entry of %.60q, of %d bytes at byte %d, does not lie in the file", v.Name, v.Place.Length, v.Place.Offset)
	}
	data := make([]byte, v.Place.Length)
	if err := p.readAt(data, file, v.Place.Offset); err != nil {
		return nil, err
	}
	value, err := torchfile.ReadValue(data)
	if err == nil {
		value, err = plainValue(value, nil, 0)
	}
	if err != nil {
		if Damaged(err) {
			p.damaged = append(p.damaged, bad(p.names[file], "the value %.60q: %w", v.Name, err))
		}
		return &Opaque{err, data}, nil
	}
	return value, nil
}

// An Opaque is a value that cannot be read here, and why.
type Opaque struct {
	Err  error
	file []byte // as torch.save wrote it
}

// Damaged reports whether a value cannot be read because what torch.save wrote is there
// no more, and not because it is of a kind that is not read here.
func Damaged(err error) bool { return errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) }

// openTorch opens files that torch.save has written.
func openTorch(dir Folder, list []string) (*Set, error) {
	src := &pieces{files: newFiles(dir, list), torch: map[int]*torchfile.File{}}
	s := &Set{Format: Torch, Files: list, src: src}
	var trees []any
	for i, name := range list {
		tree, err := s.addTorch(src, i)
		if err != nil {
			s.Close()
			return nil, about(name, err)
		}
		trees = append(trees, tree)
	}
	err := s.check()
	if err == nil {
		s.Tree, err = join(trees)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// addTorch adds the tensors of a file, and returns its tree.
func (s *Set) addTorch(src *pieces, number int) (any, error) {
	file, err := src.get(number)
	if err != nil {
		return nil, err
	}
	size, err := src.size(number)
	if err != nil {
		return nil, err
	}
	f, err := torchfile.Open(file, size)
	if err != nil {
		return nil, err
	}
	src.torch[number] = f
	w := &naming{used: map[string]bool{}}
	tree, err := plainValue(f.Value, func(path string, t *torchfile.Tensor) any {
		x := &Tensor{Name: w.name(path), DType: t.DType, Shape: t.Shape}
		p := Piece{Box: ckpt.Whole(t.Shape), File: number, Offset: t.Storage.Offset + t.Start*int64(t.DType.Size()), signs: t.Signs}
		if !t.Contiguous() {
			p.Strides = t.Strides
		}
		if x.Numel() > 0 {
			x.Pieces = []Piece{p}
		}
		s.Tensors = append(s.Tensors, x)
		return x
	}, 0)
	if err != nil {
		return nil, err
	}
	if x, ok := tree.(*Tensor); ok { // a file of one tensor
		x.Name = "tensor"
		d := new(pickle.Dict)
		d.Set(x.Name, x)
		tree = d
	}
	return tree, nil
}

// shardingKey is the key of a safetensors file's metadata under which PyTorch
// says where the parts of tensors belong.
const shardingKey = "DCP_SHARDING_INFO"

// openSafetensors opens safetensors files. A tensor is in one of them, or the files
// say where each part belongs.
func openSafetensors(dir Folder, list []string) (*Set, error) {
	src := &pieces{files: newFiles(dir, list)}
	s := &Set{Format: Safetensors, Files: list, src: src}
	byName := map[string]*Tensor{}
	for i, name := range list {
		if err := addSafetensors(src, i, byName); err != nil {
			s.Close()
			return nil, about(name, err)
		}
	}
	tree := new(pickle.Dict)
	for _, t := range byName {
		s.Tensors = append(s.Tensors, t)
	}
	if err := s.check(); err != nil {
		s.Close()
		return nil, err
	}
	for _, t := range s.Tensors {
		tree.Set(t.Name, t)
	}
	s.Tree = tree
	return s, nil
}

// safetensorsTypes gives the element types of safetensors files their names in
// PyTorch.
var safetensorsTypes = map[safetensors.DType]torchfile.DType{
	safetensors.Bool: "bool", safetensors.U8: "uint8", safetensors.I8: "int8", safetensors.I16: "int16", safetensors.U16: "uint16",
	safetensors.F16: "float16", safetensors.BF16: "bfloat16", safetensors.I32: "int32", safetensors.U32: "uint32", safetensors.F32: "float32",
	safetensors.C64: "complex64", safetensors.F64: "float64", safetensors.I64: "int64", safetensors.U64: "uint64",
	safetensors.F8E5M2: "float8_e5m2", safetensors.F8E4M3: "float8_e4m3fn", safetensors.F8E8M0: "float8_e8m0fnu",
	safetensors.F8E4M3FNUZ: "float8_e4m3fnuz", safetensors.F8E5M2FNUZ: "float8_e5m2fnuz",
}

// addSafetensors adds what is in a file.
func addSafetensors(src *pieces, number int, byName map[string]*Tensor) error {
	file, err := src.get(number)
	if err != nil {
		return err
	}
	size, err := src.size(number)
	if err != nil {
		return err
	}
	f, err := safetensors.Open(file, size)
	if err != nil {
		return err
	}
	var places map[string]struct {
		Offsets []int `json:"saved_offsets"`
	}
	if text := f.Metadata()[shardingKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &places); err != nil {
			return bad(src.names[number], "%s is no JSON: %v", shardingKey, err)
		}
	}
	begin, err := dataStart(file)
	if err != nil {
		return err
	}
	for _, name := range f.Names() {
		x := f.Tensor(name)
		lo := make([]int, len(x.Shape))
		if p, ok := places[name]; ok {
			if len(p.Offsets) != len(lo) {
				return bad(src.names[number], "tensor %.60q has an offset of %d dims, want %d", name, len(p.Offsets), len(lo))
			}
			lo = p.Offsets
		}
		if err := addPart(byName, name, safetensorsTypes[x.DType], lo, x.Shape, Piece{File: number, Offset: begin + x.Begin}); err != nil {
			return about(src.names[number], err)
		}
	}
	return nil
}

// dataStart returns where the data of a safetensors file begin.
func dataStart(r io.ReaderAt) (int64, error) {
	var b [8]byte
	if _, err := r.ReadAt(b[:], 0); err != nil {
		return 0, err
	}
	n := int64(0)
	for i := 7; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	return n + 8, nil
}

// addPart adds a piece of the tensor called name, which lies at lo. The tensor is as
// large as its pieces reach.
func addPart(byName map[string]*Tensor, name string, d torchfile.DType, lo, shape []int, p Piece) error {
	t := byName[name]
	if t == nil {
		t = &Tensor{Name: name, DType: d, Shape: make([]int, len(shape))}
		byName[name] = t
	}
	if t.DType != d || len(t.Shape) != len(shape) {
		return bad("", "tensor %.60q is %s of %d dims here and %s of %d dims there", name, d, len(shape), t.DType, len(t.Shape))
	}
	hi := make([]int, len(lo))
	for i := range lo {
		if lo[i] < 0 || lo[i] > 1<<58-shape[i] {
			return bad("", "tensor %.60q has a part at %v", name, lo)
		}
		hi[i] = lo[i] + shape[i]
		t.Shape[i] = max(t.Shape[i], hi[i])
	}
	if p.Box = (mesh.Box{Lo: lo, Hi: hi}); p.Box.Numel() > 0 {
		t.Pieces = append(t.Pieces, p)
	}
	return nil
}
