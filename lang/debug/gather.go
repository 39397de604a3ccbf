package debug

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tpsh/lang"
)

// A Stop says why the ranks have stopped, and where each is.
type Stop struct {
	Reason lang.Reason
	Rank   int    // the first that stopped
	Break  int    // the number of the breakpoint, or 0
	Text   string // the error, the difference, the call
	Ranks  []Place
}

// A Place is where a rank is.
type Place struct {
	Standing lang.Standing
	Over     bool
	Where    lang.Spot
	Call     string // in which it waits
}

const (
	usualGrace = 250 * time.Millisecond
	// lookEvery is the time between looks at ranks that do not halt.
	lookEvery = 15 * time.Millisecond
	// settledAfter is how long ranks must have been found waiting, and settledLooks how often: one
	// that waits for nobody any more goes on within that. Ranks answer each look themselves, so
	// that looks take longer on a machine that keeps them from running.
	settledAfter = 60 * time.Millisecond
	settledLooks = 4
	// longest is how long a rank may run on when it was told to stop.
	longest = 2 * time.Second
)

// gather waits until the ranks stand still and says where they are. If they have only
// stopped to compare values that are the same, they go on.
func (c *Controller) gather() {
	begin := time.Now()
	grace := c.Grace
	if grace == 0 {
		grace = usualGrace
	}
	var still time.Time // since when no rank runs
	looks := 0          // that have found so
	paused := false
	for {
		places, changed := c.places()
		if places == nil {
			return
		}
		all, quiet := true, true
		for _, p := range places {
			all = all && (p.Over || p.Standing == lang.Halted)
			quiet = quiet && (p.Over || p.Standing != lang.Running)
		}
		if !quiet {
			still, looks = time.Time{}, 0
		} else if looks++; still.IsZero() {
			still = time.Now()
		}
		settled := looks >= settledLooks && time.Since(still) > settledAfter
		real := c.stopsReally()
		late := real && paused && time.Since(begin) > grace+longest
		if all || late || settled && (paused || !real) {
			c.conclude(places)
			return
		}
		if real && !paused && (time.Since(begin) > grace || settled) {
			paused = true
			c.Pause()
		}
		select {
		case <-changed:
		case <-time.After(lookEvery):
		}
	}
}

// stopsReally reports whether a rank has stopped, and not only to compare a value.
func (c *Controller) stopsReally() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.ranks, func(r rank) bool { return r.halt != nil && r.halt.Reason != lang.AtCompare })
}

// places returns where the ranks are, nil if the program has ended; and a channel that is closed
// when one does something else.
func (c *Controller) places() ([]Place, <-chan struct{}) {
	c.mu.Lock()
	changed := c.changed
	ranks := slices.Clone(c.ranks)
	over := c.session == nil
	c.mu.Unlock()
	if over {
		return nil, changed
	}
	places := make([]Place, len(ranks))
	for i, r := range ranks {
		p := &places[i]
		p.Standing, p.Over = lang.Running, r.over
		switch {
		case r.over:
		case r.halt != nil:
			p.Standing, p.Where = lang.Halted, r.halt.Where
		default:
			if a, err := c.Ask(i, lang.Question{What: lang.AskFrames}); err == nil && a.Standing == lang.Waiting {
				p.Standing, p.Call = lang.Waiting, string(a.Call)
				if len(a.Frames) > 0 {
					p.Where = a.Frames[0]
				}
			}
		}
	}
	return places, changed
}

// reasons are the reasons of stops, the most telling first.
var reasons = []lang.Reason{lang.AtError, lang.AtCaught, lang.AtCompare, lang.AtBreak, lang.AtCall, lang.AtCollective, lang.AtStep, lang.AtPause}

// conclude tells of the Stop, or lets the ranks go on if there is nothing to tell.
func (c *Controller) conclude(places []Place) {
	stop := Stop{Ranks: places, Rank: -1}
	c.mu.Lock()
	c.gathering = false
	differs := c.difference()
	real := false
	for r, state := range c.ranks {
		if state.halt == nil {
			continue
		}
		if state.halt.Reason == lang.AtCompare && differs == "" {
			continue
		}
		real = true
		if stop.Rank < 0 || slices.Index(reasons, state.halt.Reason) < slices.Index(reasons, stop.Reason) {
			stop.Rank, stop.Reason, stop.Break, stop.Text = r, state.halt.Reason, state.halt.Break, string(state.halt.Text)
		}
	}
	ended := c.session == nil
	c.mu.Unlock()
	if ended {
		return
	}
	if !real {
		c.release()
		return
	}
	if stop.Reason == lang.AtCompare {
		stop.Text = differs
	}
	c.flush(places)
	c.publish(stop)
}

// flush has the ranks send their output, if all of them stand still: their
// lines are of the same section then.
func (c *Controller) flush(places []Place) {
	if slices.ContainsFunc(places, func(p Place) bool { return !p.Over && p.Standing != lang.Halted }) {
		return
	}
	for r, p := range places {
		if !p.Over {
			c.Ask(r, lang.Question{What: lang.AskLines})
		}
	}
}

// publish hands a Stop to whoever drives, unless the program ends meanwhile.
func (c *Controller) publish(stop Stop) {
	for {
		c.mu.Lock()
		changed, over := c.changed, c.session == nil
		c.mu.Unlock()
		if over {
			return
		}
		select {
		case c.stops <- stop:
			return
		case <-changed:
		}
	}
}

// difference says how a value differs that ranks have stopped to compare, of several
// breakpoints that of the first; "" if none differs. c.mu is held.
func (c *Controller) difference() string {
	byBreak := map[int][]int{}
	for r, state := range c.ranks {
		if h := state.halt; h != nil && h.Reason == lang.AtCompare {
			byBreak[h.Break] = append(byBreak[h.Break], r)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byBreak)) {
		ranks := byBreak[id]
		first := c.ranks[ranks[0]].halt
		if !slices.ContainsFunc(ranks, func(r int) bool { return c.ranks[r].halt.Digest != first.Digest }) {
			continue
		}
		var values []lang.Value
		for _, r := range ranks {
			h := c.ranks[r].halt
			values = append(values, lang.Value{Text: h.Value, Digest: h.Digest})
		}
		return fmt.Sprintf("%s differs\n%s", first.Text, merge(len(c.ranks), ranks, values))
	}
	return ""
}
