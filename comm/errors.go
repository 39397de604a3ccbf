package comm

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"tpsh/internal/ranklist"
)

// A Call is one rank's call in the report of a mismatch.
type Call struct {
	Rank     int    // of the fabric
	Function string // "all_reduce"
	Text     string // `all_reduce(float32[4], op="sum")`
	Where    string // its source line, "" if that is not known
	Caught   Caught // the errors that the rank had caught, if they are why the calls differ
}

// A MismatchError says that the members of a group did not call the same. Every
// member gets the same text, but for the members that have left a call out: theirs is
// compared with the next of the others. For example:
//
//	all_reduce: ranks do not call the same (shape differs): rank 0: all_reduce(float32[1], op="sum")
//	at a.star:7:11, rank 1: all_reduce(float32[2], op="sum") at a.star:7:11
type MismatchError struct {
	Group   string // as Group.String has it
	Calls   []Call // of every member, by rank
	Differs string // the one parameter that differs, or "" if several do
	LeftOut []int  // the ranks that have left out the call of the others, ascending
}

// Kind returns "mismatch".
func (e *MismatchError) Kind() string { return "mismatch" }

// Function returns the operation that the lowest rank called.
func (e *MismatchError) Function() string { return e.Calls[0].Function }

// Ranks returns the members of the group in ascending order.
func (e *MismatchError) Ranks() []int {
	ranks := make([]int, len(e.Calls))
	for i, c := range e.Calls {
		ranks[i] = c.Rank
	}
	return ranks
}

func (e *MismatchError) Error() string {
	var calls phrases
	for _, c := range e.Calls {
		calls.add(c.Text+AtLine(c.Where)+afterCaught(c.Caught), c.Rank)
	}
	differs := ""
	if e.Differs != "" {
		differs = " (" + e.Differs + " differs)"
	}
	return fmt.Sprintf("%s: ranks do not call the same%s%s: %s", e.Function(), InGroup(e.Group), differs,
		calls.join(func(ranks []int, text string) string { return ranklist.Text(ranks) + ": " + text }))
}

// A Wait is one rank's wait in the report of a deadlock.
type Wait struct {
	Rank     int    // of the fabric
	Function string // "recv"
	Text     string // "recv(src=1, tag=0)"
	Where    string // its source line, "" if that is not known
	For      []int  // the ranks it waits for, ascending
	Caught   Caught // the errors that the rank had caught, if they are why others wait for it
}

// A DeadlockError says that the waits of some ranks can never end. All of them
// get the same text, unless one has caught an error: then those get it alone
// that wait for the call it left out.
type DeadlockError struct {
	Waits []Wait // of every rank of the set, by rank
	Ended []int  // the ranks they wait for that have ended, ascending
	Told  []int  // the ranks whose waits end, ascending, if the others go on: the calls that these wait for were left out
}

// LeftOut returns the ranks that have left out calls that others wait for, ascending.
func (e *DeadlockError) LeftOut() []int {
	var ranks []int
	for _, w := range e.Waits {
		if w.Caught.Last != "" {
			ranks = append(ranks, w.Rank)
		}
	}
	return ranks
}

// Kind returns "deadlock".
func (e *DeadlockError) Kind() string { return "deadlock" }

// Function returns the operation in which the lowest rank waits.
func (e *DeadlockError) Function() string { return e.Waits[0].Function }

// Ranks returns the ranks that wait, in ascending order.
func (e *DeadlockError) Ranks() []int {
	ranks := make([]int, len(e.Waits))
	for i, w := range e.Waits {
		ranks[i] = w.Rank
	}
	return ranks
}

func (e *DeadlockError) Error() string {
	var waits phrases
	for _, w := range e.Waits {
		waits.add(w.text(), w.Rank)
	}
	text := waits.join(func(ranks []int, text string) string {
		return ranklist.Text(ranks) + verb(ranks, " waits in ", " wait in ") + text
	})
	if len(e.Ended) > 0 {
		text += "; " + ranklist.Text(e.Ended) + verb(e.Ended, " has ended", " have ended")
	}
	return e.Function() + ": deadlock: " + text
}

