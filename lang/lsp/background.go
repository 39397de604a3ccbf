package lsp

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tpsh/internal/lazyregexp"
	"tpsh/lang/analysis"
	"tpsh/lang/check"
)

// changed ends the work in the background on a document, and begins it anew after a pause.
func (s *Server) changed(d *document, pause time.Duration) {
	d.stop()
	version, body := d.version, d.text
	d.later = time.AfterFunc(pause, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.docs[d.uri] != d || d.text != body || s.down {
			return
		}
		s.diagnose(d, version)
		s.startPlan(d)
	})
}

// file returns a document as it was read: as it is if it can be, else as it was, else
// but for the lines that cannot.
func (s *Server) file(d *document) *analysis.File {
	f := s.language.Open(d.path, d.text.body)
	if f.Tree != nil {
		d.good = f
		return f
	}
	return analysis.Readable(d.path, d.text.body, s.opts.Language, s.loader(d))
}

// loader returns the function that loads files for a document.
func (s *Server) loader(d *document) func(string) *analysis.File {
	return func(name string) *analysis.File {
		path, text, ok := s.language.Find(d.path, name)
		if !ok || path == d.path {
			return nil
		}
		return s.language.Open(path, text)
	}
}

// diagnose publishes the mistakes of a document.
func (s *Server) diagnose(d *document, version int) {
	list := []diagnostic{}
	for _, f := range check.File(s.language.Open(d.path, d.text.body), s.language) {
		one := diagnostic{Range: d.text.word(f.Line, f.Column), Severity: 1, Code: f.Rule, Source: "tpsh", Message: f.Message}
		switch f.Rule {
		case "unused", "unused-load", "unreachable":
			one.Severity, one.Tags = 2, []int{1}
		case "no-assert":
			one.Severity = 2
		}
		list = append(list, one)
	}
	s.notify("textDocument/publishDiagnostics", publishDiagnostics{URI: d.uri, Version: version, Diagnostics: list})
}

// planTime is how long a plan may take.
const planTime = 10 * time.Second

// startPlan begins a plan of a document that can be read.
func (s *Server) startPlan(d *document) {
	if s.opts.Plan == nil || s.language.Open(d.path, d.text.body).Tree == nil || !strings.HasSuffix(d.path, ".star") {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), planTime)
	d.cancel = cancel
	planned, path := d.text, d.path
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.opts.Pause):
		}
		sights, err := s.opts.Plan(ctx, path, planned.body, ranksOf(planned.body))
		s.mu.Lock()
		defer s.mu.Unlock()
		// A program that fails has been seen up to there.
		if ctx.Err() != nil && err != nil || s.docs[d.uri] != d || d.text != planned {
			return
		}
		d.sights, d.sightsOf = sights, planned
		if s.refresh && s.conn != nil {
			go s.conn.Call(context.Background(), "workspace/inlayHint/refresh", nil, nil) // an editor that does not answer is not waited for
		}
	}()
}

var (
	runLine  = lazyregexp.New(`tpsh (?:run|plan|test)[^\n]* -n (\d+)`)
	meshSize = lazyregexp.New(`\binit_device_mesh\(\s*["']\w+["']\s*,\s*[(\[]([\d\s,]+)[)\]]`)
)

// ranksOf returns on how many ranks a program says that it is run, or as many as the largest mesh has
// that it makes of numbers, 2 if it does neither.
func ranksOf(body string) int {
	if m := runLine.Get().FindStringSubmatch(body); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && n <= maxPlanned {
			return n
		}
	}
	ranks := 0
	for _, m := range meshSize.Get().FindAllStringSubmatch(body, -1) {
		n := 1
		for size := range strings.FieldsFuncSeq(m[1], func(r rune) bool { return r < '0' || r > '9' }) {
			k, _ := strconv.Atoi(size) // the largest int if it is larger
			n = min(n*min(k, maxPlanned+1), maxPlanned+1)
		}
		if n <= maxPlanned {
			ranks = max(ranks, n)
		}
	}
	if ranks == 0 {
		return 2
	}
	return ranks
}

// maxPlanned is the most ranks of a plan in the background.
const maxPlanned = 64
