package comm_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostKnotted is how many files of a package of comm may need each other, directly
// or through others: such a knot can only be read as one.
const mostKnotted = 20

// retired are words that nothing here is called any more, and what to say instead.
var retired = map[string]string{
	"station": "wireRank", "berth": "recvBuffer", "cable": "tcp.Conn", "lane": "stagingBuffer", "loan": "exposure",
	"lend": "expose", "letter": "envelope", "bell": "futex", "door": "event", "gate": "latch", "mourner": "peerFailureWait",
	"attendee": "inprocGroup", "meeting": "round", "outlet": "stream.Writer", "inlet": "wire.Reader", "patience": "spinPolicy",
	"naps": "backoff", "rouser": "wakePipe", "pulse": "Heartbeat", "seat": "schedule.Position", "mailKey": "mailbox.Key",
	"borrowed": "remoteData", "watcher": "wireWait", "waiter": "inprocWait", "forsake": "reportUnreadable", "hush": "closeIfAllEnded",
}

// A listed package is what go list says of one.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listAll returns the packages of comm, and where the export data of all are.
func listAll(t *testing.T) (ours []listed, exports map[string]string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "tpsh/comm/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return ours, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath == "tpsh/comm" || strings.HasPrefix(p.ImportPath, "tpsh/comm/") {
			ours = append(ours, p)
		}
	}
}

// needs returns, of each file of a package, the others that declare what it uses.
func needs(t *testing.T, p listed, exports map[string]string) map[string][]string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		t.Fatal(err)
	}
	uses := map[string][]string{}
	for id, o := range info.Uses {
		from, to := fset.Position(id.Pos()).Filename, fset.Position(o.Pos()).Filename
		if o.Pkg() != nil && o.Pkg().Path() == p.ImportPath && from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// largestKnot returns the largest set of files each of which reaches all others.
func largestKnot(uses map[string][]string) (knot []string) {
	reach := map[string]map[string]bool{}
	for file := range uses {
		seen, todo := map[string]bool{}, []string{file}
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			for _, to := range uses[next] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		reach[file] = seen
	}
	for file := range uses {
		var with []string
		for to := range reach[file] {
			if reach[to][file] {
				with = append(with, filepath.Base(to))
			}
		}
		if len(with) > len(knot) {
			knot = with
		}
	}
	slices.Sort(knot)
	return knot
}

// No package of comm is one knot.
func TestKnots(t *testing.T) {
	ours, exports := listAll(t)
	for _, p := range ours {
		if knot := largestKnot(needs(t, p, exports)); len(knot) > mostKnotted {
			t.Errorf("%s: %d of %d files need each other, want at most %d: %s", p.ImportPath, len(knot), len(p.GoFiles), mostKnotted, strings.Join(knot, " "))
		} else {
			t.Logf("%s: %d of %d files need each other", p.ImportPath, len(knot), len(p.GoFiles))
		}
	}
}

// Code that all transports share asks none which it is; and kinds of collectives are
// told apart in their table.
func TestNobodyAsksWhich(t *testing.T) {
	ours, _ := listAll(t)
	which, kinds := regexp.MustCompile(`(shared|tcp|pollGroup|segment)\s*!=\s*nil`), regexp.MustCompile(`switch (c\.)?op\.Kind \{|switch kind \{`)
	switches := 0
	for _, p := range ours {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if found := which.Find(text); found != nil && name != "links.go" { // which puts them together
				t.Errorf("%s/%s: got %q, want a method of inbound", p.ImportPath, name, found)
			}
			switches += len(kinds.FindAll(text, -1))
		}
	}
	if switches > 2 {
		t.Errorf("got %d switches over kinds, want at most 2: see schedule.kindRows", switches)
	}
}

// One word means one thing, and some mean nothing here any more.
func TestRetiredWords(t *testing.T) {
	ours, _ := listAll(t)
	for _, p := range ours {
		if p.ImportPath == "tpsh/comm/mpi" || p.ImportPath == "tpsh/comm/commtest" { // an engine has bells, and a test patience
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Obj != nil && retired[id.Name] != "" {
					t.Errorf("%s/%s declares %s, want %s", p.ImportPath, name, id.Name, retired[id.Name])
				}
				return true
			})
		}
	}
	if slices.Contains(slices.Collect(maps.Values(retired)), "") {
		t.Error("a retired word has no successor")
	}
}

// mostVague is how often the comments here may say "what" and "who", in a thousand
// lines of comments, where a noun is meant: the message, the peer, the waiting call.
var mostVague = map[string]int{"what": 20, "who": 5}

// Comments name the things that they speak of.
func TestCommentsNameThings(t *testing.T) {
	ours, _ := listAll(t)
	word, lines, vague := regexp.MustCompile(`(?i)\b(what|who)\b`), 0, map[string][]string{}
	for _, p := range ours {
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range f.Comments {
				text := group.Text()
				lines += strings.Count(text, "\n")
				for _, found := range word.FindAllString(text, -1) {
					found = strings.ToLower(found)
					vague[found] = append(vague[found], p.ImportPath+"/"+name)
				}
			}
		}
	}
	for found, most := range mostVague {
		if got := len(vague[found]); got*1000 > most*lines {
			t.Errorf("%d lines of comments say %q %d times, want at most %d in 1000: %s", lines, found, got, most, strings.Join(slices.Compact(vague[found]), " "))
		} else {
			t.Logf("%d lines of comments say %q %d times", lines, found, got)
		}
	}
}
