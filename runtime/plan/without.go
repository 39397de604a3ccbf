package plan

import "tpsh/runtime/hardware"

// Without is how long a step would take if one thing cost nothing, in seconds: what it is that
// holds the step up. Communication that arithmetic hides takes none of it, and neither does a host
// that runs ahead of its device.
type Without struct {
	Starts        float64 `json:"starts"`        // operations begin at once: no host issues or interprets, no kernel has a start
	Communication float64 `json:"communication"` // collectives and messages are over when the last has come
}

// Without plays p on m as if one thing cost nothing, for each of them.
func (p *Program) Without(m *hardware.Machine) *Without {
	seconds := func(m *hardware.Machine, free bool) float64 {
		g := newGame(p, m)
		g.timeOnly, g.free = true, free
		g.play()
		return g.stepSeconds(g.steps())
	}
	return &Without{Starts: seconds(m.Startless(), false), Communication: seconds(m, true)}
}
