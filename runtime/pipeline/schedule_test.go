package pipeline

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// all are every schedule of 1 to 8 stages, 1 to 12 micro-batches and 1 to 4 chunks.
var all = sync.OnceValue(func() (list []*Schedule) {
	for stages := 1; stages <= 8; stages++ {
		for micro := 1; micro <= 12; micro++ {
			list = append(list, New("gpipe", stages, micro, 1), New("1f1b", stages, micro, 1))
			for chunks := 1; chunks <= 4 && micro%stages == 0; chunks++ {
				list = append(list, New("interleaved", stages, micro, chunks))
			}
			eachSplit(stages, micro, func(s *Schedule) { list = append(list, s) })
		}
	}
	return list
})

// each calls f with all.
func each(f func(s *Schedule)) {
	for _, s := range all() {
		f(s)
	}
}

// eachSplit calls f with the schedules of those sizes that split backward passes.
func eachSplit(stages, micro int, f func(s *Schedule)) {
	for _, family := range families {
		if chunks := max(1, family.chunks); family.split && Misfits(family.name, stages, micro, chunks) == nil {
			f(New(family.name, stages, micro, chunks))
		}
	}
}

func TestEverySchedulePassesCheck(t *testing.T) {
	each(func(s *Schedule) {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	})
}

// An oracle of its own: the passes of every stage are every pair of a
// micro-batch and a chunk, once forward and once backward.
func TestEveryPassOnce(t *testing.T) {
	each(func(s *Schedule) {
		for stage, actions := range s.Actions {
			count := map[Action]int{}
			for _, a := range actions {
				count[a]++
			}
			for micro := range s.Micro {
				for chunk := range s.Chunks {
					f, b := count[Action{Forward, micro, chunk}], count[Action{Backward, micro, chunk}]+count[Action{BackwardInput, micro, chunk}]
					w := count[Action{Backward, micro, chunk}] + count[Action{BackwardWeight, micro, chunk}]
					if s.Name == "dualpipe" && (micro < s.Micro/2) != (chunk == 0) { // it goes the other way
						f, b, w = f+1, b+1, w+1
					}
					if f != 1 || b != 1 || w != 1 {
						t.Errorf("%s: stage %d: micro-batch %d in chunk %d goes forward %d times and backward %d times, want once", s.Title(), stage, micro, chunk, f, b)
					}
				}
			}
		}
	})
}

// A stage idles as long as the formula says.
func TestBubble(t *testing.T) {
	each(func(s *Schedule) {
		r, err := s.run()
		if err != nil {
			t.Fatal(err)
		}
		if s.family.split {
			return // see TestSplitLaws
		}
		end := slices.Max(r.clock)
		idle := float64(end-2*s.Micro*s.Chunks) / float64(end)
		if math.Abs(idle-s.Bubble()) > 1e-12 {
			t.Errorf("%s: idle for %g of the time, want %g\n%v", s.Title(), idle, s.Bubble(), s)
		}
	})
}

// idleUnits are for how long the busiest of S stages idles with M micro-batches, in units of a forward pass through
// a stage's chunk: 3(S-1) of 1F1B with one chunk, 6(S-1) with two. Where micro-batches are too few to fill what a
// schedule leaves open, each that there is more takes a unit of idling for each chunk.
var idleUnits = map[string]func(S, M int) int{
	"zb1p": func(S, M int) int { return max(S-1, 2*S-1-M) }, // a third
	"zb2p": func(S, M int) int { return max(0, 2*S-1-M) },
	"zbv":  func(S, M int) int { return max(0, 2*(2*S-1-M)) },
	"vhalf": func(S, M int) int { // half
		most := 3*(S-1) - 2
		switch {
		case S <= 2:
			return 3 * (S - 1)
		case S%2 == 0:
			most++
		}
		return max(most, 4*S-3-2*M)
	},
	"vmin": func(S, M int) int { // two thirds
		switch {
		case S == 1:
			return 0
		case S%3 == 0 && M > 1:
			return 4*(S-1) + 1
		}
		return 4*(S-1) - 1
	},
	"dualpipe":  func(S, M int) int { return S/2 - 1 }, // (S/2-1)(F&B+B-3W) with as much before a stage begins
	"dualpipev": func(S, M int) int { return S - 1 },
}

