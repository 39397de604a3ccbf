package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

var (
	faults    = flag.Int("faults", 4, "how many runs TestRandomFaults disturbs")
	faultSeed = flag.Uint64("fault-seed", 1, "the seed of the first run that TestRandomFaults disturbs")
	faultKind = flag.String("fault-kind", "", "the `NAME` of the only kind of fault, for TestRandomFaults")
)

// faultPrograms are the programs that TestRandomFaults disturbs. They check all
// that they compute, and print the names of their phases.
var faultPrograms = []string{"small", "large", "pipeline", "training", "saving"}

// faultCommands are the commands that run them: the shell loads them, and for the
// tests they are put into a function.
var faultCommands = []string{"run", "run", "run", "test", "repl"}

// A place is where the ranks of a job are.
type place struct {
	transport string
	nodes     int // launchers on this host
	ranks     int // of each
}

func (p place) String() string {
	return fmt.Sprintf("%s on %d of %d", p.transport, p.nodes, p.ranks)
}

// randomPlace returns one of the places in which faults are tried.
func randomPlace(rng *rand.Rand) place {
	switch rng.IntN(6) {
	case 0:
		return place{"tcp", 2, 1 + rng.IntN(2)}
	case 1:
		return place{"auto", 2, 1 + rng.IntN(2)}
	case 2, 3:
		return place{"tcp", 1, onOne[rng.IntN(len(onOne))]}
	default:
		return place{"shm", 1, onOne[rng.IntN(len(onOne))]}
	}
}

// onOne are the numbers of ranks of one launcher alone. In the largest contracts are
// relayed.
var onOne = []int{2, 3, 4, 6, 9}

// A calm is what an undisturbed run of a program is like.
type calm struct {
	lines []string // that it prints
	took  time.Duration
}

// Whatever happens to a process of a job, and whenever: the job ends, with the
// right result or with status 3 and the cause, and leaves nothing behind. By
// hand:
//
//	go test ./cmd/tpsh -run RandomFaults -v -timeout 15m -faults 500
func TestRandomFaults(t *testing.T) {
	tally := faultTally{counts: map[string]map[string]int{}, slowest: map[string]time.Duration{}}
	calms := map[string]*calm{}
	begun := time.Now()
	for i := range *faults {
		seed := *faultSeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			d := &disturbance{program: faultPrograms[rng.IntN(len(faultPrograms))], kind: randomFault(rng), place: randomPlace(rng), rng: rng}
			d.command = faultCommands[rng.IntN(len(faultCommands))]
			for d.kind.silent && d.place.nodes == 1 { // nobody would notice
				d.place = randomPlace(rng)
			}
			key := fmt.Sprint(d.command, " ", d.program, " by ", d.place)
			if calms[key] == nil {
				calms[key] = (&disturbance{command: d.command, program: d.program, place: d.place}).undisturbed(t)
			}
			d.calm = calms[key]
			d.run(t)
			tally.add(d)
			if d.what == "" { // another run that nothing happened to
				d.calm.took = min(d.calm.took, d.took)
			}
		})
	}
	t.Logf("%d runs were disturbed in %v\n%v", *faults, time.Since(begun).Round(time.Second), &tally)
}

// A disturbance is a run to which something happens.
type disturbance struct {
	command string
	program string
	place   place
	calm    *calm
	rng     *rand.Rand
	kind    *faultKindOf
	what    string // happened, "" if there was nothing for it to happen to
	phase   string // in which it happened
	outcome string
	took    time.Duration // by the whole run
	after   time.Duration // from the harm to the end

	restarts bool   // whether the job may be started again
	unread   bool   // nobody reads its output to the end
	at       string // where its nodes meet; "" if there is but one
	folder   string // in which checkpoints are saved
	nodes    []*process
	lines    lineList // that node 0 has printed
}

// A lineList is lines as they come.
type lineList struct {
	sync.Mutex
	list  []string
	ended bool
}

