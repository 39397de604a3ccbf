package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quit makes a Go program say where its goroutines are.
const quit = syscall.SIGQUIT

// A faultKindOf is a kind of harm.
type faultKindOf struct {
	name   string
	weight int
	harm   func(d *disturbance) (what string)
	fails  bool                                // whether the job may fail of it
	end    string                              // another end to which it may come
	allows func(d *disturbance, code int) bool // whether that has such an exit status
	toRank bool                                // whether it happens to ranks alone
	silent bool                                // whether another launcher alone can find it, by silence
}

func never(*disturbance, int) bool { return false }

// statuses returns what allows some exit statuses.
func statuses(codes ...int) func(*disturbance, int) bool {
	return func(_ *disturbance, code int) bool { return slices.Contains(codes, code) }
}

var faultKinds = []faultKindOf{
	{name: "a rank killed", weight: 5, harm: toRanks(1, syscall.SIGKILL), fails: true, allows: never, toRank: true},
	{name: "a rank stopped", weight: 3, harm: toRanks(1, syscall.SIGSTOP), fails: true, allows: never, toRank: true},
	{name: "a rank told to end", weight: 1, harm: toRanks(1, syscall.SIGTERM), fails: true, allows: never, toRank: true},
	{name: "a rank aborted", weight: 1, harm: toRanks(1, syscall.SIGABRT), fails: true, allows: never, toRank: true},
	{name: "two ranks killed", weight: 2, harm: toRanks(2, syscall.SIGKILL), fails: true, allows: never, toRank: true},
	{name: "two ranks stopped", weight: 1, harm: toRanks(2, syscall.SIGSTOP), fails: true, allows: never, toRank: true},
	{name: "a connection of a rank closed", weight: 3, harm: toConnection(closeConnection), fails: true, allows: never, toRank: true},
	{name: "rubbish from a rank", weight: 2, harm: toConnection(writeRubbish), fails: true, allows: never, toRank: true},
	{name: "no more files for a rank", weight: 1, harm: limitRank(unix.RLIMIT_NOFILE), fails: true, end: "refused", allows: statuses(1), toRank: true},
	{name: "no more disk for a rank", weight: 1, harm: limitRank(unix.RLIMIT_FSIZE), fails: true, end: "refused", allows: statuses(1), toRank: true},
	{name: "no more memory for a rank", weight: 1, harm: limitRank(unix.RLIMIT_AS), fails: true, end: "refused", allows: statuses(1), toRank: true},
	{name: "a launcher killed", weight: 2, harm: toLauncher(syscall.SIGKILL), fails: true, end: "launcher killed", allows: statuses(-1)},
	{name: "a launcher interrupted", weight: 1, harm: toLauncher(syscall.SIGINT), fails: true, end: "interrupted", allows: statuses(130, -1)},
	{name: "a launcher told to end", weight: 1, harm: toLauncher(syscall.SIGTERM), fails: true, end: "interrupted", allows: statuses(130, -1)},
	{name: "a rank hung up", weight: 1, harm: toRanks(1, syscall.SIGHUP), fails: true, allows: never, toRank: true},
	{name: "a rank made to say where it is", weight: 1, harm: toRanks(1, quit), fails: true, allows: never, toRank: true},
	{name: "all ranks killed", weight: 1, harm: toRanks(1<<10, syscall.SIGKILL), fails: true, allows: never, toRank: true},
	{name: "a rank killed and a launcher interrupted", weight: 1, harm: both(toRanks(1, syscall.SIGKILL), toLauncher(syscall.SIGINT)), fails: true, end: "interrupted", allows: statuses(130, -1)},
	{name: "no more files for a launcher", weight: 1, harm: limitLauncher, fails: true, end: "refused", allows: statuses(1, 2)},
	{name: "the terminal lost", weight: 1, harm: toLauncher(syscall.SIGHUP), fails: true, end: "interrupted", allows: statuses(130, -1)},
	{name: "nobody reads any more", weight: 1, harm: stopReading, end: "unread", allows: statuses(141)},
	{name: "a stranger at the port", weight: 1, harm: strangerAtPort, allows: never},
	{name: "a launcher paused", weight: 1, harm: pauseLauncher, allows: never},
	{name: "a launcher of two stopped", weight: 1, harm: stopLauncher, fails: true, allows: never, silent: true},
}

