package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tpsh/lang"
)

// A process is the command at work.
type process struct {
	*exec.Cmd
	in   io.Writer // of a shell
	out  *bufio.Reader
	pipe io.Closer // that out reads
	errs heldText
	tmp  string // its folder for temporary files
}

// A heldText is what a process has written so far, which may be read meanwhile.
type heldText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heldText) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heldText) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// startProcess starts the command. The test kills it in the end.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return startProcessReading(t, nil, args...)
}

// startProcessReading starts the command with a standard input.
func startProcessReading(t *testing.T, in *os.File, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	if in != nil {
		p.Stdin = in
	}
	p.start(t)
	return p
}

// start starts the command, in a folder for temporary files of its own.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.tmp = t.TempDir()
	p.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+p.tmp)
	p.Stderr = &p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.pipe = bufio.NewReader(out), out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Process.Wait() // lest another test counts it among its own
	})
}

// line returns the next line that it prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("no line on standard output (%v); on standard error:\n%s", err, &p.errs)
	}
	return strings.TrimSuffix(line, "\n")
}

// workers returns the processes of its n ranks, by rank.
func (p *process) workers(t *testing.T, n int) []int {
	t.Helper()
	byRank := map[int]int{}
	for _, pid := range children(p.Process.Pid) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
		rank, err := strconv.Atoi(strings.TrimPrefix(words[len(words)-1], "rank="))
		if err != nil {
			t.Fatalf("process %d is no worker: %q", pid, words)
		}
		byRank[rank] = pid
	}
	if len(byRank) != n {
		p.Process.Kill()
		p.Wait()
		t.Fatalf("found %d workers, want %d\n%s", len(byRank), n, &p.errs)
	}
	pids := make([]int, n)
	for rank, pid := range byRank {
		pids[rank] = pid
	}
	return pids
}

// children returns the processes whose parent is pid.
func children(pid int) []int {
	var found []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			found = append(found, child)
		}
	}
	return found
}

// timeToEnd is after how long a command, or a worker, that should end is taken to hang. It
// is long, since others may be working on this machine.
const timeToEnd = 2 * time.Minute

// end waits for it and checks its exit status, and that nothing is left: no
// worker, and no file.
func (p *process) end(t *testing.T, want int, workers []int) {
	t.Helper()
	late := time.AfterFunc(timeToEnd, func() { p.Process.Signal(syscall.SIGQUIT) })
	io.Copy(io.Discard, p.out)
	p.Wait()
	late.Stop()
	if got := p.ProcessState.ExitCode(); got != want {
		t.Errorf("got exit status %d, want %d\n%s", got, want, &p.errs)
	}
	p.leavesNothing(t, workers)
	if files, _ := os.ReadDir(p.tmp); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// leavesNothing checks that its workers have ended, or do so soon.
func (p *process) leavesNothing(t *testing.T, workers []int) {
	t.Helper()
	alive := func(pid int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}
	for end := time.Now().Add(timeToEnd); slices.ContainsFunc(workers, alive); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a worker lives on")
		}
	}
}

// writeScript writes a script into a folder of the test's.
func writeScript(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.star")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// calls are the calls in which a rank dies, by the name that reports have.
var calls = map[string]string{
	"barrier":            "barrier()",
	"broadcast":          "broadcast(x, src=1)",
	"all_gather":         "all_gather(x)",
	"gather":             "gather(x, dst=0)",
	"scatter":            "scatter(x, src=2)",
	"all_to_all":         "all_to_all([x, x, x])",
	"all_reduce":         "all_reduce(x)",
	"reduce":             "reduce(x, dst=1)",
	"reduce_scatter":     "reduce_scatter(x)",
	"collective_permute": "collective_permute(x, [(0, 1), (1, 2), (2, 0)])",
	"recv":               "send(x, (rank() + 1) % 3); recv((rank() + 2) % 3)",
	"all_gather_object":  "all_gather_object({'rank': rank()})",
}

// A rank that is killed or stopped in the midst of calls fails all others at
// once, with the cause; nothing is left behind. Each call meets both ends and both
// transports, one in each.
func TestDeath(t *testing.T) {
	deaths := []struct {
		signal syscall.Signal
		cause  string
	}{
		{syscall.SIGKILL, "was killed by signal 9 (killed)"},
		{syscall.SIGSTOP, "was stopped"},
	}
	moments := rand.New(rand.NewPCG(1, 0))
	for i, name := range slices.Sorted(maps.Keys(calls)) {
		script := writeScript(t, "x = ones(3000)\nprint('go')\nbarrier()\nwhile True:\n    "+calls[name]+"\n")
		for k, death := range deaths {
			for turn, transport := range []string{"shm", "tcp"} {
				if !*everyTransport && (i+k)%2 != turn {
					continue
				}
				t.Run(name+"/"+death.signal.String()+"/"+transport, func(t *testing.T) {
					p := startProcess(t, "run", "-n", "3", "--transport", transport, script)
					p.line(t)
					workers := p.workers(t, 3)
					time.Sleep(time.Duration(moments.Int64N(int64(5 * time.Millisecond)))) // anywhere in the loop
					syscall.Kill(workers[1], death.signal)
					p.end(t, 3, workers)
					want := "rank 1 of 3:\nError: the rank died: it " + death.cause + "\nrank"
					if got := p.errs.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, " at "+script+":5:") {
						t.Errorf("got:\n%swant it to begin:\n%s", got, want)
					}
				})
			}
		}
	}
}

