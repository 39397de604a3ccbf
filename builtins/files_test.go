package builtins_test

import (
	"os"
	"path/filepath"
	"testing"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
)

// A script reads and writes inside its folders, whatever links there are in
// them.
const linked = `
assert.eq(read_text("inner.txt"), "inner")
assert.eq(read_text("good"), "inner")
assert.eq(read_text(outer + "/outer.txt"), "outer")
write_text(outer + "/new.txt", "new")
for path in ["bad", "out/secret.txt", "../secret.txt", secret]:
    assert.fails(lambda: read_text(path), '^read_text: for parameter "path": got ".*", want a path inside /.*/script or /.* or /.*/outer \\(it leads to /.*/secret.txt; --allow DIR allows another folder\\)$')
    assert.fails(lambda: write_text(path, "x"), "want a path inside")
    assert.fails(lambda: save_npy(path, ones(1)), "want a path inside")
    assert.fails(lambda: load_npy(path), "^load_npy: .* want a path inside")
    assert.fails(lambda: read_csv(path), "^read_csv: .* want a path inside")
    assert.fails(lambda: load_npz(path), "^load_npz: .* want a path inside")
    assert.fails(lambda: save_npz(path, {}), "^save_npz: .* want a path inside")
    assert.fails(lambda: open_safetensors(path), "^open_safetensors: .* want a path inside")
    assert.fails(lambda: save_safetensors(path, {}), "^save_safetensors: .* want a path inside")
    assert.fails(lambda: save_checkpoint(path, {}), "^save_checkpoint: .* want a path inside")
    assert.fails(lambda: load_checkpoint(path, {}), "^load_checkpoint: .* want a path inside")
assert.fails(lambda: write_text("dangling", "x"), "want a path inside")
`

func TestAllowedFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"script", "outer"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"script/inner.txt": "inner", "outer/outer.txt": "outer", "secret.txt": "secret"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"good": "inner.txt", "bad": "../secret.txt", "out": "..", "dangling": "../nothing"} {
		if err := os.Symlink(target, at("script/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	source := "outer, secret = \"" + at("outer") + "\", \"" + at("secret.txt") + "\"\n" + linked
	s := builtinstest.Script{Name: "linked.star", Source: source, Dir: at("script"), Options: builtins.Options{Allow: []string{at("outer")}}}
	builtinstest.Check(t, s.Run(t, "inproc", 2))
	if data, err := os.ReadFile(at("secret.txt")); err != nil || string(data) != "secret" {
		t.Errorf("got %q, %v, want the file outside as it was", data, err)
	}
	if _, err := os.Stat(at("nothing")); err == nil {
		t.Error("a file was made outside")
	}
}
