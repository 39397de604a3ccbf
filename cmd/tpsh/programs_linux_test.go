package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

var (
	programs    = flag.Int("programs", 3, "how many programs TestRandomPrograms writes and runs")
	programSeed = flag.Uint64("program-seed", 1, "the seed of the first program of TestRandomPrograms")
)

// programHead is how every program begins. What show prints has all bits: numbers are
// written such that they can be read back.
const programHead = `manual_seed(%d)

def show(name, x):
    if x == None:
        print(name, None)
        return
    if type(x) == "DTensor":
        print(name, x.placements, bits(x.to_local()))
        x = x.full_tensor()
    print(name, bits(x))

def bits(x):
    text = str(x.detach().tolist())
    return "%%s %%s %%s" %% (x.dtype, x.shape, text if len(text) < 400 else hash(text))

def caught(f):
    r = attempt(f)
    print(r.ok, r.error and (str(r.error), r.error.kind, r.error.function, r.error.ranks, r.error.where))

`

// writeProgram writes the program of a seed.
func writeProgram(seed uint64) *sketch {
	s := &sketch{rng: rand.New(rand.NewPCG(seed, 7)), kinds: map[string]int{}}
	s.ranks = 2 + s.rng.IntN(3)
	fmt.Fprintf(&s.text, programHead, seed)
	s.disturb()
	count := 6 + s.rng.IntN(30)
	mistake := -1
	if s.chance(3) {
		mistake = s.rng.IntN(count)
	}
	for i := range count {
		if i == mistake {
			s.plant()
		}
		s.statement()
	}
	s.barrier()
	s.line(`print("done", rank())`)
	return s
}

// A programPlace is where a program runs: a transport, and how many ranks each launcher has.
type programPlace struct {
	transport string
	nodes     []int
}

func (p programPlace) String() string {
	if len(p.nodes) == 1 {
		return p.transport
	}
	return fmt.Sprintf("%s on nodes of %d", p.transport, p.nodes)
}

// programPlaces are the places in which programs are compared, the first with all others.
func programPlaces(ranks int) []programPlace {
	alone, two := []int{ranks}, []int{(ranks + 1) / 2, ranks / 2}
	return []programPlace{{"inproc", alone}, {"frames", alone}, {"shm", alone}, {"tcp", alone}, {"tcp", two}, {"auto", two}}
}

// A programEnd is what a program has come to.
type programEnd struct {
	status []int // of each launcher
	out    string
	report string
	others string // what the other launchers say
	files  map[string]string
}

