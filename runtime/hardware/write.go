package hardware

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A Change gives a constant of a file another value and a comment.
type Change struct {
	Name    string // "share.top", "node.latency"
	Value   float64
	Comment string
}

// Rewrite returns a hardware file's text with the changes made where they
// stand; everything else stays as it is. A constant that the file leaves to its
// default gets a line of its own.
func Rewrite(text []byte, changes []Change) ([]byte, error) {
	r, err := read("file", text)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	var added []insertion
	for _, c := range changes {
		value := strconv.FormatFloat(c.Value, 'g', 6, 64)
		if at, ok := r.values[c.Name]; ok {
			key, _, _ := strings.Cut(lines[at.line-1], "=")
			lines[at.line-1] = fmt.Sprintf("%s= %s # %s", key, value, c.Comment)
			continue
		}
		after, table, key, err := r.home(c.Name)
		if err != nil {
			return nil, err
		}
		added = append(added, insertion{after, table, fmt.Sprintf("%s = %s # %s", key, value, c.Comment)})
	}
	return []byte(strings.Join(insert(lines, added), "\n")), nil
}

// An insertion is a line to come after line number after, from 1; table is the
// header that it needs and the file lacks.
type insertion struct {
	after int
	table string
	line  string
}

// home returns where a constant that the file does not mention belongs.
func (r *reader) home(name string) (after int, table, key string, err error) {
	if !slices.ContainsFunc(r.m.Constants(), func(c Constant) bool { return c.Name == name }) {
		return 0, "", "", fmt.Errorf("%s has no constant %q", r.m.Name, name)
	}
	table, key, dotted := strings.Cut(name, ".")
	if !dotted {
		return r.values["memory"].line, "", name, nil
	}
	if at, ok := r.headers[table]; ok {
		return at.line, "", key, nil
	}
	if line := r.dotted(table); line > 0 { // a header would define the table once more
		return line, "", name, nil
	}
	return r.lastLine(), table, key, nil
}

// dotted returns the last line that has a key of a table without a header, as in share.top = 0.8; 0 if
// none has.
func (r *reader) dotted(table string) (line int) {
	for name, at := range r.values {
		if strings.HasPrefix(name, table+".") {
			line = max(line, at.line)
		}
	}
	return line
}

func (r *reader) lastLine() int { return strings.Count(string(r.data), "\n") + 1 }

// insert returns lines with those of added between them.
func insert(lines []string, added []insertion) []string {
	sort.SliceStable(added, func(i, j int) bool { return added[i].after > added[j].after })
	opened := map[string]bool{}
	for _, a := range added {
		if a.table != "" {
			continue
		}
		lines = slices.Insert(lines, a.after, a.line)
	}
	for _, a := range added {
		if a.table == "" {
			continue
		}
		if !opened[a.table] {
			lines = append(lines, "["+a.table+"]")
			opened[a.table] = true
		}
		lines = append(lines, a.line)
	}
	return lines
}
