package tracediff

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Costs are what a trace or a plan says of a run.
type Costs struct {
	Path  string
	Plan  bool
	Ranks int

	Seconds float64            // of the whole trace, or of the plan's step
	Named   map[string]float64 // other figures: of a plan its seconds by kind, bytes of memory, FLOPs
	Parts   map[Key]*Part
}

// A Key tells parts apart.
type Key struct {
	Op   string `json:"op"`
	Dims string `json:"dims"`
	Line string `json:"line"` // file:line, "" if it is not known
}

// A Part is what one line did by one operation.
type Part struct {
	Calls     int64   `json:"calls"`
	Bytes     int64   `json:"bytes"`
	WireBytes int64   `json:"wire_bytes"`
	Seconds   float64 `json:"seconds"`
	Computes  bool    `json:"-"` // it does not communicate
}

// IsCosts reports whether the file at path looks like a trace or a plan: JSON that
// begins an object.
func IsCosts(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var head [64]byte
	n, _ := io.ReadFull(f, head[:])
	return strings.HasPrefix(strings.TrimSpace(string(head[:n])), "{")
}

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 8 << 30

// Read reads a trace or a plan.
func Read(path string) (*Costs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Costs{Path: path, Named: map[string]float64{}, Parts: map[Key]*Part{}}
	err = c.read(json.NewDecoder(bufio.NewReaderSize(io.LimitReader(f, maxFile), 1<<16)))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends in the middle")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// read reads the members of the outermost object.
func (c *Costs) read(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNeither
	}
	known := false
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case "traceEvents":
			known = true
			err = c.events(d)
		case "communication":
			known, c.Plan = true, true
			err = c.rows(d)
		default:
			err = c.figure(t.(string), d)
		}
		if err != nil {
			return err
		}
	}
	if !known {
		return errNeither
	}
	_, err := d.Token()
	return err
}

var errNeither = errors.New("it is neither a trace, as `tpsh run --trace` writes it, nor a plan's --json")

// An event is one of a trace.
type event struct {
	Ph   string  `json:"ph"`
	Cat  string  `json:"cat"`
	Name string  `json:"name"`
	TS   float64 `json:"ts"`
	Dur  float64 `json:"dur"`
	Pid  any     `json:"pid"`
	Args struct {
		Line  string  `json:"line"`
		Group string  `json:"Process Group Name"`
		Bytes float64 `json:"bytes"`
		Wire  float64 `json:"wire_bytes"`
	} `json:"args"`
}

// events reads those of a trace, one at a time.
func (c *Costs) events(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errNeither
	}
	begin, end := 0.0, 0.0
	ranks := map[string]bool{}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		var e event
		if json.Unmarshal(raw, &e) != nil || e.Ph != "X" || e.Cat != "cpu_op" && e.Cat != "communication" {
			continue // counters and names have other arguments
		}
		if len(ranks) == 0 {
			begin = e.TS
		}
		begin, end = min(begin, e.TS), max(end, e.TS+e.Dur)
		ranks[fmt.Sprint(e.Pid)] = true
		p := c.part(Key{e.Name, dimsOf(e.Args.Group), lineOf(e.Args.Line)})
		p.Computes = e.Cat == "cpu_op"
		p.Calls++
		p.Bytes += int64(e.Args.Bytes)
		p.WireBytes += int64(e.Args.Wire)
		p.Seconds += e.Dur / 1e6
	}
	c.Seconds, c.Ranks = (end-begin)/1e6, len(ranks)
	_, err := d.Token()
	return err
}

func (c *Costs) part(k Key) *Part {
	p := c.Parts[k]
	if p == nil {
		p = &Part{}
		c.Parts[k] = p
	}
	return p
}

// dimsOf returns the mesh dims in the name of a group, as "tp" of "tp [0,1]", or of a
// group along none how many ranks it has.
func dimsOf(group string) string {
	dims, ranks, found := strings.Cut(group, "[")
	if dims = strings.TrimSpace(dims); dims != "" || !found {
		return dims
	}
	return fmt.Sprintf("%d ranks", strings.Count(ranks, ",")+1)
}

// lineOf returns file:line of file:line:col.
func lineOf(where string) string {
	if i := strings.LastIndexByte(where, ':'); strings.Count(where, ":") > 1 {
		return where[:i]
	}
	return where
}

// rows reads the communication of a plan.
func (c *Costs) rows(d *json.Decoder) error {
	var list []struct {
		Part
		Op    string `json:"op"`
		Dims  string `json:"dims"`
		Where string `json:"where"`
	}
	if err := d.Decode(&list); err != nil {
		return err
	}
	for _, r := range list {
		p := c.part(Key{r.Op, r.Dims, lineOf(r.Where)})
		p.Calls += r.Calls
		p.Bytes += r.Bytes
		p.WireBytes += r.WireBytes
		p.Seconds += r.Seconds
	}
	return nil
}

// figure reads another member: a number, or an object of numbers.
func (c *Costs) figure(name string, d *json.Decoder) error {
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	switch v := v.(type) {
	case float64:
		switch name {
		case "step_seconds":
			c.Seconds = v
		case "ranks":
			c.Ranks = int(v)
		case "flops", "parameters":
			c.Named[name] = v
		}
	case map[string]any:
		if name != "seconds" && name != "memory" {
			return nil
		}
		for key, n := range v {
			if n, ok := n.(float64); ok {
				c.Named[name+"."+key] = n
			}
		}
	}
	return nil
}
