package hang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tpsh/builtins/pickle"
)

// Limits of what is taken from one dump. The recorder's buffer holds some
// thousands of calls; more than these is no dump of a job.
const (
	maxCalls   = 1 << 17
	maxTensors = 1 << 12
	maxDims    = 64
	maxStack   = 64
	maxRank    = 1 << 17
	maxGroups  = 1 << 14
	maxText    = 1 << 12
	// Values in a pickle, and bytes of JSON: a dump of 20000 calls with stacks
	// has half of these.
	maxValues = 1 << 24
	maxJSON   = 128 << 20
)

// A dump is a Flight Recorder dump, before ranks are put together.
type dump struct {
	version string
	rank    int // as the dump itself says; -1 if it does not
	groups  []config
	status  map[string]Status // by pg_id
	entries []*entry
	gloo    bool
	json    bool
}

// A config is a row of pg_config.
type config struct {
	name, desc string
	ranks      []int
	trusted    bool
}

// An entry is a row of entries.
type entry struct {
	call     Call
	pgID     string
	name     string // of the process group
	desc     string
	p2pSeq   int64
	loose    bool // it has no record_id: what came before it is not known
	dst, src int  // of a send or receive, in the group; -1 if there is none
}

// parseDump reads a dump, which is a pickle or JSON.
func parseDump(b []byte) (*dump, error) {
	v, isJSON, err := decode(b)
	if err != nil {
		return nil, err
	}
	if field(v, "entries") == nil && field(v, "pg_config") == nil && field(v, "pg_status") == nil {
		return nil, errors.New("it has no entries, no pg_config and no pg_status: no Flight Recorder dump")
	}
	d := &dump{version: text(field(v, "version")), rank: -1, status: map[string]Status{}, json: isJSON}
	if major, _, _ := strings.Cut(d.version, "."); major != "2" && d.version != "" {
		return nil, fmt.Errorf("a dump of version %.20q, want 2.x", d.version)
	}
	if n, ok := number(field(v, "rank")); ok && n >= 0 && n < maxRank {
		d.rank = int(n)
	}
	if err := d.readGroups(field(v, "pg_config")); err != nil {
		return nil, err
	}
	d.readStatus(field(v, "pg_status"))
	return d, d.readEntries(field(v, "entries"))
}

// decode reads b as what its first byte says that it is.
func decode(b []byte) (v any, isJSON bool, err error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // which some editors put before a text
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && t[0] == '{' {
		if len(t) > maxJSON {
			return nil, true, fmt.Errorf("JSON of over %d MiB, which no dump is", maxJSON>>20)
		}
		d := json.NewDecoder(bytes.NewReader(t))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = errors.New("it ends in the middle of the JSON")
			}
			return nil, true, err
		}
		return v, true, nil
	}
	v, _, err = pickle.Read(b, &pickle.Options{MaxValues: maxValues})
	return v, false, err
}

// readGroups reads pg_config: {"5": {"name": "5", "desc": "tp", "ranks": "[0, 1]"}}.
func (d *dump) readGroups(v any) error {
	n := 0
	for key, row := range pairs(v) {
		if n++; n > maxGroups {
			return fmt.Errorf("pg_config has over %d groups", maxGroups)
		}
		ranks, err := rankSet(field(row, "ranks"))
		if err != nil {
			return fmt.Errorf("pg_config of group %.40q: %w", key, err)
		}
		name := text(field(row, "name"))
		if field(row, "name") == nil {
			name = key
		}
		// The recorder of gloo has one row, without a name, in which each
		// group that is made overwrites the one before.
		d.groups = append(d.groups, config{name, text(field(row, "desc")), ranks, name != "" && name == key})
	}
	return nil
}

// rankSet reads [0, 1] or "[0, 1]".
func rankSet(v any) ([]int, error) {
	if s, ok := v.(string); ok {
		var list []any
		for _, f := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("[](), ", r) }) {
			list = append(list, f)
		}
		v = list
	}
	items, _ := items(v)
	if len(items) > maxRank {
		return nil, fmt.Errorf("%d ranks, want at most %d", len(items), maxRank)
	}
	ranks := make([]int, 0, len(items))
	for _, it := range items {
		n, ok := number(it)
		if !ok || n < 0 || n >= maxRank {
			return nil, fmt.Errorf("got %.40q, want ranks from 0 to %d", text(it), maxRank-1)
		}
		ranks = append(ranks, int(n))
	}
	return sortedSet(ranks), nil
}

// readStatus reads pg_status: {"0": {"last_enqueued_collective": 3, …}}.
func (d *dump) readStatus(v any) {
	n := 0
	for id, row := range pairs(v) {
		if n++; n > maxGroups {
			return
		}
		s := Status{-1, -1}
		if m, ok := number(field(row, "last_enqueued_collective")); ok {
			s.Made = m
		}
		if m, ok := number(field(row, "last_completed_collective")); ok {
			s.Done = m
		}
		d.status[id] = s
	}
}

func (d *dump) readEntries(v any) error {
	list, ok := items(v)
	if !ok && v != nil {
		return errors.New("its entries are no list")
	}
	if len(list) > maxCalls {
		return fmt.Errorf("%d entries, want at most %d", len(list), maxCalls)
	}
	for i, it := range list {
		e, err := readEntry(it)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		d.gloo = d.gloo || e.call.Backend == "gloo"
		d.entries = append(d.entries, e)
	}
	return nil
}