// text tells the call that w waits in, its line, and the ranks waited for unless the call tells them.
func (w *Wait) text() string {
	text := w.Text + AtLine(w.Where)
	if w.Function != RecvName {
		text += " for " + ranklist.Text(w.For)
	}
	return text + afterCaught(w.Caught)
}

// A PeerError says that a call failed because another rank had.
type PeerError struct {
	Func  string // the operation that failed
	Rank  int    // the rank of the fabric that failed
	Cause error  // why it failed
}

// Kind returns "peer".
func (e *PeerError) Kind() string { return "peer" }

// Function returns the operation that failed.
func (e *PeerError) Function() string { return e.Func }

// Ranks returns the rank that failed.
func (e *PeerError) Ranks() []int { return []int{e.Rank} }

// Unwrap returns the cause.
func (e *PeerError) Unwrap() error { return e.Cause }

func (e *PeerError) Error() string {
	return fmt.Sprintf("%s: rank %d failed: %v", e.Func, e.Rank, e.Cause)
}

// A PanicError is a panic of a function that the caller of a collective gave
// with it. It shows a defect of that function.
type PanicError struct {
	Func  string // the operation
	Value any    // the value of the panic
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: panic: %v\n%s", e.Func, e.Value, e.Stack)
}

// Recovered, when it is deferred, makes an error of a panic in a function that the
// caller gave.
func Recovered(function string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{function, v, debug.Stack()}
	}
}

// An ArgError says that a parameter of a call has a value that it cannot have.
type ArgError struct {
	Func string // the operation
	Name string // the parameter
	Got  string
	Want string // with the rule
}

// Function returns the operation.
func (e *ArgError) Function() string { return e.Func }

func (e *ArgError) Error() string {
	return fmt.Sprintf("%s: for parameter %q: got %s, want %s", e.Func, e.Name, e.Got, e.Want)
}

// phrases collects texts that are said of ranks, each once.
type phrases struct {
	texts []string
	ranks [][]int
	index map[string]int // of texts
}

func (p *phrases) add(text string, rank int) {
	i, known := p.index[text]
	if !known {
		if p.index == nil {
			p.index = map[string]int{}
		}
		i = len(p.texts)
		p.index[text] = i
		p.texts, p.ranks = append(p.texts, text), append(p.ranks, nil)
	}
	p.ranks[i] = append(p.ranks[i], rank)
}

// mostPhrases is how many texts are told apart: what hundreds of ranks do each in a way of
// its own nobody reads.
const mostPhrases = 16

// join puts the phrases together in the order in which they were first added. Of many it
// names the ranks of the rest alone.
func (p *phrases) join(phrase func(ranks []int, text string) string) string {
	all := make([]string, 0, mostPhrases+1)
	for i, text := range p.texts {
		if i == mostPhrases {
			rest := slices.Concat(p.ranks[i:]...)
			slices.Sort(rest)
			all = append(all, "and "+ranklist.Text(rest)+" otherwise")
			break
		}
		all = append(all, phrase(p.ranks[i], text))
	}
	return strings.Join(all, ", ")
}

// verb returns one if there is one rank, and many otherwise.
func verb(ranks []int, one, many string) string {
	if len(ranks) == 1 {
		return one
	}
	return many
}

// AtLine returns " at where", or nothing if where is unknown.
func AtLine(where string) string {
	if where == "" {
		return ""
	}
	return " at " + where
}

// afterCaught names the error that a rank had caught last, if any.
func afterCaught(c Caught) string {
	if c.Last == "" {
		return ""
	}
	return ", after it had caught an error (" + c.Last + ")"
}

// InGroup returns " in group", or nothing if group is the world.
func InGroup(group string) string {
	if group == worldName {
		return ""
	}
	return " in " + group
}

// NoticeLine says that a rank has waited in a call for others.
func NoticeLine(rank int, after time.Duration, call string, missing []int) string {
	return fmt.Sprintf("rank %d has waited %v in %s for %s", rank, after, call, ranklist.Text(missing))
}