// runProgram runs a program in a place, in a folder of its own.
func runProgram(t *testing.T, s *sketch, place programPlace) *programEnd {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "main.star")
	if err := os.WriteFile(script, []byte(s.text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	at := ""
	if len(place.nodes) > 1 {
		at = launchtest.FreeAddress(t)
	}
	var launchers []*process
	for node, ranks := range place.nodes {
		args := []string{"run", "--transport", place.transport, "--quiet"}
		if at == "" {
			args = append(args, "-n", fmt.Sprint(ranks))
		} else {
			args = append(args, "--nnodes", fmt.Sprint(len(place.nodes)), "--node-rank", fmt.Sprint(node), "--rdzv", at, "--nproc-per-node", fmt.Sprint(ranks))
		}
		launchers = append(launchers, startProcess(t, append(append(args, s.flags...), script)...))
	}
	end := &programEnd{files: map[string]string{}}
	for node, p := range launchers {
		late := time.AfterFunc(timeToEnd, func() { p.Process.Signal(syscall.SIGQUIT) })
		out, _ := io.ReadAll(p.out)
		p.Wait()
		late.Stop()
		end.status = append(end.status, p.ProcessState.ExitCode())
		if node == 0 {
			end.out = strings.ReplaceAll(string(out), dir+"/", "")
			end.report = noticed.ReplaceAllString(strings.ReplaceAll(p.errs.String(), dir+"/", ""), "")
		} else {
			end.others += p.errs.String()
		}
	}
	end.readFiles(t, dir)
	return end
}

// readFiles takes in what has been saved.
func (e *programEnd) readFiles(t *testing.T, dir string) {
	t.Helper()
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "main.star" {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		e.files[path] = string(data)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// settled returns what must be alike of the end of a program in which a mistake was
// planted.
func (e *programEnd) settled() *programEnd {
	s := *e
	before, _, _ := strings.Cut(e.out, mistakeNext)
	s.out = before
	s.report = followed.ReplaceAllString(e.report, "")
	return &s
}

// followed are the lines of a report behind its causes: where other ranks were.
var followed = regexp.MustCompile(`(?m)^ranks? [\d,-]+: .*\n`)

// noticed are lines that a busy machine writes besides the report: who waits for whom, and
// of whom nothing is heard.
var noticed = regexp.MustCompile(`(?m)^(rank|node) \d+ .*?has (waited|not been heard of for) .*\n`)

// differs says in what two ends differ.
func (e *programEnd) differs(other *programEnd) (in []string) {
	add := func(what, a, b string) {
		if a != b {
			in = append(in, what+firstDifference(a, b))
		}
	}
	for _, status := range other.status {
		if status != e.status[0] {
			add("exit status", fmt.Sprint(e.status[0]), fmt.Sprintf("%d\nof which another node says:\n%s", status, other.others))
		}
	}
	add("output", e.out, other.out)
	add("report", e.report, other.report)
	names := slices.Sorted(maps.Keys(e.files))
	add("names of files", fmt.Sprint(names), fmt.Sprint(slices.Sorted(maps.Keys(other.files))))
	for _, name := range names {
		if data, ok := other.files[name]; ok {
			add("file "+name, fmt.Sprintf("%q", e.files[name]), fmt.Sprintf("%q", data))
		}
	}
	return in
}

// firstDifference shows the lines of two texts from the first that differs, three at most.
func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(as) && i < len(bs) && as[i] == bs[i] {
		i++
	}
	show := func(lines []string) string { return strings.Join(lines[i:min(i+3, len(lines))], "\n") }
	return fmt.Sprintf(" from line %d:\n%.2000s\nand\n%.2000s", i+1, show(as), show(bs))
}

// A program ends alike wherever its ranks are: goroutines, processes that share memory or
// have connections, on one node or on two. What is printed, the exit status, the report
// and all files are compared, byte by byte.
//
// In one of three programs a mistake is planted. Then the files, which are saved before it,
// the exit status and the causes in the report are compared, with their ranks, lines and
// words, and what is printed before the mistake. Behind it are calls among ranks that live:
// how far these come until they are told of the failure is up to the transport. So what is
// printed then, and the lines of the report that say where other ranks were stopped, may
// differ; the test counts where they do. By hand:
//
//	go test ./cmd/tpsh -run RandomPrograms -v -timeout 1h -programs 1000 -program-seed 7
func TestRandomPrograms(t *testing.T) {
	tally := programTally{}
	for i := range *programs {
		seed := *programSeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := writeProgram(seed)
			first, apart := comparePlaces(t, s)
			tally.add(s, first, apart)
			if t.Failed() {
				t.Logf("the program, which tpsh runs with %v:\n%s", s.flags, &s.text)
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%6d  %s", tally[what], what)
	}
}

// comparePlaces runs a program in every place and returns its end on inproc. It reports
// whether what may differ between places did.
func comparePlaces(t *testing.T, s *sketch) (first *programEnd, apart bool) {
	t.Helper()
	for _, place := range programPlaces(s.ranks) {
		end := runProgram(t, s, place)
		if first == nil {
			first = end
			continue
		}
		a, b := first, end
		if s.mistake != "" {
			apart = apart || len(a.differs(b)) > 0
			a, b = a.settled(), b.settled()
		}
		for _, difference := range a.differs(b) {
			t.Errorf("%d ranks, mistake %q: inproc and %v differ in %s", s.ranks, s.mistake, place, difference)
		}
	}
	if s.mistake == "" && first.status[0] != 0 {
		t.Errorf("exit status %d without a mistake\n%s", first.status[0], first.report)
	}
	return first, apart
}

// A programTally counts programs, by how they ended, and their statements by their kinds.
type programTally map[string]int

func (tally programTally) add(s *sketch, first *programEnd, apart bool) {
	how := "without a mistake"
	if s.mistake != "" {
		how = "with " + s.mistake
	}
	tally[fmt.Sprintf("programs %s: exit status %d", how, first.status[0])]++
	if apart {
		tally["programs whose ranks came to different points behind a mistake"]++
	}
	for kind, n := range s.kinds {
		tally["statements: "+kind] += n
	}
}
