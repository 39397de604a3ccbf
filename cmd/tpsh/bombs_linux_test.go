package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var bombCount = flag.Int("bombs", 6, "how many programs TestBombs runs; a kind comes again in another form, on other ranks")

// bombs are bodies of functions that fill memory on the line that ends with #!. Each
// has the path to it that the interpreter takes: values that grow in a loop, one call
// or operator that makes a large value, tensors, messages, what is recorded.
var bombs = []struct{ name, body string }{
	{"a string", "s = 'x'\nwhile True:\n    s += s #!"},
	{"a list", "l = [1]\nwhile True:\n    l = l + l #!"},
	{"a list times", "l = []\nwhile True:\n    l.append([0] * 1000000000) #!"},
	{"a tuple times", "n = 500000000\nx = (1, 2) * n #!"},
	{"a text times", "s = 'xy' * 1000000\nl = []\nwhile True:\n    l.append(s * 400) #!"},
	{"bytes times", "x = b'xy' * 500000000 #!"},
	{"times and assign", "l = list(range(10))\nwhile True:\n    l *= 1000 #!"},
	{"a list extended", "l = []\nwhile True:\n    l.extend(range(1000000)) #!"},
	{"a list extended by itself", "l = [1]\nwhile True:\n    l.extend(l) #!"},
	{"a list extended by +=", "l = [1]\nwhile True:\n    l += l #!"},
	{"a slice assigned", "l = [1]\nwhile True:\n    l[0:0] = l #!"},
	{"a list spread", "l = [1]\nwhile True:\n    l = [*l, *l] #!"},
	{"slices", "l = list(range(100000))\nk = []\nwhile True:\n    k.append(l[:]) #!"},
	{"sorted", "l = list(range(100000))\nk = []\nwhile True:\n    k.append(sorted(l)) #!"},
	{"one list", "x = 0\nl = list(range(200000000)) #!"},
	{"one dict", "l = list(range(1000000))\nd = {}\nwhile True:\n    d.update(zip(l, l)); l = [i + 1000000 for i in l] #!"},
	{"one join", "s = 'x' * 1000000\nl = [s] * 4000\nt = ''.join(l) #!"},
	{"one split", "s = ',' * 10000000\nl = s.split(',') #!"},
	{"a dict", "d = {}\ni = 0\nwhile True:\n    i += 1; d[i] = str(i) #!"},
	{"a set", "s = set()\ni = 0\nwhile True:\n    i += 100000; s = s | set(range(i, i + 100000)) #!"},
	{"a comprehension", "x = 0\nl = [i for i in range(1 << 40)] #!"},
	{"a comprehension of dicts", "x = 0\nl = {i: [i] for i in range(1 << 40)} #!"},
	{"join", "l = ['x' * 1000000] * 100\nk = []\nwhile True:\n    k.append(','.join(l)) #!"},
	{"replace", "s = 'x' * 1000\nwhile True:\n    s = s.replace('x', 'xxxxxxxx') #!"},
	{"one replace", "s = 'x' * 10000000\nt = s.replace('x', 'y' * 1000) #!"},
	{"split", "s = 'x,' * 1000000\nl = []\nwhile True:\n    l.append(s.split(',')) #!"},
	{"format", "s = 'x' * 1000000\nl = []\nwhile True:\n    l.append('{}{}'.format(s, s)) #!"},
	{"percent", "s = 'x' * 1000000\nl = []\nwhile True:\n    l.append('%s%s' % (s, s)) #!"},
	{"an f-string", "s = 'x' * 100000\nwhile True:\n    s = f'{s}{s}' #!"},
	{"json", "l = []\nwhile True:\n    l.append(json.indent(json.encode(['a' * 1000] * 10000))) #!"},
	{"str of what is nested", "l = [1]\nfor i in range(60): l = [l, l]\ns = str(l) #!"},
	{"json of what is nested", "l = [1]\nfor i in range(60): l = [l, l]\ns = json.encode(l) #!"},
	{"whole numbers", "n = 1 << 500\nwhile True:\n    n = n * n #!"},
	{"nested lists", "l = []\nwhile True:\n    l = [l, [0] * 100] #!"},
	{"structs", "l = []\nwhile True:\n    l.append(struct(a = [0] * 1000)) #!"},
	{"a failure", "s = 'x' * 1000000\nfail(s * 1000) #!"},
	{"title", "s = 'x y' * 100000\nl = []\nwhile True:\n    l.append(s.title()) #!"},
	{"elements", "s = 'x' * 1000000\nl = []\nwhile True:\n    l.append(list(s.elems())) #!"},
	{"small tensors", "l = []\nwhile True:\n    l.append(zeros(1000)) #!"},
	{"tensors", "l = []\nwhile True:\n    l.append(ones(1000000)) #!"},
	{"one tensor", "n = 1 << 40\nx = zeros(n) #!"},
	{"an outer product", "x = ones(1 << 18)\ny = x.reshape(-1, 1) * x #!"},
	{"cat", "x = ones(1000)\nwhile True:\n    x = cat([x, x]) #!"},
	{"views", "x = ones(4)\nl = []\nwhile True:\n    l.append(x[0:2]) #!"},
	{"tolist", "x = ones(100)\nl = []\nwhile True:\n    l.append(x.expand(10000, 100).tolist()) #!"},
	{"gradients", "x = ones(1000, requires_grad=True)\nwhile True:\n    x = x * 2.0 #!"},
	{"modules", "l = []\nwhile True:\n    l.append(nn.Linear(100, 100)) #!"},
	{"functions", "f = None\ng = lambda f: lambda: f\nwhile True:\n    f = [g(f) for _ in range(1000)] #!"},
}

