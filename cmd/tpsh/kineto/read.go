package kineto

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"tpsh/internal/lazyregexp"
)

// maxBytes is the size of the largest trace that is read, uncompressed.
const maxBytes = 16 << 30

// A Trace is what the trace of one rank holds of communication.
type Trace struct {
	Path  string
	Job   string // the test that the rank ran, in traces of tpsh test
	Rank  int
	World int // ranks of the job; 0 if that is not recorded
	Calls []*Call
	// Busy are the times at which the rank computed, and Whole is from the
	// first event to the last.
	Busy  Spans
	Whole Span
}

// A Call is one call of a collective on one rank.
type Call struct {
	Op    string
	Group string
	Bytes int64 // that the rank put in; -1 if that is not recorded
	Span  Span
	Where string
	order int // among the rank's calls of its group

	corr  int64
	tid   string
	known bool // the group is recorded
}

// pairwise reports whether the call is of two ranks, and not of its whole group.
func (c *Call) pairwise() bool { return c.Op == "send" || c.Op == "recv" || c.Op == "send_recv" }

// An event is one of a trace. Fields of args may be text or numbers.
type event struct {
	Ph   string          `json:"ph"`
	Cat  string          `json:"cat"`
	Name string          `json:"name"`
	Pid  json.RawMessage `json:"pid"`
	Tid  json.RawMessage `json:"tid"`
	Ts   json.RawMessage `json:"ts"`
	Dur  json.RawMessage `json:"dur"`
	Args struct {
		Corr     json.RawMessage `json:"correlation"`
		Name     json.RawMessage `json:"Collective name"`
		In       json.RawMessage `json:"In msg nelems"`
		DType    json.RawMessage `json:"dtype"`
		PG       json.RawMessage `json:"Process Group Name"`
		PGDesc   json.RawMessage `json:"Process Group Description"`
		CallFrom json.RawMessage `json:"CallFrom"`
		Dims     json.RawMessage `json:"Input Dims"`
		Types    json.RawMessage `json:"Input type"`
		Process  json.RawMessage `json:"name"`
		Bytes    json.RawMessage `json:"bytes"`
		Line     json.RawMessage `json:"line"`
	} `json:"args"`
}

// distributed is what a trace says of the job.
type distributed struct {
	Rank   *int `json:"rank"`
	World  int  `json:"world_size"`
	Groups []struct {
		Name string `json:"pg_name"`
		Desc string `json:"pg_desc"`
	} `json:"pg_config"`
}

// trailing finds the rank in a file's name.
var trailing = lazyregexp.New(`([0-9]{1,6})[^0-9]*$`)

// Read reads the trace at path: one of PyTorch's, or those of all ranks where tpsh
// wrote it. Where a trace does not say of which rank it is, its name does; where
// that does not either, it is of the given rank.
func Read(path string, rank int) ([]*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &Trace{Path: path, Rank: -1}
	list, err := t.read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if list[0] != t {
		return list, nil
	}
	if m := trailing.Get().FindStringSubmatch(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".json")); t.Rank < 0 && m != nil {
		t.Rank, _ = strconv.Atoi(m[1])
	}
	if t.Rank < 0 {
		t.Rank = rank
	}
	return list, nil
}

// read fills t, or returns others if r is a trace of tpsh.
func (t *Trace) read(r io.Reader) ([]*Trace, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if _, err := b.Peek(1); err == io.EOF {
		return nil, errors.New("a file of no bytes")
	}
	list, err := t.readAll(b)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, errors.New("it ends in the middle")
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("it is no trace: it is not JSON at byte %d (%w)", syntax.Offset, err)
	}
	return list, err
}

func (t *Trace) readAll(b *bufio.Reader) ([]*Trace, error) {
	if magic, _ := b.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, 1<<16)
	}
	p := newParser(t)
	p.in = &bounded{r: b, all: maxBytes, one: maxValue}
	if err := p.parse(json.NewDecoder(p.in)); err != nil {
		return nil, err
	}
	return p.finish()
}

// maxValue is the size of the largest event, or other value, that is read.
const maxValue = 32 << 20

// A bounded reads so many bytes of all, and so many of one value.
type bounded struct {
	r        io.Reader
	all, one int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.all <= 0 {
		return 0, fmt.Errorf("over %d GiB, which is more than is read", maxBytes>>30)
	}
	if b.one <= 0 {
		return 0, fmt.Errorf("a value of over %d MiB, which is more than is read", maxValue>>20)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.all, b.one)])
	b.all, b.one = b.all-int64(n), b.one-int64(n)
	return n, err
}

// decode reads the next value.
func (p *parser) decode(d *json.Decoder, v any) error {
	p.in.one = maxValue
	return d.Decode(v)
}

// parse reads the outermost object, or list of events, one event at a time.
func (p *parser) parse(d *json.Decoder) error {
	start, err := d.Token()
	if err != nil {
		return err
	}
	if start == json.Delim('[') {
		return p.events(d)
	}
	if start != json.Delim('{') {
		return errors.New("it is no trace: want an object with traceEvents")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "traceEvents":
			if open, err := d.Token(); err != nil {
				return err
			} else if open != json.Delim('[') {
				return errors.New("its traceEvents are no list")
			}
			err = p.events(d)
		case "distributedInfo":
			err = p.decode(d, &p.info)
		default:
			err = p.decode(d, new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// events reads events to the end of their list.
func (p *parser) events(d *json.Decoder) error {
	p.found = true
	for d.More() {
		var e event
		if err := p.decode(d, &e); err != nil {
			return err
		}
		switch e.Ph {
		case "X":
			p.take(&e)
		case "M":
			p.takeName(&e)
		}
	}
	_, err := d.Token()
	return err
}

// num reads a number, or text that is one.
func num(raw json.RawMessage) (float64, bool) {
	x, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	return x, err == nil
}

// str reads text, or a number as text.
func str(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' {
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	return string(raw)
}
