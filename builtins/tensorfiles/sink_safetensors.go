package tensorfiles

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"tpsh/builtins/pickle"
	"tpsh/builtins/safetensors"
	"tpsh/builtins/torchfile"
	"tpsh/runtime/ckpt"
)

// A safetensorsSink writes safetensors files: of whole tensors, with an index where
// there are several, or of parts, with what PyTorch wants to know of their places.
type safetensorsSink struct {
	outputs
	c *copying
}

func newSafetensorsSink(c *copying, root *os.Root) (sink, error) {
	s := &safetensorsSink{outputs{root: root, list: make([]*output, len(c.entries))}, c}
	for w, list := range c.entries {
		if len(list) == 0 && c.proof.Files > 0 {
			continue
		}
		if err := s.begin(w, list); err != nil {
			s.discard()
			return nil, err
		}
	}
	c.proof.Left = valuePaths("", c.src.Tree, nil)
	return s, nil
}

// fileName returns the name of a writer's file: that of a single file, that of one of
// several with whole tensors, or that of one with parts.
func (s *safetensorsSink) fileName(writer int) string {
	n := len(s.c.entries)
	switch {
	case n == 1:
		return "model.safetensors"
	case s.c.o.Target == nil:
		return fmt.Sprintf("model-%05d-of-%05d.safetensors", writer+1, n)
	}
	return fmt.Sprintf("shard-%05d-model-00001-of-00001.safetensors", writer+1)
}

// begin writes the header of a writer's file.
func (s *safetensorsSink) begin(writer int, list []ckpt.Entry) error {
	var tensors []*safetensors.Tensor
	type saved struct {
		Offsets []int `json:"saved_offsets"`
	}
	places := map[string]saved{}
	names := map[string]bool{}
	add := func(name string, d torchfile.DType, shape, lo []int) error {
		kind, ok := safetensorsType(d)
		if !ok {
			return fmt.Errorf("tensor %q is %s, which safetensors files do not have", name, d)
		}
		if names[name] {
			return fmt.Errorf("tensor %q has several blocks on rank %d, and a safetensors file has one of a name: want another layout, or the format %s or %s", name, writer, DCP, Own)
		}
		names[name], places[name] = true, saved{lo}
		tensors = append(tensors, &safetensors.Tensor{Name: name, DType: kind, Shape: shape})
		return nil
	}
	for i := range list {
		e := &list[i]
		if err := add(e.Name, torchfile.DType(e.DType), e.Box.Shape(), e.Box.Lo); err != nil {
			return err
		}
	}
	for _, t := range s.c.src.Tensors {
		if t.Numel() == 0 && writer == s.first() {
			if err := add(t.Name, t.DType, t.Shape, make([]int, len(t.Shape))); err != nil {
				return err
			}
		}
	}
	meta := map[string]string{"format": "pt"}
	if s.c.o.Target != nil && len(s.c.entries) > 1 {
		text, err := json.Marshal(places)
		if err != nil {
			return err
		}
		meta[shardingKey], meta["DCP_VERSION"] = string(text), "1.0"
	}
	head, err := safetensors.AppendHeader(nil, tensors, meta)
	if err != nil {
		return err
	}
	out, err := s.create(writer, s.fileName(writer))
	if err == nil {
		_, err = out.Write(head)
	}
	return err
}

// first returns the first writer that has a file.
func (s *safetensorsSink) first() int {
	return max(0, slices.IndexFunc(s.c.entries, func(list []ckpt.Entry) bool { return len(list) > 0 }))
}

// safetensorsOrder returns the order in which a file has the data of tensors.
func safetensorsOrder(tensors []*Tensor) func(a, b *Tensor) int {
	var list []*safetensors.Tensor
	for _, t := range tensors {
		kind, _ := safetensorsType(t.DType)
		list = append(list, &safetensors.Tensor{Name: t.Name, DType: kind, Shape: t.Shape})
	}
	safetensors.Sort(list)
	number := map[string]int{}
	for i, t := range list {
		number[t.Name] = i
	}
	return func(a, b *Tensor) int { return number[a.Name] - number[b.Name] }
}

// safetensorsType returns what safetensors files call a dtype.
func safetensorsType(d torchfile.DType) (safetensors.DType, bool) {
	for kind, name := range safetensorsTypes {
		if name == d {
			return kind, true
		}
	}
	return "", false
}

func (s *safetensorsSink) entry(int, int) error { return nil }

func (s *safetensorsSink) write(writer int, data []byte) error {
	_, err := s.list[writer].Write(data)
	return err
}

func (s *safetensorsSink) finish(map[string]ckpt.Sum) error {
	if err := s.end(); err != nil {
		return err
	}
	if s.c.o.Target != nil || len(s.c.entries) == 1 {
		return nil
	}
	files := map[string]string{}
	for w, list := range s.c.entries {
		for i := range list {
			files[list[i].Name] = s.fileName(w)
		}
	}
	for _, t := range s.c.src.Tensors {
		if t.Numel() == 0 {
			files[t.Name] = s.fileName(s.first())
		}
	}
	data, err := json.MarshalIndent(map[string]any{
		"metadata":   map[string]any{"total_size": s.c.src.Bytes()},
		"weight_map": files,
	}, "", "  ")
	if err != nil {
		return err
	}
	return s.put("model.safetensors.index.json", append(data, '\n'))
}

// valuePaths appends the paths of the values of a tree that are no tensors.
func valuePaths(path string, v any, list []string) []string {
	switch v := v.(type) {
	case *Tensor:
		return list
	case *pickle.Dict:
		for key, item := range v.All() {
			list = valuePaths(join2(path, key.(string)), item, list)
		}
		return list
	case *pickle.List, pickle.Tuple:
		if !holdsTensor(v) {
			return append(list, path)
		}
		items, _ := pickle.Items(v)
		for i, item := range items {
			list = valuePaths(join2(path, fmt.Sprint(i)), item, list)
		}
		return list
	}
	return append(list, path)
}
