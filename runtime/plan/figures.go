package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/hardware"
)

// Figures are what a plan reports: of the last whole step, or of the whole script if
// there is none. Seconds are those of the slowest rank, memory that of the fullest.
type Figures struct {
	Ranks         int       `json:"ranks"`
	Kinds         int       `json:"kinds"`
	StepSeconds   float64   `json:"step_seconds"`
	Seconds       Seconds   `json:"seconds"`
	FLOPs         float64   `json:"flops"` // of all ranks
	TFLOPsPerRank float64   `json:"tflops_per_rank"`
	MFU           float64   `json:"mfu"`
	HFU           float64   `json:"hfu"`
	Parameters    int64     `json:"parameters"`
	Memory        Fit       `json:"memory"`
	Communication []Row     `json:"communication"`
	Regions       []*Region `json:"regions"`
	ToldApart     []string  `json:"told_apart"`
	Joint         []string  `json:"joint,omitempty"`   // functions whose backward passes a schedule could not split
	Without       *Without  `json:"without,omitempty"` // where they were asked for

	// CriticalPath is for people: of ranks that are as late it names one.
	CriticalPath Path `json:"-"`

	Slowest, Fullest int `json:"-"` // ranks
	Steps            int `json:"-"` // whole ones
}

// Seconds are where the time of a step goes; they add up to it.
type Seconds struct {
	Arithmetic    float64 `json:"arithmetic"`
	Communication float64 `json:"communication"`
	Bubble        float64 `json:"bubble"`
	Waiting       float64 `json:"waiting"`
}

// Fit is a Memory, and whether the machine has it.
type Fit struct {
	Memory
	Fits bool `json:"fits"`
}

// A Row is what one line of the script communicates.
type Row struct {
	Op            string  `json:"op"`
	Dims          string  `json:"dims"`
	Calls         int     `json:"calls"`
	Bytes         int64   `json:"bytes"`
	WireBytes     int64   `json:"wire_bytes"`
	Seconds       float64 `json:"seconds"`
	HiddenSeconds float64 `json:"hidden_seconds"`
	Where         string  `json:"where"`
}

// A Region is a named part of a step.
type Region struct {
	Name          string    `json:"name"`
	Seconds       float64   `json:"seconds"`       // of arithmetic, with its parts
	Communication float64   `json:"communication"` // seconds that nothing hides
	FLOPs         float64   `json:"flops"`         // of the rank
	Regions       []*Region `json:"regions"`
}

// Play plays p on m.
func (p *Program) Play(m *hardware.Machine) *Figures {
	g := newGame(p, m)
	g.play()
	return g.figures()
}

// steps returns how many steps are whole.
func (g *game) steps() int {
	n := math.MaxInt
	for _, pl := range g.players {
		n = min(n, len(pl.marks))
	}
	return n
}

// figures sums up what has been played.
func (g *game) figures() *Figures {
	f := &Figures{Ranks: g.p.Ranks, Kinds: len(g.p.Kinds), Parameters: g.p.Parameters, ToldApart: g.p.ToldApart, Joint: g.p.Joint}
	f.Steps = g.steps()
	slowest, model := g.slowest(f)
	f.StepSeconds = g.stepSeconds(f.Steps)
	s := slowest.spentIn(f.Steps)
	f.Seconds = Seconds{s.arithmetic, s.communication, s.bubble, s.waiting}
	f.Seconds.Arithmetic += g.m.Step
	f.Seconds.Waiting += max(0, f.StepSeconds-g.m.Step-s.total()) // for those who are later
	f.Seconds.settle(f.StepSeconds)
	f.Slowest = slowest.rank
	f.CriticalPath = g.path(f.Steps)
	f.rates(g, model)
	f.memory(g)
	f.rows(g, s)
	f.regions(g, s)
	if f.Communication == nil {
		f.Communication = []Row{}
	}
	if f.ToldApart == nil {
		f.ToldApart = []string{}
	}
	return f
}

// spentIn returns what a player has spent in step n from 1, or in all if n is 0.
func (pl *player) spentIn(n int) *spent {
	if n > 0 {
		return &pl.steps[n-1]
	}
	return &pl.now
}

// settle has parts of a step of so many seconds be 0 that are what sums of floats are
// off by.
func (s *Seconds) settle(step float64) {
	for _, v := range []*float64{&s.Arithmetic, &s.Communication, &s.Bubble, &s.Waiting} {
		if *v < 1e-12*step {
			*v = 0
		}
	}
}

func (s *spent) total() float64 { return s.arithmetic + s.communication + s.bubble + s.waiting }

// slowest returns the player with the longest step, and sums up the FLOPs.
func (g *game) slowest(f *Figures) (slowest *player, model float64) {
	for _, pl := range g.players {
		s := pl.spentIn(f.Steps)
		f.FLOPs += s.flops * float64(pl.ranks)
		model += s.model * float64(pl.ranks)
		if slowest == nil || busy(s) > busy(slowest.spentIn(f.Steps)) {
			slowest = pl
		}
	}
	return slowest, model
}

// busy is what others wait for.
func busy(s *spent) float64 { return s.arithmetic + s.communication }