// heldUnits are how many micro-batches a stage holds at most once there are enough, counted once for each chunk.
var heldUnits = map[string]func(S int) int{
	"zb1p":      func(S int) int { return S },
	"zb2p":      func(S int) int { return 2*S - 1 },
	"zbv":       func(S int) int { return 2 * S },
	"vhalf":     func(S int) int { return S + 2 },
	"vmin":      func(S int) int { return 2 * ((S+1)/3 + 1) },
	"dualpipe":  func(S int) int { return S + 1 },
	"dualpipev": func(S int) int { return 2*S + 1 },
}

// everySize has tests of laws go through every number of micro-batches.
var everySize = flag.Bool("every-size", false, "hold schedules to their laws with every number of micro-batches up to 64, not some of them")

// The schedules that split backward passes idle and hold what their papers say, with as few micro-batches as
// they take, too.
func TestSplitLaws(t *testing.T) {
	for stages := 1; stages <= 16; stages++ {
		for micro := 1; micro <= 64; micro++ {
			few := micro == 1 || micro == stages/2 || micro == stages-1 || micro == stages || micro == 2*stages || micro == 64
			if !*everySize && !few {
				continue
			}
			eachSplit(stages, micro, func(s *Schedule) {
				work, idle := 3*s.Chunks*s.Micro/s.family.streams(), idleUnits[s.Name](stages, micro)
				if want := float64(idle) / float64(work+idle); math.Abs(s.Bubble()-want) > 1e-12 {
					t.Errorf("%s: got %d units idle, want %d", s.Title(), s.idle, idle)
				}
				held := 0
				for stage := range stages {
					held = max(held, s.InFlight(stage))
				}
				if want := min(heldUnits[s.Name](stages), micro*s.Chunks); held != want {
					t.Errorf("%s: holds up to %d micro-batches, want %d", s.Title(), held, want)
				}
			})
		}
	}
}

// So do schedules of many stages and micro-batches, which hold what their forms say.
func TestLaws(t *testing.T) {
	for _, stages := range []int{9, 12, 16} {
		for _, micro := range []int{1, 15, 16, 24, 36, 48, 64} {
			list := []*Schedule{New("gpipe", stages, micro, 1), New("1f1b", stages, micro, 1)}
			if micro%stages == 0 {
				list = append(list, New("interleaved", stages, micro, 1), New("interleaved", stages, micro, 3))
			}
			for _, s := range list {
				r, err := s.run()
				if err != nil {
					t.Fatal(err)
				}
				end := slices.Max(r.clock)
				if idle := float64(end-2*s.Micro*s.Chunks) / float64(end); math.Abs(idle-s.Bubble()) > 1e-12 {
					t.Errorf("%s: idle for %g of the time, want %g", s.Title(), idle, s.Bubble())
				}
				checkInFlight(t, s)
			}
		}
	}
}

func TestInFlight(t *testing.T) {
	each(func(s *Schedule) {
		if !s.family.split {
			checkInFlight(t, s)
		}
	})
}

// checkInFlight compares what the stages of s hold with the closed forms.
func checkInFlight(t *testing.T, s *Schedule) {
	t.Helper()
	for stage := range s.Stages {
		want := s.Micro
		switch {
		case s.Name == "1f1b", s.Chunks == 1 && s.Name == "interleaved":
			want = min(s.Stages-stage, s.Micro)
		case s.Name == "interleaved":
			want = min(2*(s.Stages-1-stage)+(s.Chunks-1)*s.Stages+1, s.Micro*s.Chunks)
		}
		if got := s.InFlight(stage); got != want {
			t.Errorf("%s: stage %d holds up to %d micro-batches, want %d", s.Title(), stage, got, want)
		}
	}
}

// A shorter schedule fills the pipeline as the whole one does.
func TestFilling(t *testing.T) {
	each(func(s *Schedule) {
		if s.family.split {
			if got := s.Filling(0); got != s.Micro {
				t.Errorf("%s: got %d micro-batches, want all", s.Title(), got)
			}
			return
		}
		short := New(s.Name, s.Stages, s.Filling(0), s.Chunks)
		if short.Micro > s.Micro || short.Name != s.Name || short.Chunks != s.Chunks {
			t.Errorf("%s: got %s", s.Title(), short.Title())
		}
		lap := s.Lap()
		if got, want := s.Filling(2), min(s.Micro, short.Micro+(2+lap-1)/lap*lap); got != want {
			t.Errorf("%s with two more: got %d micro-batches, want %d", s.Title(), got, want)
		}
		for stage := range s.Stages {
			if got, want := short.InFlight(stage), s.InFlight(stage); got != want {
				t.Errorf("%s: stage %d of %s holds %d micro-batches, want %d", s.Title(), stage, short.Title(), got, want)
			}
		}
	})
}

