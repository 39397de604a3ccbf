package hardware

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// An Error says what is wrong with a line of a hardware file.
type Error struct {
	File string
	Line int
	Key  string // "peak.float16", "" if the line has none
	Text string
}

func (e *Error) Error() string {
	where := fmt.Sprintf("%s:%d: ", e.File, e.Line)
	if e.Key != "" {
		where += e.Key + ": "
	}
	return where + e.Text
}

// A span is where a value stands in a file.
type span struct{ offset, length, line int }

// A reader takes a file apart.
type reader struct {
	file    string
	data    []byte
	parser  unstable.Parser
	m       *Machine
	table   string
	level   *Level
	values  map[string]span // by name, "node.latency" after the level has one
	headers map[string]span // of tables
	level0  []map[string]span
	seen    map[string]bool // of the table at hand
}

// Read reads a hardware file's text; name is what errors call it.
func Read(name string, data []byte) (*Machine, error) {
	r, err := read(name, data)
	if err != nil {
		return nil, err
	}
	return r.m, nil
}

func read(name string, data []byte) (*reader, error) {
	r := &reader{file: name, data: data, m: &Machine{}, values: map[string]span{}, headers: map[string]span{}}
	if err := r.syntax(); err != nil {
		return nil, err
	}
	for _, t := range tables {
		for i := range t.fields {
			*t.fields[i].at(r.m, nil) = t.fields[i].otherwise
		}
	}
	r.m.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) // unless it says another
	r.parser.Reset(data)
	for r.parser.NextExpression() {
		if err := r.expression(r.parser.Expression()); err != nil {
			return nil, err
		}
	}
	return r, r.complete()
}

// syntax reports what no TOML file may hold: duplicates, and numbers with units.
func (r *reader) syntax() error {
	var any map[string]any
	err := toml.Unmarshal(r.data, &any)
	var bad *toml.DecodeError
	if !errors.As(err, &bad) {
		return err
	}
	line, _ := bad.Position()
	text := strings.TrimPrefix(bad.Error(), "toml: ")
	key, value, isPair := strings.Cut(lineOf(r.data, line), "=")
	if isPair {
		value, _, _ = strings.Cut(value, "#")
		if key = strings.TrimSpace(key); strings.TrimSpace(value) == "" {
			return &Error{r.file, line, key, "got nothing, want a value"}
		}
		if unit := unitIn(value); unit != "" {
			return &Error{r.file, line, key, fmt.Sprintf("got %s, want a number without %q: numbers are in bytes, seconds, FLOP/s or bytes a second (80e9, 300e9, 5e-6)", strings.TrimSpace(value), unit)}
		}
	}
	return &Error{r.file, line, "", text}
}

// unitIn returns what follows the number in text, "" if it is no number with a
// unit.
func unitIn(text string) string {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	number := strings.TrimLeft(text, "+-0123456789._eE")
	unit := strings.TrimSpace(number)
	if unit == text || len(unit) == 0 || len(unit) > 12 {
		return ""
	}
	return unit
}