// randomFault returns one of the kinds of faults by their weights, or that of
// the flag.
func randomFault(rng *rand.Rand) *faultKindOf {
	total := 0
	for i := range faultKinds {
		if total += faultKinds[i].weight; faultKinds[i].name == *faultKind {
			return &faultKinds[i]
		}
	}
	left := rng.IntN(total)
	for i := range faultKinds {
		if left -= faultKinds[i].weight; left < 0 {
			return &faultKinds[i]
		}
	}
	panic("weights do not add up")
}

// beforeExec reports whether a process is about to become a worker. It is a
// part of its parent still, and so would a signal be.
func beforeExec(pid int) bool {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return !strings.Contains(string(cmdline), "rank=")
}

// workers returns the processes of the ranks of all nodes, in random order.
func (d *disturbance) workers() []int {
	var pids []int
	for _, p := range d.nodes {
		pids = append(pids, slices.DeleteFunc(children(p.Process.Pid), beforeExec)...)
	}
	d.rng.Shuffle(len(pids), func(i, k int) { pids[i], pids[k] = pids[k], pids[i] })
	return pids
}

// toRanks sends so many ranks a signal.
func toRanks(count int, sig syscall.Signal) func(*disturbance) string {
	return func(d *disturbance) string {
		pids := d.workers()
		what := ""
		for _, pid := range pids[:min(count, len(pids))] {
			if syscall.Kill(pid, sig) == nil {
				what += fmt.Sprintf(" process %d", pid)
			}
		}
		return what
	}
}

// toConnection does something to a connection of a rank.
func toConnection(do func(d *disturbance, fd int) string) func(*disturbance) string {
	return func(d *disturbance) string {
		for _, pid := range d.workers() {
			if fd := d.connectionOf(pid); fd >= 0 {
				defer unix.Close(fd)
				return do(d, fd)
			}
		}
		return ""
	}
}

// connectionOf returns a descriptor of one of the sockets of a process, or -1.
func (d *disturbance) connectionOf(pid int) int {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, _ := os.ReadDir(dir)
	var sockets []int
	for _, f := range files {
		if to, _ := os.Readlink(dir + "/" + f.Name()); strings.HasPrefix(to, "socket:") {
			fd, _ := strconv.Atoi(f.Name())
			sockets = append(sockets, fd)
		}
	}
	if len(sockets) == 0 {
		return -1
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, sockets[d.rng.IntN(len(sockets))], 0)
	if err != nil {
		return -1
	}
	return fd
}

// nameOf says what a socket is.
func nameOf(fd int) string {
	peer, err := unix.Getpeername(fd)
	switch peer := peer.(type) {
	case *unix.SockaddrInet4:
		return fmt.Sprint("to port ", peer.Port)
	case *unix.SockaddrUnix:
		return "to its launcher"
	}
	return fmt.Sprint(err)
}

// closeConnection ends one or both directions of a connection.
func closeConnection(d *disturbance, fd int) string {
	how := d.rng.IntN(3)
	if err := unix.Shutdown(fd, how); err != nil {
		return ""
	}
	return fmt.Sprintf("shutdown %d of one %s", how, nameOf(fd))
}

