package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tpsh/internal/vt"
)

var shellStatements = flag.Int("shell", 200, "how many random statements TestTypedShellSurvives types")

// A typist is a shell at a pseudo-terminal, and who sits before it.
type typist struct {
	t      *testing.T
	keys   *os.File
	screen *vt.Screen
	cmd    *exec.Cmd
	prompt string
	read   chan struct{} // closed when the screen gets no more
}

// newTypist starts the command with arguments at a terminal of its own, and waits for
// its prompt.
func newTypist(t *testing.T, width, height int, args ...string) *typist {
	t.Helper()
	p := startTypist(t, width, height, args...)
	p.wait()
	return p
}

// startTypist is newTypist of a command that shows a prompt later, if at all.
func startTypist(t *testing.T, width, height int, args ...string) *typist {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandVariable+"=1", "XDG_STATE_HOME="+t.TempDir())
	cmd.Dir = t.TempDir()
	return sitBefore(t, width, height, cmd, "tpsh[2]> ")
}

// sitBefore starts a command, which shows a prompt, at a terminal of its own.
func sitBefore(t *testing.T, width, height int, cmd *exec.Cmd, prompt string) *typist {
	t.Helper()
	keys, terminal, err := vt.Open(width, height)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	p := &typist{t: t, keys: keys, screen: vt.NewScreen(width, height), prompt: prompt, read: make(chan struct{}), cmd: cmd}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = terminal, terminal, terminal
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	go func() {
		io.Copy(p.screen, keys)
		close(p.read)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		<-p.read
		keys.Close()
	})
	return p
}

// wait waits until the last line on the screen is an empty prompt.
func (p *typist) wait() {
	p.t.Helper()
	p.until(func(screen string) bool {
		last := screen[strings.LastIndexByte(screen, '\n')+1:]
		return last == strings.TrimSpace(p.prompt)
	})
}

// until waits until the screen is as wanted.
func (p *typist) until(ok func(screen string) bool) {
	p.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(p.screen.String()); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("the screen does not become as wanted:\n%s", p.screen.String())
		}
	}
}

// do types keys, and Enter unless they end in Ctrl-C, and waits for the next prompt.
func (p *typist) do(keys string) {
	p.t.Helper()
	before := strings.Count(p.screen.All(), p.prompt[:len(p.prompt)-1])
	if !strings.HasSuffix(keys, "\x03") {
		keys += "\r"
	}
	io.WriteString(p.keys, keys)
	p.until(func(string) bool { return strings.Count(p.screen.All(), p.prompt[:len(p.prompt)-1]) > before })
	p.wait()
}

