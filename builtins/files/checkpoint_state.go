package files

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/tensorfiles"
	"tpsh/runtime/op"
)

// The state of a checkpoint is JSON. What JSON does not have is an object with
// one key: {"$tensor": name}, {"$tuple": [...]}, {"$float": "nan"} and, of
// strings that are no UTF-8, {"$bytes": base64}. A key of a dict that begins with
// $ has another $ before it.

// maxDepth is how deep values may be nested in a checkpoint.
const maxDepth = 500

// A stateWriter writes a value of a script as the state of a checkpoint.
type stateWriter struct {
	fn      string
	text    []byte
	tensors []savedTensor // those in the value, under names of their own
	names   map[string]bool
}

// bad returns an error about the value at path.
func (w *stateWriter) bad(path, got, rule string) error {
	if path != "" {
		got += fmt.Sprintf(" at %q", path)
	}
	return &op.ArgError{Func: w.fn, Param: "state", Got: got, Want: "dicts with strings for keys, lists and tuples of tensors, numbers, strings, bools and None", Rule: rule}
}

// write appends v, which stands at path, in so many others.
func (w *stateWriter) write(path string, v starlark.Value, depth int) error {
	if depth > maxDepth {
		return w.bad("", fmt.Sprintf("values nested more than %d deep", maxDepth), "")
	}
	switch v := v.(type) {
	case starlark.NoneType:
		w.text = append(w.text, "null"...)
	case starlark.Bool:
		w.text = strconv.AppendBool(w.text, bool(v))
	case starlark.Int:
		w.text = append(w.text, v.String()...)
	case starlark.Float:
		w.text = tensorfiles.AppendFloat(w.text, float64(v))
	case starlark.String:
		w.text = tensorfiles.AppendString(w.text, string(v))
	case *builtins.Unknown:
		w.text = tensorfiles.AppendString(w.text, v.String())
	case *builtins.Tensor:
		w.text = append(tensorfiles.Quote(append(w.text, `{"$tensor":`...), w.name(path, v)), '}')
	case *starlark.Dict:
		return w.dict(path, v, depth)
	case *starlark.List:
		return w.list(path, v, depth)
	case starlark.Tuple:
		w.text = append(w.text, `{"$tuple":`...)
		if err := w.list(path, v, depth); err != nil {
			return err
		}
		w.text = append(w.text, '}')
	default:
		return w.bad(path, arg.Show(v), "")
	}
	return nil
}

// name returns the name of the tensor x, which stands at path.
func (w *stateWriter) name(path string, x *builtins.Tensor) string {
	name := path
	for i := 2; w.names[name]; i++ {
		name = fmt.Sprintf("%s#%d", path, i)
	}
	w.names[name] = true
	w.tensors = append(w.tensors, savedTensor{name, x})
	return name
}

func (w *stateWriter) dict(path string, d *starlark.Dict, depth int) error {
	w.text = append(w.text, '{')
	for i, item := range d.Items() {
		key, ok := starlark.AsString(item[0])
		if !ok {
			return w.bad(path, "the key "+arg.Show(item[0]), "")
		}
		if !utf8.ValidString(key) {
			return w.bad(path, "the key "+arg.Show(item[0]), "keys are UTF-8")
		}
		if i > 0 {
			w.text = append(w.text, ',')
		}
		stored := key
		if strings.HasPrefix(key, "$") {
			stored = "$" + key
		}
		w.text = append(tensorfiles.Quote(w.text, stored), ':')
		if err := w.write(builtins.JoinPath(path, key), item[1], depth+1); err != nil {
			return err
		}
	}
	w.text = append(w.text, '}')
	return nil
}

func (w *stateWriter) list(path string, list starlark.Indexable, depth int) error {
	w.text = append(w.text, '[')
	for i := range list.Len() {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		if err := w.write(builtins.JoinPath(path, strconv.Itoa(i)), list.Index(i), depth+1); err != nil {
			return err
		}
	}
	w.text = append(w.text, ']')
	return nil
}