// A request to end, an interrupt and the loss of the terminal end a run in
// which all ranks are at work, and leave nothing behind.
func TestSignals(t *testing.T) {
	script := writeScript(t, "tmpdir()\nprint('go')\nbarrier()\nwhile True:\n    barrier()\n")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, transport := range distinctTransports() {
			t.Run(sig.String()+"/"+transport, func(t *testing.T) {
				p := startProcess(t, "run", "-n", "3", "--transport", transport, script)
				p.line(t)
				workers := children(p.Process.Pid)
				p.Process.Signal(sig)
				p.end(t, 130, workers)
				if got := p.errs.String(); !strings.HasPrefix(got, "interrupted\n") {
					t.Errorf("got:\n%s\nwant it to begin with interrupted", got)
				}
			})
		}
	}
}

// A run that was started to ignore the loss of its terminal, as under nohup, goes on.
func TestHangupIgnored(t *testing.T) {
	script := writeScript(t, "print('go')\nwhile not should_stop():\n    barrier()\nprint('saved')\n")
	for _, transport := range distinctTransports() {
		t.Run(transport, func(t *testing.T) {
			p := &process{Cmd: exec.Command("sh", "-c", "trap '' HUP; exec \"$@\"", "sh", os.Args[0], "run", "-n", "2", "--transport", transport, script)}
			p.start(t)
			p.line(t)
			workers := children(p.Process.Pid)
			p.Process.Signal(syscall.SIGHUP)
			p.Process.Signal(syscall.SIGUSR1)
			if got := p.line(t); got != "saved" {
				t.Errorf("got %q, want saved", got)
			}
			p.end(t, 0, workers)
		})
	}
}

// A rank that cannot be interrupted, in one long call, does not hold up the end of the
// command, nor is there a wait for what it might receive.
func TestStubborn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the five seconds that a rank has to stop")
	}
	t.Parallel()
	dir := t.TempDir()
	main := "    print('go')\n    barrier()\n    " + longCall(t, dir) + "\n"
	script := writeScript(t, "if True:\n"+main)
	tests := filepath.Join(t.TempDir(), "a_test.star")
	if err := os.WriteFile(tests, []byte("def test_a():\n"+main), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"run":  {"run", "-n", "1", "--transport", "shm", "--allow", dir, script},
		"test": {"test", "-v", "-n", "1", "--transport", "shm", "--allow", dir, tests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, args...)
			for p.line(t) != "go" {
			}
			time.Sleep(100 * time.Millisecond) // into the call
			workers := children(p.Process.Pid)
			p.Process.Signal(syscall.SIGINT)
			p.end(t, lang.StatusInterrupted, workers)
			if got, want := p.errs.String(), "rank 0: does not stop (was told to 5s ago)"; name == "run" && !strings.Contains(got, want) {
				t.Errorf("got:\n%s\nwant it to contain %q", got, want)
			}
		})
	}
}

// longCall returns a call that takes much longer than a rank has to stop. It reads a file of dir
// that nobody else can open until the test ends, or computes where files cannot be leased.
func longCall(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "leased"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Logf("files of %s cannot be leased: %v", dir, err)
		return "str(int('7' * (1 << 25), 16))"
	}
	return fmt.Sprintf("read_text(%q)", f.Name())
}

// Who reads no more of the output ends a command, which leaves nothing behind.
func TestUnread(t *testing.T) {
	script := writeScript(t, "write_text(tmpdir() + '/%d' % rank(), 'a')\nwhile True:\n    print('x' * 1000)\n    barrier()\n")
	tests := filepath.Join(t.TempDir(), "a_test.star")
	source := "def test_a():\n    write_text(tmpdir() + '/%d' % rank(), 'a')\n    for _ in range(1000):\n        barrier()\n"
	if err := os.WriteFile(tests, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, transport := range distinctTransports() {
		for name, args := range map[string][]string{
			"run":  {"run", "-n", "2", "--transport", transport, script},
			"test": {"test", "-v", "-n", "1,2,3,4", "--transport", transport, tests},
		} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				p := startProcess(t, args...)
				p.line(t)
				workers := children(p.Process.Pid)
				p.unread(t)
				p.end(t, statusUnread, workers)
			})
		}
		t.Run("repl/"+transport, func(t *testing.T) {
			p := startShell(t, "-n", "2", "--transport", transport)
			p.say(t, "write_text(tmpdir() + '/%d' % rank(), 'a')\nprint('hello')", "hello")
			workers := children(p.Process.Pid)
			p.unread(t)
			fmt.Fprintln(p.in, "print('more')")
			p.end(t, statusUnread, workers)
		})
	}
}

// unread closes the reading end of its output.
func (p *process) unread(t *testing.T) {
	t.Helper()
	if err := p.pipe.Close(); err != nil {
		t.Fatal(err)
	}
}

