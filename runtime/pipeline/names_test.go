package pipeline

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Schedules that PyTorch has, too, are the same there: .ci/pytorch/pipeline_schedules.py has written its own.
func TestOrdersArePyTorchs(t *testing.T) {
	file, err := os.Open("testdata/torch.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for in := bufio.NewScanner(file); in.Scan(); lines++ {
		words := strings.Fields(in.Text())
		var n [4]int // ranks, micro-batches, chunks, rank
		for i := range n {
			if n[i], err = strconv.Atoi(words[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		s := New(words[0], n[0], n[1], n[2])
		if got, want := s.Notation(n[3]), words[5:]; !slices.Equal(got, want) {
			t.Errorf("%s: stage %d: got\n%v\nwant\n%v", s.Title(), n[3], got, want)
		}
	}
	if lines != 41 {
		t.Errorf("got %d lines, want 41", lines)
	}
}

// A schedule has the names that papers and PyTorch's classes give it.
func TestCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"1f1b": "1f1b", "1F1B": "1f1b", "GPipe": "gpipe", "ScheduleGPipe": "gpipe", "ScheduleInterleaved1F1B": "interleaved",
		"ZB-H1": "zb1p", "ZBH1": "zb1p", "ZB1P": "zb1p", "ScheduleInterleavedZeroBubble": "zb1p", "ZB-H2": "zb2p", "zb_h2": "zb2p", "ZB2P": "zb2p",
		"ZB-V": "zbv", "ZBV": "zbv", "V-ZB": "zbv", "ScheduleZBVZeroBubble": "zbv", "V-Half": "vhalf", "V-Min": "vmin",
		"DualPipe": "dualpipe", "DualPipeV": "dualpipev", "ScheduleDualPipeV": "dualpipev", "2f2b": "", "": "", "zb": "",
	} {
		if got, ok := Canonical(name); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	for _, name := range AllNames() {
		if _, ok := Canonical(name); !ok {
			t.Errorf("%q is a name of none", name)
		}
	}
}
