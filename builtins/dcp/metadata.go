package dcp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"tpsh/builtins/pickle"
	"tpsh/builtins/torchfile"
)

// Name is the name of the file.
const Name = ".metadata"

// A Metadata says what a folder holds.
type Metadata struct {
	Tensors []Tensor // by name, ascending
	Values  []Value  // by name, ascending
	// Paths has the path of each name in the dict that was saved: text for the
	// keys of dicts, int for places in lists. It is nil if the file has none.
	Paths map[string][]any
}

// A Tensor is one of the folder.
type Tensor struct {
	Name   string
	DType  torchfile.DType
	Shape  []int
	Chunks []Chunk
}

// A Chunk is a box of a tensor and the place of its entry.
type Chunk struct {
	Offsets, Sizes []int
	Place          Place
}

// A Value is one that is no tensor, and the place of its entry.
type Value struct {
	Name  string
	Place Place
}

// A Place is a range of bytes of a data file.
type Place struct {
	File           string
	Offset, Length int64
}

const (
	module  = "torch.distributed.checkpoint.metadata."
	storage = "torch.distributed.checkpoint.filesystem._StorageInfo"
)

// classes lists those that the file may name, and what stands for them.
var classes = pickle.Allow{
	module + "Metadata":               pickle.Class("Metadata"),
	module + "TensorStorageMetadata":  pickle.Class("TensorStorageMetadata"),
	module + "BytesStorageMetadata":   pickle.Class("BytesStorageMetadata"),
	module + "TensorProperties":       pickle.Class("TensorProperties"),
	module + "ChunkStorageMetadata":   pickle.Class("ChunkStorageMetadata"),
	module + "MetadataIndex":          pickle.Class("MetadataIndex"),
	module + "StorageMeta":            pickle.Class("StorageMeta"),
	module + "_MEM_FORMAT_ENCODING":   pickle.Class("_MEM_FORMAT_ENCODING"),
	storage:                           pickle.Class("_StorageInfo"),
	"torch.Size":                      pickle.Class("torch.Size"),
	"torch.serialization._get_layout": pickle.Class("layout"),
	"torch.storage._get_layout":       pickle.Class("layout"),
	"pathlib.PosixPath":               pickle.Class("path"),
	"pathlib.PurePosixPath":           pickle.Class("path"),
	"pathlib.WindowsPath":             pickle.Class("path"),
	"pathlib._local.PosixPath":        pickle.Class("path"),
	"pathlib._local.WindowsPath":      pickle.Class("path"),
	"torch.distributed._shard.sharded_tensor.metadata.TensorProperties":    pickle.Class("TensorProperties"),
	"torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING": pickle.Class("_MEM_FORMAT_ENCODING"),
}

// global returns what stands for a name in the file.
func global(mod, name string) (any, error) {
	if mod == "torch" {
		if d, ok := torchfile.ParseDType(name); ok {
			return d, nil
		}
	}
	return classes.Global(mod, name)
}

// Decode reads what the file holds. What it returns is sound in itself: boxes lie
// in their tensors, each has a place, and places are not negative.
func Decode(data []byte) (*Metadata, error) {
	v, _, err := pickle.Read(data, &pickle.Options{Global: global})
	if err != nil {
		return nil, err
	}
	top, ok := object(v, "Metadata")
	if !ok {
		return nil, errors.New("it is a pickle of something else than the metadata of a checkpoint")
	}
	d := &decoder{m: new(Metadata), chunks: map[string]map[string]Place{}, values: map[string]Place{}}
	if err := d.storage(top.Attr("storage_data")); err != nil {
		return nil, err
	}
	if err := d.entries(top.Attr("state_dict_metadata")); err != nil {
		return nil, err
	}
	if err := d.paths(top.Attr("planner_data")); err != nil {
		return nil, err
	}
	return d.m, nil
}

// object returns v if it is an object of a class.
func object(v any, class string) (*pickle.Object, bool) {
	o, ok := v.(*pickle.Object)
	return o, ok && o.Class == class
}

// A decoder is a call of Decode.
type decoder struct {
	m      *Metadata
	chunks map[string]map[string]Place // by name, and by the offsets as text
	values map[string]Place
}

// storage reads where entries lie.
func (d *decoder) storage(v any) error {
	list, ok := v.(*pickle.Dict)
	if !ok {
		return errors.New("it does not say where its entries lie")
	}
	for key, item := range list.All() {
		index, ok := object(key, "MetadataIndex")
		info, ok2 := object(item, "_StorageInfo")
		if !ok || !ok2 {
			return errors.New("places of entries that are kept in another way than in files of a folder")
		}
		name, ok := index.Attr("fqn").(string)
		if !ok {
			return errors.New("an entry without a name")
		}
		p, err := place(info)
		if err != nil {
			return fmt.Errorf("entry %.60q: %w", name, err)
		}
		if index.Attr("offset") == nil {
			d.values[name] = p
			continue
		}
		at, err := sizes(index.Attr("offset"))
		if err != nil {
			return fmt.Errorf("entry %.60q: %w", name, err)
		}
		if d.chunks[name] == nil {
			d.chunks[name] = map[string]Place{}
		}
		d.chunks[name][fmt.Sprint(at)] = p
	}
	return nil
}

