package lang

import (
	"tpsh/lang/halt"
)

// A Debugger is told of a session's ranks where they stop. Its methods are called while
// a program runs, on the goroutine of Session.Run, and do not wait.
type Debugger interface {
	// Halted says that a rank has stopped, or if h.Over that it goes on.
	Halted(rank int, h *Halt)
	// Seen brings the answer to a question; see Session.Look.
	Seen(rank, question int, a *Answer)
	// Ended says that the program has ended on a rank, with f or nil.
	Ended(rank int, f *Failure)
}

// A Halt says that a rank has stopped at a line, or that it goes on.
type Halt struct {
	Over bool `json:"over,omitempty"` // it goes on; nothing else is set

	Reason Reason `json:"reason,omitempty"`
	Text   text   `json:"text,omitempty"`  // the error, or the call it is about to make
	Break  int    `json:"break,omitempty"` // the number of the breakpoint
	Where  Spot   `json:"where,omitzero"`
	// Digest and Value are of the expression that is to be compared.
	Digest text `json:"digest,omitempty"`
	Value  text `json:"value,omitempty"`
}

// A Reason says why a rank has stopped.
type Reason string

const (
	AtBreak      Reason = "breakpoint" // of the debugger
	AtCall       Reason = "call"       // of breakpoint()
	AtStep       Reason = "step"
	AtPause      Reason = "pause"
	AtCollective Reason = "collective"
	AtError      Reason = "error"   // which ends the program
	AtCaught     Reason = "caught"  // an error, by attempt or assert.fails
	AtCompare    Reason = "compare" // so that a value is compared with other ranks'
)

// A Spot is a place in a source, within a function.
type Spot struct {
	Name string `json:"name"`
	Path text   `json:"path"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// A Question is a question of a debugger to a rank that stands still or waits: where it
// is, or which variables one of its frames has, 0 for the innermost.
type Question struct {
	Frame int  `json:"frame,omitempty"`
	What  What `json:"what"`
	Expr  text `json:"expr,omitempty"`
}

// A What is the subject of a Question.
type What string

const (
	AskFrames  What = "frames"
	AskLocals  What = "locals"
	AskGlobals What = "globals"
	AskValue   What = "value" // of Expr
	AskParts   What = "parts" // of the value of Expr
	// AskAssign carries out Expr, an assignment, and answers with the variables that it
	// has changed.
	AskAssign What = "assign"
	// AskLines has a rank that has stopped send its output, which otherwise
	// waits for the ranks to meet. All ranks are asked, or none.
	AskLines What = "lines"
)

// A Standing says whether a rank runs, is stopped, or waits for others.
type Standing string

const (
	Running Standing = "running"
	Halted  Standing = "halted"
	Waiting Standing = "waiting" // for other ranks, in a call
)

// An Answer is a rank's answer to a Question. Of a rank that runs it is only that.
type Answer struct {
	Standing Standing `json:"standing"`
	Call     text     `json:"call,omitempty"` // in which it waits
	Frames   []Spot   `json:"frames,omitempty"`
	Values   []Value  `json:"values,omitempty"`
	Error    text     `json:"error,omitempty"`
}

// A Value is a value as a debugger shows it.
type Value struct {
	Name   text   `json:"name"`
	Type   string `json:"type"`
	Text   text   `json:"text"`
	Digest text   `json:"digest"`          // differs where values do
	Expr   text   `json:"expr,omitempty"`  // an expression for it
	Parts  int    `json:"parts,omitempty"` // how many values it holds
}

// StopLine returns the line of a source at which a program stops for a breakpoint on a
// line: that of the statement there, or of the next; 0 if there is none. Of a source that
// cannot be read it is the line itself.
func StopLine(path, text string, line int) int {
	file, err := parseCore(path, text, 1)
	if err != nil {
		return line
	}
	return halt.NewMap(file).Stop(line)
}

// Order tells a rank where to stop from now on, and if resume is set and it has
// stopped, to go on. Any goroutine may call it.
func (s *Session) Order(rank int, o halt.Orders, resume bool) {
	s.send(rank, &message{Order: &orderMsg{Orders: o, Resume: resume}})
}

// Release lets a rank that has stopped go on with the orders that it has, as if it had
// not. Any goroutine may call it.
func (s *Session) Release(rank int) {
	s.send(rank, &message{Order: &orderMsg{Resume: true, Keep: true}})
}

// Look asks a rank a question, whose number is for the Debugger to know the answer by.
// Any goroutine may call it.
func (s *Session) Look(rank, number int, q Question) {
	s.send(rank, &message{Seq: number, Look: &q})
}
