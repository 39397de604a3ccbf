package main

import (
	"os"
	"strconv"
	"strings"
)

// procBytes returns the bytes that a file of /proc, which counts them by 1024, gives under a name;
// 0 if it does not have it.
func procBytes(file, name string) int {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB")) // the kernel writes numbers
			return n << 10
		}
	}
	return 0
}