// A launcher that is killed takes its workers with it, whatever they do. What
// they leave in temporary folders is removed by the next run, which leaves those
// of others alone.
func TestLauncherKilled(t *testing.T) {
	for name, source := range map[string]string{
		"at work": "while True:\n    pass\n",
		"waiting": "recv(rank()) if rank() else None\nwhile True:\n    pass\n",
	} {
		script := writeScript(t, "write_text(tmpdir() + '/%d' % rank(), 'a')\nwrite_text(resume_dir() + '/%d' % rank(), 'a')\nprint('go')\nbarrier()\n"+source)
		for _, transport := range []string{"shm", "tcp"} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				p := startProcess(t, "run", "-n", "3", "--transport", transport, script)
				p.line(t)
				workers := p.workers(t, 3)
				p.sweeps(t)
				if files, _ := os.ReadDir(p.tmp); len(files) != 2 {
					t.Errorf("there are %v, want a folder of tmpdir and one of resume_dir", files)
				}
				p.Process.Kill()
				p.Wait()
				p.leavesNothing(t, workers)
				p.sweeps(t)
				if files, _ := os.ReadDir(p.tmp); len(files) > 0 {
					t.Errorf("left behind: %v", files)
				}
			})
		}
	}
}

// What the Go runtime writes when a worker ends badly is shown with its rank.
func TestWorkerWrites(t *testing.T) {
	p := startProcess(t, "run", "-n", "2", "--transport", "shm", writeScript(t, "print('go')\nbarrier()\nwhile True:\n    pass\n"))
	p.line(t)
	workers := p.workers(t, 2)
	syscall.Kill(workers[1], syscall.SIGABRT)
	p.end(t, 3, workers)
	for _, want := range []string{"rank 1 wrote before it ended:\nSIGABRT: abort\n", "rank 1 of 2:\nError: the rank died: it exited with status 2\n"} {
		if !strings.Contains(p.errs.String(), want) {
			t.Errorf("got:\n%s\nwant it to contain:\n%s", &p.errs, want)
		}
	}
}

// A shell survives the death of a rank: it says so, and starts others when it
// is told to.
func TestShellSurvives(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			p := startShell(t, "-n", "2", "--transport", transport)
			p.say(t, "print('hello')", "hello")
			workers := p.workers(t, 2)
			syscall.Kill(workers[1], syscall.SIGKILL)
			p.say(t, "barrier()\n1 + 1\n:ranks 3\nworld_size()", "3 ranks, no variables", "3")
			p.say(t, ":quit")
			p.end(t, 3, append(workers, children(p.Process.Pid)...))
			for _, want := range []string{"was killed by signal 9 (killed)", "the ranks cannot go on; :ranks 2 starts them anew"} {
				if !strings.Contains(p.errs.String(), want) {
					t.Errorf("got:\n%s\nwant it to contain %q", &p.errs, want)
				}
			}
		})
	}
}

// A request to end and the loss of the terminal end a shell, which leaves
// nothing behind.
func TestShellSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		for _, transport := range distinctTransports() {
			t.Run(sig.String()+"/"+transport, func(t *testing.T) {
				p := startShell(t, "-n", "2", "--transport", transport)
				p.say(t, "write_text(tmpdir() + '/a', 'a') if rank() == 0 else None\nprint('hello')", "hello")
				workers := children(p.Process.Pid)
				p.Process.Signal(sig)
				p.end(t, 130, workers)
			})
		}
	}
}

// What the system refuses is told, with the rank that it was for.
func TestResourceLimits(t *testing.T) {
	script := writeScript(t, "barrier()\n")
	tests := []struct{ limit, transport, want string }{
		{"-f 100", "shm", "tpsh: shared memory: "},
		{"-f 100", "auto", "tpsh: shared memory: "},
		{"-n 4", "inproc", "tpsh: cannot begin: too many open files"},
		{"-n 20", "tcp", "tpsh: rank "},
		{"-n 20", "shm", "too many open files"},
	}
	for _, test := range tests {
		t.Run(test.limit+"/"+test.transport, func(t *testing.T) {
			c := exec.Command("sh", "-c", "ulimit "+test.limit+"; exec \"$@\"", "sh", os.Args[0], "run", "-n", "8", "--transport", test.transport, script)
			c.Env = append(os.Environ(), commandVariable+"=1")
			out, err := c.CombinedOutput()
			if c.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), test.want) || strings.Contains(string(out), "goroutine") {
				t.Errorf("got %v and\n%s\nwant exit status 3 and %q", err, out, test.want)
			}
		})
	}
}

// startShell starts a shell.
func startShell(t *testing.T, args ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	p := startProcessReading(t, r, append([]string{"repl"}, args...)...)
	r.Close()
	p.in = w
	return p
}

// say gives the shell statements, and checks the lines that it answers.
func (p *process) say(t *testing.T, statements string, answers ...string) {
	t.Helper()
	fmt.Fprintln(p.in, statements)
	for _, want := range answers {
		if got := p.line(t); got != want {
			t.Errorf("after %q: got %q, want %q", statements, got, want)
		}
	}
}
