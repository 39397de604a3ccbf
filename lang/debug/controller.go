package debug

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tpsh/lang"
	"tpsh/lang/halt"
)

// A Break is a breakpoint, on some ranks or all.
type Break struct {
	halt.Break
	Ranks []int // nil for all
}

// A Controller stops the ranks of a session and lets them go on. Its methods may be
// called from several goroutines.
type Controller struct {
	// Grace is how long ranks may take to come to where another has stopped, before
	// they are stopped where they are; 0 is 250 ms.
	Grace time.Duration

	stops chan Stop

	mu        sync.Mutex    // held to use the fields below
	session   *lang.Session // nil while nothing runs
	breaks    []Break
	lastBreak int
	errors    bool // that end the program stop it
	caught    bool // and those that it catches
	ranks     []rank
	gathering bool
	changed   chan struct{}             // closed when a rank does something else, and replaced
	asked     map[int]chan *lang.Answer // by the number of a question that is not answered
	question  int                       // the number of the last one
}

// A rank is all that is known of one.
type rank struct {
	standing lang.Standing // as far as it has told by itself: running or halted
	over     bool
	halt     *lang.Halt // of a halted one
}

// New returns a Controller without breakpoints, which does not stop at errors.
func New() *Controller {
	return &Controller{stops: make(chan Stop), changed: make(chan struct{}), asked: map[int]chan *lang.Answer{}}
}

// Drive calls run, which runs a program on a session's ranks, and talk with each Stop
// until that has ended. The ranks, nil for all, begin with a step; Go is to the first
// breakpoint.
func (c *Controller) Drive(s *lang.Session, ranks []int, step halt.Step, run func(), talk func(Stop)) {
	c.begin(s, ranks, step)
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	for {
		select {
		case stop := <-c.stops:
			talk(stop)
		case <-done:
			c.end()
			return
		}
	}
}

func (c *Controller) begin(s *lang.Session, ranks []int, step halt.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.gathering = s, false
	c.ranks = make([]rank, s.Size())
	for r := range c.ranks {
		c.ranks[r].standing = lang.Running
		c.ranks[r].over = ranks != nil && !slices.Contains(ranks, r)
		s.Order(r, c.orders(r, step), false)
	}
}

func (c *Controller) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
	c.change()
}

// change wakes whoever waits for ranks to do something else. c.mu is held.
func (c *Controller) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// orders returns the orders of a rank. c.mu is held.
func (c *Controller) orders(rank int, step halt.Step) halt.Orders {
	o := halt.Orders{Step: step, Errors: c.errors, Caught: c.caught}
	for _, b := range c.breaks {
		if b.Ranks == nil || slices.Contains(b.Ranks, rank) {
			o.Breaks = append(o.Breaks, b.Break)
		}
	}
	return o
}

// Size returns the number of ranks; 0 while nothing runs.
func (c *Controller) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return 0
	}
	return len(c.ranks)
}

// Add adds a breakpoint and returns its number.
func (c *Controller) Add(b Break) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastBreak++
	b.ID = c.lastBreak
	c.breaks = append(c.breaks, b)
	c.tell()
	return b.ID
}

// Remove removes breakpoints, of which gone reports that they are to go, and returns
// how many there were.
func (c *Controller) Remove(gone func(Break) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.breaks)
	c.breaks = slices.DeleteFunc(slices.Clone(c.breaks), gone)
	c.tell()
	return before - len(c.breaks)
}

// Breaks returns the breakpoints.
func (c *Controller) Breaks() []Break {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.breaks)
}

// StopAtErrors says whether errors that end the program stop it where they arise.
func (c *Controller) StopAtErrors(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = on
	c.tell()
}

// StopAtCaught says whether errors that the program catches stop it where they arise.
func (c *Controller) StopAtCaught(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caught = on
	c.tell()
}

// tell tells the ranks of the breakpoints. c.mu is held.
func (c *Controller) tell() {
	if c.session == nil {
		return
	}
	for r := range c.ranks {
		c.session.Order(r, c.orders(r, halt.Go), false)
	}
}

