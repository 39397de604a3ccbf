package dcp

import (
	"maps"
	"slices"

	"tpsh/builtins/pickle"
)

// Encode returns the file as PyTorch reads it.
func (m *Metadata) Encode() ([]byte, error) {
	entries, places := new(pickle.Dict), new(pickle.Dict)
	for i := range m.Tensors {
		t := &m.Tensors[i]
		chunks := new(pickle.List)
		for k := range t.Chunks {
			c := &t.Chunks[k]
			chunks.Items = append(chunks.Items, &pickle.Object{Class: module + "ChunkStorageMetadata", State: dict("offsets", size(c.Offsets), "sizes", size(c.Sizes))})
			places.Set(&pickle.Object{Class: module + "MetadataIndex", State: dict("fqn", t.Name, "index", k, "offset", size(c.Offsets))}, c.Place.value())
		}
		entries.Set(t.Name, &pickle.Object{Class: module + "TensorStorageMetadata", State: dict("properties", t.properties(), "size", size(t.Shape), "chunks", chunks)})
	}
	for i := range m.Values {
		v := &m.Values[i]
		entries.Set(v.Name, &pickle.Object{Class: module + "BytesStorageMetadata"})
		places.Set(&pickle.Object{Class: module + "MetadataIndex", State: dict("fqn", v.Name, "index", nil)}, v.Place.value())
	}
	return pickle.Append(nil, &pickle.Object{Class: module + "Metadata", State: dict(
		"state_dict_metadata", entries,
		"planner_data", m.planner(),
		"storage_data", places,
		"storage_meta", &pickle.Object{Class: module + "StorageMeta", State: dict("checkpoint_id", nil, "save_id", nil, "load_id", nil, "modules", new(pickle.List))},
		"version", "1.0.0",
	)})
}

// dict returns a dict of keys and values in turn.
func dict(items ...any) *pickle.Dict {
	d := new(pickle.Dict)
	for i := 0; i < len(items); i += 2 {
		d.Set(items[i], items[i+1])
	}
	return d
}

// size returns a torch.Size.
func size(list []int) any {
	t := make(pickle.Tuple, len(list))
	for i, n := range list {
		t[i] = n
	}
	return &pickle.Object{Class: "torch.Size", Args: pickle.Tuple{t}}
}

func (p *Place) value() any {
	return &pickle.Object{Class: storage, State: dict("relative_path", p.File, "offset", p.Offset, "length", p.Length)}
}

// properties returns what the format says of a tensor beside its size, in the form
// that every version reads.
func (t *Tensor) properties() any {
	return &pickle.Object{Class: module + "TensorProperties", State: pickle.Tuple{
		pickle.Class("torch." + string(t.DType)),
		&pickle.Object{Class: "torch.serialization._get_layout", Args: pickle.Tuple{"torch.strided"}},
		false,
		&pickle.Object{Class: module + "_MEM_FORMAT_ENCODING", Args: pickle.Tuple{0}},
		false,
	}}
}

// planner returns the paths as the default planner keeps them.
func (m *Metadata) planner() any {
	d := new(pickle.Dict)
	for _, name := range slices.Sorted(maps.Keys(m.Paths)) {
		t := pickle.Tuple{}
		t = append(t, m.Paths[name]...)
		d.Set(name, t)
	}
	return d
}
