package tensorfiles

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"tpsh/builtins/pickle"
	"tpsh/builtins/torchfile"
)

// maxDepth is how deep values may be nested.
const maxDepth = 500

// maxNodes is how many values a tree may have: those that are shared in a file
// count each time.
const maxNodes = 1 << 22

// plainValue returns a value of a pickle with what tensor makes of each tensor, with
// text for the keys of dicts, and with text for what is kept as text. With no tensor a
// value that has some is an error.
func plainValue(v any, tensor func(path string, t *torchfile.Tensor) any, depth int) (any, error) {
	p := &planing{tensor: tensor}
	return p.value("", v, depth)
}

// A planing is a call of plainValue.
type planing struct {
	tensor func(path string, t *torchfile.Tensor) any
	nodes  int
}

func (p *planing) value(path string, v any, depth int) (any, error) {
	if p.nodes++; p.nodes > maxNodes || depth > maxDepth {
		return nil, errors.New("values that are nested too deep, or too many")
	}
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64, string, []byte:
		return v, nil
	case torchfile.Text:
		return string(v), nil
	case torchfile.DType:
		return "torch." + string(v), nil
	case *torchfile.Tensor:
		if p.tensor == nil {
			return nil, errors.New("a tensor where none belongs")
		}
		return p.tensor(path, v), nil
	case *pickle.Dict:
		return p.dict(path, v, depth)
	case *pickle.List:
		items, err := p.items(path, v.Items, depth)
		return &pickle.List{Items: items}, err
	case *pickle.Set:
		items, err := p.items(path, v.Items, depth)
		return &pickle.List{Items: items}, err
	case pickle.Tuple:
		items, err := p.items(path, v, depth)
		return pickle.Tuple(items), err
	}
	return nil, fmt.Errorf("%.60q is %s, want a tensor or a plain value", path, torchfile.KindOf(v))
}

func (p *planing) items(path string, list []any, depth int) ([]any, error) {
	items := make([]any, len(list))
	for i, item := range list {
		var err error
		if items[i], err = p.value(join2(path, strconv.Itoa(i)), item, depth+1); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (p *planing) dict(path string, d *pickle.Dict, depth int) (any, error) {
	out := new(pickle.Dict)
	for k, item := range d.All() {
		key, err := keyText(k)
		if err != nil {
			return nil, err
		}
		if _, ok := out.Lookup(key); ok {
			return nil, fmt.Errorf("the key %.60q twice", key)
		}
		v, err := p.value(join2(path, key), item, depth+1)
		if err != nil {
			return nil, err
		}
		out.Set(key, v)
	}
	return out, nil
}

// keyText returns the key of a dict as text.
func keyText(k any) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case int64, bool, float64, *big.Int:
		return fmt.Sprint(k), nil
	}
	return "", fmt.Errorf("a dict with a key that is %T", k)
}

// join2 returns the path of what stands under a key of what stands at path.
func join2(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// A naming gives tensors names of their own.
type naming struct{ used map[string]bool }

func (n *naming) name(path string) string {
	name := path
	for i := 2; n.used[name]; i++ {
		name = fmt.Sprintf("%s#%d", path, i)
	}
	n.used[name] = true
	return name
}

// join returns one tree of several dicts.
func join(trees []any) (any, error) {
	if len(trees) == 1 {
		return trees[0], nil
	}
	all := new(pickle.Dict)
	for _, tree := range trees {
		d, ok := tree.(*pickle.Dict)
		if !ok {
			return nil, bad("", "files of which one holds %T, want dicts", tree)
		}
		for k, v := range d.All() {
			if _, ok := all.Lookup(k); !ok {
				all.Set(k, v)
			}
		}
	}
	return all, nil
}

// grow returns the tree in which tensors and values stand at their paths; those
// without one stand at the top under their names.
func grow(tensors []*Tensor, values map[string]any, paths map[string][]any) (any, error) {
	type leaf struct {
		name string
		path []any
		v    any
	}
	var leaves []leaf
	add := func(name string, v any) {
		path := paths[name]
		if len(path) == 0 {
			path = []any{name}
		}
		leaves = append(leaves, leaf{name, path, v})
	}
	for _, t := range tensors {
		add(t.Name, t)
	}
	for name, v := range values {
		add(name, v)
	}
	slices.SortFunc(leaves, func(a, b leaf) int { return comparePaths(a.path, b.path) })
	root := &node{}
	for _, l := range leaves {
		if len(l.path) > maxDepth {
			return nil, fmt.Errorf("the path of %.60q has %d parts", l.name, len(l.path))
		}
		if !root.set(l.path, l.v) {
			return nil, fmt.Errorf("the path of %.60q leads through another value", l.name)
		}
	}
	return root.value(), nil
}

// comparePaths orders paths so that places in lists come by number.
func comparePaths(a, b []any) int {
	return slices.CompareFunc(a, b, func(x, y any) int {
		i, ok := x.(int)
		k, ok2 := y.(int)
		if ok && ok2 {
			return i - k
		}
		if ok != ok2 {
			return map[bool]int{true: -1, false: 1}[ok]
		}
		return compareText(x.(string), y.(string))
	})
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A node is a value that grows.
type node struct {
	keys  []any // text or int
	items map[any]*node
	leaf  any
	full  bool // it is a leaf
}

// set puts v at a path, and reports whether there is room.
func (n *node) set(path []any, v any) bool {
	for _, key := range path {
		if n.full {
			return false
		}
		if n.items == nil {
			n.items = map[any]*node{}
		}
		if n.items[key] == nil {
			n.items[key] = &node{}
			n.keys = append(n.keys, key)
		}
		n = n.items[key]
	}
	if n.full || n.items != nil {
		return false
	}
	n.leaf, n.full = v, true
	return true
}

// value returns what has grown: a list where all keys are the numbers from 0 on.
func (n *node) value() any {
	if n.full {
		return n.leaf
	}
	isList := len(n.keys) > 0
	for i, key := range n.keys {
		isList = isList && key == any(i)
	}
	list, d := new(pickle.List), new(pickle.Dict)
	for _, key := range n.keys {
		v := n.items[key].value()
		list.Items = append(list.Items, v)
		d.Set(fmt.Sprint(key), v)
	}
	if isList {
		return list
	}
	return d
}