// Go lets ranks go on by a step; nil is for all. Those that wait for others get their
// orders first: they may still have one to stop, and the message that they wait for may come as soon
// as the first of the others goes on.
func (c *Controller) Go(step halt.Step, ranks []int) {
	for _, r := range c.order(step, ranks, false) {
		// An answer says that the rank has read all messages before the question.
		_, _ = c.Ask(r, lang.Question{What: lang.AskFrames}) // it may have ended
	}
	c.order(step, ranks, true)
}

// order gives ranks the order to go on by a step, those that stand still or those that
// do not, and returns which these are.
func (c *Controller) order(step halt.Step, ranks []int, halted bool) (told []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return nil
	}
	for r := range c.ranks {
		if c.ranks[r].over || ranks != nil && !slices.Contains(ranks, r) || (c.ranks[r].halt != nil) != halted {
			continue
		}
		c.ranks[r].standing, c.ranks[r].halt = lang.Running, nil
		c.session.Order(r, c.orders(r, step), true)
		told = append(told, r)
	}
	c.change()
	return told
}

// release lets the ranks go on that have stopped for a comparison of values.
func (c *Controller) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.ranks {
		if c.session != nil && c.ranks[r].halt != nil {
			c.ranks[r].standing, c.ranks[r].halt = lang.Running, nil
			c.session.Release(r)
		}
	}
	c.change()
}

// Pause stops the ranks where they are.
func (c *Controller) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return
	}
	for r := range c.ranks {
		if c.ranks[r].standing != lang.Halted && !c.ranks[r].over {
			c.session.Order(r, c.orders(r, halt.Pause), false)
		}
	}
}

// Interrupt ends the program.
func (c *Controller) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		c.session.Interrupt()
	}
}

// Stopping reports whether a rank stands still.
func (c *Controller) Stopping() bool { return len(c.Stopped()) > 0 }

// Stopped returns the ranks that stand still.
func (c *Controller) Stopped() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []int
	for r := range c.ranks {
		if c.session != nil && c.ranks[r].standing == lang.Halted {
			list = append(list, r)
		}
	}
	return list
}

// Halted implements lang.Debugger.
func (c *Controller) Halted(r int, h *lang.Halt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Over {
		return // Go has said so
	}
	c.ranks[r].standing, c.ranks[r].halt = lang.Halted, h
	c.change()
	if !c.gathering {
		c.gathering = true
		go c.gather()
	}
}

// Ended implements lang.Debugger.
func (c *Controller) Ended(r int, _ *lang.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r < len(c.ranks) {
		c.ranks[r] = rank{standing: lang.Running, over: true}
	}
	c.change()
}

// Seen implements lang.Debugger.
func (c *Controller) Seen(_, question int, a *lang.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.asked[question]; answer != nil {
		answer <- a
		delete(c.asked, question)
	}
}

// answerTime is how long a rank may take to answer.
const answerTime = 20 * time.Second

var (
	errOver = errors.New("the program has ended there")
	errLate = fmt.Errorf("no answer within %v", answerTime)
)

// Ask asks a rank a question.
func (c *Controller) Ask(r int, q lang.Question) (*lang.Answer, error) {
	c.mu.Lock()
	if c.session == nil || r < 0 || r >= len(c.ranks) || c.ranks[r].over {
		c.mu.Unlock()
		return nil, errOver
	}
	c.question++
	n, answer := c.question, make(chan *lang.Answer, 1)
	c.asked[n] = answer
	c.session.Look(r, n, q)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, n)
	}()
	end := time.NewTimer(answerTime)
	defer end.Stop()
	for {
		c.mu.Lock()
		changed, over := c.changed, c.session == nil || c.ranks[r].over
		c.mu.Unlock()
		if over {
			return nil, errOver
		}
		select {
		case a := <-answer:
			if a.Error != "" {
				return a, errors.New(string(a.Error))
			}
			return a, nil
		case <-changed:
		case <-end.C:
			return nil, errLate
		}
	}
}
