package lsp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tpsh/lang"
	"tpsh/lang/lsp"
)

// Completion works where the text is half typed: names, attributes by type, keywords of
// the function that is called, paths and names of load, dims of a mesh, choices.
func TestCompletion(t *testing.T) {
	c := start(t, lsp.Options{})
	c.write("lib/net.star", "def make(n):\n    return zeros(n)\nSIZE = 3\n")
	for i, test := range []struct {
		text string
		want []string
		not  string
	}{
		{"total = zeros(2)\nto|", []string{"total"}, "zeros"},
		{"ze|", []string{"zeros"}, "all_reduce"},
		{"x = zeros(2)\nx.|", []string{"shape", "sum"}, "append"},
		{"x = zeros(2)\ny = x.s|\nz = (1 +\n", []string{"shape", "sum"}, "append"},
		{"def f(a):\n    b = [1]\n    if b.|\n", []string{"append"}, "shape"},
		{"x = \"a\".|", []string{"split"}, "shape"},
		{"x = zeros(2).sum().|", []string{"shape"}, "append"},
		{"x = all_reduce(zeros(2), |", []string{"op=", "group=", "zeros"}, "x="},
		{"x = all_reduce(zeros(2), op=\"|", []string{"max", "sum"}, "float32"},
		{"x = zeros(2, dtype=\"|\")", []string{"float32"}, "sum"},
		{"load(\"|", []string{"lib/"}, "lib/net.star"},
		{"load(\"lib/|", []string{"lib/net.star"}, "make"},
		{"load(\"lib/net.star\", \"|\")\nx = 1", []string{"make", "SIZE"}, "lib/net.star"},
		{"mesh = init_device_mesh(\"cpu\", (2, 2), mesh_dim_names=(\"dp\", \"tp\"))\nx = mesh[\"|", []string{"dp", "tp"}, "sum"},
		{"mesh = init_device_mesh(\"cpu\", (2, 2), mesh_dim_names=(\"dp\", \"tp\"))\nx = mesh.|\n", []string{"size"}, "shape"},
		{"def f(width, depth=2):\n    return width\ny = f(1, |)", []string{"depth="}, "width="},
		{"load(\"lib/net.star\", \"make\")\ny = make(2).|", []string{"shape"}, "append"},
		{"# a comment x.|", nil, "shape"},
		{"s = \"ä😀\"; total = zeros(2); y = total.|", []string{"sum"}, "append"},
	} {
		name := "complete" + string(rune('a'+i)) + ".star"
		got := c.labels(c.open(name, test.text))
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q: got %v, want %s among them", test.text, got, want)
			}
		}
		if slices.Contains(got, test.not) {
			t.Errorf("%q: got %s, want it not", test.text, test.not)
		}
	}
}

// A session: diagnostics follow edits, names are found and renamed in all files, hints
// and hovers have what a plan said.
func TestSession(t *testing.T) {
	plan := func(_ context.Context, path, source string, ranks int) ([]lang.Described, error) {
		if strings.HasSuffix(path, "a.star") && ranks != 4 {
			t.Errorf("the plan is of %d ranks, want 4, as the text of the file says: %q", ranks, source)
		}
		return []lang.Described{{Path: path, Line: 3, Col: 1, Name: "x", Text: "float32[2] Shard(0), 8 bytes"}}, nil
	}
	c := start(t, lsp.Options{Plan: plan})
	c.write("net.star", "def make(n):\n    return zeros(n)\n")
	text := "\"\"\"Run it: tpsh run -n 4 a.star\"\"\"\nload(\"net.star\", \"make\")\nx = make(n=2)\ny = x.sum()\nprint(y, x.shap)\n"
	c.open("a.star", text)
	found := c.diagnostics("a.star", func(l []map[string]any) bool { return len(l) == 1 })
	if m := found[0]["message"].(string); !strings.Contains(m, "has no .shap (did you mean shape?)") {
		t.Errorf("diagnostics: got %q, want that it has no .shap", m)
	}
	// An edit of one character, as an editor sends it.
	c.conn.Notify(context.Background(), "textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri("a.star"), "version": 2},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": map[string]any{"line": 4, "character": 15}, "end": map[string]any{"line": 4, "character": 15}}, "text": "e"}},
	})
	c.diagnostics("a.star", func(l []map[string]any) bool { return len(l) == 0 })

	var hints []struct{ Label string }
	for deadline := time.Now().Add(2 * time.Minute); len(hints) == 0 && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		c.call("textDocument/inlayHint", map[string]any{"textDocument": map[string]any{"uri": c.uri("a.star")}, "range": map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 9, "character": 0}}}, &hints)
	}
	if len(hints) != 1 || hints[0].Label != ": float32[2] Shard(0)" {
		t.Errorf("hints: got %v, want the shape and placement of x", hints)
	}
	if got := c.hover("a.star", 3, 4); !strings.Contains(got, "float32[2] Shard(0), 8 bytes") || !strings.Contains(got, "Tensor") {
		t.Errorf("hover of x: got %q, want what the plan said", got)
	}
	if got := c.hover("a.star", 2, 4); !strings.Contains(got, "def make(n)") {
		t.Errorf("hover of make: got %q, want its first line", got)
	}

	var places []struct {
		URI   string
		Range struct{ Start struct{ Line, Character int } }
	}
	c.call("textDocument/definition", c.at("a.star", 2, 5), &places)
	if len(places) != 1 || places[0].URI != c.uri("net.star") || places[0].Range.Start.Character != 4 {
		t.Errorf("definition of make: got %v, want net.star", places)
	}
	c.call("textDocument/definition", c.at("a.star", 1, 8), &places)
	if len(places) != 1 || places[0].URI != c.uri("net.star") {
		t.Errorf("definition of the path: got %v, want net.star", places)
	}
	at := c.at("a.star", 2, 5)
	at["context"] = map[string]any{"includeDeclaration": true}
	c.call("textDocument/references", at, &places)
	if len(places) != 3 {
		t.Errorf("references of make: got %v, want the def, the load and the call", places)
	}
	c.testRename(at)
	c.testRest()
	c.call("shutdown", nil, nil)
	c.conn.Notify(context.Background(), "exit", nil)
	if code := <-c.code; code != 0 {
		t.Errorf("exit: got status %d, want 0", code)
	}
}