// stepSeconds returns how long step n takes, from when the last rank was done with
// the one before, or all if n is 0.
func (g *game) stepSeconds(n int) float64 {
	end, start := 0.0, 0.0
	for _, pl := range g.players {
		switch {
		case n == 0:
			end = max(end, pl.device, pl.host)
		default:
			end = max(end, pl.marks[n-1])
			if n > 1 {
				start = max(start, pl.marks[n-2])
			}
		}
	}
	return end - start + g.m.Step
}

// rates sets what depends on seconds.
func (f *Figures) rates(g *game, model float64) {
	if f.StepSeconds <= 0 {
		return
	}
	peak := g.m.PeakFLOPs(g.mainType()) * float64(f.Ranks) * f.StepSeconds
	f.TFLOPsPerRank = f.FLOPs / float64(f.Ranks) / f.StepSeconds / 1e12
	if peak > 0 {
		f.MFU, f.HFU = model/peak, f.FLOPs/peak
	}
}

// mainType returns the dtype of most of the products' FLOPs.
func (g *game) mainType() dtype.DType {
	var sums [dtype.Count]float64
	for _, pl := range g.players {
		for i := range pl.kind.Events {
			if e := &pl.kind.Events[i]; e.Do == Compute {
				if o := &g.p.Operations[e.Index]; o.Products > 0 {
					sums[o.DType] += o.FLOPs
				}
			}
		}
	}
	best := dtype.Float32
	for d, v := range sums {
		if v > sums[best] {
			best = dtype.DType(d)
		}
	}
	return best
}

// memory sets the memory of the fullest rank.
func (f *Figures) memory(g *game) { f.Memory, f.Fullest = g.p.fullest(g.m) }

// Fullest returns the memory that the fullest rank takes on m, without playing p.
func (p *Program) Fullest(m *hardware.Machine) Fit {
	f, _ := p.fullest(m)
	return f
}

// fullest returns the memory of the fullest rank, and which it is.
func (p *Program) fullest(m *hardware.Machine) (fit Fit, rank int) {
	m = m.Among(p.Ranks)
	most := int64(-1)
	for _, kind := range p.Kinds {
		if f := kind.on(m); f.Peak > most {
			most, rank, fit = f.Peak, int(kind.Ranks[0]), f
		}
	}
	return fit, rank
}

// On returns the memory that rank takes on m, without playing p. It panics unless
// 0 <= rank < p.Ranks.
func (p *Program) On(m *hardware.Machine, rank int) Fit {
	return p.Kinds[p.KindOf[rank]].on(m.Among(p.Ranks))
}

// on returns the memory that a rank of the kind takes on m, of which it has a rank's part.
func (k *Kind) on(m *hardware.Machine) Fit {
	memory := k.Memory
	memory.Peak = takes(m, k)
	return Fit{memory, memory.Peak <= m.Room()}
}

// takes returns how much of the machine's memory a rank takes at its fullest: of what
// it has at a time, what the machine holds of each kind, and what it takes beside it.
func takes(m *hardware.Machine, kind *Kind) int64 {
	moments := kind.Moments[:]
	if kind.Moments == (Moments{}) {
		moments = []Memory{kind.Memory}
	}
	most := 0.0
	for _, k := range moments {
		parts := k.Parameters + k.Gradients + k.Optimizer + k.Activations + k.Temporaries + k.Communication
		most = max(most, float64(k.Peak-parts)+m.Peak(hardware.Kept{Parameters: float64(k.Parameters), Gradients: float64(k.Gradients), Optimizer: float64(k.Optimizer),
			Activations: float64(k.Activations), Temporaries: float64(k.Temporaries), Communication: float64(k.Communication), Groups: len(kind.Groups), Gathered: float64(kind.Gathered)}))
	}
	return int64(most)
}

// rows lists what the slowest rank communicates, the longest first.
func (f *Figures) rows(g *game, s *spent) {
	for at, c := range s.calls {
		f.Communication = append(f.Communication, Row{at.op, g.p.Dims[at.dims], c.calls, c.bytes, c.wire, c.seconds, c.hidden, g.p.Lines[at.line]})
	}
	slices.SortFunc(f.Communication, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Seconds-b.HiddenSeconds, a.Seconds-a.HiddenSeconds), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Dims, b.Dims))
	})
}

// regions makes the tree of regions of the slowest rank.
func (f *Figures) regions(g *game, s *spent) {
	root := &Region{}
	paths := make([]string, 0, len(s.regions))
	sums := map[string]*regionSum{}
	for i, sum := range s.regions {
		paths = append(paths, g.p.Regions[i])
		sums[g.p.Regions[i]] = sum
	}
	slices.Sort(paths)
	for _, path := range paths {
		at := root
		if path != "" {
			for _, name := range strings.Split(path, "/") {
				at.add(sums[path])
				at = at.part(name)
			}
		}
		at.add(sums[path])
	}
	f.Regions = root.Regions
	if f.Regions == nil {
		f.Regions = []*Region{}
	}
}

func (r *Region) add(s *regionSum) {
	r.Seconds += s.seconds
	r.Communication += s.communication
	r.FLOPs += s.flops
}

// part returns the part of r called name.
func (r *Region) part(name string) *Region {
	for _, p := range r.Regions {
		if p.Name == name {
			return p
		}
	}
	p := &Region{Name: name, Regions: []*Region{}}
	r.Regions = append(r.Regions, p)
	return p
}
