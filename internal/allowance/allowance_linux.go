package allowance

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func thisMachine() *machine {
	m := machineWith(nil)
	m.findGroups()
	return m
}

// machineWith returns this machine with groups that may hold the process to some memory.
func machineWith(groups []Group) *machine {
	m := &machine{root: systemFS{os.DirFS("/")}, total: totalMemory, memoryGroups: groups}
	m.free = func() int {
		text, _ := fs.ReadFile(m.root, "proc/meminfo")
		return meminfo(string(text), "MemAvailable:")
	}
	return m
}

// A systemFS is the file system of the machine. It reads files as readSystem does.
type systemFS struct{ fs.FS }

func (s systemFS) ReadFile(name string) ([]byte, error) { return readSystem("/" + name) }

func (s systemFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(s.FS, name) }

// readSystem returns what a file of the kernel holds, which is short. A process reads a dozen when it
// starts, and some while it runs: package os takes half as long again, as it asks the poller about each.
func readSystem(file string) ([]byte, error) {
	fd, err := retried(func() (int, error) { return unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 2048)
	for {
		text = slices.Grow(text, 512)
		n, err := retried(func() (int, error) { return unix.Read(fd, text[len(text):cap(text)]) })
		if err != nil {
			return text, &fs.PathError{Op: "read", Path: file, Err: err}
		}
		if n == 0 {
			return text, nil
		}
		text = text[:len(text)+n]
	}
}

// retried calls f until no signal interrupts it.
func retried(f func() (int, error)) (n int, err error) {
	for {
		if n, err = f(); err != unix.EINTR {
			return n, err
		}
	}
}

// totalMemory returns how many bytes of memory the machine has.
func totalMemory() int {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 0
	}
	return int(si.Totalram) * int(si.Unit)
}

// meminfo returns the bytes that the line with the given name tells.
func meminfo(text, name string) int {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == name {
			kib, _ := strconv.Atoi(words[1]) // the kernel writes numbers
			return kib << 10
		}
	}
	return 0
}

// resident returns the bytes of memory that this process has to itself; 0 if that is not told.
func resident() int {
	text, _ := readSystem("/proc/self/statm")
	return private(string(text)) * os.Getpagesize()
}

// private returns the pages of a process that no file and no other process has, given its statm,
// as proc_pid_statm(5) has it.
func private(statm string) int {
	words := strings.Fields(statm) // size, resident, shared, ...
	if len(words) < 3 {
		return 0
	}
	all, _ := strconv.Atoi(words[1]) // the kernel writes numbers
	shared, _ := strconv.Atoi(words[2])
	return max(0, all-shared)
}