func (c *client) hover(name string, line, character int) string {
	c.t.Helper()
	var h struct{ Contents struct{ Value string } }
	c.call("textDocument/hover", c.at(name, line, character), &h)
	return h.Contents.Value
}

func (c *client) testRename(at map[string]any) {
	var prepared struct{ Placeholder string }
	c.call("textDocument/prepareRename", at, &prepared)
	if prepared.Placeholder != "make" {
		c.t.Errorf("prepareRename: got %q, want make", prepared.Placeholder)
	}
	at["newName"] = "build"
	var edit struct{ Changes map[string][]any }
	c.call("textDocument/rename", at, &edit)
	if len(edit.Changes[c.uri("a.star")]) != 2 || len(edit.Changes[c.uri("net.star")]) != 1 {
		c.t.Errorf("rename of make: got %v, want two places here and one in net.star", edit.Changes)
	}
	keyword := c.at("a.star", 2, 9)
	keyword["newName"] = "count"
	edit.Changes = nil
	c.call("textDocument/rename", keyword, &edit)
	if len(edit.Changes[c.uri("a.star")]) != 1 || len(edit.Changes[c.uri("net.star")]) != 2 {
		c.t.Errorf("rename of the parameter n: got %v, want the keyword here and two places in net.star", edit.Changes)
	}
	at["newName"] = "for"
	if err := c.conn.Call(context.Background(), "textDocument/rename", at, &edit); err == nil {
		c.t.Error("rename to for: got no error")
	}
}

// testRest asks for what has one answer of its own.
func (c *client) testRest() {
	t := c.t
	var help struct {
		Signatures      []struct{ Label string }
		ActiveParameter int
	}
	c.call("textDocument/signatureHelp", c.open("help.star", "y = all_reduce(zeros(2), op=|"), &help)
	if len(help.Signatures) != 1 || help.Signatures[0].Label != "all_reduce(x, op=\"sum\", group=None)" || help.ActiveParameter != 1 {
		t.Errorf("signatureHelp: got %v, want all_reduce at op", help)
	}
	var symbols []struct {
		Name     string
		Children []struct{ Name string }
	}
	c.call("textDocument/documentSymbol", c.open("symbols.star", "A = 1\ndef f():\n    def g():\n        pass\n    return g\n"), &symbols)
	if len(symbols) != 2 || symbols[0].Name != "A" || len(symbols[1].Children) != 1 || symbols[1].Children[0].Name != "g" {
		t.Errorf("documentSymbol: got %v, want A and f with g", symbols)
	}
	var edits []struct{ NewText string }
	c.call("textDocument/formatting", c.open("style.star", "x=1\n"), &edits)
	if len(edits) != 1 || edits[0].NewText != "x = 1\n" {
		t.Errorf("formatting: got %v, want x = 1", edits)
	}
	var lenses []struct {
		Command struct {
			Title     string
			Arguments []any
		}
	}
	c.call("textDocument/codeLens", c.at("a.star", 0, 0), &lenses)
	if len(lenses) == 0 || lenses[0].Command.Title != "Run with 4 ranks" {
		t.Errorf("codeLens: got %v, want to run with 4 ranks", lenses)
	}
	c.open("odd.star", "s = '\U0001F600ä'; y = zeros(1, 2)\n")
	found := c.diagnostics("odd.star", func(l []map[string]any) bool { return len(l) == 1 })
	start := found[0]["range"].(map[string]any)["start"].(map[string]any)
	if start["character"].(float64) != 15 {
		t.Errorf("the place behind an emoji: got %v, want 15 units of UTF-16", start)
	}
	if err := c.conn.Call(context.Background(), "no/such", nil, nil); err == nil {
		t.Error("no/such: got no error")
	}
}

// A plan ends when its document changes.
func TestPlansAreCancelled(t *testing.T) {
	began, ended := make(chan string, 10), make(chan error, 10)
	c := start(t, lsp.Options{Plan: func(ctx context.Context, _, source string, _ int) ([]lang.Described, error) {
		began <- source
		if strings.Contains(source, "first") {
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return nil, ctx.Err()
	}})
	c.open("p.star", "first = 1\n")
	<-began
	c.conn.Notify(context.Background(), "textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": c.uri("p.star"), "version": 2}, "contentChanges": []any{map[string]any{"text": "second = 2\n"}},
	})
	if err := <-ended; err == nil {
		t.Error("the first plan ended without an error of its context")
	}
	if got := <-began; got != "second = 2\n" {
		t.Errorf("the next plan is of %q, want the text as it is now", got)
	}
}
