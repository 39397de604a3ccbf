package report

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the page's parts
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"strings"

	"tpsh/runtime/plan"
	"tpsh/runtime/timeline"
)

// A Report is what a page shows.
type Report struct {
	Kind    string            // "run", "test", "repl", "plan" or "trace"
	Title   string            // such as the script's name
	Command string            // how it was made
	Sources map[string]string // of the files that events name, as they name them
	Jobs    []Job
	Plan    *plan.Figures // of a plan
	Machine string        // that a plan was played on
}

// A Job is ranks that ran together.
type Job struct {
	Name  string // of the test; "" for a run
	Ranks []*timeline.Rank
}

// A pageData is what page.js reads.
type pageData struct {
	Kind    string        `json:"kind"`
	Jobs    []*jobData    `json:"jobs"`
	Plan    *plan.Figures `json:"plan,omitempty"`
	Machine string        `json:"machine,omitempty"`
	Lines   []lineData    `json:"lines,omitempty"` // of a plan
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed uplot.min.js
var uplotJS string

//go:embed uplot.min.css
var uplotCSS string

// Write writes the page of r. The clocks of the ranks of each job are aligned first.
func Write(w io.Writer, r *Report) error {
	d := pageData{Kind: r.Kind, Plan: r.Plan, Machine: r.Machine}
	left := mostEvents
	for i, j := range r.Jobs {
		budget := left / (len(r.Jobs) - i)
		job := newJob(&j, r.Sources, budget)
		left -= min(job.Shown, budget)
		d.Jobs = append(d.Jobs, job)
	}
	if r.Plan != nil {
		d.Lines = planLines(r.Plan, r.Sources)
	}
	packed, err := pack(&d)
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(r.Title), "{{kind}}", html.EscapeString(r.Kind), "{{command}}", html.EscapeString(r.Command),
		"{{css}}", uplotCSS+pageCSS, "{{data}}", packed, "{{js}}", uplotJS+"\n"+pageJS,
	).WriteString(w, pageHTML)
	return err
}

// pack returns v as JSON, compressed, in base64.
func pack(v any) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