// writeRubbish writes to a TCP connection what was not meant for it. Nothing
// comes between a process and its launcher on a host.
func writeRubbish(d *disturbance, fd int) string {
	if peer, err := unix.Getpeername(fd); err != nil || peer == nil {
		return ""
	} else if _, ok := peer.(*unix.SockaddrUnix); ok {
		return ""
	}
	rubbish := make([]byte, 1+d.rng.IntN(100))
	for i := range rubbish {
		rubbish[i] = byte(d.rng.Uint32())
	}
	if n, err := unix.Write(fd, rubbish); n <= 0 || err != nil {
		return ""
	}
	return fmt.Sprintf("%d bytes %s", len(rubbish), nameOf(fd))
}

// limitRank lets a rank have no more of something than it has.
func limitRank(resource int) func(*disturbance) string {
	return func(d *disturbance) string {
		pids := d.workers()
		if len(pids) == 0 {
			return ""
		}
		limit := uint64(d.rng.IntN(4000))
		switch resource {
		case unix.RLIMIT_AS:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pids[0]))
			pages, _ := strconv.ParseUint(strings.Fields(string(status) + " 0")[0], 10, 64)
			limit = pages*uint64(os.Getpagesize()) + limit<<10
		case unix.RLIMIT_NOFILE:
			files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pids[0]))
			limit = uint64(len(files))
		}
		if err := unix.Prlimit(pids[0], resource, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			return ""
		}
		return fmt.Sprintf("%d for process %d", limit, pids[0])
	}
}

// toLauncher sends a launcher a signal.
func toLauncher(sig syscall.Signal) func(*disturbance) string {
	return func(d *disturbance) string {
		node := d.rng.IntN(len(d.nodes))
		if d.nodes[node].Process.Signal(sig) != nil {
			return ""
		}
		return fmt.Sprint("node ", node)
	}
}

// pauseLauncher stops a launcher for a moment.
func pauseLauncher(d *disturbance) string {
	p := d.nodes[d.rng.IntN(len(d.nodes))]
	if p.Process.Signal(syscall.SIGSTOP) != nil {
		return ""
	}
	time.Sleep(time.Duration(d.rng.Int64N(int64(300 * time.Millisecond))))
	p.Process.Signal(syscall.SIGCONT)
	return "for a moment"
}

// stopLauncher stops a launcher. If none of the others finds it, since they
// have not met it yet, it goes on in the end.
func stopLauncher(d *disturbance) string {
	p := d.nodes[d.rng.IntN(len(d.nodes))]
	if p.Process.Signal(syscall.SIGSTOP) != nil {
		return ""
	}
	time.AfterFunc(10*time.Second, func() { p.Process.Signal(syscall.SIGCONT) })
	return "one"
}

// both does two things to a job at once.
func both(first, second func(*disturbance) string) func(*disturbance) string {
	return func(d *disturbance) string {
		what := first(d)
		if what == "" {
			return ""
		}
		return what + " and " + second(d)
	}
}

// limitLauncher lets a launcher have no more files than it has.
func limitLauncher(d *disturbance) string {
	pid := d.nodes[d.rng.IntN(len(d.nodes))].Process.Pid
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	limit := uint64(len(files))
	if err != nil || limit == 0 || unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}, nil) != nil {
		return ""
	}
	return fmt.Sprintf("%d for process %d", limit, pid)
}

// stopReading closes the reading end of the output of node 0.
func stopReading(d *disturbance) string {
	d.unread = true
	if d.nodes[0].pipe.Close() != nil {
		return ""
	}
	return "its output is closed"
}

// strangerAtPort connects to where the nodes meet, and writes what was not meant for it.
func strangerAtPort(d *disturbance) string {
	if d.at == "" {
		return ""
	}
	conn, err := net.DialTimeout("tcp", d.at, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	rubbish := make([]byte, 1+d.rng.IntN(5000))
	for i := range rubbish {
		rubbish[i] = byte(d.rng.Uint32())
	}
	conn.SetDeadline(time.Now().Add(time.Second))
	n, _ := conn.Write(rubbish) // it may be turned away before
	return fmt.Sprintf("%d bytes", n)
}
