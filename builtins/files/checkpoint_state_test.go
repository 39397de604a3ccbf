package files

import (
	"bytes"
	"errors"
	"testing"

	"go.starlark.net/starlark"
)

// What readState takes, a stateWriter writes so that it reads the same again.
func FuzzReadState(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2.5,"x",null,true],"b":{"$tuple":[{"$float":"NaN"},{"$bytes":"/w=="}]},"$$c":-123456789012345678901234567890}`,
		`{"w":{"$tensor":"w"}}`, `{"$tuple":1}`, `{"$tensor":"w","x":1}`, `[1e999]`, `{"a":1,"a":2}`, `[[[[`, `{"$float":"x"}`, `"\ud800"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		saved, err := readState(text)
		if err != nil || saved.holdsTensor() {
			return
		}
		v, err := new(loader).build(saved)
		if err != nil {
			t.Fatal(err)
		}
		w := &stateWriter{fn: "save_checkpoint", names: map[string]bool{}}
		if err := w.write("", v, 0); err != nil {
			return // values nested too deep to be saved
		}
		again, err := readState(w.text)
		if err != nil {
			t.Fatalf("%s: %v", w.text, err)
		}
		u, err := new(loader).build(again)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := starlark.EqualDepth(u, v, 2*maxDepth); err != nil || !same {
			t.Fatalf("%s reads as %v, and %s as %v, %v", text, v, w.text, u, err)
		}
		w2 := &stateWriter{fn: "save_checkpoint", names: map[string]bool{}}
		if err := w2.write("", u, 0); err != nil || !bytes.Equal(w.text, w2.text) {
			t.Fatalf("got %s, %v, want %s", w2.text, err, w.text)
		}
	})
}

// A state that no save wrote is refused.
func TestReadStateErrors(t *testing.T) {
	for _, text := range []string{``, `[`, `{"a"`, `{"$x":1}`, `{"$tensor":1}`, `{"$tuple":{}}`, `{"$tensor":"w","x":1}`, `{"$float":"x"}`, `{"$bytes":"*"}`, `1e999`} {
		if v, err := readState([]byte(text)); !errors.Is(err, errState) {
			t.Errorf("%s: got %v, %v, want errState", text, v, err)
		}
	}
}
