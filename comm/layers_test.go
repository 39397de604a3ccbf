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

// askedFor are the kinds of collectives that code names outside the table of kinds and
// the conformance suite, by file: special cases that a kind has there alone.
var askedFor = map[string][]string{
	"tpsh/comm/process/carry.go":           {"Broadcast"},                  // an MPI does it
	"tpsh/comm/process/wire_call_hosts.go": {"AllGather", "ReduceScatter"}, // whose lengths are not those of the others
}

// A kind of collective is known to the table of kinds: nobody else tells kinds apart, so
// that a new one is six files (CONTRIBUTING, "Add a collective").
func TestKindsAreInOneTable(t *testing.T) {
	ours, _ := listAll(t)
	isKind := regexp.MustCompile(`\b(?:comm|schedule)\.(Barrier|Broadcast|AllGather|Gather|Scatter|AllToAll|AllReduce|Reduce|ReduceScatter|Permute)\b`)
	eachText(t, ours, func(file, text string) {
		if strings.HasPrefix(file, "tpsh/comm/schedule") || strings.HasPrefix(file, "tpsh/comm/commtest/") {
			return
		}
		for _, m := range isKind.FindAllStringSubmatch(comments.ReplaceAllString(text, ""), -1) {
			if !slices.Contains(askedFor[file], m[1]) {
				t.Errorf("%s names the kind %s, want a field of its row: see schedule.kindRows", file, m[1])
			}
		}
	})
}

// Code that all transports share asks none which it is; a fast transport is a folder, made
// in links.go (CONTRIBUTING, "Add a transport").
func TestNobodyAsksWhich(t *testing.T) {
	ours, _ := listAll(t)
	which, imports := regexp.MustCompile(`(shared|tcp|pollGroup|segment)\s*!=\s*nil`), regexp.MustCompile(`"tpsh/comm/process/tcp"`)
	eachText(t, ours, func(file, text string) {
		if file == "tpsh/comm/process/links.go" { // which puts them together
			return
		}
		if found := which.FindString(text); found != "" {
			t.Errorf("%s: got %q, want a method of inbound", file, found)
		}
		if imports.MatchString(text) {
			t.Errorf("%s imports a transport, which links.go alone makes", file)
		}
	})
}

// comments are those of a file, but for string literals that look like one.
var comments = regexp.MustCompile(`(?m)//.*$`)

// eachText calls do with the files of packages that are no tests, by their import paths.
func eachText(t *testing.T, packages []listed, do func(file, text string)) {
	t.Helper()
	for _, p := range packages {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			do(p.ImportPath+"/"+name, string(text))
		}
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
