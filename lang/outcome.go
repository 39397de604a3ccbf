package lang

import (
	"slices"
)

// An Outcome says how a program ended on every rank.
type Outcome struct {
	Ranks []Result // by rank
	Cover Cover    // of all ranks together, if it was asked for
	// Described has the values of variables on the first rank that ended, if it was asked for.
	Described []Described

	stop     stopReason // why the program was ended from outside, or ""
	stopText string
}

// A Result says how a program ended on one rank.
type Result struct {
	// Ran is false for a rank that took no part (see Program.Ranks).
	Ran bool
	// Failure is nil if the program ended well.
	Failure *Failure
	// Value is the text of a chunk's value, nil if it is no expression or
	// None.
	Value *string
}

// OK reports whether the program ended well on every rank, but for those that
// were killed on purpose.
func (o *Outcome) OK() bool {
	return !slices.ContainsFunc(o.Ranks, func(r Result) bool {
		return r.Failure != nil && !r.Failure.Killed
	})
}

// Skipped returns why the program asked to be skipped, if it did on some rank and
// failed on none.
func (o *Outcome) Skipped() (reason string, ok bool) {
	for _, r := range o.Ranks {
		switch f := r.Failure; {
		case f == nil || f.Killed:
		case f.Skipped:
			reason, ok = f.summaryOf(), true
		case f.class() == cause:
			return "", false
		}
	}
	return reason, ok
}

// Static reports whether the program does not compile.
func (o *Outcome) Static() bool { return o.any(func(f *Failure) bool { return f.Static }) }

// Finished reports whether the program ended well on some rank.
func (o *Outcome) Finished() bool {
	return slices.ContainsFunc(o.Ranks, func(r Result) bool { return r.Ran && r.Failure == nil })
}

// Killed returns the ranks that were killed on purpose, ascending. A nil
// Outcome has none.
func (o *Outcome) Killed() []int {
	if o == nil {
		return nil
	}
	var ranks []int
	for rank, r := range o.Ranks {
		if r.Failure != nil && r.Failure.Killed {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// Died reports whether a rank died, on purpose or not.
func (o *Outcome) Died() bool {
	return o.any(func(f *Failure) bool { return f.Killed || f.Lost })
}

// Hung reports whether a rank was told to stop and did not, so that it may still
// run. A nil Outcome has none.
func (o *Outcome) Hung() bool {
	return o != nil && o.any(func(f *Failure) bool { return f.Stop == stopHung })
}

// Interrupted reports whether the user ended the program.
func (o *Outcome) Interrupted() bool { return o.stoppedFor(stopInterrupt) }

// TimedOut reports whether the program ran into its time limit.
func (o *Outcome) TimedOut() bool { return o.stoppedFor(stopTimeout) }

// Starved reports whether the program used more memory than it may.
func (o *Outcome) Starved() bool { return o.stoppedFor(stopMemory) }

// stoppedFor reports whether a rank was ended for the given reason, or was told
// to end for it and did not.
func (o *Outcome) stoppedFor(why stopReason) bool {
	return o.any(func(f *Failure) bool { return f.Stop == why || f.Stop == stopHung && o.stop == why })
}

// Values returns the values of the ranks that ran, as MergeValues shows them.
func (o *Outcome) Values() string {
	size := 0
	var ranks []int
	var values []string
	for rank, r := range o.Ranks {
		if r.Ran {
			size++
		}
		if r.Value != nil {
			ranks = append(ranks, rank)
			values = append(values, *r.Value)
		}
	}
	return MergeValues(size, ranks, values)
}

// Exit statuses of the command.
const (
	StatusOK          = 0
	StatusFailed      = 1 // the script or a test failed
	StatusUsage       = 2 // bad usage, or a script that cannot be read
	StatusJob         = 3 // the job failed under the script: a death, a deadlock, a timeout
	StatusInterrupted = 130
)

// ExitStatus returns the status with which a command that ran the program
// ends.
func (o *Outcome) ExitStatus() int {
	switch {
	case o.Interrupted():
		return StatusInterrupted
	case o.Hung() || o.any(func(f *Failure) bool { return f.Stop == stopTimeout || f.Killed || f.Lost }):
		return StatusJob
	case o.any(func(f *Failure) bool { return f.class() == cause && f.Kind != kindDeadlock && f.Kind != kindPeer }):
		return StatusFailed
	case o.any(func(f *Failure) bool { return f.Kind == kindDeadlock || f.Kind == kindPeer }):
		return StatusJob
	case o.failed():
		return StatusFailed
	}
	return StatusOK
}

// StatusOf returns the status with which a command ends whose program has failed with err.
func StatusOf(err error) int {
	o := &Outcome{Ranks: []Result{{Failure: newFailure(err)}}}
	return o.ExitStatus()
}

// failed reports whether the program ended badly on some rank.
func (o *Outcome) failed() bool { return o.any(func(*Failure) bool { return true }) }

func (o *Outcome) any(is func(*Failure) bool) bool {
	return slices.ContainsFunc(o.Ranks, func(r Result) bool { return r.Failure != nil && is(r.Failure) })
}

// A failureClass says how a report shows a failure.
type failureClass int

const (
	cause  failureClass = iota // reported with its traceback
	victim                     // stopped on another rank's account, or on the user's: one line
)

func (f *Failure) class() failureClass {
	switch f.Stop {
	case stopInterrupt, stopTimeout, stopPeer, stopHung:
		return victim
	}
	if f.Kind == kindPeer && !f.Killed && !f.Lost {
		return victim
	}
	return cause
}