// A savedValue is a value of the state of a checkpoint: a tensor's name, or a
// value of a script that is no collection, or a collection of others.
type savedValue struct {
	tensor string         // its name, of a tensor
	value  starlark.Value // of what is no collection; None of a tensor
	kind   string         // "dict", "list" or "tuple"; "tensor"; else ""
	keys   []string       // of a dict
	items  []*savedValue
}

var errState = errors.New("its state is not what a save writes")

// readState returns what the text of a state stands for. The error is errState.
func readState(text []byte) (*savedValue, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, errState
	}
	return v, nil
}

func readValue(d *json.Decoder, depth int) (*savedValue, error) {
	tok, err := d.Token()
	if err != nil || depth > 2*maxDepth {
		return nil, errState
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '[' {
			return readItems(d, &savedValue{kind: "list"}, depth)
		}
		v, err := readItems(d, &savedValue{kind: "dict"}, depth)
		if err != nil {
			return nil, err
		}
		return v.unescape()
	case json.Number:
		n, err := readNumber(string(tok))
		return &savedValue{value: n}, err
	case string:
		return &savedValue{value: starlark.String(tok)}, nil
	case bool:
		return &savedValue{value: starlark.Bool(tok)}, nil
	}
	return &savedValue{value: starlark.None}, nil
}

// readItems reads the elements, or entries, of v and what ends them.
func readItems(d *json.Decoder, v *savedValue, depth int) (*savedValue, error) {
	for d.More() {
		if v.kind == "dict" {
			key, err := d.Token()
			if err != nil {
				return nil, errState
			}
			v.keys = append(v.keys, key.(string)) // the decoder wants one
		}
		item, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.Token()
	return v, err
}

func readNumber(s string) (starlark.Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		return starlark.Float(f), err
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, errState
	}
	return starlark.MakeBigInt(n), nil
}

// unescape returns what the dict v, as it is stored, stands for.
func (v *savedValue) unescape() (*savedValue, error) {
	for i, key := range v.keys {
		if strings.HasPrefix(key, "$$") {
			v.keys[i] = key[1:]
		} else if strings.HasPrefix(key, "$") {
			if len(v.keys) != 1 {
				return nil, errState
			}
			return v.items[0].special(key)
		}
	}
	return v, nil
}

// special returns what {key: v} stands for.
func (v *savedValue) special(key string) (*savedValue, error) {
	text, isText := v.value.(starlark.String)
	switch {
	case key == "$tensor" && isText:
		return &savedValue{kind: "tensor", tensor: string(text), value: starlark.None}, nil
	case key == "$tuple" && v.kind == "list":
		return &savedValue{kind: "tuple", items: v.items}, nil
	case key == "$float" && isText:
		f, err := strconv.ParseFloat(string(text), 64)
		return &savedValue{value: starlark.Float(f)}, err
	case key == "$bytes" && isText:
		data, err := base64.StdEncoding.DecodeString(string(text))
		return &savedValue{value: starlark.String(data)}, err
	}
	return nil, errState
}

// at returns what the dict v has under key, or nil.
func (v *savedValue) at(key string) *savedValue {
	for i, k := range v.keys {
		if k == key {
			return v.items[i]
		}
	}
	return nil
}

// differAt returns the path of the first value in which a and b, which
// stand at path, differ.
func differAt(path string, a, b *savedValue) (string, bool) {
	if a.kind != b.kind || len(a.items) != len(b.items) || a.tensor != b.tensor {
		return path, true
	}
	if a.kind == "" {
		same, err := starlark.Equal(a.value, b.value)
		return path, err != nil || !same || a.value.Type() != b.value.Type()
	}
	for i := range a.items {
		key := strconv.Itoa(i)
		if a.kind == "dict" {
			if key = a.keys[i]; key != b.keys[i] {
				return builtins.JoinPath(path, key), true
			}
		}
		if p, differ := differAt(builtins.JoinPath(path, key), a.items[i], b.items[i]); differ {
			return p, true
		}
	}
	return path, false
}

// A savedTensor is a tensor among the values of a state, under a name of its own.
type savedTensor struct {
	path string
	x    *builtins.Tensor
}