// place reads a range of bytes.
func place(o *pickle.Object) (Place, error) {
	file, _ := o.Attr("relative_path").(string)
	offset, ok := pickle.Int(o.Attr("offset"))
	length, ok2 := pickle.Int(o.Attr("length"))
	switch {
	case file == "" || file == "." || file == ".." || path.Base(file) != file || strings.ContainsAny(file, "\\\x00"):
		return Place{}, fmt.Errorf("it lies in %.60q, want the name of a file in the folder", file)
	case !ok || !ok2 || offset < 0 || length < 0 || offset > math.MaxInt64-length:
		return Place{}, errors.New("it lies at a place that cannot be")
	}
	if items, _ := pickle.Items(o.Attr("transform_descriptors")); len(items) > 0 {
		return Place{}, fmt.Errorf("it was written through %s: entries that are compressed or encrypted are not read", pickle.Show(items[0]))
	}
	return Place{file, offset, length}, nil
}

// maxDims is the number of dims that a tensor of PyTorch can have.
const maxDims = 64

// sizes reads a torch.Size, or another tuple of sizes.
func sizes(v any) ([]int, error) {
	if o, ok := object(v, "torch.Size"); ok {
		if len(o.Args) == 0 {
			return []int{}, nil
		}
		v = o.Args[0]
	}
	items, ok := pickle.Items(v)
	if !ok || len(items) > maxDims {
		return nil, errors.New("sizes that are none")
	}
	list := make([]int, len(items))
	for i, item := range items {
		n, ok := pickle.Int(item)
		if !ok || n < 0 || n > math.MaxInt64/16 {
			return nil, fmt.Errorf("a size of %s", pickle.Show(item))
		}
		list[i] = int(n)
	}
	return list, nil
}

// entries reads what the entries are.
func (d *decoder) entries(v any) error {
	list, ok := v.(*pickle.Dict)
	if !ok {
		return errors.New("it does not say what its entries are")
	}
	for key, item := range list.All() {
		name, ok := key.(string)
		if !ok {
			return errors.New("an entry whose name is no text")
		}
		if o, ok := object(item, "TensorStorageMetadata"); ok {
			t, err := d.tensor(name, o)
			if err != nil {
				return fmt.Errorf("tensor %.60q: %w", name, err)
			}
			d.m.Tensors = append(d.m.Tensors, t)
			continue
		}
		if _, ok := object(item, "BytesStorageMetadata"); !ok {
			return fmt.Errorf("entry %.60q is neither a tensor nor a value", name)
		}
		p, ok := d.values[name]
		if !ok {
			return fmt.Errorf("value %.60q has no place", name)
		}
		d.m.Values = append(d.m.Values, Value{name, p})
	}
	slices.SortFunc(d.m.Tensors, func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.m.Values, func(a, b Value) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// tensor reads what is said of a tensor.
func (d *decoder) tensor(name string, o *pickle.Object) (t Tensor, err error) {
	t.Name = name
	if props, ok := object(o.Attr("properties"), "TensorProperties"); ok {
		if t.DType, err = dtype(props); err != nil {
			return t, err
		}
	}
	if t.DType == "" {
		return t, errors.New("it has no dtype")
	}
	if t.Shape, err = sizes(o.Attr("size")); err != nil {
		return t, err
	}
	chunks, ok := pickle.Items(o.Attr("chunks"))
	if !ok {
		return t, errors.New("it has no list of chunks")
	}
	for _, item := range chunks {
		c, err := d.chunk(name, t.Shape, item)
		if err != nil {
			return t, err
		}
		t.Chunks = append(t.Chunks, c)
	}
	return t, nil
}

// dtype returns that of a tensor's properties, which are a tuple or a dict.
func dtype(props *pickle.Object) (torchfile.DType, error) {
	v := props.Attr("dtype")
	if t, ok := props.State.(pickle.Tuple); ok && len(t) > 0 {
		v = t[0]
	}
	d, ok := v.(torchfile.DType)
	if !ok {
		return "", fmt.Errorf("a dtype that is %T", v)
	}
	return d, nil
}

// chunk reads a chunk of a tensor of a shape.
func (d *decoder) chunk(name string, shape []int, v any) (c Chunk, err error) {
	o, ok := object(v, "ChunkStorageMetadata")
	if !ok {
		return c, errors.New("a chunk that is none")
	}
	if c.Offsets, err = sizes(o.Attr("offsets")); err != nil {
		return c, err
	}
	if c.Sizes, err = sizes(o.Attr("sizes")); err != nil {
		return c, err
	}
	if len(c.Offsets) != len(shape) || len(c.Sizes) != len(shape) {
		return c, fmt.Errorf("a chunk of %d dims, want %d", len(c.Sizes), len(shape))
	}
	for i, n := range shape {
		if c.Sizes[i] > n || c.Offsets[i] > n-c.Sizes[i] {
			return c, fmt.Errorf("a chunk at %v of %v, outside of its shape %v", c.Offsets, c.Sizes, shape)
		}
	}
	if c.Place, ok = d.chunks[name][fmt.Sprint(c.Offsets)]; !ok && !slices.Contains(c.Sizes, 0) {
		return c, fmt.Errorf("its chunk at %v has no place", c.Offsets)
	}
	return c, nil
}

// paths reads the path of each name.
func (d *decoder) paths(v any) error {
	list, ok := v.(*pickle.Dict)
	if !ok || list.Len() == 0 {
		return nil
	}
	d.m.Paths = map[string][]any{}
	for key, item := range list.All() {
		name, ok := key.(string)
		parts, ok2 := pickle.Items(item)
		if !ok || !ok2 {
			continue // another planner's
		}
		p := make([]any, len(parts))
		for i, part := range parts {
			switch part := part.(type) {
			case string:
				p[i] = part
			case int64:
				p[i] = int(part)
			default:
				return fmt.Errorf("the path of %.60q has a part that is no text and no number", name)
			}
		}
		d.m.Paths[name] = p
	}
	return nil
}