func readEntry(v any) (*entry, error) {
	name, ok := field(v, "profiling_name").(string)
	if !ok {
		return nil, errors.New("it has no profiling_name")
	}
	e := &entry{pgID: text(field(v, "pg_id")), dst: -1, src: -1}
	c := &e.call
	c.Peer = -1
	c.Backend, c.Op = "", clip(name)
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		c.Backend, c.Op = clip(name[:i]), clip(name[i+1:])
	}
	if pg, _ := items(field(v, "process_group")); len(pg) > 0 {
		e.name = text(pg[0])
		if len(pg) > 1 {
			e.desc = text(pg[1])
		}
	}
	record, ok := number(field(v, "record_id"))
	c.Record, e.loose = record, !ok
	if c.At.Seq, ok = number(field(v, "collective_seq_id")); !ok {
		if c.At.Seq, ok = number(field(v, "seq_id")); !ok { // as it once was called
			return nil, errors.New("it has no collective_seq_id that is a number")
		}
	}
	e.p2pSeq, _ = number(field(v, "p2p_seq_id"))
	c.Time, _ = number(field(v, "time_created_ns"))
	e.readPeer()
	if isP2P, ok := field(v, "is_p2p").(bool); ok && isP2P {
		c.P2P = true
	}
	c.In = tensors(field(v, "input_sizes"), field(v, "input_dtypes"))
	c.Out = tensors(field(v, "output_sizes"), field(v, "output_dtypes"))
	c.Frames = frames(field(v, "frames"))
	c.Done, c.Sure = doneness(c.Backend, field(v, "state"), field(v, "retired"))
	return e, nil
}

// readPeer takes the ends from "send 0->3" and "recv 0<-3".
func (e *entry) readPeer() {
	c := &e.call
	op, ends, ok := strings.Cut(c.Op, " ")
	if op != "send" && op != "recv" {
		return
	}
	c.Op, c.P2P = op, true
	if !ok {
		return
	}
	sep := "->"
	if op == "recv" {
		sep = "<-"
	}
	own, other, _ := strings.Cut(ends, sep)
	a, err1 := strconv.ParseUint(own, 10, 17)
	b, err2 := strconv.ParseUint(other, 10, 17)
	if err1 != nil || err2 != nil {
		return
	}
	e.src, e.dst = int(a), int(b)
}

// doneness says whether a call has finished. NCCL's state goes on from
// scheduled; gloo's stays there, and a call that has ended, well or not, is
// retired.
func doneness(backend string, state, retired any) (d Doneness, sure bool) {
	s, _ := state.(string)
	switch s {
	case "completed":
		return Done, true
	case "started":
		return Pending, true
	}
	r, ok := retired.(bool)
	switch {
	case !ok:
		return Unrecorded, s != ""
	case r && (backend == "gloo" || s == ""):
		return Done, false
	}
	return Pending, backend != "gloo"
}

// tensors puts sizes and dtypes together. Dtypes may be one name for all.
func tensors(sizes, dtypes any) []Tensor {
	list, _ := items(sizes)
	names, isList := items(dtypes)
	var out []Tensor
	for i, s := range list[:min(len(list), maxTensors)] {
		var t Tensor
		switch {
		case !isList:
			t.DType = text(dtypes)
		case i < len(names):
			t.DType = text(names[i])
		case len(names) > 0:
			t.DType = text(names[len(names)-1])
		}
		dims, _ := items(s)
		for _, n := range dims[:min(len(dims), maxDims)] {
			d, _ := number(n)
			t.Sizes = append(t.Sizes, d)
		}
		out = append(out, t)
	}
	if len(out) == 1 && len(out[0].Sizes) == 0 && out[0].DType == "" {
		return nil // [[]]: no tensor
	}
	return out
}

func frames(v any) []Frame {
	list, _ := items(v)
	var out []Frame
	for _, it := range list[:min(len(list), maxStack)] {
		n, _ := number(field(it, "line"))
		out = append(out, Frame{text(field(it, "name")), text(field(it, "filename")), n})
	}
	return out
}

// field returns the value of a key of a dict, or nil.
func field(v any, name string) any {
	switch v := v.(type) {
	case *pickle.Dict:
		return v.Get(name)
	case map[string]any:
		return v[name]
	}
	return nil
}

// pairs ranges over a dict with keys of text.
func pairs(v any) func(func(string, any) bool) {
	return func(yield func(string, any) bool) {
		switch v := v.(type) {
		case *pickle.Dict:
			for k, x := range v.All() {
				if !yield(text(k), x) {
					return
				}
			}
		case map[string]any:
			for k, x := range v {
				if !yield(k, x) {
					return
				}
			}
		}
	}
}

func items(v any) ([]any, bool) {
	if l, ok := v.([]any); ok {
		return l, true
	}
	return pickle.Items(v)
}

// number reads an int, or text that is one.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	case float64:
		return int64(v), math.Abs(v) < 1<<53 && v == math.Trunc(v)
	}
	return pickle.Int(v)
}

// text returns text, or a number as text; "" for anything else.
func text(v any) string {
	if s, ok := v.(string); ok {
		return clip(s)
	}
	if n, ok := number(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// clip shortens text that no dump of a job has.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "�")
}
