package plan

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/hardware"
	"tpsh/runtime/pipeline"
)

// scheduled returns the program of a schedule of equal stages: a forward pass of a
// chunk is one product, a backward pass two.
func scheduled(s *pipeline.Schedule) *Program { return stepsOf(s, 0) }

// stepsOf is scheduled, of so many steps with a mark behind each; 0 is one without.
func stepsOf(s *pipeline.Schedule, steps int) *Program {
	p := NewProgram(s.Stages)
	ranks := make([]int, s.Stages)
	for i := range ranks {
		ranks[i] = i
	}
	for stage := range s.Stages {
		r := p.Recorder()
		g := r.Group("world", "pp", Cost{}, func(int) []int { return ranks })
		for range max(1, steps) {
			for _, a := range s.Actions[stage] {
				schedule(r, g, s, stage, a)
			}
			if steps > 0 {
				r.Mark(Forward, "a.star:4:1")
			}
		}
		p.Add(r, []int32{int32(stage)})
	}
	return p
}

// schedule notes what a stage does for an action.
func schedule(r *Recorder, g int32, s *pipeline.Schedule, stage int, a pipeline.Action) {
	product := Operation{Name: "matmul", Operation: hardware.Operation{Products: 1, FLOPs: 1e15 / float64(s.Chunks), Bytes: 1e6, Dim: 8192, DType: dtype.BFloat16}}
	message := func(do Do) {
		peer, chunk, _ := s.Peer(stage, a)
		if peer == stage {
			return // a chunk hands it to another
		}
		to, at := stage, a.Chunk
		if do == Send {
			to, at = peer, chunk
		}
		tag := 2 * (at*s.Stages + to)
		if a.Do == pipeline.RecvBackward || a.Do == pipeline.SendBackward {
			tag++
		}
		call, _ := r.Begin(do, g, Forward, "a.star:1:1", "")
		r.Peer(call, peer, nil, tag, true)
		r.Finish(call, Call{Op: "send", Bytes: 1}, 1)
	}
	switch a.Do {
	case pipeline.Forward:
		r.Compute(product, Manner{}, Forward, "a.star:2:1")
	case pipeline.BackwardInput, pipeline.BackwardWeight:
		r.Compute(product, Manner{}, Backward, "a.star:3:1")
	case pipeline.Backward:
		r.Compute(product, Manner{}, Backward, "a.star:3:1")
		r.Compute(product, Manner{}, Backward, "a.star:3:1")
	case pipeline.SendForward, pipeline.SendBackward:
		message(Send)
	default:
		message(Recv)
	}
}

// Played on a machine a schedule takes as long, and idles as long, as its closed form
// says: a step of m micro-batches in v chunks on p stages is m + (p-1)/v times one
// micro-batch, be its backward pass twice as long as the forward pass.
func TestPipelineLaws(t *testing.T) {
	m := machine(t)
	one := scheduled(pipeline.New("1f1b", 1, 1, 1)).Play(m).StepSeconds
	for stages := 1; stages <= 16; stages++ {
		for micro := 1; micro <= 64; micro++ {
			if !*everySize && !slices.Contains([]int{1, 2, 3, 5, 8, 16, 31, 32, 48, 64}, micro) {
				continue
			}
			for _, s := range []*pipeline.Schedule{pipeline.New("gpipe", stages, micro, 1), pipeline.New("1f1b", stages, micro, 1)} {
				law(t, m, s, one)
			}
			for chunks := 1; chunks <= 4 && micro%stages == 0; chunks++ {
				law(t, m, pipeline.New("interleaved", stages, micro, chunks), one)
			}
		}
	}
}

// everySize has tests of laws go through every number of stages and micro-batches.
var everySize = flag.Bool("every-size", false, "play schedules of every number of stages up to 16 and of micro-batches up to 64, not some of them")

// So do those that split backward passes, step after step: a stage that has ended one goes on with the next, and a
// step takes as long as the stage that idles most.
func TestSplitPipelineLaws(t *testing.T) {
	m := machine(t)
	one := scheduled(pipeline.New("1f1b", 1, 1, 1)).Play(m).StepSeconds // three passes
	for stages := 1; stages <= 16; stages++ {
		for micro := 1; micro <= 64; micro++ {
			few := stages&(stages-1) == 0 && (micro == 1 || micro == stages-1 || micro == 2*stages || micro == 64)
			if !*everySize && !few {
				continue
			}
			for _, name := range pipeline.Names()[3:] {
				chunks := pipeline.ChunksOf(name)
				if pipeline.Misfits(name, stages, micro, chunks) != nil {
					continue
				}
				s := pipeline.New(name, stages, micro, chunks)
				p := stepsOf(s, 3)
				lo, hi := s.Micros(0)
				work := float64(hi - lo) // passes of all chunks, in micro-batches of the whole stage
				if name == "dualpipe" {
					work = float64(micro) / 2 // products are halved for two chunks, of which a micro-batch takes one
				}
				if got, want := p.Play(m).StepSeconds/one, work/(1-s.Bubble()); !near(got, want) {
					t.Errorf("%s: a step takes %.4f micro-batches, want %.4f", s.Title(), got, want)
				}
			}
		}
	}
}

func law(t *testing.T, m *hardware.Machine, s *pipeline.Schedule, one float64) {
	t.Helper()
	f := scheduled(s).Play(m)
	if want := float64(s.Micro) + float64(s.Stages-1)/float64(s.Chunks); !near(f.StepSeconds/one, want) {
		t.Errorf("%s takes %.4f micro-batches, want %.4f", s.Title(), f.StepSeconds/one, want)
	}
	if idle := (f.Seconds.Bubble + f.Seconds.Waiting) / f.StepSeconds; !near(1+idle, 1+s.Bubble()) {
		t.Errorf("%s idles %.4f of the time, want %.4f", s.Title(), idle, s.Bubble())
	}
	sum := f.Seconds.Arithmetic + f.Seconds.Communication + f.Seconds.Bubble + f.Seconds.Waiting
	if !near(sum, f.StepSeconds) {
		t.Errorf("%s: %s add up to %g, want %g", s.Title(), fmt.Sprint(f.Seconds), sum, f.StepSeconds)
	}
}

// near reports whether a is b but for what messages take.
func near(a, b float64) bool { return a > 0.998*b && a < 1.002*b }
