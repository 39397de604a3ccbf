package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// grown are loops that keep what they make: of what the interpreter has tables, lists and texts
// of, which move to twice the room or a quarter more, and of what is small or lies elsewhere.
var grown = []struct{ name, body string }{
	{"a dict by its elements", "d = {}\nfor i in range(1 << 40): d[i] = None #!"},
	{"a dict in a struct", "s = struct(d = {})\nfor i in range(1 << 40): s.d[i, 1] = None #!"},
	{"a dict by updates", "d = {}\nfor i in range(1 << 40): d.update([(i, None), (-i, None)]) #!"},
	{"a dict by one update", "d, l = {}, [(i, i) for i in range(100000)]\nfor i in range(1 << 40): e = {k + i * 100000: v for k, v in l}; d.update(e) #!"},
	{"a dict by defaults", "d = {}\nfor i in range(1 << 40): d.setdefault(i, []) #!"},
	{"a dict joined", "d = {i: i for i in range(10)}\nfor i in range(1 << 40): d = d | {k + (10 << i): v for k, v in d.items()} #!"},
	{"a dict comprehension", "x = 0\nd = {i: None for i in range(1 << 40)} #!"},
	{"a dict comprehension of some", "x = 0\nd = {i: None for i in range(1 << 40) if i % 3} #!"},
	{"a set comprehension", "x = 0\ns = {i for i in range(1 << 40) if i % 3} #!"},
	{"a list comprehension of some", "x = 0\nl = [i for i in range(1 << 40) if i % 3] #!"},
	{"a set", "s = set()\nfor i in range(1 << 40): s.add(i) #!"},
	{"a list", "l = []\nfor i in range(1 << 40): l.append(i) #!"},
	{"a list of texts", "l = []\nfor i in range(1 << 40): l.append(str(i)) #!"},
	{"a list by +=", "l = [1]\nfor i in range(1 << 40): l += [i] * 1000 #!"},
	{"a list comprehension", "x = 0\nl = [i for i in range(1 << 40)] #!"},
	{"a text", "s = 'x'\nfor i in range(1 << 40): s += s #!"},
	{"texts", "l = []\nfor i in range(1 << 40): l.append(str(i) * 1000) #!"},
	{"tensors", "l = []\nfor i in range(1 << 40): l.append(ones(100000)) #!"},
	{"small tensors", "l = []\nfor i in range(1 << 40): l.append(ones(100)) #!"},
	{"tensors and texts", "l = []\nfor i in range(1 << 40): l.append((ones(100000), 'x' * i)) #!"},
}

// Where there is little memory, and no limit was asked for, a script that fills it ends with the limit
// and its line, and the system kills nobody. All of them on all transports, by hand:
//
//	go test ./cmd/tpsh -run SmallMachine -bombs 100
func TestSmallMachine(t *testing.T) {
	group := newMemoryGroup(t, 64<<20)
	places := []string{"inproc", "shm", "tcp"}
	each := 6
	if *bombCount >= len(bombs) {
		each = 3
	}
	for i, kind := range grown {
		for k, transport := range places {
			if *bombCount < 100 && (i%each != 0 || k != i/each%len(places)) { // some of them
				continue
			}
			t.Run(kind.name+", "+transport, func(t *testing.T) {
				source := "def grow():\n    " + strings.ReplaceAll(kind.body, "\n", "\n    ") + "\nif rank() == world_size() - 1: grow()\nbarrier()\nprint('went on')\n"
				head, _, _ := strings.Cut(source, "#!")
				script := filepath.Join(t.TempDir(), "grow.star")
				if err := os.WriteFile(script, []byte(source), 0o644); err != nil {
					t.Fatal(err)
				}
				out, code := group.run(t, "run", "-n", "2", "--transport", transport, "--timeout", "2m", "--quiet", script)
				if code != 1 && code != 3 {
					t.Errorf("exit status %d, want 1 or 3", code)
				}
				for _, want := range []string{"memory", fmt.Sprintf("grow.star:%d", 1+strings.Count(head, "\n"))} {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in\n%.2000s", want, out)
					}
				}
				if strings.Contains(out, "went on") || strings.Contains(out, "goroutine") || strings.Contains(out, "signal") {
					t.Errorf("it went on, crashed, or was killed:\n%.2000s", out)
				}
			})
		}
	}
	// What is dropped again is no reason to end a script, nor is what fits.
	t.Run("what nobody keeps", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "drop.star")
		source := "for i in range(20):\n    s = 'x' * 2000000 + str(i)\n    l = list(range(100000))\n    x = ones(500000) + i\n    d = {j: i for j in range(10000)}\nprint(len(s), l[-1], x[0].item(), len(d))\n"
		if err := os.WriteFile(script, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		group := newMemoryGroup(t, 128<<20)
		for _, transport := range places {
			if out, code := group.run(t, "run", "-n", "2", "--transport", transport, script); code != 0 || !strings.Contains(out, "2000002 99999 20.0 10000") {
				t.Errorf("%s: exit status %d, want 0, of\n%.2000s", transport, code, out)
			}
		}
	})
}

// A memoryGroup is the folder of a control group that has little memory.
type memoryGroup string

// newMemoryGroup makes a control group within that of this process or beside it, until the test ends. The
// test is left out where that is not allowed.
func newMemoryGroup(t *testing.T, bytes int) memoryGroup {
	t.Helper()
	own, file, err := memoryGroupHere()
	if err != nil {
		t.Skip(err)
	}
	g := memoryGroup(filepath.Join(own, fmt.Sprintf("tpsh-test-%d-%d", os.Getpid(), bytes)))
	if err := os.Mkdir(string(g), 0o755); err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	t.Cleanup(func() { os.Remove(string(g)) })
	if err := os.WriteFile(filepath.Join(string(g), file), fmt.Append(nil, bytes), 0o644); err != nil {
		t.Skipf("a control group made here has no limit of memory: %v", err)
	}
	os.WriteFile(filepath.Join(string(g), "memory.swap.max"), []byte("0"), 0o644) // a kernel may have neither
	os.WriteFile(filepath.Join(string(g), "memory.memsw.limit_in_bytes"), fmt.Append(nil, bytes), 0o644)
	return g
}

// memoryGroupHere returns the folder of a group in which another may be made, and the name of the file
// that limits its memory: of version 1 that of this process, of version 2, in which groups that hold
// processes have no groups with limits, the one around it.
func memoryGroupHere() (folder, file string, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[1], ","), "memory") {
			return path.Join("/sys/fs/cgroup/memory", parts[2]), "memory.limit_in_bytes", nil
		}
		if len(parts) == 3 && parts[0] == "0" && parts[2] != "/" {
			folder, file = path.Join("/sys/fs/cgroup", path.Dir(parts[2])), "memory.max"
		}
	}
	if folder == "" {
		return "", "", fmt.Errorf("no group of this process has limits of memory: %q", text)
	}
	return folder, file, nil
}

// run runs tpsh in the group, and returns what it wrote and its exit status.
func (g memoryGroup) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	const join = `echo $$ >"$0"/cgroup.procs && exec "$@"`
	p := exec.Command("sh", append([]string{"-c", join, string(g), os.Args[0]}, args...)...)
	p.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+t.TempDir())
	all, _ := p.CombinedOutput() // its status is looked at
	return string(all), p.ProcessState.ExitCode()
}
