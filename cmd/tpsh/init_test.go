package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What the packages allocate before main begins is bounded: each process of a job does, and of a thousand
// ranks it is a large part of the time to start. Whatever few processes ask for, as documentation, is made
// when it is asked for.
func TestInitAllocates(t *testing.T) {
	const most = 1_300_000 // a tenth more than today
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	all, by := 0, ""
	for lines := bufio.NewScanner(&stderr); lines.Scan(); {
		var name string
		var at, took float64
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &took, &n); err != nil || !strings.HasPrefix(name, "tpsh/") || name == "tpsh/cmd/tpsh" { // which is that of the tests here
			continue
		}
		if all += n; n > most/20 {
			by += fmt.Sprintf(", %d by %s", n, name)
		}
	}
	if all == 0 || all > most {
		t.Errorf("got %d bytes allocated before main begins%s, want 1 to %d", all, by, most)
	}
}
