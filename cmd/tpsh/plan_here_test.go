package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"tpsh/runtime/hardware"
)

// A hereRun is a program whose step was measured on the machine of testdata/here_xeon.toml,
// by bench/here: the milliseconds on inproc and on shm.
type hereRun struct {
	script, args string
	ranks        int
	inproc, shm  float64
}

var hereSteps = []hereRun{
	{"gpt.star", "3", 1, 22.3, 22.0},
	{"gpt.star", "3", 2, 17.6, 19.5},
	{"megatron.star", "--steps 3", 1, 10.2, 10.4},
	{"megatron.star", "--steps 3", 2, 12.9, 11.1},
	{"megatron.star", "--steps 3 --hidden 256 --layers 2 --seq 64", 1, 95.9, 88.3},
	{"megatron.star", "--steps 3 --hidden 256 --layers 2 --seq 64", 2, 82.0, 80.2},
	{"digits.star", "--steps 20", 1, 1.19, 1.20},
	{"digits.star", "--steps 20", 2, 0.929, 0.935},
}

var hereLayouts = []hereRun{
	{"megatron.star", "--steps 3 --hidden 256 --layers 4 --seq 64 --tp 1", 4, 115, 144},
	{"megatron.star", "--steps 3 --hidden 256 --layers 4 --seq 64 --tp 2", 4, 121, 148},
	{"megatron.star", "--steps 3 --hidden 256 --layers 4 --seq 64 --tp 4", 4, 225, 199},
	{"megatron.star", "--steps 3 --hidden 256 --layers 4 --seq 64 --tp 1 --pp 2", 4, 118, 133},
}

// planned returns the milliseconds of a step of r on m.
func (r hereRun) planned(t *testing.T, m *hardware.Machine) float64 {
	t.Helper()
	p, err := evaluate(context.Background(), question{Script: "../../examples/" + r.script, Args: strings.Fields(r.args), Ranks: r.ranks})
	if err != nil {
		t.Fatal(err)
	}
	return 1e3 * p.Play(m).StepSeconds
}

// With what one machine was calibrated to, plans say what steps took there, to a third of
// it: what a plan leaves out, or counts twice, shows without a clock.
func TestHereAsMeasured(t *testing.T) {
	m := hereXeon(t)
	for _, r := range hereSteps {
		got := r.planned(t, m)
		for transport, want := range map[string]float64{"inproc": r.inproc, "shm": r.shm} {
			if ratio := got / want; ratio < 0.68 || ratio > 1.32 {
				t.Errorf("%s %s on %d ranks, %s: planned %.3g ms, measured %.3g", r.script, r.args, r.ranks, transport, got, want)
			}
		}
	}
}

// Of four layouts of one model on four ranks, any two of which one took a tenth more than the
// other are in the order of plans.
func TestHereOrdersLayouts(t *testing.T) {
	m := hereXeon(t)
	var planned []float64
	for _, r := range hereLayouts {
		planned = append(planned, r.planned(t, m))
	}
	for i, a := range hereLayouts {
		for j, b := range hereLayouts {
			if a.inproc > 1.1*b.inproc && a.shm > 1.1*b.shm && planned[i] <= planned[j] {
				t.Errorf("planned %.0f ms with %s and %.0f with %s: measured were %.0f and %.0f", planned[i], a.args, planned[j], b.args, a.inproc, b.inproc)
			}
		}
	}
}

func hereXeon(t *testing.T) *hardware.Machine {
	t.Helper()
	text, err := os.ReadFile("testdata/here_xeon.toml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := hardware.Read("here_xeon.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