func lineOf(data []byte, n int) string {
	lines := strings.Split(string(data), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// lineAt returns the line of an offset, from 1.
func (r *reader) lineAt(offset int) int { return 1 + bytes.Count(r.data[:offset], []byte{'\n'}) }

func (r *reader) span(n *unstable.Node) span {
	at := r.parser.Range(n.Data)
	return span{int(at.Offset), int(at.Length), r.lineAt(int(at.Offset))}
}

// expression reads a line: a header or a pair.
func (r *reader) expression(n *unstable.Node) error {
	var path []string
	var first *unstable.Node
	for it := n.Key(); it.Next(); {
		if first == nil {
			first = it.Node()
		}
		path = append(path, string(it.Node().Data))
	}
	at := r.span(first)
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		return r.header(strings.Join(path, "."), at, n.Kind == unstable.ArrayTable)
	}
	table := r.table
	if len(path) > 1 { // peak.float16 = 1e12 at the top
		if table != "" || fieldsOf(path[0]) == nil || path[0] == "level" {
			return r.unknown(strings.Join(path, "."), at)
		}
		table = path[0]
	}
	return r.pair(table, path[len(path)-1], at, n.Value())
}

// header begins a table.
func (r *reader) header(name string, at span, array bool) error {
	switch {
	case name == "level" && array:
		if len(r.m.Levels) == maxLevels {
			return &Error{r.file, at.line, name, fmt.Sprintf("got more than %d levels", maxLevels)}
		}
		r.m.Levels = append(r.m.Levels, Level{})
		r.level = &r.m.Levels[len(r.m.Levels)-1]
		for i := range levels {
			*levels[i].at(nil, r.level) = levels[i].otherwise
		}
		r.level0 = append(r.level0, map[string]span{"": at})
	case name == "level":
		return &Error{r.file, at.line, name, "got [level], want [[level]], one for each level of the network, innermost first"}
	case fieldsOf(name) == nil || name == "":
		return &Error{r.file, at.line, "[" + name + "]", "no such table" + meant(name, []string{"peak", "rest", "share", "use", "level"})}
	case array:
		return &Error{r.file, at.line, name, fmt.Sprintf("got [[%s]], want [%s]: a file has one", name, name)}
	}
	r.table = name
	r.headers[name] = at
	return nil
}

// pair reads key = value of a table.
func (r *reader) pair(table, key string, at span, value *unstable.Node) error {
	full := strings.TrimPrefix(table+"."+key, ".")
	text := table == "" && (key == "name" || key == "doc") || table == "level" && key == "name"
	if text {
		return r.text(table, key, at, value)
	}
	if table == "level" && key == "size" {
		return r.size(at, value)
	}
	fields := fieldsOf(table)
	for i := range fields {
		if fields[i].key != key {
			continue
		}
		v, err := r.number(full, at, value)
		if err != nil {
			return err
		}
		if bad := fields[i].check(v); bad != "" {
			return &Error{r.file, at.line, full, bad}
		}
		*fields[i].at(r.m, r.level) = v
		r.note(table, key, r.span(value))
		return nil
	}
	return r.unknown(full, at)
}

func (r *reader) note(table, key string, at span) {
	if table == "level" {
		r.level0[len(r.level0)-1][key] = at
		return
	}
	r.values[strings.TrimPrefix(table+"."+key, ".")] = at
}

func (r *reader) text(table, key string, at span, value *unstable.Node) error {
	if value.Kind != unstable.String {
		return &Error{r.file, at.line, key, "want text in quotation marks"}
	}
	s := string(value.Data)
	switch {
	case table == "level":
		r.level.Name = s
		if s == "" || strings.ContainsAny(s, ". ") || fieldsOf(s) != nil {
			return &Error{r.file, at.line, "level.name", fmt.Sprintf("got %q, want one word that is no table's name", s)}
		}
	case key == "name":
		r.m.Name = s
	default:
		r.m.Doc = s
	}
	return nil
}

func (r *reader) size(at span, value *unstable.Node) error {
	v, err := r.number("level.size", at, value)
	if err == nil && (v < 1 || v > 1e9 || v != float64(int(v))) {
		err = &Error{r.file, at.line, "level.size", fmt.Sprintf("got %v, want a whole number from 1 (members, of the level below)", v)}
	}
	r.level.Size = int(v)
	return err
}

// number reads a number; one with a unit is an error that names the unit.
func (r *reader) number(key string, at span, n *unstable.Node) (float64, error) {
	raw := string(n.Data)
	if n.Kind != unstable.Float && n.Kind != unstable.Integer {
		if unit := unitIn(raw); n.Kind == unstable.String && unit != "" {
			return 0, &Error{r.file, at.line, key, fmt.Sprintf("got %q, want a number without %q: numbers are in bytes, seconds, FLOP/s or bytes a second (80e9, 300e9, 5e-6)", raw, unit)}
		}
		return 0, &Error{r.file, at.line, key, fmt.Sprintf("got %s, want a number", strings.ToLower(n.Kind.String()))}
	}
	raw = strings.ReplaceAll(raw, "_", "")
	if v, err := strconv.ParseFloat(raw, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseInt(raw, 0, 64)
	if err != nil {
		return 0, &Error{r.file, at.line, key, fmt.Sprintf("got %s, want a number", raw)}
	}
	return float64(v), nil
}

// unknown is the error of a key that no table has.
func (r *reader) unknown(full string, at span) error {
	table, key, dotted := strings.Cut(full, ".")
	if !dotted {
		table, key = "", full
	}
	var names []string
	for _, f := range fieldsOf(table) {
		names = append(names, f.key)
	}
	switch table {
	case "":
		names = append(names, "name", "doc")
	case "level":
		names = append(names, "name", "size")
	}
	return &Error{r.file, at.line, full, "no such field" + meant(key, names)}
}

// complete reports what a file lacks.
func (r *reader) complete() error {
	end := 1 + bytes.Count(bytes.TrimSpace(r.data), []byte{'\n'})
	for _, t := range tables {
		for _, f := range t.fields {
			if f.needed && *f.at(r.m, nil) == 0 {
				name := strings.TrimPrefix(t.name+"."+f.key, ".")
				return &Error{r.file, end, name, fmt.Sprintf("is missing: %s %s", f.unit, f.doc)}
			}
		}
	}
	if len(r.m.Levels) == 0 {
		return &Error{r.file, end, "level", "is missing: a [[level]] for each level of the network, innermost first"}
	}
	names := map[string]bool{}
	for i := range r.m.Levels {
		if err := r.completeLevel(i, names); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) completeLevel(i int, names map[string]bool) error {
	l, at := &r.m.Levels[i], r.level0[i]
	line := at[""].line
	switch {
	case l.Name == "" || l.Size == 0:
		return &Error{r.file, line, "level", "has no name or no size"}
	case names[l.Name]:
		return &Error{r.file, line, "level.name", fmt.Sprintf("got %q twice", l.Name)}
	}
	names[l.Name] = true
	for _, f := range levels {
		if _, ok := at[f.key]; f.needed && !ok {
			return &Error{r.file, line, "level." + f.key, fmt.Sprintf("is missing: %s %s", f.unit, f.doc)}
		}
	}
	for key, s := range at {
		if key == "" {
			r.headers[l.Name] = s
			continue
		}
		r.values[l.Name+"."+key] = s
	}
	return nil
}
