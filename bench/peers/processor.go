package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// processor says what the figures were taken on: "2 cores of an Intel(R) Xeon(R) Processor
// (family 6, model 207, stepping 2), second-level cache 2048K, third-level cache 307200K".
// What the system does not tell is left out.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	fields := cpuFields(string(info))
	text := fmt.Sprintf("%d cores of %s", runtime.NumCPU(), runtime.GOARCH)
	if name := fields["model name"]; name != "" {
		text = fmt.Sprintf("%d cores of %s (family %s, model %s, stepping %s)",
			runtime.NumCPU(), name, fields["cpu family"], fields["model"], fields["stepping"])
	}
	for i, name := range []string{"second", "third"} {
		if size := cacheSize(i + 2); size != "" {
			text += fmt.Sprintf(", %s-level cache %s", name, size)
		}
	}
	return text
}

// cpuFields returns the fields of the first processor in the text of /proc/cpuinfo.
func cpuFields(info string) map[string]string {
	first, _, _ := strings.Cut(info, "\n\n")
	fields := map[string]string{}
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return fields
}

// cacheSize returns the size of the unified cache of a level, as Linux writes it: "2048K".
func cacheSize(level int) string {
	folders, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*")
	read := func(folder, name string) string {
		text, _ := os.ReadFile(filepath.Join(folder, name))
		return strings.TrimSpace(string(text))
	}
	for _, folder := range folders {
		if read(folder, "level") == fmt.Sprint(level) && read(folder, "type") == "Unified" {
			return read(folder, "size")
		}
	}
	return ""
}

// kernelsOf returns the name of the kernels that run, by tpsh doctor; "" if it names none.
func kernelsOf(ctx context.Context, tpsh string) string {
	out, _ := exec.CommandContext(ctx, tpsh, "doctor").Output() // it fails where something is amiss, and tells all the same
	return kernelsIn(string(out))
}

// kernelsIn returns the first word of the line of kernels in what tpsh doctor prints.
func kernelsIn(report string) string {
	for line := range strings.Lines(report) {
		if words := strings.Fields(line); len(words) > 2 && words[1] == "kernels" {
			return strings.TrimSuffix(words[2], ",")
		}
	}
	return ""
}