// read takes in the lines of a process until there are no more.
func (l *lineList) read(from *bufio.Reader) {
	s := bufio.NewScanner(from)
	for s.Scan() {
		line := ofTest.ReplaceAllString(s.Text(), "")
		if line == "" || strings.HasPrefix(line, "=== RUN") {
			continue
		}
		l.Lock()
		l.list = append(l.list, line)
		l.Unlock()
	}
	l.Lock()
	l.ended = true
	l.Unlock()
}

// ofTest is what differs in what is told of a test each time: where it is, and what
// it took.
var ofTest = regexp.MustCompile(`(\t/\S+)?(\t| \()\d+\.\d+s\)?$`)

// afterEnd is the phase of a program that has ended.
const afterEnd = "after the end"

// phase returns the name of the phase that the program is in.
func (l *lineList) phase() string {
	l.Lock()
	defer l.Unlock()
	switch {
	case l.ended:
		return afterEnd
	case len(l.list) == 0:
		return "start"
	}
	name, _, _ := strings.Cut(l.list[len(l.list)-1], " ")
	return name
}

// begin starts the launchers.
func (d *disturbance) begin(t *testing.T, flags ...string) {
	t.Helper()
	d.folder = t.TempDir()
	script, input := d.script(t)
	if d.place.nodes > 1 {
		d.at = launchtest.FreeAddress(t)
	}
	for node := range d.place.nodes {
		args := []string{d.command, "--transport", d.place.transport, "--quiet", "--allow", d.folder}
		if d.place.nodes > 1 {
			args = append(args, "--nnodes", fmt.Sprint(d.place.nodes), "--node-rank", fmt.Sprint(node), "--rdzv", d.at,
				"--nproc-per-node", fmt.Sprint(d.place.ranks), "--rdzv-timeout", "5s")
		} else {
			args = append(args, "-n", fmt.Sprint(d.place.ranks))
		}
		args = append(append(append(args, flags...), script...), "--", filepath.Join(d.folder, "saved"))
		if input != "" {
			f, err := os.Open(input)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			d.nodes = append(d.nodes, startProcessReading(t, f, args...))
			continue
		}
		d.nodes = append(d.nodes, startProcess(t, args...))
	}
}

// script returns what names the program on the command line, and the file that the
// shell reads.
func (d *disturbance) script(t *testing.T) (args []string, input string) {
	t.Helper()
	script, err := filepath.Abs("testdata/faults/" + d.program + ".star")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	switch d.command {
	case "repl":
		return nil, write("input", ":load "+script+"\n")
	case "test":
		source, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		body := "def test_program():\n    " + strings.ReplaceAll(strings.TrimSpace(string(source)), "\n", "\n    ")
		return []string{"-v", write("program_test.star", body)}, ""
	}
	return []string{script}, ""
}

// late is when a run hangs.
const late = 4 * time.Minute

// end waits for the launchers. One that hangs is made to say where.
func (d *disturbance) end(t *testing.T) {
	t.Helper()
	var ends sync.WaitGroup
	for node, p := range d.nodes {
		ends.Go(func() {
			hangs := time.AfterFunc(late, func() {
				t.Errorf("node %d hangs", node)
				p.Process.Signal(quit)
				time.Sleep(time.Second)
				p.Process.Kill()
			})
			defer hangs.Stop()
			if node == 0 {
				d.lines.read(p.out)
			} else {
				new(lineList).read(p.out)
			}
			p.Wait()
		})
	}
	ends.Wait()
}

// undisturbed runs the program, and returns what that is like.
func (d *disturbance) undisturbed(t *testing.T) *calm {
	t.Helper()
	since := time.Now()
	d.begin(t)
	d.end(t)
	took := time.Since(since)
	for _, p := range d.nodes {
		p.leavesNothing(t, nil)
		if code := p.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("undisturbed: exit status %d\n%s", code, &p.errs)
		}
	}
	return &calm{d.lines.list, took}
}

