package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A holding is what the process holds that holds most of it, of a rank or of the front end.
type holding struct {
	memory      int // resident, in bytes
	descriptors int
	threads     int
}

func (h holding) String() string {
	return fmt.Sprintf("%.1f MB, %d descriptors, %d threads", float64(h.memory)/1e6, h.descriptors, h.threads)
}

// most returns the larger of each.
func (h holding) most(o holding) holding {
	return holding{max(h.memory, o.memory), max(h.descriptors, o.descriptors), max(h.threads, o.threads)}
}

// look returns what a process and those that it has started hold; not ok unless there are
// all of so many.
func look(pid, children int) (most holding, ok bool) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return most, false
	}
	for _, file := range files {
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || id != pid && parentOf(id) != pid {
			continue
		}
		h, there := holdingOf(id)
		if !there {
			return most, false
		}
		if most = most.most(h); id != pid {
			children--
		}
	}
	return most, children == 0
}

// parentOf returns the process that has started one, -1 if that has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return -1
	}
	_, after, _ := strings.Cut(string(stat), ") ") // behind the name
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return -1
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return -1
	}
	return parent
}

// holdingOf returns what a process holds; not ok if it has ended.
func holdingOf(pid int) (h holding, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return h, false
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		switch n, _ := strconv.Atoi(fields[0]); name {
		case "VmRSS":
			h.memory = n << 10
		case "Threads":
			h.threads = n
		}
	}
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	h.descriptors = len(names)
	return h, err == nil && h.memory > 0
}

// thirds returns the most of the first third of looks, but for its first tenth, in which all begins, and
// that of the last third, but for its end.
func thirds(looks []holding) (first, last holding) {
	n := len(looks)
	for i, h := range looks {
		switch {
		case i >= n/10 && i < n/3:
			first = first.most(h)
		case i >= n-n/3 && i < n-n/50:
			last = last.most(h)
		}
	}
	return first, last
}

// grown returns an error if last is more than first allows.
func grown(first, last holding) error {
	if first == (holding{}) {
		return fmt.Errorf("the processes were not seen")
	}
	allowed := holding{first.memory + first.memory/10 + 16<<20, first.descriptors + 1, first.threads + 1}
	if last.most(allowed) != allowed {
		return fmt.Errorf("got %v in the last third, want at most %v", last, allowed)
	}
	return nil
}
