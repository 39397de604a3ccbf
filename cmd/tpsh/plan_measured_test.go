package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tpsh/lang"
	"tpsh/runtime/hardware"
)

// measuredRuns returns the rows of a CSV of measured runs of megatron.star, evaluated,
// with the machine that they are of. A conversion is of examples/rows, "" for none.
func measuredRuns(t *testing.T, machine, csv, conversion string, args ...string) ([]*measuredRow, *hardware.Machine) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte(csv), 0o644); err != nil {
		t.Fatal(err)
	}
	const script = "../../examples/megatron.star"
	program, err := lang.ReadProgram(script)
	if err != nil {
		t.Fatal(err)
	}
	if conversion != "" {
		conversion = "../../examples/rows/" + conversion
	}
	convert, err := readConversion(conversion)
	if err != nil {
		t.Fatal(err)
	}
	list, err := readRows(file, program.ReadFlags(), 1, args, convert)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if err := r.evaluate(context.Background(), question{Script: script}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := hardware.Builtin(machine)
	if err != nil {
		t.Fatal(err)
	}
	return list, m
}

// What others measured on A100s takes as long in a plan on the built-in machines as
// docs/plan.md says: rows of table 1 of SC21's paper about Megatron-LM, and of vTrain's
// ground truth some where the host takes the time: it issues attention in many kernels,
// or waits for messages.
func TestPlanOfA100s(t *testing.T) {
	for _, c := range []struct {
		machine, csv, conversion string
		most                     float64 // error of a row
	}{
		{"dgx-a100-80g", "model,layers,hidden,heads,tp,pp,dp,chunks,micro_batch,batch,gpus,tflops_per_gpu\n" +
			"1.7B,24,2304,24,1,1,32,1,16,512,32,137\n7.5B,36,4096,32,4,1,32,1,16,512,128,142\n", "megatron_2021.star", 0.04},
		{"dgx-a100-40g", "gpus,batch,micro_batch,hidden,heads,layers,seq,tp,dp,pp,milliseconds\n" +
			"8,8,1,1024,16,20,1024,8,1,1,815.840026\n4,32,1,1024,16,24,1024,2,2,1,1341.904262\n" +
			"8,16,1,1024,16,16,1024,1,4,2,151.170077\n8,16,1,2048,16,24,1024,2,1,4,452.093704\n", "", 0.1},
	} {
		rows, m := measuredRuns(t, c.machine, c.csv, c.conversion, "--recompute", "full", "--precision", "fp16")
		for _, r := range rows {
			if e := r.program.Seconds(m)/r.seconds - 1; math.Abs(e) > c.most {
				t.Errorf("%s on %s: %.4g s were measured, got %+.1f %%, want %.0f at most", strings.Join(r.args, " "), c.machine, r.seconds, 100*e, 100*c.most)
			} else {
				t.Logf("%s on %s: %+.1f %%", strings.Join(r.args, " "), c.machine, 100*e)
			}
		}
	}
}
