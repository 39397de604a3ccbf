package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tpsh/runtime/hardware"
	"tpsh/runtime/pipeline"
)

// A pipeline of equal stages idles as the closed forms say, and a stage keeps the
// micro-batches that they say: under 1f1b min(stages - stage, micro), else all.
func TestPlanPipelines(t *testing.T) {
	m, err := hardware.Builtin("hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, schedule := range []string{"gpipe", "1f1b", "interleaved"} {
		for _, size := range [][2]int{{2, 8}, {4, 8}, {8, 16}} {
			stages, micro := size[0], size[1]
			p, err := evaluate(context.Background(), question{Script: "testdata/pipeline.star", Ranks: stages,
				Args: []string{"--micro", fmt.Sprint(micro), "--schedule", schedule}})
			if err != nil {
				t.Fatal(err)
			}
			v := 1
			if schedule == "interleaved" {
				v = 2
			}
			f := p.Play(m)
			got, want := (f.Seconds.Bubble+f.Seconds.Waiting)/f.StepSeconds, float64(stages-1)/float64(v*micro+stages-1)
			if d := got/want - 1; d < -0.25 || d > 0.08 { // the last stage, that others wait for, has the loss besides
				t.Errorf("%s of %d stages and %d micro-batches: idles %.4f of the time, want %.4f", schedule, stages, micro, got, want)
			}
			for stage := 1; v == 1 && stage < stages-1; stage++ {
				keeps := micro
				if schedule == "1f1b" {
					keeps = min(stages-stage, micro)
				}
				const input = 4096 * 8192 * 4 // of a product
				if got := p.Kinds[p.KindOf[stage]].Memory.Activations; got != int64(keeps)*input {
					t.Errorf("%s, stage %d of %d: keeps %d bytes, want %d micro-batches of %d", schedule, stage, stages, got, keeps, input)
				}
			}
		}
	}
}

// So does one that splits backward passes. A stage keeps the input of a product until its weights' gradient is
// made, and from the inputs' on the gradient of its result besides.
func TestPlanSplitPipelines(t *testing.T) {
	m, err := hardware.Builtin("hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pipeline.Names()[3:] {
		for _, size := range [][2]int{{4, 8}, {8, 16}} {
			s := pipeline.New(name, size[0], size[1], pipeline.ChunksOf(name))
			p, err := evaluate(context.Background(), question{Script: "testdata/pipeline.star", Ranks: s.Stages,
				Args: []string{"--micro", fmt.Sprint(s.Micro), "--schedule", name}})
			if err != nil {
				t.Fatal(err)
			}
			f := p.Play(m)
			got := (f.Seconds.Bubble + f.Seconds.Waiting) / f.StepSeconds
			if d := got - s.Bubble(); d < -0.03 || d > 0.03 { // the loss besides
				t.Errorf("%s: idles %.4f of the time, want %.4f", s.Title(), got, s.Bubble())
			}
			for stage := 1; stage < s.Stages-1; stage++ {
				const input = 4096 * 8192 * 4 // of a product
				if got, want := p.Kinds[p.KindOf[stage]].Memory.Activations, keptBy(s, stage)*input; got != want {
					t.Errorf("%s, stage %d: keeps %d bytes, want %d", s.Title(), stage, got, want)
				}
			}
		}
	}
}

// A plan names what a schedule cannot split.
func TestPlanNamesWhatIsNotSplit(t *testing.T) {
	script := filepath.Join(t.TempDir(), "a.star")
	const text = `
init_parallel(pipeline=world_size())
w = ones(4, 4, requires_grad=True)
product = custom_vjp(lambda x, w: (x.matmul(w), (x, w)), lambda saved, g: (g.matmul(saved[1].t()), saved[0].t().matmul(g)))
own = flag("own", False)
pipeline_schedule(lambda h: product(h, w) if own else h.matmul(w), ones(8, 4), ones(8, 4), F.mse_loss, 4, schedule="zb1p")
`
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for own, want := range map[string][]string{"--own": {"custom_vjp"}, "--own=false": nil} {
		p, err := evaluate(context.Background(), question{Script: script, Ranks: 2, Args: []string{own}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Joint, want) {
			t.Errorf("%s: got %q, want %q", own, p.Joint, want)
		}
	}
}

// keptBy returns how many inputs and gradients a stage of one product a chunk keeps at most.
func keptBy(s *pipeline.Schedule, stage int) int64 {
	now, most := 0, 0
	for _, a := range s.Actions[stage] {
		now += map[pipeline.Kind]int{pipeline.Forward: 1, pipeline.Backward: -1, pipeline.BackwardInput: 1, pipeline.BackwardWeight: -2}[a.Do]
		most = max(most, now)
	}
	return int64(most)
}
