package files

import (
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Any text gives a value or an error.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1", "- &a [1]\n- *a", "{<<: {a: 1}, b: !x 2}", "? [a]\n: b", "a: |\n  b\n...\n---\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := fromYAML(text); (v == nil) == (err == nil) {
			t.Fatalf("got %v and %v", v, err)
		}
	})
}

// Whatever the library reads becomes a value.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"a = 1", "[a.b]\nc = [1, 'x']", "d = 1979-05-27", "t = 07:32:00.5", "e = inf\nf = {g = true}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var all map[string]any
		if orPanic(func() error { return toml.Unmarshal([]byte(text), &all) }) != nil {
			return
		}
		if _, err := fromTOML(all); err != nil {
			t.Fatal(err)
		}
	})
}
