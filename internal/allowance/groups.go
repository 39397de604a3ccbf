package allowance

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Limit is how much there is of something: bytes, or processors.
type Limit struct {
	N    int
	File string // of the control group that says so; "" if it is the machine
}

// A machine is where a system says what it leaves a process. Its methods take what there is
// without groups.
type machine struct {
	root        fs.FS
	total, free func() int // bytes

	memoryGroups []Group  // that may hold the process to some memory
	cpuGroups    []string // the folders of those that may hold it to some time of processors, in root
}

// A Group is a control group that may hold a process to some memory.
type Group struct {
	Folder string   `json:"folder"`           // in root
	Limits []string `json:"limits,omitempty"` // the files of it that may hold a limit
}

// findGroups finds the groups of the process in m.root.
func (m *machine) findGroups() {
	of, _ := fs.ReadFile(m.root, "proc/self/cgroup")
	mounts, _ := fs.ReadFile(m.root, "proc/self/mountinfo")
	for _, folder := range groupsOf("memory", string(of), string(mounts)) {
		m.memoryGroups = append(m.memoryGroups, Group{folder, m.limitsIn(folder)})
	}
	m.cpuGroups = groupsOf("cpu", string(of), string(mounts))
}

// limitsIn returns the files of a group's folder that may hold a limit: each of them is read
// again and again, and most are not there.
func (m *machine) limitsIn(folder string) []string {
	var files []string
	for _, name := range []string{"memory.max", "memory.high", "memory.limit_in_bytes"} {
		if file := path.Join(folder, name); m.has(file) {
			files = append(files, file)
		}
	}
	return files
}

// groupsOf returns the folders of the groups of a process that a controller may limit, given
// the text of its files cgroup and mountinfo, as cgroups(7) and proc_pid_mountinfo(5) have them.
func groupsOf(controller, groups, mounts string) []string {
	var folders []string
	for line := range strings.Lines(groups) {
		// hierarchy-ID:controller-list:cgroup-path, and 0::cgroup-path of version 2.
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		if second := parts[0] == "0" && parts[1] == ""; second {
			folders = append(folders, upwards(parts[2], mounted(mounts, "cgroup2", ""))...)
		} else if slices.Contains(strings.Split(parts[1], ","), controller) {
			folders = append(folders, upwards(parts[2], mounted(mounts, "cgroup", controller))...)
		}
	}
	return folders
}

// A mount shows a group, and those within it, in a folder.
type mount struct{ group, folder string }

// unescape turns what mountinfo writes of a path into the path.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mounted returns the mounts of file systems of a type that have an option; of all if it is "".
func mounted(mountinfo, kind, option string) []mount {
	var found []mount
	for line := range strings.Lines(mountinfo) {
		// ID parent major:minor root folder options [more] - type source super-options
		own, system, _ := strings.Cut(line, " - ")
		if !strings.HasPrefix(system, kind+" ") {
			continue
		}
		o, s := strings.Fields(own), strings.Fields(system)
		if len(o) < 5 || len(s) < 3 {
			continue
		}
		if option == "" || slices.Contains(strings.Split(s[2], ","), option) {
			found = append(found, mount{unescape.Replace(o[3]), unescape.Replace(o[4])})
		}
	}
	return found
}

// upwards returns the folders of a group and of those around it, as far as mounts show them.
// In a container whose own group its mounts do not show, it is what they show that counts.
func upwards(group string, mounts []mount) []string {
	var folders []string
	for _, m := range mounts {
		if inner, ok := m.shows(group); ok {
			for folder := path.Join(m.folder, inner); ; folder = path.Dir(folder) {
				folders = append(folders, inRoot(folder))
				if folder == path.Clean(m.folder) {
					break
				}
			}
		}
	}
	if len(folders) == 0 {
		for _, m := range mounts {
			folders = append(folders, inRoot(m.folder))
		}
	}
	return folders
}

// shows returns where a mount shows a group, below its folder, and whether it does. A group
// above that of a namespace begins with "/..".
func (m mount) shows(group string) (string, bool) {
	inner, ok := strings.CutPrefix(group, strings.TrimSuffix(m.group, "/"))
	return inner, ok && !strings.HasPrefix(group, "/..") && (inner == "" || inner[0] == '/')
}

// inRoot returns an absolute path as an fs.FS of the root has it.
func inRoot(folder string) string { return path.Join(".", strings.TrimPrefix(folder, "/")) }

// memory returns how much of total the groups leave at most.
func (m *machine) memory(total int) Limit {
	least := Limit{N: total}
	for _, g := range m.memoryGroups {
		if l := m.memoryOf(g); l.File != "" && l.N < least.N {
			least = l
		}
	}
	return least
}

// memoryOf returns the limit of one group; its File is "" if it has none. From memory.high on
// the kernel brings processes nearly to a stand.
func (m *machine) memoryOf(g Group) Limit {
	var least Limit
	for _, file := range g.Limits {
		if n, ok := m.number(file); ok && (least.File == "" || n < least.N) {
			least = Limit{n, "/" + file}
		}
	}
	return least
}

// available returns how much of free bytes the groups leave.
func (m *machine) available(total, free int) int {
	for _, g := range m.memoryGroups {
		l := m.memoryOf(g)
		if l.File == "" || l.N >= total {
			continue
		}
		for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
			if used, ok := m.number(path.Join(g.Folder, name)); ok {
				free = min(free, l.N-used+m.inactive(g.Folder))
			}
		}
	}
	return max(0, free)
}

// inactive returns the bytes of files that a group, and those within it, have not read of late.
func (m *machine) inactive(folder string) int {
	text, _ := fs.ReadFile(m.root, path.Join(folder, "memory.stat"))
	stat := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if name, n, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			stat[name], _ = strconv.Atoi(n) // the kernel writes numbers
		}
	}
	if n, first := stat["total_inactive_file"]; first {
		return n // of version 1, where inactive_file is that of the group alone
	}
	return stat["inactive_file"]
}

// processors returns how many of all processors the groups leave at most.
func (m *machine) processors(all int) Limit {
	least := Limit{N: all}
	for _, g := range m.cpuGroups {
		if l := m.processorsOf(g); l.File != "" && l.N < least.N {
			least = l
		}
	}
	return least
}

// processorsOf returns the limit of one group; its File is "" if it has none. A quota is
// microseconds of processors in each period.
func (m *machine) processorsOf(group string) Limit {
	if file := path.Join(group, "cpu.max"); m.has(file) {
		quota, period, _ := strings.Cut(m.text(file), " ")
		return quotaLimit(file, quota, period)
	}
	file := path.Join(group, "cpu.cfs_quota_us")
	return quotaLimit(file, m.text(file), m.text(path.Join(group, "cpu.cfs_period_us")))
}

// quotaLimit returns the limit of a quota in a period; none is "max", or -1.
func quotaLimit(file, quota, period string) Limit {
	q, err := strconv.Atoi(quota)
	p, err2 := strconv.Atoi(period)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return Limit{}
	}
	return Limit{(q + p - 1) / p, "/" + file}
}

// text returns what a file holds; "" if there is none.
func (m *machine) text(file string) string {
	text, _ := fs.ReadFile(m.root, file)
	return strings.TrimSpace(string(text))
}

func (m *machine) has(file string) bool {
	_, err := fs.Stat(m.root, file)
	return err == nil
}

// number returns the number that a file holds, if it holds one: "max" is none.
func (m *machine) number(file string) (int, bool) {
	n, err := strconv.Atoi(m.text(file))
	return n, err == nil
}
