package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A kernel whose input ends finishes the cell that runs and those that were asked for.
func TestKernelFinishesCells(t *testing.T) {
	input, requests := io.Pipe()
	answers, output := io.Pipe()
	k := &notebook{}
	k.n, k.transport = 1, "inproc"
	ended := make(chan error, 1)
	go func() {
		ended <- k.serve(&stdio{input, output, io.Discard})
		output.Close()
	}()
	lines := bufio.NewScanner(answers)
	var got []string
	for lines.Scan() {
		got = append(got, lines.Text())
		switch {
		case len(got) == 1:
			fmt.Fprintln(requests, `{"id": 1, "execute": "print('begun')\nfor i in range(3000000):\n    pass\ni"}`)
		case strings.Contains(lines.Text(), "begun"):
			fmt.Fprintln(requests, `{"id": 2, "execute": "i + 1"}`)
			requests.Close()
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []string{`{"id":0,"ranks":1}`, `{"id":1,"text":"begun\n"}`, `{"id":1,"value":"2999999\n","done":true}`, `{"id":2,"value":"3000000\n","done":true}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