// run starts the program, does one of its processes harm at a random moment,
// and checks what comes of it.
func (d *disturbance) run(t *testing.T) {
	d.restarts = d.rng.IntN(4) == 0 && d.kind.toRank && d.command == "run"
	var flags []string
	if d.restarts {
		flags = append(flags, "--max-restarts", "1")
	}
	if d.kind.silent {
		flags = append(flags, "--peer-timeout", "2s")
	}
	moment := time.Duration(d.rng.Int64N(int64(d.calm.took * 13 / 10)))
	since := time.Now()
	d.begin(t, flags...)
	var harmed time.Time
	var harm sync.WaitGroup
	harm.Go(func() {
		time.Sleep(moment)
		for d.phase != afterEnd && d.what == "" { // else there are no ranks yet
			d.phase = d.lines.phase()
			harmed = time.Now()
			d.what = d.kind.harm(d)
			time.Sleep(time.Millisecond)
		}
	})
	d.end(t)
	d.took = time.Since(since)
	harm.Wait()
	d.after = time.Since(harmed)
	d.check(t)
	d.checkSaved(t)
	d.leavesNothing(t)
	if t.Failed() {
		d.outcome = "wrong"
		t.Logf("%s %s by %v: %s (%s) in phase %s, after %v of %v, restarts %v", d.command, d.program, d.place, d.kind.name, d.what, d.phase, moment, d.calm.took, d.restarts)
		for node, p := range d.nodes {
			t.Logf("node %d: %v\n%s", node, p.ProcessState, &p.errs)
		}
		t.Logf("it printed %q, want %q", d.lines.list, d.calm.lines)
	}
}

// causes are what the first lines of reports say of what happened.
var causes = regexp.MustCompile(`(?m)^ *(tpsh: |Error: the rank died: it |Error in \w+: rank \d+ failed: |(Error: )?cannot start \d+ rank|rank \d+: the rank died: it )`)

// failed reports whether the command ended as one does whose job has failed, and told of
// what: a test that has failed tells it on standard output.
func (d *disturbance) failed(code int, errs string) bool {
	if code == 1 && d.command == "test" {
		return causes.MatchString(strings.Join(d.lines.list, "\n"))
	}
	return code == 3 && causes.MatchString(errs)
}

// checkSaved checks that the folder in which a program has saved holds a checkpoint, and
// none that is older than what it says it has saved.
func (d *disturbance) checkSaved(t *testing.T) {
	if d.program != "saving" {
		return
	}
	saved := -1
	for _, line := range d.lines.list {
		fmt.Sscanf(ofSome.ReplaceAllString(line, ""), "saved %d", &saved)
	}
	version, err := versionOf(filepath.Join(d.folder, "saved"))
	switch {
	case saved >= 0 && err != nil:
		t.Errorf("version %d was saved, and cannot be read: %v", saved, err)
	case err == nil && version < saved:
		t.Errorf("version %d was saved, and %d is there", saved, version)
	}
}

// check checks how the launchers have ended, and sets d.outcome.
func (d *disturbance) check(t *testing.T) {
	code := d.nodes[0].ProcessState.ExitCode()
	errs := d.nodes[0].errs.String()
	again := strings.Contains(errs, "starting the job again")
	switch {
	case code == 0 && again:
		d.outcome = "done, started again"
		d.wantsSame(t)
	case code == 0:
		d.outcome = "done"
		if !d.unread && !slices.Equal(d.lines.list, d.calm.lines) {
			t.Errorf("a wrong result")
		}
	case d.kind.allows(d, code):
		d.outcome = fmt.Sprintf("%s, status %d", d.kind.end, code)
	case d.kind.fails && d.failed(code, errs):
		d.outcome = "failed with the cause"
	default:
		t.Errorf("exit status %d", code)
	}
	if d.what == "" && code != 0 {
		t.Errorf("exit status %d, though nothing happened", code)
	}
	for node, p := range d.nodes[1:] {
		if got := p.ProcessState.ExitCode(); got != code && got != 3 && !d.kind.allows(d, got) {
			t.Errorf("node %d: exit status %d, want %d or 3", node+1, got, code)
		}
	}
}

