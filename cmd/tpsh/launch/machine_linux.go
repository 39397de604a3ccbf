package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Machine names what a process must have in common with another for the two to
// share memory by passing its path in /proc: the system that was booted, the
// processes it sees, and the user; and the network, for what has another is
// meant to be another host. It is "" if that cannot be found out.
func Machine() string { return machineHere() }

// machineHere is what Machine returns: a command asks several times.
var machineHere = sync.OnceValue(func() string {
	words := []string{strconv.Itoa(os.Getuid())}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	words = append(words, strings.TrimSpace(string(boot)))
	for _, space := range []string{"pid", "net"} {
		name, err := os.Readlink("/proc/self/ns/" + space)
		if err != nil {
			return ""
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
})

// pathOf returns a path under which other processes of this machine can open a
// file of this one.
func pathOf(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }
