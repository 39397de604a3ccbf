package tensorfiles

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"tpsh/builtins/pickle"
)

// State returns the tree as the state of a checkpoint of tpsh's: JSON, in which
// {"$tensor": name} stands for a tensor, {"$tuple": [...]} for a tuple, {"$float":
// "nan"} for a number that JSON does not have and {"$bytes": base64} for what is no
// text. A key that begins with $ has another $ before it. What cannot be read here is
// left out, and its path is among left.
func (s *Set) State() (text []byte, left []string) {
	w := &stateWriter{}
	w.value("", s.Tree)
	return w.text, w.left
}

// Unread returns why values cannot be read here, by their paths in the state.
func (s *Set) Unread() map[string]error {
	w := &stateWriter{why: map[string]error{}}
	w.value("", s.Tree)
	return w.why
}

// A stateWriter writes a tree.
type stateWriter struct {
	text []byte
	left []string
	why  map[string]error // of what is left out; nil if nobody asks
}

// leave notes that the value at path is left out.
func (w *stateWriter) leave(path string, o *Opaque) {
	w.left = append(w.left, path)
	if w.why != nil {
		w.why[path] = o.Err
	}
}

func (w *stateWriter) value(path string, v any) {
	switch v := v.(type) {
	case nil:
		w.text = append(w.text, "null"...)
	case *Opaque:
		w.leave(path, v)
		w.text = append(w.text, "null"...)
	case bool:
		w.text = strconv.AppendBool(w.text, v)
	case int64:
		w.text = strconv.AppendInt(w.text, v, 10)
	case *big.Int:
		w.text = v.Append(w.text, 10)
	case float64:
		w.text = AppendFloat(w.text, v)
	case string:
		w.text = AppendString(w.text, v)
	case []byte:
		w.text = fmt.Appendf(w.text, `{"$bytes":%q}`, base64.StdEncoding.EncodeToString(v))
	case *Tensor:
		w.text = append(Quote(append(w.text, `{"$tensor":`...), v.Name), '}')
	case *pickle.Dict:
		w.dict(path, v)
	case *pickle.List:
		w.items(path, v.Items)
	case pickle.Tuple:
		w.text = append(w.text, `{"$tuple":`...)
		w.items(path, v)
		w.text = append(w.text, '}')
	}
}

// AppendFloat appends f as a checkpoint's state has it: a JSON number with a point or
// an exponent, or {"$float": ...} for what JSON lacks.
func AppendFloat(dst []byte, f float64) []byte {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Appendf(dst, `{"$float":%q}`, s)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0" // what has neither is an int
	}
	return append(dst, s...)
}

// AppendString appends s as a checkpoint's state has it: a JSON string, or
// {"$bytes": ...} in base64 for what is not UTF-8.
func AppendString(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return Quote(dst, s)
	}
	return fmt.Appendf(dst, `{"$bytes":%q}`, base64.StdEncoding.EncodeToString([]byte(s)))
}

// Quote appends s, which is UTF-8, as a JSON string.
func Quote(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string has a JSON text, and a buffer has room
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func (w *stateWriter) items(path string, list []any) {
	w.text = append(w.text, '[')
	for i, item := range list {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.value(join2(path, strconv.Itoa(i)), item)
	}
	w.text = append(w.text, ']')
}

func (w *stateWriter) dict(path string, d *pickle.Dict) {
	w.text = append(w.text, '{')
	first := true
	for k, item := range d.All() {
		key := strings.ToValidUTF8(k.(string), "\ufffd")
		if o, ok := item.(*Opaque); ok {
			w.leave(join2(path, key), o)
			continue
		}
		if !first {
			w.text = append(w.text, ',')
		}
		first = false
		if strings.HasPrefix(key, "$") {
			key = "$" + key
		}
		w.text = append(Quote(w.text, key), ':')
		w.value(join2(path, strings.TrimPrefix(key, "$")), item)
	}
	w.text = append(w.text, '}')
}

var errState = errors.New("its state is not what a save writes")

// decodeState returns the tree that a state is.
func decodeState(text []byte, tensor func(name string) *Tensor) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := &stateReader{d, tensor}
	return r.value(0)
}

// A stateReader reads a tree.
type stateReader struct {
	*json.Decoder
	tensor func(name string) *Tensor
}

func (r *stateReader) value(depth int) (any, error) {
	tok, err := r.Token()
	if err != nil || depth > 4*maxDepth {
		return nil, errState
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '[' {
			return r.list(depth)
		}
		return r.dict(depth)
	case json.Number:
		return number(string(tok))
	case string, bool:
		return tok, nil
	}
	return nil, nil
}

func number(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") {
		return strconv.ParseFloat(s, 64)
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, errState
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

func (r *stateReader) list(depth int) (any, error) {
	list := new(pickle.List)
	for r.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, v)
	}
	_, err := r.Token()
	return list, err
}

func (r *stateReader) dict(depth int) (any, error) {
	d, special := new(pickle.Dict), ""
	for r.More() {
		tok, err := r.Token()
		if err != nil {
			return nil, errState
		}
		key := tok.(string) // the decoder wants one
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(key, "$$") {
			key = key[1:]
		} else if strings.HasPrefix(key, "$") {
			special = key
		}
		d.Set(key, v)
	}
	if _, err := r.Token(); err != nil {
		return nil, err
	}
	if special == "" {
		return d, nil
	}
	if d.Len() != 1 {
		return nil, errState
	}
	return r.special(special, d.Get(special))
}

// special returns what {key: v} stands for.
func (r *stateReader) special(key string, v any) (any, error) {
	text, isText := v.(string)
	switch {
	case key == "$tensor" && isText:
		if t := r.tensor(text); t != nil {
			return t, nil
		}
	case key == "$tuple":
		if list, ok := v.(*pickle.List); ok {
			return pickle.Tuple(list.Items), nil
		}
	case key == "$float" && isText:
		return strconv.ParseFloat(text, 64)
	case key == "$bytes" && isText:
		data, err := base64.StdEncoding.DecodeString(text)
		return string(data), err
	}
	return nil, errState
}
