package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkTracedStep measures a small training step on one rank, without a trace, with
// one, and with a report. What is written in the end is not measured.
func BenchmarkTracedStep(b *testing.B) {
	for _, mode := range []string{"off", "trace", "report"} {
		b.Run(mode, func(b *testing.B) {
			source := fmt.Sprintf(stepScript, 32, 64, 256, 64)
			source = strings.ReplaceAll(source, "world_size()", "1") + fmt.Sprintf("for i in range(100):\n    step()\nbegin = time()\nfor i in range(%d):\n    step()\nprint(time() - begin)\n", b.N)
			args := []string{"run", "-n", "1", "-c", source}
			if mode != "off" {
				args = append(args[:3:3], append([]string{"--" + mode, filepath.Join(b.TempDir(), "out")}, args[3:]...)...)
			}
			var out, errs strings.Builder
			if code := run(&stdio{strings.NewReader(""), &out, &errs}, args); code != 0 {
				b.Fatalf("exit status %d\n%s", code, errs.String())
			}
			seconds, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(seconds*1e9/float64(b.N), "ns/step")
			b.ReportMetric(0, "ns/op")
		})
	}
}
