package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"tpsh/lang"
	"tpsh/lang/analysis"
	"tpsh/lang/check"
)

// Options are the parts of a server.
type Options struct {
	Language *analysis.Language
	Lib      []string // folders in which load looks
	// Plan runs a program on shapes alone and returns the values of its variables. It
	// writes no files, and ends with ctx. nil for no plans.
	Plan func(ctx context.Context, path, source string, ranks int) ([]lang.Described, error)
	// Pause is how long nothing is typed before checks, and twice that before plans;
	// 0 for a fifth of a second.
	Pause   time.Duration
	Version string
}

// A Server answers one editor.
type Server struct {
	opts Options

	mu       sync.Mutex     // held to use the fields below
	conn     *jsonrpc2.Conn // of the last message; nil before the first
	language *check.Language
	docs     map[string]*document // by URI
	refresh  bool                 // the editor asks for hints again when it is told to
	down     bool                 // it has said shutdown
}

// A document is a text that the editor has open.
type document struct {
	uri, path string
	version   int
	text      *text
	good      *analysis.File // the last version that could be read, or nil
	sights    []lang.Described
	sightsOf  *text // the text that was planned
	later     *time.Timer
	cancel    context.CancelFunc // of the plan under way
}

// New returns a server.
func New(o Options) *Server {
	if o.Pause == 0 {
		o.Pause = 200 * time.Millisecond
	}
	s := &Server{opts: o, docs: map[string]*document{}}
	s.language = &check.Language{Language: o.Language, Lib: o.Lib, Read: s.read}
	return s
}

// read returns the text of a file: as the editor has it, if it has it open.
func (s *Server) read(path string) ([]byte, error) {
	for _, d := range s.docs {
		if d.path == path {
			return []byte(d.text.body), nil
		}
	}
	return os.ReadFile(path)
}

// Serve answers the editor at the other end of a stream until it goes, and returns the
// exit status that the protocol asks for: 0 if it said shutdown before.
func (s *Server) Serve(ctx context.Context, stream io.ReadWriteCloser) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(stream, codec{}), jsonrpc2.HandlerWithError(s.handle))
	select {
	case <-conn.DisconnectNotify():
	case <-ctx.Done():
		conn.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.docs {
		d.stop()
	}
	if s.down {
		return 0
	}
	return 1
}

// A request is one that the server knows.
type request func(s *Server, params json.RawMessage) (any, error)

// requests are the methods of the protocol that have an answer.
var requests = map[string]request{
	"initialize":                  (*Server).initialize,
	"shutdown":                    (*Server).shutdown,
	"textDocument/completion":     at((*Server).completion),
	"completionItem/resolve":      (*Server).resolve,
	"textDocument/hover":          at((*Server).hover),
	"textDocument/signatureHelp":  at((*Server).signatureHelp),
	"textDocument/definition":     at((*Server).definition),
	"textDocument/references":     at((*Server).references),
	"textDocument/prepareRename":  at((*Server).prepareRename),
	"textDocument/rename":         at((*Server).rename),
	"textDocument/documentSymbol": at((*Server).documentSymbols),
	"textDocument/formatting":     at((*Server).formatting),
	"textDocument/inlayHint":      at((*Server).inlayHints),
	"textDocument/codeLens":       at((*Server).codeLenses),
	"textDocument/didOpen":        (*Server).didOpen,
	"textDocument/didChange":      (*Server).didChange,
	"textDocument/didClose":       (*Server).didClose,
	"textDocument/didSave":        (*Server).didSave,
}

// at returns a request about a document that is open; of others nothing is known.
func at(f func(s *Server, d *document, p *documentParams) (any, error)) request {
	return func(s *Server, params json.RawMessage) (any, error) {
		var p documentParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, invalid(err)
		}
		d := s.docs[p.TextDocument.URI]
		if d == nil {
			return nil, nil
		}
		return f(s, d, &p)
	}
}

func invalid(err error) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
}

// handle answers a message.
func (s *Server) handle(_ context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) (answer any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
	if r.Method == "exit" {
		go conn.Close()
		return nil, nil
	}
	f := requests[r.Method]
	if f == nil {
		if r.Notif {
			return nil, nil
		}
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "no method " + r.Method}
	}
	if s.down {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server has been shut down"}
	}
	defer func() {
		if p := recover(); p != nil { // a text that is odd enough must not end the editor's server
			answer, err = nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprintf("%s: %v", r.Method, p)}
		}
	}()
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	return f(s, params)
}

func (s *Server) initialize(params json.RawMessage) (any, error) {
	var p initializeParams
	if len(params) > 0 {
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, invalid(err)
		}
	}
	s.refresh = p.Capabilities.Workspace.InlayHint.RefreshSupport
	return map[string]any{"capabilities": capabilities(), "serverInfo": map[string]string{"name": "tpsh lsp", "version": s.opts.Version}}, nil
}

func (s *Server) shutdown(json.RawMessage) (any, error) {
	s.down = true
	return nil, nil
}

func (s *Server) didOpen(params json.RawMessage) (any, error) {
	var p openParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, invalid(err)
	}
	path := pathOf(p.TextDocument.URI)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	d := &document{uri: p.TextDocument.URI, path: path, version: p.TextDocument.Version, text: newText(lang.WithoutMark(p.TextDocument.Text))}
	s.docs[d.uri] = d
	s.language.Forget()
	s.changed(d, 0)
	return nil, nil
}

func (s *Server) didChange(params json.RawMessage) (any, error) {
	var p changeParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, invalid(err)
	}
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return nil, nil
	}
	for _, c := range p.ContentChanges {
		d.text = d.text.apply(c)
	}
	d.version = p.TextDocument.Version
	s.language.Forget() // files that load this document have changed, too
	s.changed(d, s.opts.Pause)
	return nil, nil
}

func (s *Server) didClose(params json.RawMessage) (any, error) {
	var p changeParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, invalid(err)
	}
	if d := s.docs[p.TextDocument.URI]; d != nil {
		d.stop()
		delete(s.docs, d.uri)
		s.language.Forget()
		s.notify("textDocument/publishDiagnostics", publishDiagnostics{URI: d.uri, Diagnostics: []diagnostic{}})
	}
	return nil, nil
}

// didSave looks at everything anew: files that are not open may have changed, too.
func (s *Server) didSave(json.RawMessage) (any, error) {
	s.language.Forget()
	for _, d := range s.docs {
		s.changed(d, 0)
	}
	return nil, nil
}

// stop ends the work in the background on a document.
func (d *document) stop() {
	if d.later != nil {
		d.later.Stop()
	}
	if d.cancel != nil {
		d.cancel()
		d.cancel = nil
	}
}

// notify tells the editor something. It is not waited for.
func (s *Server) notify(method string, params any) {
	if conn := s.conn; conn != nil {
		conn.Notify(context.Background(), method, params) // an editor that has gone is met by Serve
	}
}