func paste(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// The screen of a session is what its user expects.
func TestShellScreens(t *testing.T) {
	tests := []struct {
		name  string
		width int
		keys  []string
		want  string
	}{
		{"a pasted function with an empty line", 60, []string{paste("def f(x):\n    y = x * 2\n\n    return y\n"), "f(4)"}, `
2 ranks; :help lists the commands, Ctrl-D ends
tpsh[2]> def f(x):
...     y = x * 2
...
...     return y
...
tpsh[2]> f(4)
8
tpsh[2]>`},
		{"history by statement, indentation", 60, []string{"for i in range(2):\rprint(i)\r", "1", "\x1b[A\x1b[A"}, `
2 ranks; :help lists the commands, Ctrl-D ends
tpsh[2]> for i in range(2):
...     print(i)
...
0
1
tpsh[2]> 1
1
tpsh[2]> for i in range(2):
...     print(i)
...
0
1
tpsh[2]>`},
		{"a narrow terminal", 40, []string{"arange(20)", `{"alpha": [1, 2, 3, 4], "beta": "text", "gamma": 12345}`}, `
2 ranks; :help lists the commands, Ctrl-
D ends
tpsh[2]> arange(20)
[ 0  1  2  3  4  5  6  7  8  9 10 11 12
 13 14 15 16 17 18 19]
tpsh[2]> {"alpha": [1, 2, 3, 4], "beta":
 "text", "gamma": 12345}
{"alpha": [1, 2, 3, 4], "beta": "text",
  "gamma": 12345}
tpsh[2]>`},
		{"completion", 60, []string{
			`mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))`, "mesh[\"t\t].size()", "d = {\"one\": 1, \"two\": 2}", "d[\"on\t]",
			"F.cross_entropy(\t\x03", "all_reduce(ones(1), group=\t[\"tp\"])",
		}, `
2 ranks; :help lists the commands, Ctrl-D ends
tpsh[2]> mesh = init_device_mesh("cpu", (1, 2), mesh_dim_nam
es=("dp", "tp"))
tpsh[2]> mesh["tp"].size()
2
tpsh[2]> d = {"one": 1, "two": 2}
tpsh[2]> d["one"]
1
tpsh[2]> F.cross_entropy(
ignore_index=     reduction=        weight=
label_smoothing=  target=           x=
tpsh[2]> F.cross_entropy(^C
tpsh[2]> all_reduce(ones(1), group=mesh["tp"])
[2.]
tpsh[2]>`},
		{"words", 60, []string{"def f(a): return a\r", "f?", ":doc all_redcue", "help(f)", "x = 1", "x = 2", ":undo", "x"}, `
2 ranks; :help lists the commands, Ctrl-D ends
tpsh[2]> def f(a): return a
...
tpsh[2]> f?
f(a), of <stdin>:1:1
tpsh[2]> :doc all_redcue
:doc: no name "all_redcue": did you mean all_reduce?
tpsh[2]> help(f)
f(a), of <stdin>:1:1
tpsh[2]> x = 1
tpsh[2]> x = 2
tpsh[2]> :undo
back to before: x = 2
tpsh[2]> x
1
tpsh[2]>`},
		{"lines of a trace", 60, []string{"x = 1", ":trace all_reduce(ones(2))", ":trace all_reduce(y)"}, `
2 ranks; :help lists the commands, Ctrl-D ends
tpsh[2]> x = 1
tpsh[2]> :trace all_reduce(ones(2))
all_reduce     float32[2]           in world        sent
    8 bytes
1 call, 8 bytes sent
tpsh[2]> :trace all_reduce(y)
<stdin>:3:12: undefined: y
nothing was communicated
tpsh[2]>`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newTypist(t, test.width, 40, "-n", "2")
			for _, keys := range test.keys {
				p.do(keys)
			}
			if got, want := p.screen.String(), strings.TrimPrefix(test.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// Words that end a shell do.
func TestShellEnds(t *testing.T) {
	for _, keys := range []string{"exit\r", "quit()\r", ":quit\r", "\x04"} {
		p := newTypist(t, 60, 10, "-n", "2")
		io.WriteString(p.keys, keys)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%q: %v", keys, err)
		}
	}
}

// A Ctrl-C leaves nothing of what was typed before it, not even while a statement ran.
func TestShellForgets(t *testing.T) {
	p := newTypist(t, 60, 20, "-n", "2")
	io.WriteString(p.keys, "recv(1 - rank()) if rank() == 0 else [i for i in range(1 << 40) if i < 0]\r")
	time.Sleep(100 * time.Millisecond)
	io.WriteString(p.keys, "x = (1,\r")
	time.Sleep(100 * time.Millisecond)
	io.WriteString(p.keys, "\x03")
	p.wait()
	p.do("7")
	if got := p.screen.String(); !strings.HasSuffix(got, "tpsh[2]> 7\n7\ntpsh[2]>") {
		t.Errorf("got:\n%s", got)
	}
}

// Processes of ranks are called as the command is.
func TestWorkersHaveName(t *testing.T) {
	p := newTypist(t, 60, 20, "-n", "2", "--transport", "shm")
	workers := p.workers()
	for _, pid := range workers {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || string(name) != "tpsh\n" {
			t.Errorf("a worker is called %q, %v", name, err)
		}
	}
	if len(workers) != 2 {
		t.Errorf("got workers %v, want 2", workers)
	}
}

// workers returns the processes that the shell has started.
func (p *typist) workers() []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		if m := statLine.FindStringSubmatch(string(stat)); m != nil && m[2] == fmt.Sprint(p.cmd.Process.Pid) {
			pid, _ := strconv.Atoi(m[1])
			pids = append(pids, pid)
		}
	}
	return pids
}

var statLine = regexp.MustCompile(`^(\d+) \(.*\) . (\d+) `)

// A shell that was given statements at random, among them mistakes, interrupts,
// mismatches, pastes and the death of a rank, is as usable as before.
func TestTypedShellSurvives(t *testing.T) {
	seed := uint64(7)
	if given := flag.Lookup("shell"); given.Value.String() != given.DefValue {
		seed = uint64(time.Now().UnixNano()) // a long session is another one each time
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newTypist(t, 100, 60, "-n", "2", "--transport", "shm", "--quiet")
	kinds := []func(){
		func() { p.do(fmt.Sprintf("x%d = arange(%d) + rank()", random.IntN(5), 1+random.IntN(90))) },
		func() { p.do("all_reduce(ones(3)) * 2") },
		func() { p.do("nothing + 1") },
		func() { p.do("1 // 0 if rank() == 1 else 5") },
		func() { p.do("all_reduce(ones(1 + rank()))") },
		func() { p.do("all_reduce(ones(1)) if rank() == 0 else None") },
		func() { p.do("recv(1 - rank())") },
		func() { p.do("if rank() == 0:\rprint(1)\relse:\rprint(2)\r") },
		func() { p.do(paste("def f(x):\n    y = x\n\n    return y + 1\n\nf(3)") + "") },
		func() { p.do("x = (1,\r\x03") },
		func() { p.do("8"); p.do("\x1b[A") },
		func() { p.do("F.rel\t(ones(2))") },
		func() { p.do(":who") },
		func() { p.do(":rank 1 rank()") },
		func() { p.do(":trace barrier()") },
		func() { p.do("f?") },
		func() { p.do(":nonsense") },
		func() { p.do("x0 = ) + 1") },
		func() {
			before := strings.Count(p.screen.All(), "interrupted")
			io.WriteString(p.keys, "[i for i in range(1 << 40) if i < 0]\r")
			p.until(func(string) bool {
				time.Sleep(50 * time.Millisecond)
				done := strings.Count(p.screen.All(), "interrupted") > before
				if !done {
					io.WriteString(p.keys, "\x03") // one that comes before the statement runs is a key
				}
				return done
			})
			p.wait()
			time.Sleep(50 * time.Millisecond) // the last may have come too late, and is a key, too
			p.wait()
		},
	}
	killed := *shellStatements / 2
	for i := range *shellStatements {
		if i == killed {
			syscall.Kill(p.workers()[1], syscall.SIGKILL)
			p.do("all_reduce(ones(1))")
			p.do(":ranks 2")
			continue
		}
		kinds[random.IntN(len(kinds))]()
	}
	p.do("all_reduce(ones(2)).tolist()")
	if got := p.screen.String(); !strings.HasSuffix(got, "\n[2.0, 2.0]\ntpsh[2]>") {
		t.Errorf("got:\n%s", got)
	}
}