// A book makes and checks a schedule once, and lets go of those that are many.
func TestBook(t *testing.T) {
	var b Book
	s := b.Schedule("1f1b", 3, 4, 1)
	if b.Schedule("1f1b", 3, 4, 1) != s || b.Schedule("1f1b", 3, 5, 1) == s {
		t.Error("got another schedule for the same sizes, or one for others")
	}
	if err := b.Check(s); err != nil {
		t.Error(err)
	}
	s.Actions[1] = s.Actions[1][1:]
	if err := b.Check(s); err != nil {
		t.Errorf("checked again: %v", err)
	}
	other := New("1f1b", 3, 4, 1)
	other.Actions[1] = other.Actions[1][1:]
	if err := b.Check(other); err == nil {
		t.Error("one that is not of the book, and cannot be carried out: got no error")
	}
	for micro := range 2 * mostPages {
		b.Schedule("gpipe", 1, micro+1, 1)
	}
	if len(b.pages) > mostPages {
		t.Errorf("got %d schedules kept, want %d at most", len(b.pages), mostPages)
	}
}

// Check finds what is wrong with a schedule.
func TestCheckRefuses(t *testing.T) {
	base := New("1f1b", 3, 4, 1)
	find := func(s *Schedule, stage int, a Action) int { return slices.Index(s.Actions[stage], a) }
	swap := func(s *Schedule, stage int, a, b Action) {
		i, j := find(s, stage, a), find(s, stage, b)
		s.Actions[stage][i], s.Actions[stage][j] = b, a
	}
	remove := func(s *Schedule, stage int, a Action) {
		i := find(s, stage, a)
		s.Actions[stage] = slices.Delete(s.Actions[stage], i, i+1)
	}
	drop := func(s *Schedule, micro int, stages ...int) {
		for _, stage := range stages {
			s.Actions[stage] = slices.DeleteFunc(s.Actions[stage], func(a Action) bool { return a.Micro == micro })
		}
	}
	for _, c := range []struct {
		name, want string
		spoil      func(s *Schedule)
	}{
		{"an unmatched receive", "stage 0 waits for ever in recv_backward of micro-batch 2", func(s *Schedule) { remove(s, 0, Action{SendForward, 3, 0}) }},
		{"an unmatched send", "stage 0 sends micro-batch 3, which stage 1 does not receive", func(s *Schedule) {
			drop(s, 3, 1, 2)
			remove(s, 0, Action{RecvBackward, 3, 0})
			remove(s, 0, Action{Backward, 3, 0})
		}},
		{"the wrong order", "gets micro-batch 0 from stage 0", func(s *Schedule) { swap(s, 1, Action{RecvForward, 0, 0}, Action{RecvForward, 1, 0}) }},
		{"a cycle", "stage 0 waits for ever in recv_backward of micro-batch 0", func(s *Schedule) {
			first := Action{RecvBackward, 0, 0}
			remove(s, 0, first)
			s.Actions[0] = slices.Insert(s.Actions[0], 0, first)
		}},
		{"a pass that is missing", "never does forward of micro-batch 3", func(s *Schedule) { drop(s, 3, 0, 1, 2) }},
		{"a pass done twice", "comes twice", func(s *Schedule) { s.Actions[0] = append(s.Actions[0], Action{Backward, 3, 0}) }},
		{"a backward pass first", "comes too early", func(s *Schedule) { swap(s, 2, Action{Forward, 0, 0}, Action{Backward, 0, 0}) }},
		{"a forward pass without its input", "comes before recv_forward", func(s *Schedule) { remove(s, 1, Action{RecvForward, 0, 0}) }},
		{"a send of nothing", "has nothing to send", func(s *Schedule) { swap(s, 0, Action{Forward, 0, 0}, Action{SendForward, 0, 0}) }},
		{"a receive from nobody", "nobody to receive from", func(s *Schedule) {
			s.Actions[0] = append([]Action{{RecvForward, 0, 0}}, s.Actions[0]...)
		}},
		{"weights before inputs", "backward_weight of micro-batch 0 in chunk 0 comes too early", func(s *Schedule) {
			*s = *New("zb1p", 3, 4, 1).clone()
			swap(s, 1, Action{BackwardInput, 0, 0}, Action{BackwardWeight, 0, 0})
		}},
		{"weights in another order", "backward_weight of micro-batch 3 in chunk 0 comes too early", func(s *Schedule) {
			*s = *New("zb1p", 3, 4, 1).clone()
			swap(s, 2, Action{BackwardWeight, 2, 0}, Action{BackwardWeight, 3, 0})
		}},
		{"weights that are missing", "stage 2 never does backward_weight of micro-batch 3", func(s *Schedule) {
			*s = *New("zb1p", 3, 4, 1).clone()
			remove(s, 2, Action{BackwardWeight, 3, 0})
		}},
		{"weights after both", "comes twice", func(s *Schedule) {
			*s = *New("zb1p", 3, 4, 1).clone()
			s.Actions[2] = append(s.Actions[2], Action{BackwardWeight, 3, 0})
		}},
		{"a micro-batch that goes the other way", "goes another way", func(s *Schedule) {
			*s = *New("dualpipe", 2, 4, 2).clone()
			s.Actions[0][slices.Index(s.Actions[0], Action{Forward, 0, 0})].Micro = 2
		}},
	} {
		s := base.clone()
		c.spoil(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
	if err := base.Check(); err != nil {
		t.Errorf("the schedule that was copied: %v", err)
	}
}

func TestPicture(t *testing.T) {
	for _, c := range []struct {
		s    *Schedule
		want string
	}{
		{New("gpipe", 2, 3, 1), `gpipe: stages 2, micro-batches 3, bubble 25.0%
stage 0  F0 F1 F2 .  .  B0 B1 B2
stage 1  .  F0 F1 F2 B0 B1 B2 .`},
		{New("1f1b", 3, 4, 1), `1f1b: stages 3, micro-batches 4, bubble 33.3%
stage 0  F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3
stage 1  .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .
stage 2  .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .`},
		{New("interleaved", 2, 2, 2), `interleaved: stages 2, micro-batches 2, chunks 2, bubble 20.0%
stage 0  F0a F1a F0b F1b .   B0b .   B1b B0a B1a
stage 1  .   F0a F1a F0b B0b F1b B1b B0a B1a .`},
		{New("zb1p", 3, 4, 1), `zb1p: stages 3, micro-batches 4, bubble 14.3%
stage 0  F0 F1 F2 .  .  I0 W0 F3 I1 W1 I2 W2 I3 W3
stage 1  .  F0 F1 .  I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
stage 2  .  .  F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3`},
		{New("ZB-V", 2, 3, 2), `zbv: stages 2, micro-batches 3, chunks 2, bubble 0.0%
stage 0  F0a F1a F2a F0b I0b W0b F1b I1b W1b I0a W0a F2b I2b W2b I1a W1a I2a W2a .
stage 1  .   F0a F0b F1a F1b I0b W0b F2a I0a W0a F2b I1b W1b I1a I2b I2a W1a W2b W2a`},
		{New("dualpipe", 2, 4, 2), `dualpipe: stages 2, micro-batches 4, chunks 2, bubble 0.0%
stage 0  F0a F2b F1a B2b B2b F3b B0a B0a B3b B3b I1a W1a
stage 1  F2b F0a F3b B0a B0a F1a B2b B2b B1a B1a I3b W3b`},
	} {
		if got := fmt.Sprint(c.s); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestNewPanics(t *testing.T) {
	for _, f := range []func(){
		func() { New("none", 1, 1, 1) },
		func() { New("gpipe", 2, 2, 2) },
		func() { New("1f1b", 0, 2, 1) },
		func() { New("interleaved", 2, 3, 2) },
		func() { New("zb1p", 2, 4, 2) },
		func() { New("zbv", 2, 4, 1) },
		func() { New("dualpipe", 3, 12, 2) },
		func() { New("dualpipe", 4, 9, 2) },
		func() { New("dualpipev", 4, 7, 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("got no panic, want one")
				}
			}()
			f()
		}()
	}
}

// clone returns a copy of s whose actions may be changed.
func (s *Schedule) clone() *Schedule {
	c := *s
	c.Actions = make([][]Action, len(s.Actions))
	for i, list := range s.Actions {
		c.Actions[i] = slices.Clone(list)
	}
	return &c
}