// bombForms are how the function bomb is called. Whoever goes on prints "went on".
var bombForms = []struct{ name, call string }{
	{"called", "bomb()\nprint('went on')"},
	{"caught", "attempt(bomb)\nprint('went on')"},
	{"of one rank", "if rank() == 1:\n    bomb()\nbarrier()\nprint('went on')"},
	{"in a loop", "for _ in range(1000):\n    bomb()\nprint('went on')"},
}

// A program that fills memory ends with the limit and its line, and nobody kills
// it; ranks that wait for the one that does are told. By hand, and with -v it tells how soon they end:
//
//	go test ./cmd/tpsh -run Bombs -bombs 300 -parallel 2 -timeout 20m -v
func TestBombs(t *testing.T) {
	places := []string{"inproc", "shm", "frames", "tcp"}
	sizes := 4 // of limits, from 32 MiB to 256
	if *bombCount < len(bombs) {
		sizes = 2 // which are soon filled
	}
	var ends bombEnds
	if testing.Verbose() {
		t.Cleanup(func() { ends.tell(t) })
	}
	for i := range *bombCount {
		rng := rand.New(rand.NewPCG(uint64(i), 0))
		kind, form, transport := bombs[i%len(bombs)], bombForms[rng.IntN(len(bombForms))], places[rng.IntN(len(places))]
		limit := 32 << rng.IntN(sizes)
		t.Run(fmt.Sprintf("%d: %s, %s/%s/%d", i, kind.name, form.name, transport, limit), func(t *testing.T) {
			t.Parallel()
			source := "def bomb():\n    " + strings.ReplaceAll(kind.body, "\n", "\n    ") + "\n" + form.call + "\n"
			head, _, _ := strings.Cut(source, "#!")
			line := 1 + strings.Count(head, "\n")
			script := filepath.Join(t.TempDir(), "bomb.star")
			if err := os.WriteFile(script, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			p := exec.Command(os.Args[0], "run", "-n", "2", "--transport", transport, "--max-mem", fmt.Sprint(limit, "M"), "--timeout", "5m", "--quiet", script)
			p.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+t.TempDir())
			part := limit
			if !ofOneProcess(transport) {
				part /= 2
			}
			out, after := runBomb(t, p, part<<20)
			ends.add(t.Name(), after)
			if code := p.ProcessState.ExitCode(); code != 1 && code != 3 {
				t.Errorf("exit status %d, want 1 or 3", code)
			}
			refused := regexp.MustCompile(`out of memory: \d+ bytes wanted`).Match(out)
			if !refused && !strings.Contains(string(out), fmt.Sprintf("memory limit of %d MiB reached", limit)) {
				t.Errorf("no limit in\n%.2000s", out)
			}
			if want := fmt.Sprintf("bomb.star:%d", line); !strings.Contains(string(out), want) {
				t.Errorf("no %q in\n%.2000s", want, out)
			}
			if strings.Contains(string(out), "went on") || strings.Contains(string(out), "goroutine") {
				t.Errorf("it went on, or crashed:\n%.2000s", out)
			}
			// A list that doubles may be there several times before a busy machine has collected it.
			if most := int64(4*limit + 1024); p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10 > most {
				t.Errorf("a process had %d MiB, want %d at most", p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10, most)
			}
		})
	}
}

