package proc

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roles are what the test binary does when it is started as a process under
// test, by the value of roleVariable.
var roles = map[string]func(){
	"exit 7": func() { os.Exit(7) },
	"panic":  func() { go panic("a defect"); select {} },
	"sleep":  func() { time.Sleep(time.Minute) },
	"write": func() {
		fmt.Print(strings.Repeat("x", 2*maxText))
	},
	"put": func() {
		f := os.NewFile(3, "put")
		fmt.Fprint(f, "hello")
		f.Close()
	},
	// A process that ignores requests to end, in another folder.
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		os.Chdir("/")
		os.Stdout.Close()
		os.Stderr.Close()
		time.Sleep(time.Minute)
	},
	// A process that leaves another behind, which has its output.
	"leave": func() {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), roleVariable+"=sleep")
		c.Stdout = os.Stdout
		c.Start()
		fmt.Println(c.Process.Pid)
	},
	// A launcher that starts a process, says which, and waits to be killed.
	"launch": func() {
		g := NewGroup(0)
		p, err := g.Start(self("sleep"))
		fmt.Println(p.ID(), err)
		time.Sleep(time.Minute)
	},
}

const roleVariable = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// self returns what starts the test binary in a role. One that looks for races
// ends at once, and not a second later.
func self(role string) Command {
	return Command{Path: os.Args[0], Args: os.Args[:1], Env: append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")}
}

// begin starts the test binary in a role, and ends it with the test.
func begin(t *testing.T, c Command) *Process {
	t.Helper()
	g := NewGroup(0)
	t.Cleanup(g.Close)
	p, err := g.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// timeToEnd is after how long what should come is taken not to.
const timeToEnd = 2 * time.Minute

// within fails the test unless done is closed soon.
func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(timeToEnd):
		t.Fatalf("%s: not in %v", what, timeToEnd)
	}
}

// Processes have the lateness of their group, from the start on.
func TestLate(t *testing.T) {
	for late, want := range map[time.Duration]string{0: "50000\n", 3 * time.Millisecond: "3000000\n"} {
		g := NewGroup(late)
		p, err := g.Start(self("sleep"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", p.ID()))
		if g.Close(); err != nil {
			t.Skip(err) // not everybody may read it
		}
		if string(got) != want {
			t.Errorf("NewGroup(%v): got timers that are %q ns late, want %q", late, got, want)
		}
	}
}

func TestCause(t *testing.T) {
	tests := []struct {
		role string
		kill syscall.Signal // after the start; 0 for none
		want string
	}{
		{"exit 7", 0, "exited with status 7"},
		{"write", 0, "exited with status 0"},
		{"panic", 0, "exited with status 2"},
		{"sleep", syscall.SIGKILL, "was killed by signal 9 (killed)"},
		{"sleep", syscall.SIGTERM, "was killed by signal 15 (terminated)"},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			p := begin(t, self(test.role))
			if test.kill != 0 {
				p.os.Signal(test.kill)
			}
			within(t, "end", p.Done())
			if got := p.Cause(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got, want := p.OK(), test.role == "write"; got != want {
				t.Errorf("OK: got %v, want %v", got, want)
			}
		})
	}
}

// What a process writes is kept, up to a bound, and a panic is in it.
func TestOutput(t *testing.T) {
	if got := begin(t, self("panic")).Output(); !strings.Contains(got, "panic: a defect") {
		t.Errorf("got %q, want the panic", got)
	}
	if got := begin(t, self("write")).Output(); len(got) != maxText {
		t.Errorf("got %d bytes, want the first %d", len(got), maxText)
	}
}

// A process finds what it is to have at descriptor 3.
func TestPut(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := self("put")
	c.Put = []*os.File{w}
	p := begin(t, c)
	w.Close()
	within(t, "end", p.Done())
	buf := make([]byte, 10)
	if n, err := r.Read(buf); string(buf[:n]) != "hello" {
		t.Errorf("got %q, %v, want hello", buf[:n], err)
	}
}

// The end of a group ends its processes, and no more can be started.
func TestClose(t *testing.T) {
	g := NewGroup(0)
	var all []*Process
	for range 3 {
		p, err := g.Start(self("sleep"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	g.Close()
	for _, p := range all {
		within(t, "end", p.Done())
		if err := syscall.Kill(p.ID(), 0); err != syscall.ESRCH {
			t.Errorf("process %d: got %v, want it gone", p.ID(), err)
		}
	}
	if _, err := g.Start(self("sleep")); err == nil {
		t.Error("a closed group started a process")
	}
	g.Close()
}

func TestStartFails(t *testing.T) {
	g := NewGroup(0)
	defer g.Close()
	if _, err := g.Start(Command{Path: "/nowhere/at/all"}); err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Errorf("got %v, want an error that names the path", err)
	}
}

// The kernel tells of a stop, more than once if need be, and still of the end.
func TestStopped(t *testing.T) {
	p := begin(t, self("sleep"))
	for range 3 {
		p.os.Signal(syscall.SIGSTOP)
		within(t, "stop", p.Stopped())
		p.os.Signal(syscall.SIGCONT)
	}
	p.Kill()
	within(t, "end", p.Done())
}

// What a process has started ends with it, and does not keep others waiting: its output is
// there before one would cease to wait for it, where the machine lets it be. The first that is
// settles it.
func TestLeaves(t *testing.T) {
	for tries := 1; ; tries++ {
		since := time.Now()
		p := begin(t, self("leave"))
		child, err := strconv.Atoi(strings.TrimSpace(p.Output()))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(since)
		endsSoon(t, child)
		if took <= afterlife {
			return
		}
		if tries == 20 {
			t.Fatalf("its output took %v, and no less before", took)
		}
	}
}

// A process is ended that has closed its output and hears no signal.
func TestStubborn(t *testing.T) {
	g := NewGroup(0)
	p, err := g.Start(self("stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	p.Output() // that is, it is closed
	p.os.Signal(syscall.SIGTERM)
	g.Close()
	if got, want := p.Cause(), "was killed by signal 9 (killed)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A launcher that is killed takes its processes with it.
func TestOrphan(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"=launch")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	var text string
	if _, err := fmt.Fscan(out, &child, &text); err != nil || text != "<nil>" {
		t.Fatalf("got process %d, %s, %v", child, text, err)
	}
	c.Process.Kill()
	c.Wait()
	endsSoon(t, child)
}

// endsSoon checks that a process that is no child ends.
func endsSoon(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(timeToEnd); gone(pid) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d lives on: %v", pid, gone(pid))
		}
	}
}

// gone returns an error if a process that is no child runs still.
func gone(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || strings.Contains(string(stat), ") Z ") {
		return nil
	}
	return fmt.Errorf("%s", stat)
}
