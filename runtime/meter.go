package runtime

import (
	"slices"

	"tpsh/runtime/op"
	"tpsh/runtime/plan"
	"tpsh/runtime/tensor"
)

// A Meter counts the bytes of tensors of one rank by their purpose, now and at
// most. Its counts depend on the program alone, not on when storage is reused:
//
//   - parameters, their gradients and the state of optimizers are those of the modules
//     and optimizers of the program, each storage once;
//   - activations are storage kept for backward: of the tensors that gradients read of
//     operations that are recorded and that no backward pass has gone through;
//   - communication is storage gathered for a time;
//   - temporaries are the inputs and results, of one operation at a time, that are
//     none of these.
type Meter struct {
	Now, Most plan.Memory
	Moments   plan.Moments // when the sum, activations and temporaries were the most

	rank     *Rank
	held     map[*tensor.Buffer]bool // of parameters, gradients and optimizers
	kept     map[*tensor.Buffer]int  // activations: how many records refer to each
	records  map[any][]*tensor.Buffer
	gathered map[*tensor.Buffer]bool         // for a time
	leaves   map[*tensor.Auto]*tensor.Tensor // that are computed with
	grads    map[*tensor.Buffer]int          // those of held that are gradients: of how many leaves
	stale    bool                            // held is to be found again
}

// Holdings are the tensors that a program has for good.
type Holdings struct{ Parameters, Optimizer []*tensor.Tensor }

// StartMeter begins to count. StopMeter ends it. Meters nest.
func (r *Rank) StartMeter() *Meter {
	m := &Meter{rank: r, held: map[*tensor.Buffer]bool{}, kept: map[*tensor.Buffer]int{}, records: map[any][]*tensor.Buffer{}, leaves: map[*tensor.Auto]*tensor.Tensor{}, gathered: map[*tensor.Buffer]bool{}, grads: map[*tensor.Buffer]int{}, stale: true}
	r.meters = append(r.meters, m)
	r.meterOn()
	return m
}

// meterOn has operators and records tell the meters.
func (r *Rank) meterOn() {
	r.Tape.Keep, r.Tape.Free, r.Tape.Grown, r.Tape.Leaf = nil, nil, nil, nil
	r.ops.Ran = nil
	if r.recorder != nil || len(r.meters) > 0 {
		r.ops.Ran = r.ran
	}
	if len(r.meters) > 0 {
		r.Tape.Keep, r.Tape.Free, r.Tape.Grown, r.Tape.Leaf = r.keep, r.free, r.grown, r.leaf
	}
}

// ran tells of an operation that has been applied.
func (r *Rank) ran(c *op.Call) {
	if r.recorder != nil {
		r.noteOperation(c)
	}
	for _, m := range r.meters {
		m.operation(c)
	}
	if r.timed != nil {
		r.timed.measured()
	}
}

func (r *Rank) keep(node any, lists ...[]*tensor.Tensor) {
	for _, m := range r.meters {
		m.keep(node, lists)
	}
}

func (r *Rank) free(node any) {
	for _, m := range r.meters {
		m.free(node)
	}
}

// leaf counts a leaf that is computed with as a parameter.
func (r *Rank) leaf(x *tensor.Tensor) {
	for _, m := range r.meters {
		if m.leaves[x.Auto] != nil {
			continue
		}
		m.leaves[x.Auto] = x
		if m.stale || !m.held[x.Buffer()] || x.Auto.Grad != nil {
			m.Find()
		}
	}
}

// grown counts the gradient of a leaf, no more the one that it had before: of a parameter, until Find finds it.
func (r *Rank) grown(g, before *tensor.Tensor) {
	if before != nil {
		r.Forgot(before)
	}
	for _, m := range r.meters {
		if m.stale {
			m.Find()
		}
		m.holdGrad(g)
		m.most(0)
	}
}

// holdGrad counts the gradient of a leaf.
func (m *Meter) holdGrad(g *tensor.Tensor) {
	n := m.hold(g)
	m.Now.Gradients += n
	if b := g.Buffer(); n > 0 || m.grads[b] > 0 {
		m.grads[b]++
	}
}

// Forgot says that a leaf is about to lose its gradient g.
func (r *Rank) Forgot(g *tensor.Tensor) {
	for _, m := range r.meters {
		b := g.Buffer()
		switch n := m.grads[b]; {
		case m.stale || n == 0:
			m.stale = true
		case n > 1:
			m.grads[b]--
		default:
			delete(m.grads, b)
			delete(m.held, b)
			m.Now.Gradients -= int64(b.Len())
		}
	}
}

// measure counts the storage held, and with forget drops that kept for backward.
func (r *Rank) measure(forget bool) {
	for _, m := range r.meters {
		if forget {
			m.forget()
		}
		m.Find()
	}
}

// Held says that the tensors of modules and optimizers have changed.
func (r *Rank) Held() {
	for _, m := range r.meters {
		m.stale = true
	}
}

// gathered says that b holds gathered elements for a time, until released is told of it.
func (r *Rank) gathered(b *tensor.Buffer) {
	for _, m := range r.meters {
		m.held[b], m.gathered[b] = true, true
		m.Now.Communication += int64(b.Len())
		m.most(0)
	}
}