// wantsSame checks what a job has printed that was started again.
func (d *disturbance) wantsSame(t *testing.T) {
	got, want := d.lines.list, d.calm.lines
	if len(got) == 0 || got[len(got)-1] != want[len(want)-1] {
		t.Errorf("a wrong result")
	}
	for _, line := range got {
		if line = ofSome.ReplaceAllString(line, ""); !slices.Contains(want, line) {
			t.Errorf("a wrong line %q", line)
		}
	}
}

// ofSome is before a line that not all ranks have printed, as when a job ends.
var ofSome = regexp.MustCompile(`^\[[\d,-]+\] `)

// leavesNothing checks that no process of the run is there any more, and no
// file. A process is known by its folder for temporary files. What a launcher
// leaves that is killed, the next run of the command removes.
func (d *disturbance) leavesNothing(t *testing.T) {
	for node, p := range d.nodes {
		left := processesWith("TMPDIR=" + p.tmp)
		for end := time.Now().Add(timeToEnd); len(left) > 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			left = processesWith("TMPDIR=" + p.tmp)
		}
		if len(left) > 0 {
			t.Errorf("node %d: processes %v live on", node, left)
		}
		if !p.ProcessState.Exited() {
			p.sweeps(t)
		}
		if files, _ := os.ReadDir(p.tmp); len(files) > 0 {
			t.Errorf("node %d: left behind: %v", node, files)
		}
	}
}

// sweeps runs the command again with the folder for temporary files of p.
func (p *process) sweeps(t *testing.T) {
	t.Helper()
	next := exec.Command(os.Args[0], "run", "-n", "1", writeScript(t, "pass\n"))
	next.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+p.tmp)
	if out, err := next.CombinedOutput(); err != nil {
		t.Errorf("the next run: %v\n%s", err, out)
	}
}

// processesWith returns the processes that have a variable in their environment
// and have not ended.
func processesWith(variable string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		environ, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(environ, []byte(variable+"\x00")) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}

// A faultTally counts runs by what is of interest.
type faultTally struct {
	counts  map[string]map[string]int
	slowest map[string]time.Duration // by outcome: the longest time from the harm to the end
}

func (f *faultTally) add(d *disturbance) {
	kind := d.kind.name
	if d.what == "" {
		kind = "none: it was over"
	}
	for by, value := range map[string]string{
		"outcome": d.outcome, "place": d.place.String(), "program": d.program, "kind": kind, "command": d.command, "phase": d.program + ", " + d.phase,
	} {
		if f.counts[by] == nil {
			f.counts[by] = map[string]int{}
		}
		f.counts[by][value]++
	}
	if d.what != "" {
		kind := d.outcome
		if d.kind.silent {
			kind += ", found by silence"
		}
		f.slowest[kind] = max(f.slowest[kind], d.after)
	}
}

func (f *faultTally) String() string {
	var b strings.Builder
	for _, by := range []string{"outcome", "kind", "command", "place", "phase"} {
		fmt.Fprintf(&b, "by %s:\n", by)
		for _, value := range slices.Sorted(maps.Keys(f.counts[by])) {
			fmt.Fprintf(&b, "%8d  %s\n", f.counts[by][value], value)
		}
	}
	b.WriteString("the longest from the harm to the end:\n")
	for _, kind := range slices.Sorted(maps.Keys(f.slowest)) {
		fmt.Fprintf(&b, "%8v  %s\n", f.slowest[kind].Round(time.Millisecond), kind)
	}
	return b.String()
}
