package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tpsh/cmd/tpsh/launch"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

var saveSteps = flag.Bool("save-steps", false, "whether TestStoppedSaves stops at each step on every transport")

// These are in the environment of the test binary when its saves are watched: a
// file that gets a line for each step of a save, and the step, of those lines, at
// which which signal is sent.
const (
	stepsVariable  = "TPSH_TEST_SAVE_STEPS"
	stopVariable   = "TPSH_TEST_SAVE_STOP"
	signalVariable = "TPSH_TEST_SAVE_SIGNAL"
	waitVariable   = "TPSH_TEST_SAVE_WAIT" // for others to be told of it
)

func init() { watchSaves = tellSaves }

// tellSaves makes the saves of this process tell their steps, and stop at one,
// where the environment asks for it.
func tellSaves() {
	steps, stop := os.Getenv(stepsVariable), os.Getenv(stopVariable)
	if steps == "" && stop == "" {
		return
	}
	var mu sync.Mutex
	counts := map[string]int{}
	ckpt.OnStep = func(step string) {
		mu.Lock()
		counts[step]++
		line := fmt.Sprintf("%s, time %d", step, counts[step])
		mu.Unlock()
		if steps != "" {
			appendLine(steps, line)
		}
		if line == stop {
			wait, err := time.ParseDuration(os.Getenv(waitVariable))
			if err != nil {
				panic(err)
			}
			stopSave(os.Getenv(signalVariable), wait)
		}
	}
}

// stopSave kills this process, or interrupts the launcher and gives it time to
// tell the other ranks while this one is where it is.
func stopSave(signal string, wait time.Duration) {
	launcher := os.Getpid()
	if launch.IsWorker() {
		launcher = os.Getppid()
	}
	switch signal {
	case "KILL":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "INT":
		_ = syscall.Kill(launcher, syscall.SIGINT)
	case "TERM":
		_ = syscall.Kill(launcher, syscall.SIGTERM)
	}
	time.Sleep(wait)
}

func appendLine(path, line string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, line)
	f.Close()
}

// stoppedSave saves the version that its argument says, once.
const stoppedSave = `
m = init_device_mesh("cpu", (2,))
v = int(args[1])
save_checkpoint(args[0], {"w": distribute_tensor(full((6, 5), v, dtype=int32), m, [Shard(0)]), "version": v})
`

// Whatever ends at any step of a save, a rank or the launcher, by whatever
// signal: the folder holds the old checkpoint or the new one, whole, and the next
// save and load do.
func TestStoppedSaves(t *testing.T) {
	list := []string{"inproc", "frames", "shm", "tcp"}
	signals := []string{"INT", "KILL", "TERM"}
	if !*saveSteps {
		list, signals = []string{"shm"}, []string{"INT"}
	}
	for _, transport := range list {
		for _, signal := range signals {
			t.Run(transport+"/"+signal, func(t *testing.T) {
				t.Parallel() // somebody waits most of the time
				stopSaves(t, transport, signal)
			})
		}
	}
}

func stopSaves(t *testing.T, transport, signal string) {
	folder := t.TempDir()
	script := filepath.Join(folder, "save.star")
	if err := os.WriteFile(script, []byte(stoppedSave), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &saveStopper{script: script, transport: transport}
	next := &saveStopper{script: script, transport: "inproc"} // whoever saves next finds the same files
	s.save(t, filepath.Join(folder, "first"), 1, 0)
	steps := filepath.Join(folder, "steps")
	copied(t, filepath.Join(folder, "first"), filepath.Join(folder, "calm"))
	s.save(t, filepath.Join(folder, "calm"), 2, 0, stepsVariable+"="+steps)
	text, err := os.ReadFile(steps)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	old := 0
	for wait := 40 * time.Millisecond; old == 0 && wait < 2*time.Second; wait *= 5 { // a busy machine takes longer to tell the ranks
		for i, step := range all {
			dir := filepath.Join(folder, fmt.Sprint("stopped", i, "-", wait))
			copied(t, filepath.Join(folder, "first"), dir)
			s.save(t, dir, 2, -1, stopVariable+"="+step, signalVariable+"="+signal, waitVariable+"="+wait.String())
			version, err := versionOf(dir)
			if err != nil || version != 1 && version != 2 {
				t.Errorf("stopped at %q: the folder holds version %d, %v, want 1 or 2", step, version, err)
			}
			if version == 1 {
				old++
			}
			next.save(t, dir, 3, 0)
			if version, err := versionOf(dir); err != nil || version != 3 {
				t.Errorf("stopped at %q, and saved again: the folder holds version %d, %v, want 3", step, version, err)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
				t.Errorf("stopped at %q, and saved again: %d files, %v, want 3", step, len(files), err)
			}
		}
		t.Logf("%d steps, %d left the old checkpoint, with %v to tell the ranks", len(all), old, wait)
	}
	if old == 0 || old == len(all) {
		t.Errorf("%d of %d left the old checkpoint: the steps are not those of a save", old, len(all))
	}
}

// A saveStopper runs saves that may be stopped.
type saveStopper struct{ script, transport string }

// save saves a version into a folder, and wants that exit status; -1 for any.
func (s *saveStopper) save(t *testing.T, dir string, version, status int, env ...string) {
	t.Helper()
	p := exec.Command(os.Args[0], "run", "-n", "2", "--transport", s.transport, "--allow", filepath.Dir(dir), s.script, "--", dir, fmt.Sprint(version))
	p.Env = append(append(os.Environ(), commandVariable+"=1", "TMPDIR="+t.TempDir()), env...)
	out, err := p.CombinedOutput()
	if got := p.ProcessState.ExitCode(); status >= 0 && got != status {
		t.Fatalf("save of version %d: exit status %d, %v, want %d\n%s", version, got, err, status, out)
	}
}

// versionOf returns the version of the checkpoint in a folder, all of which it
// reads.
func versionOf(dir string) (int, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	r, err := ckpt.Open(root)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	w := r.Tensor("w")
	if w == nil {
		return 0, errors.New("no tensor w")
	}
	data := make([]byte, w.Bytes())
	if err := r.Read(data, w, mesh.Box{Lo: []int{0, 0}, Hi: w.Shape}); err != nil {
		return 0, err
	}
	version := int(binary.LittleEndian.Uint32(data))
	for i := 0; i < len(data); i += 4 {
		if got := int(binary.LittleEndian.Uint32(data[i:])); got != version {
			return 0, fmt.Errorf("elements of versions %d and %d", version, got)
		}
	}
	return version, nil
}

// copied copies the files of a folder into a new one.
func copied(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}
