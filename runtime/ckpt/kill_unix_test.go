//go:build unix

package ckpt

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tpsh/mesh"
)

var (
	kills      = flag.Int("kills", 10, "how often to kill a save, with and without a full disk")
	killFolder = flag.String("kill-folder", "", "where killed saves save, as on a small disk; else a temporary folder")
)

// These are in the environment of the test binary when it is to save until it is
// killed: the folder, and how many bytes a file may have, 0 for no limit.
const (
	saverFolder = "TPSH_TEST_SAVER"
	saverLimit  = "TPSH_TEST_SAVER_LIMIT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(saverFolder); dir != "" {
		saveForEver(dir)
	}
	os.Exit(m.Run())
}

// saverRows returns how many rows the version-th checkpoint has: every third one
// is large, and does not fit where there is little room.
func saverRows(version int) int {
	if version%3 == 2 {
		return 20000
	}
	return 1000 + version%7*100
}

// killSample returns what the version-th checkpoint holds: rows cut over three
// ranks, of numbers from version on.
func killSample(version int) *sample {
	m, err := mesh.New([]int{3}, nil, nil)
	if err != nil {
		panic(err)
	}
	l, err := mesh.Place(m, []int{saverRows(version), 5}, []mesh.Placement{mesh.Shard(0)})
	if err != nil {
		panic(err)
	}
	return &sample{"w", l, version}
}

// saveForEver saves one checkpoint after another, from that in the folder on. A
// save that fails for want of room it leaves out.
func saveForEver(dir string) {
	if limit, _ := strconv.ParseUint(os.Getenv(saverLimit), 10, 64); limit > 0 {
		signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit is an error then
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			panic(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	version, err := savedVersion(root)
	if err != nil {
		panic(err)
	}
	failures := 0
	for {
		version++
		err := save(root, 3, strconv.Itoa(version), killSample(version))
		if err == nil {
			failures = 0
		} else if failures++; failures > 3 {
			panic(err)
		}
	}
}

// savedVersion returns which checkpoint a folder holds, all of which it reads; 0
// for none, in a folder in which none was ended.
func savedVersion(root *os.Root) (int, error) {
	if _, err := root.Stat(IndexName); os.IsNotExist(err) {
		return 0, nil
	}
	r, err := Open(root)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	version, err := strconv.Atoi(string(r.State))
	if err != nil {
		return 0, err
	}
	t := r.Tensor("w")
	data := make([]byte, t.Bytes())
	if err := r.Read(data, t, Whole(t.Shape)); err != nil {
		return 0, err
	}
	for i := range t.Numel() {
		if got := int(binary.LittleEndian.Uint32(data[4*i:])); got != version+i {
			return 0, fmt.Errorf("element %d of version %d: got %d, want %d", i, version, got, version+i)
		}
	}
	if rows := saverRows(version); t.Shape[0] != rows {
		return 0, fmt.Errorf("%d rows of version %d, want %d", t.Shape[0], version, rows)
	}
	return version, nil
}

// A save that is killed leaves the old checkpoint or the new one, and a save that
// has no room leaves the old one.
func TestKilledSaves(t *testing.T) {
	for name, limit := range map[string]string{"room": "0", "little room": "65536"} {
		t.Run(name, func(t *testing.T) { killSaves(t, limit) })
	}
}

func killSaves(t *testing.T, limit string) {
	dir := *killFolder
	if dir == "" {
		dir = t.TempDir()
	}
	dir, err := os.MkdirTemp(dir, "killed")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	last := 0
	for i := range *kills {
		killOne(t, dir, limit, time.Duration(random.IntN(60_000))*time.Microsecond)
		version, err := savedVersion(root)
		if err != nil || version < last {
			t.Fatalf("seed %d, kill %d: got version %d, %v, want %d or a later one, whole", seed, i, version, err, last)
		}
		last = version
	}
	t.Logf("%d kills, up to version %d", *kills, last)
	if err := save(root, 3, "0", killSample(0)); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 4 {
		t.Errorf("%d files after another save, %v, want 4", len(list), err)
	}
}

// killOne starts a process that saves and kills it after a while.
func killOne(t *testing.T, dir, limit string, after time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), saverFolder+"="+dir, saverLimit+"="+limit)
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10*time.Millisecond + after)
	_ = cmd.Process.Kill() // one that has ended shows below
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		text, _ := os.ReadFile(out.Name())
		t.Fatalf("the saver ended by itself, %v: %s", err, text)
	}
}