// released says that the gathered elements in b are given up.
func (r *Rank) released(b *tensor.Buffer) {
	for _, m := range r.meters {
		if !m.gathered[b] { // before the meter was started
			continue
		}
		delete(m.held, b)
		delete(m.gathered, b)
		m.Now.Communication -= int64(b.Len())
		m.most(0)
	}
}

// StopMeter ends m, and those started after it.
func (r *Rank) StopMeter(m *Meter) {
	m.Find()
	for i, other := range r.meters {
		if other == m {
			r.meters = r.meters[:i]
			break
		}
	}
	r.meterOn()
}

// Find counts the tensors that modules and optimizers hold now.
func (m *Meter) Find() {
	m.stale = false
	var h Holdings
	if m.rank.Holdings != nil {
		h = m.rank.Holdings()
	}
	clear(m.held)
	clear(m.grads)
	for b := range m.gathered {
		m.held[b] = true
	}
	m.Now.Parameters, m.Now.Gradients, m.Now.Optimizer = 0, 0, 0
	for _, x := range m.leaves {
		h.Parameters = append(h.Parameters, x)
	}
	for _, x := range h.Parameters {
		m.Now.Parameters += m.hold(x)
	}
	seen := make(map[*tensor.Auto]bool, len(h.Parameters))
	for _, x := range h.Parameters {
		if a := x.Auto; a != nil && a.Grad != nil && !seen[a] {
			seen[a] = true
			m.holdGrad(a.Grad)
		}
	}
	for _, x := range h.Optimizer {
		m.Now.Optimizer += m.hold(x)
	}
	for b := range m.kept { // a parameter that was met before it was known
		if m.held[b] {
			m.Now.Activations -= int64(b.Len())
			delete(m.kept, b)
		}
	}
	m.most(0)
}

// hold counts the storage of x once.
func (m *Meter) hold(x *tensor.Tensor) int64 {
	b := x.Buffer()
	if b == nil || m.held[b] {
		return 0
	}
	m.held[b] = true
	return int64(b.Len())
}

// operation counts the inputs and results of c that are nothing else.
func (m *Meter) operation(c *op.Call) {
	if m.rank.quiet {
		return
	}
	if m.stale {
		m.Find()
	}
	n := int64(0)
	var few [8]*tensor.Buffer
	seen := few[:0]
	for _, list := range [][]*tensor.Tensor{c.In, c.Out} {
		for _, x := range list {
			if x == nil || x.Weak() || x.Buffer() == nil || m.held[x.Buffer()] || m.kept[x.Buffer()] > 0 {
				continue
			}
			if b := x.Buffer(); !slices.Contains(seen, b) {
				seen = append(seen, b)
				n += int64(b.Len())
			}
		}
	}
	m.most(n)
}

// most notes that so many bytes are temporaries.
func (m *Meter) most(temporaries int64) {
	w, n := &m.Most, &m.Now
	n.Temporaries = temporaries
	n.Peak = n.Parameters + n.Gradients + n.Optimizer + n.Activations + n.Temporaries + n.Communication
	for i, more := range [...]bool{
		n.Peak > w.Peak,
		n.Activations > w.Activations || n.Activations == w.Activations && n.Peak > m.Moments[1].Peak,
		n.Temporaries > w.Temporaries || n.Temporaries == w.Temporaries && n.Peak > m.Moments[2].Peak,
	} {
		if more {
			m.Moments[i] = *n
		}
	}
	w.Peak = max(w.Peak, n.Peak)
	w.Parameters = max(w.Parameters, n.Parameters)
	w.Gradients = max(w.Gradients, n.Gradients)
	w.Optimizer = max(w.Optimizer, n.Optimizer)
	w.Activations = max(w.Activations, n.Activations)
	w.Temporaries = max(w.Temporaries, n.Temporaries)
	w.Communication = max(w.Communication, n.Communication)
}

// keep counts the tensors that a record refers to.
func (m *Meter) keep(node any, lists [][]*tensor.Tensor) {
	if m.stale {
		m.Find()
	}
	var all []*tensor.Buffer
	for _, list := range lists {
		for _, x := range list {
			if x == nil || x.Weak() || x.Buffer() == nil || m.held[x.Buffer()] {
				continue
			}
			b := x.Buffer()
			if m.kept[b]++; m.kept[b] == 1 {
				m.Now.Activations += int64(b.Len())
			}
			all = append(all, b)
		}
	}
	if all != nil {
		m.records[node] = append(m.records[node], all...)
		m.most(0)
	}
}

// free says that a backward pass has gone through a record, or that it is forgotten.
func (m *Meter) free(node any) {
	for _, b := range m.records[node] {
		n, ok := m.kept[b]
		switch {
		case !ok:
		case n == 1:
			m.Now.Activations -= int64(b.Len())
			delete(m.kept, b)
		default:
			m.kept[b] = n - 1
		}
	}
	delete(m.records, node)
}

// forget drops all records: none of them can be gone through any more, since an
// optimizer has changed parameters, or a step has ended.
func (m *Meter) forget() {
	clear(m.kept)
	clear(m.records)
	m.Now.Activations = 0
}
