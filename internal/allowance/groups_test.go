package allowance

import (
	"testing"
	"testing/fstest"
)

const (
	mebi = 1 << 20
	gibi = 1 << 30
	// none is what version 1 says where there is no limit.
	none = "9223372036854771712\n"

	secondMount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	firstMounts = "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n" +
		"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct\n" +
		"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
)

// A tree is files by path, with what they hold.
type tree map[string]string

// A process that is in groups, as its files and theirs say, may use what the tightest leaves, of
// a machine of 64 GiB, 60 of them free, and 16 processors.
func TestGroups(t *testing.T) {
	const total, free, all = 64 * gibi, 60 * gibi, 16
	tests := []struct {
		name      string
		files     tree
		memory    Limit
		available int
		cores     Limit
	}{
		{"nothing", tree{}, Limit{N: total}, free, Limit{N: all}},
		{"not a group", tree{
			"proc/self/cgroup":    "what\n0\n",
			"proc/self/mountinfo": "30 23\n - cgroup2\n",
		}, Limit{N: total}, free, Limit{N: all}},
		{"version 2 without limits", tree{
			"proc/self/cgroup":                    "0::/user.slice\n",
			"proc/self/mountinfo":                 secondMount,
			"sys/fs/cgroup/user.slice/cpu.max":    "max 100000\n",
			"sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, Limit{N: total}, free, Limit{N: all}},
		{"version 2", tree{
			"proc/self/cgroup":                                      "0::/system.slice/job.service\n",
			"proc/self/mountinfo":                                   secondMount,
			"sys/fs/cgroup/system.slice/memory.max":                 "max\n",
			"sys/fs/cgroup/system.slice/job.service/memory.max":     "1073741824\n",
			"sys/fs/cgroup/system.slice/job.service/memory.high":    "max\n",
			"sys/fs/cgroup/system.slice/job.service/memory.current": "943718400\n", // 900 MiB
			"sys/fs/cgroup/system.slice/job.service/memory.stat":    "anon 5\nfile 4\ninactive_file 209715200\nactive_file 9\n",
			"sys/fs/cgroup/system.slice/job.service/cpu.max":        "250000 100000\n",
		}, Limit{gibi, "/sys/fs/cgroup/system.slice/job.service/memory.max"}, (1024 - 900 + 200) * mebi,
			Limit{3, "/sys/fs/cgroup/system.slice/job.service/cpu.max"}},
		{"version 2, tighter around it, as sbatch --mem is", tree{
			"proc/self/cgroup":    "0::/slurm/job_7/step_0/task_0\n",
			"proc/self/mountinfo": secondMount,
			"sys/fs/cgroup/slurm/job_7/step_0/task_0/memory.max":     "max\n",
			"sys/fs/cgroup/slurm/job_7/step_0/task_0/memory.current": "104857600\n",
			"sys/fs/cgroup/slurm/job_7/step_0/memory.max":            "8589934592\n",
			"sys/fs/cgroup/slurm/job_7/step_0/memory.current":        "524288000\n",
			"sys/fs/cgroup/slurm/job_7/memory.max":                   "1073741824\n",
			"sys/fs/cgroup/slurm/job_7/memory.current":               "1073741824\n",
			"sys/fs/cgroup/slurm/memory.max":                         "34359738368\n",
			"sys/fs/cgroup/slurm/job_7/step_0/task_0/cpu.max":        "800000 100000\n",
			"sys/fs/cgroup/slurm/job_7/cpu.max":                      "50000 100000\n",
		}, Limit{gibi, "/sys/fs/cgroup/slurm/job_7/memory.max"}, 0, Limit{1, "/sys/fs/cgroup/slurm/job_7/cpu.max"}},
		{"version 2, with a limit that slows", tree{
			"proc/self/cgroup":               "0::/a\n",
			"proc/self/mountinfo":            secondMount,
			"sys/fs/cgroup/a/memory.max":     "2147483648\n",
			"sys/fs/cgroup/a/memory.high":    "1073741824\n",
			"sys/fs/cgroup/a/memory.current": "524288000\n",
		}, Limit{gibi, "/sys/fs/cgroup/a/memory.high"}, 524 * mebi, Limit{N: all}},
		{"a namespace of its own", tree{
			"proc/self/cgroup":             "0::/\n",
			"proc/self/mountinfo":          secondMount,
			"sys/fs/cgroup/memory.max":     "536870912\n",
			"sys/fs/cgroup/memory.current": "1048576\n",
			"sys/fs/cgroup/cpu.max":        "100001 100000\n",
		}, Limit{512 * mebi, "/sys/fs/cgroup/memory.max"}, 511 * mebi, Limit{2, "/sys/fs/cgroup/cpu.max"}},
		{"a container that sees its group as the root", tree{
			"proc/self/cgroup": "9:memory:/docker/abc/in\n4:cpu,cpuacct:/docker/abc/in\n",
			"proc/self/mountinfo": "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n" +
				"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro master:4 - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":    "536870912\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":    "1048576\n",
			"sys/fs/cgroup/memory/in/memory.limit_in_bytes": none,
			"sys/fs/cgroup/memory/in/memory.usage_in_bytes": "1048576\n",
			"sys/fs/cgroup/cpu/in/cpu.cfs_quota_us":         "-1\n",
			"sys/fs/cgroup/cpu/in/cpu.cfs_period_us":        "100000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":            "400000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":           "100000\n",
		}, Limit{512 * mebi, "/sys/fs/cgroup/memory/memory.limit_in_bytes"}, 511 * mebi, Limit{4, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"}},
		{"a group that the mounts do not show", tree{
			"proc/self/cgroup":             "0::/../outside\n",
			"proc/self/mountinfo":          secondMount,
			"sys/fs/cgroup/memory.max":     "536870912\n",
			"sys/fs/cgroup/memory.current": "0\n",
		}, Limit{512 * mebi, "/sys/fs/cgroup/memory.max"}, 512 * mebi, Limit{N: all}},
		{"a group whose name begins as that of a mount", tree{
			"proc/self/cgroup":             "0::/docker/abcd\n",
			"proc/self/mountinfo":          "30 23 0:26 /docker/abc /c rw - cgroup2 cgroup2 rw\n31 23 0:26 / /d rw - cgroup2 cgroup2 rw\n",
			"c/d/memory.max":               "1\n",
			"c/memory.max":                 "1\n",
			"d/docker/abcd/memory.max":     "536870912\n",
			"d/docker/abcd/memory.current": "536870913\n",
		}, Limit{512 * mebi, "/d/docker/abcd/memory.max"}, 0, Limit{N: all}},
		{"version 1", tree{
			"proc/self/cgroup":                                   "9:name=systemd:/\n4:memory:/jobs/7\n3:cpuset:/jobs\n2:cpu,cpuacct:/jobs/7\n",
			"proc/self/mountinfo":                                firstMounts,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":         none,
			"sys/fs/cgroup/memory/memory.usage_in_bytes":         "4294967296\n",
			"sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":    "1073741824\n",
			"sys/fs/cgroup/memory/jobs/memory.usage_in_bytes":    "943718400\n",
			"sys/fs/cgroup/memory/jobs/memory.stat":              "inactive_file 1\ntotal_inactive_file 104857600\n",
			"sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes":  "2147483648\n",
			"sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes":  "104857600\n",
			"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us":    "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us":   "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us":  "20000\n",
			"sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_period_us": "10000\n",
		}, Limit{gibi, "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes"}, 224 * mebi,
			Limit{2, "/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us"}},
		{"both versions, limits in the first", tree{
			"proc/self/cgroup":                                "4:memory:/jobs\n2:cpu,cpuacct:/\n0::/user.slice\n",
			"proc/self/mountinfo":                             firstMounts + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/unified/user.slice/cgroup.procs":   "1\n",
			"sys/fs/cgroup/memory/jobs/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/jobs/memory.usage_in_bytes": "0\n",
		}, Limit{gibi, "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes"}, gibi, Limit{N: all}},
		{"both versions, limits in the second", tree{
			"proc/self/cgroup":                                 "2:cpu,cpuacct:/\n0::/user.slice\n",
			"proc/self/mountinfo":                              firstMounts + "41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,relatime - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":       "-1\n",
			"sys/fs/cgroup/uni fied/user.slice/memory.max":     "1073741824\n",
			"sys/fs/cgroup/uni fied/user.slice/memory.current": "0\n",
		}, Limit{gibi, "/sys/fs/cgroup/uni fied/user.slice/memory.max"}, gibi, Limit{N: all}},
		{"limits above what there is", tree{
			"proc/self/cgroup":             "0::/\n",
			"proc/self/mountinfo":          secondMount,
			"sys/fs/cgroup/memory.max":     "137438953472\n",
			"sys/fs/cgroup/memory.current": "137438953472\n",
			"sys/fs/cgroup/cpu.max":        "3200000 100000\n",
		}, Limit{N: total}, free, Limit{N: all}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, text := range test.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			m := &machine{root: files}
			m.findGroups()
			if got := m.memory(total); got != test.memory {
				t.Errorf("memory: got %v, want %v", got, test.memory)
			}
			if got := m.available(total, free); got != test.available {
				t.Errorf("available: got %d MiB, want %d", got/mebi, test.available/mebi)
			}
			if got := m.processors(all); got != test.cores {
				t.Errorf("processors: got %v, want %v", got, test.cores)
			}
		})
	}
}
