package files

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.starlark.net/starlark"
	"go.yaml.in/yaml/v3"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

func init() {
	builtins.Register(
		&builtins.Row{Name: "yaml", Namespace: true, Doc: "yaml is the module of YAML, as json is of JSON.\n" +
			">>> yaml.decode(\"lr: 0.1\")\n{\"lr\": 0.1}"},
		&builtins.Row{
			Name: "yaml.decode",
			Doc: "yaml.decode(text) returns the value of a text in YAML: a dict, a list, a string, a number, a bool or None.\n" +
				"It is one document. Anchors and << are followed; dates, times and what has a tag of its own are strings.\n" +
				">>> yaml.decode(\"model:\\n  layers: 2\\n  sizes: [4, 8]\")\n{\"model\": {\"layers\": 2, \"sizes\": [4, 8]}}",
			Fn: decodeYAML,
		},
	)
}

func decodeYAML(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "text", &text); err != nil {
		return nil, err
	}
	v, err := fromYAML(string(text))
	if err != nil {
		return nil, badText(b.Name(), string(text), "YAML", err)
	}
	return v, nil
}

// fromYAML returns the value of a text in YAML.
func fromYAML(text string) (starlark.Value, error) {
	var root, more yaml.Node
	err := orPanic(func() error {
		d := yaml.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&root); err != nil {
			return err
		}
		if err := d.Decode(&more); err != io.EOF {
			if err == nil {
				err = fmt.Errorf("line %d: got another document, want one", more.Line)
			}
			return err
		}
		return nil
	})
	switch {
	case errors.Is(err, io.EOF) && root.IsZero():
		return starlark.None, nil // an empty text
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	y := &yamlReader{values: maxYAML + 10*len(text)}
	return y.value(&root, 0)
}

// Bounds of a text in YAML, whose anchors may be used again and again: the
// values that it may have more than ten for each byte, and how deep they nest.
const (
	maxYAML      = 10_000
	maxYAMLDepth = 200
)

// A yamlReader makes values of nodes.
type yamlReader struct{ values int } // how many may come yet

func (y *yamlReader) value(n *yaml.Node, depth int) (starlark.Value, error) {
	if y.values--; y.values < 0 {
		return nil, errors.New("got more values than a text of this length may have: its anchors are used too often")
	}
	if depth > maxYAMLDepth {
		return nil, fmt.Errorf("line %d: got values more than %d deep", n.Line, maxYAMLDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return y.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return y.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]starlark.Value, len(n.Content))
		for i, each := range n.Content {
			var err error
			if list[i], err = y.value(each, depth+1); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(list), nil
	case yaml.MappingNode:
		d := starlark.NewDict(len(n.Content) / 2)
		if err := y.fill(d, n, depth); err != nil {
			return nil, err
		}
		return d, nil
	}
	return scalar(n)
}

// fill puts the pairs of a mapping into d: first its own, then those that << has
// and it has not.
func (y *yamlReader) fill(d *starlark.Dict, n *yaml.Node, depth int) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			merged = append(merged, n.Content[i+1])
			continue
		}
		k, err := y.value(n.Content[i], depth+1)
		if err != nil {
			return err
		}
		v, err := y.value(n.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if _, there, err := d.Get(k); err != nil || there {
			return fmt.Errorf("line %d: got the key %v, want one that can be a key and is there once", n.Content[i].Line, k)
		}
		if err := d.SetKey(k, v); err != nil {
			return err
		}
	}
	for _, each := range merged {
		from, err := y.value(each, depth+1)
		if err != nil {
			return err
		}
		if err := merge(d, from); err != nil {
			return fmt.Errorf("line %d: %w", each.Line, err)
		}
	}
	return nil
}

// merge puts the pairs of a dict, or of dicts in a list, into d that it has not.
func merge(d *starlark.Dict, from starlark.Value) error {
	switch from := from.(type) {
	case *starlark.List:
		for i := range from.Len() {
			if err := merge(d, from.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case *starlark.Dict:
		for _, pair := range from.Items() {
			if _, there, _ := d.Get(pair[0]); !there {
				if err := d.SetKey(pair[0], pair[1]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return fmt.Errorf("got << with a %s, want a mapping", from.Type())
}

// scalar returns the value of a node without parts.
func scalar(n *yaml.Node) (starlark.Value, error) {
	var x any
	if tag := n.ShortTag(); tag == "!!timestamp" || !strings.HasPrefix(tag, "!!") {
		return starlark.String(n.Value), nil
	}
	if err := orPanic(func() error { return n.Decode(&x) }); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch x := x.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(x), nil
	case int:
		return starlark.MakeInt(x), nil
	case int64:
		return starlark.MakeInt64(x), nil
	case uint64:
		return starlark.MakeUint64(x), nil
	case float64:
		return starlark.Float(x), nil
	case string:
		return starlark.String(x), nil
	}
	return starlark.String(n.Value), nil
}
