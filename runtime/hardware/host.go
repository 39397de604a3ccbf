package hardware

// Hosting is what the host does of a program between two operations of its device: it
// interprets, makes views, and brings the next operation about. Where ranks share cores
// the host is the device, which waits for it.
type Hosting struct {
	Instructions float64 // of the interpreter
	Views        float64 // operations that move and compute nothing
	Operation    bool    // an operation follows
	Placed       bool    // on blocks of distributed tensors
	Recorded     bool    // of which gradients are recorded
	Backward     bool    // of a backward pass
	Touched      float64 // bytes that the operation before has read and written
}

// hostPart is the part of the near cache that the host works in: so many such parts it has.
const hostPart = 8

// Host returns the seconds of h, but for what [Machine.Issuing] says of the operation on a
// machine whose ranks have devices of their own. What an operation has left of the near
// cache the host does not find there: it takes longer by as much of the cache as that
// has filled.
func (m *Machine) Host(h Hosting) float64 {
	t := h.Instructions*m.Script + h.Views*m.View
	if m.Shared() && h.Operation {
		t += m.Issue
		if h.Placed {
			t += m.Placed
		}
		if h.Recorded {
			t += m.Recorded
		}
		if h.Backward {
			t += m.Backward
		}
	}
	if m.cache > 0 {
		t *= 1 + m.Cold*min(1, h.Touched*hostPart/m.cache)
	}
	return t
}

// Startless returns m where operations begin at once: a host interprets and issues in no time, a kernel
// has no start, and a step is no more than its operations.
func (m *Machine) Startless() *Machine {
	out := *m
	for _, t := range []*float64{&out.Issue, &out.Call, &out.Step, &out.Script, &out.View, &out.Placed, &out.Recorded, &out.Backward, &out.odd, &out.start} {
		*t = 0
	}
	return &out
}
