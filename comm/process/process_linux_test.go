package process_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tpsh/comm/commtest"
	"tpsh/comm/process"
	"tpsh/comm/process/shm"
)

// A crew is ranks in processes of their own, which run the test binary again.
type crew struct {
	commands    []*exec.Cmd
	outputs     []bytes.Buffer // by rank
	supervision *process.Supervision
	watchers    sync.WaitGroup
	disturbance *process.Disturbance // of what rank 1 writes to rank 0; nil for none
}

// The environment that makes a process of the test binary a rank.
const (
	rankVariable = "TPSH_COMM_TEST_RANK"
	jobVariable  = "TPSH_COMM_TEST_JOB" // size, transport, scenario and its arguments
)

// A scenario is what a rank of a crew does. What it writes is its output.
type scenario func(t *testing.T, w io.Writer, links *process.Links, args []string)

var scenarios = map[string]scenario{"bench": benchRank, "exercise": exerciseRank, "lend": lendRank, "large": largeProcess}

// TestAsRank is the test of a process that is a rank of a crew; in others it
// has nothing to do.
func TestAsRank(t *testing.T) {
	rank, err := strconv.Atoi(os.Getenv(rankVariable))
	if err != nil {
		return
	}
	job := strings.Fields(os.Getenv(jobVariable))
	size, _ := strconv.Atoi(job[0])
	runtime.GOMAXPROCS(max(1, runtime.NumCPU()/size)) // as a launcher would have it
	links, err := process.Connect(inherited(rank, size, job[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer links.Close()
	scenarios[job[2]](t, os.Stdout, links, job[3:])
}

// exerciseRank has the ranks communicate in every way, so many times.
func exerciseRank(t *testing.T, w io.Writer, links *process.Links, args []string) {
	rounds, _ := strconv.Atoi(args[0])
	f := links.Fabric(0)
	fmt.Fprintln(w, "started")
	for rank, err := range commtest.Exercise(t, f, rounds) {
		if err != nil {
			fmt.Fprintf(w, "rank %d: %v\n", rank, err)
		}
	}
	f.Unreceived()
	fmt.Fprintln(w, "done")
}

// inherited returns the options of a rank from the files that it inherits.
func inherited(rank, size int, transport string) process.LinkOptions {
	o := process.LinkOptions{Rank: rank, Size: size, Supervisor: connOf(3)}
	if transport == "shm" {
		var err error
		if o.Segment, err = shm.OpenSegment(os.NewFile(4, "memory")); err != nil {
			panic(err)
		}
		o.Local = ranksOf(size)
		return o
	}
	for r := range size {
		if r == rank {
			o.Peers = append(o.Peers, nil)
		} else {
			o.Peers = append(o.Peers, connOf(uintptr(4+r)))
		}
	}
	return o
}

// connOf returns the connection of an inherited file.
func connOf(fd uintptr) net.Conn {
	f := os.NewFile(fd, "connection")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		panic(err)
	}
	return c
}

func ranksOf(size int) []int {
	ranks := make([]int, size)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

// start starts size ranks. They end with the test.
func start(t testing.TB, transport string, size int, scenario string, args ...string) *crew {
	t.Helper()
	c := &crew{outputs: make([]bytes.Buffer, size)}
	c.start(t, transport, size, scenario, args...)
	return c
}

func (c *crew) start(t testing.TB, transport string, size int, scenario string, args ...string) {
	t.Helper()
	files := make([][]*os.File, size)
	var streams []io.ReadWriteCloser
	for r := range files {
		a, b := process.Loopback()
		streams = append(streams, a)
		files[r] = append(files[r], fileOf(t, b))
	}
	if transport == "shm" {
		segment, err := shm.CreateSegment(size)
		if err != nil {
			t.Fatal(err)
		}
		defer segment.Close()
		for r := range files {
			files[r] = append(files[r], segment.File())
		}
	} else {
		mesh(t, files, c.disturbance)
	}
	job := strings.Join(append([]string{strconv.Itoa(size), transport, scenario}, args...), " ")
	for r := range files {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAsRank$", "-test.count=1")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", rankVariable, r), jobVariable+"="+job)
		cmd.ExtraFiles = files[r]
		cmd.Stdout, cmd.Stderr = &c.outputs[r], os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.commands = append(c.commands, cmd)
	}
	for _, list := range files {
		for i, f := range list {
			if f != nil && (transport != "shm" || i == 0) {
				f.Close()
			}
		}
	}
	c.supervision = process.Supervise(process.SuperviseOptions{Streams: streams, Grace: 2 * time.Second})
	for r, cmd := range c.commands {
		c.watchers.Go(func() { c.watch(r, cmd) })
	}
	t.Cleanup(c.stop)
}

// mesh gives every rank a connection to every other, in the order of ranks. What
// rank 1 writes to rank 0 is disturbed, unless d is nil.
func mesh(t testing.TB, files [][]*os.File, d *process.Disturbance) {
	for r := range files {
		files[r] = append(files[r], make([]*os.File, len(files))...)
	}
	for x := range files {
		for y := range x {
			a, b := process.Loopback()
			if d != nil && x == 1 && y == 0 {
				a, b = connected(*d)
			}
			files[x][1+y], files[y][1+x] = fileOf(t, a), fileOf(t, b)
		}
	}
}

// fileOf returns the file of a connection, which it closes.
func fileOf(t testing.TB, c io.ReadWriteCloser) *os.File {
	defer c.Close()
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// watch tells the supervision how the process of a rank ends.
func (c *crew) watch(rank int, cmd *exec.Cmd) {
	if err := cmd.Wait(); err != nil {
		c.supervision.Lose(rank, fmt.Errorf("ended with %v", cmd.ProcessState))
	} else {
		c.supervision.Exits(rank)
	}
}

// stop ends the ranks.
func (c *crew) stop() {
	for _, cmd := range c.commands {
		cmd.Process.Kill()
	}
	c.watchers.Wait()
	c.supervision.Close()
}

// wait returns what the ranks have written, when all have ended.
func (c *crew) wait(t testing.TB) []string {
	t.Helper()
	c.watchers.Wait()
	var outputs []string
	for r := range c.outputs {
		outputs = append(outputs, c.outputs[r].String())
	}
	return outputs
}
