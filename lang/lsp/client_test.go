package lsp_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"go.starlark.net/starlark"

	"tpsh/lang/analysis"
	"tpsh/lang/lsp"
)

// A client is an editor: what it is told it keeps.
type client struct {
	t    *testing.T
	conn *jsonrpc2.Conn
	dir  string
	code chan int

	mu        sync.Mutex
	published map[string][]map[string]any // diagnostics by URI
	refreshed int
}

// start starts a server and the client of it, whose documents are in a folder of the
// test's.
func start(t *testing.T, o lsp.Options) *client {
	t.Helper()
	here, there := net.Pipe()
	c := &client{t: t, dir: t.TempDir(), published: map[string][]map[string]any{}, code: make(chan int, 1)}
	if o.Language == nil {
		o.Language = smallLanguage()
	}
	if o.Pause == 0 {
		o.Pause = time.Millisecond
	}
	go func() { c.code <- lsp.New(o).Serve(context.Background(), there) }()
	c.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(here, jsonrpc2.VSCodeObjectCodec{}), jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(c.handle)))
	t.Cleanup(func() { c.conn.Close() })
	var got struct {
		Capabilities map[string]any `json:"capabilities"`
	}
	c.call("initialize", map[string]any{"capabilities": map[string]any{"workspace": map[string]any{"inlayHint": map[string]any{"refreshSupport": true}}}}, &got)
	if got.Capabilities["hoverProvider"] != true {
		t.Fatalf("initialize: got %v, want a hoverProvider", got.Capabilities)
	}
	c.conn.Notify(context.Background(), "initialized", map[string]any{})
	return c
}

func (c *client) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Method {
	case "textDocument/publishDiagnostics":
		var p struct {
			URI         string
			Diagnostics []map[string]any
		}
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			return nil, err
		}
		c.published[p.URI] = p.Diagnostics
	case "workspace/inlayHint/refresh":
		c.refreshed++
	}
	return nil, nil
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := c.conn.Call(ctx, method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) uri(name string) string {
	return "file://" + filepath.ToSlash(filepath.Join(c.dir, name))
}

// open opens a document; a | in the text is where the cursor is, which is returned.
func (c *client) open(name, text string) (at map[string]any) {
	c.t.Helper()
	before, after, _ := strings.Cut(text, "|")
	line := strings.Count(before, "\n")
	character := utf16Len(before[strings.LastIndexByte(before, '\n')+1:])
	c.conn.Notify(context.Background(), "textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri(name), "languageId": "starlark", "version": 1, "text": before + after}})
	return c.at(name, line, character)
}

func utf16Len(s string) (n int) {
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

func (c *client) at(name string, line, character int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": map[string]any{"line": line, "character": character}}
}

// write puts a file on the disk.
func (c *client) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// diagnostics waits until those of a document satisfy ok, and returns them.
func (c *client) diagnostics(name string, ok func([]map[string]any) bool) []map[string]any {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		c.mu.Lock()
		list, there := c.published[c.uri(name)]
		c.mu.Unlock()
		if there && ok(list) {
			return list
		}
	}
	c.t.Fatalf("%s: got no such diagnostics, but %v", name, c.published[c.uri(name)])
	return nil
}

// labels returns those of a completion.
func (c *client) labels(at map[string]any) []string {
	c.t.Helper()
	var list struct {
		Items []struct{ Label string }
	}
	c.call("textDocument/completion", at, &list)
	var labels []string
	for _, i := range list.Items {
		labels = append(labels, i.Label)
	}
	return labels
}

// smallLanguage is a language of a few names, for what does not hang on which.
func smallLanguage() *analysis.Language {
	fn := func(name string) starlark.Value { return starlark.NewBuiltin(name, nil) }
	signatures := map[string]analysis.Signature{
		"zeros":              {Params: []string{"n"}, Required: []string{"n"}, Keywords: map[string]bool{"n": true, "dtype": true}},
		"Tensor.sum":         {Params: []string{"dim"}, Keywords: map[string]bool{"dim": true}},
		"init_device_mesh":   {Params: []string{"device", "mesh_shape", "mesh_dim_names"}, Keywords: map[string]bool{"mesh_dim_names": true}},
		"all_reduce":         {Params: []string{"x"}, Required: []string{"x"}, Keywords: map[string]bool{"x": true, "op": true, "group": true}},
		"parallelize_module": {Params: []string{"module", "mesh", "plan"}, Keywords: map[string]bool{"plan": true}},
	}
	docs := map[string]string{
		"zeros": "zeros(n, dtype=None) returns a tensor of zeros.\n>>> zeros(2)\n[0. 0.]", "Tensor.sum": "sum(dim=None) returns the sum.",
		"all_reduce": "all_reduce(x, op=\"sum\", group=None) returns a sum.",
	}
	var paths []string
	for path := range docs {
		paths = append(paths, path)
	}
	return &analysis.Language{
		Names:     starlark.StringDict{"zeros": fn("zeros"), "all_reduce": fn("all_reduce"), "init_device_mesh": fn("init_device_mesh"), "parallelize_module": fn("parallelize_module")},
		Signature: func(path string) (analysis.Signature, bool) { s, ok := signatures[path]; return s, ok },
		Doc:       func(path string) (string, bool) { d, ok := docs[path]; return d, ok },
		Paths:     paths,
		Types:     map[string][]string{"Tensor": {"shape", "sum"}, "DeviceMesh": {"size"}, "string": {"split"}, "list": {"append"}, "Module": {"parameters"}},
		Results:   map[string]string{"zeros": "Tensor", "Tensor.sum": "Tensor", "Tensor.shape": "tuple:int", "all_reduce": "Tensor"},
		Choices:   map[string][]string{"all_reduce.op": {"max", "sum"}}, DTypes: []string{"float32", "int64"},
	}
}
