package allowance

import "testing"

func TestMeminfo(t *testing.T) {
	const text = "MemTotal:       24000000 kB\nMemFree:         1000 kB\nMemAvailable:   2000 kB\n"
	if got := meminfo(text, "MemAvailable:"); got != 2000<<10 {
		t.Errorf("got %d, want %d", got, 2000<<10)
	}
	if got := meminfo("MemAvailable:", "MemAvailable:"); got != 0 {
		t.Errorf("without a number: got %d, want 0", got)
	}
}