// runBomb runs a command, and returns what it wrote and, with -v, how long it went on after it, or a process that it
// started, was first seen with its limit of memory: with so many bytes to itself, and what a process may have besides.
// Some of these nobody may reach any more, so that this is the most that it can have gone on. It is 0 if none was: what
// asks for too much at once is refused before.
func runBomb(t *testing.T, p *exec.Cmd, limit int) (out []byte, after time.Duration) {
	var text bytes.Buffer
	p.Stdout, p.Stderr = &text, &text
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan time.Time, 1)
	go func() {
		p.Wait() // its status is looked at
		over <- time.Now()
	}()
	if !testing.Verbose() { // looking takes a fifth of a processor
		<-over
		return text.Bytes(), 0
	}
	const besides, every = 16 << 20, 5 * time.Millisecond // besides is heapSlack of package lang
	var reached time.Time
	for {
		select {
		case end := <-over:
			if !reached.IsZero() {
				after = end.Sub(reached)
			}
			return text.Bytes(), after
		case <-time.After(every):
		}
		for _, pid := range append(children(p.Process.Pid), p.Process.Pid) {
			if reached.IsZero() && ownBytes(pid) >= limit+besides {
				reached = time.Now()
			}
		}
	}
}

// ownBytes returns how many bytes of memory a process has that are no file's, 0 if it has gone.
func ownBytes(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident, shared int
	fmt.Sscan(string(text), &size, &resident, &shared)
	return (resident - shared) * os.Getpagesize()
}

// bombEnds are the programs that have ended.
type bombEnds struct {
	mu      sync.Mutex
	refused int // those that did not reach their limit
	list    []bombEnd
}

// A bombEnd is how long a program went on that had reached its limit.
type bombEnd struct {
	name  string
	after time.Duration
}

func (e *bombEnds) add(name string, after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if after == 0 {
		e.refused++
		return
	}
	e.list = append(e.list, bombEnd{name, after})
}

// tell logs how they are distributed.
func (e *bombEnds) tell(t *testing.T) {
	n := len(e.list)
	t.Logf("%d were refused what they asked for, %d reached their limit", e.refused, n)
	if n == 0 {
		return
	}
	slices.SortFunc(e.list, func(a, b bombEnd) int { return cmp.Compare(a.after, b.after) })
	for _, percent := range []int{50, 90, 99, 100} {
		end := e.list[min(n*percent/100, n-1)]
		t.Logf("%3d %% ended within %v: %s", percent, end.after.Round(time.Millisecond), end.name)
	}
}

// What grows within one call, faster than anybody looks, is refused by the kernel: it
// ends its rank alone, and the launcher says of what.
func TestHardLimit(t *testing.T) {
	script := filepath.Join(t.TempDir(), "bomb.star")
	source := "def times(a, b):\n    return a * b\nif rank() == 1:\n    times([1], 1000000000)\nbarrier()\n"
	if err := os.WriteFile(script, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{"shm", "tcp"} {
		var errs strings.Builder
		got := run(&stdio{strings.NewReader(""), new(strings.Builder), &errs}, []string{"run", "-n", "2", "--transport", transport, "--max-mem", "64M", script})
		want := "rank 1 of 2:\nError: the rank died: it ran out of memory: memory limit of 64 MiB reached (32 MiB a rank)\nrank 0: stopped in barrier at "
		if got != 3 || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(), "goroutine") {
			t.Errorf("%s: exit status %d, want 3, and %q in\n%s", transport, got, want, &errs)
		}
	}
}

// What cannot be printed at once is refused where it is printed.
func TestPrintBomb(t *testing.T) {
	for _, transport := range []string{"inproc", "shm"} {
		var errs strings.Builder
		script := filepath.Join(t.TempDir(), "print.star")
		if err := os.WriteFile(script, []byte("x = 1\nprint(\"x\" * 100000000)"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := run(&stdio{strings.NewReader(""), new(strings.Builder), &errs}, []string{"run", "-n", "2", "--transport", transport, script})
		if want := "print.star:2:6"; got != 1 || !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), "got 100000000 bytes to print at once") {
			t.Errorf("%s: exit status %d, want 1, and %q, and the bytes, in\n%s", transport, got, want, errs.String())
		}
	}
}
