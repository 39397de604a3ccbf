package process

import "tpsh/comm"

// A report is what a rank tells the supervisor. Which fields are used depends
// on its kind; the others are zero.
type report struct {
	kind reportKind

	// Of a wait, and of an answer about one.
	wait  int // the number of the wait among those of the rank
	heard int // how many verdicts but questions the rank has had
	what  callKey
	waits []int // the ranks that are missing, ascending
	all   []int // the members of the group

	// received[i] counts the calls and messages that came from waits[i];
	// sent[r] those that went to rank r before the report.
	received, sent []int

	peer int    // of reportLost
	text string // the cause of a failure, or a call as a script would write it

	question        int // the number of the question that is answered
	function, where string

	left []comm.Unreceived // of reportLeft
}

// A reportKind says what a report tells.
type reportKind byte

const (
	reportWaits   reportKind = 1 + iota // the rank waits
	reportRuns                          // it waits no longer
	reportEnded                         // it has ended normally
	reportFailed                        // it has ended with a cause
	reportIdle                          // it makes no call until it resumes
	reportResumes                       // it does again, when it has an answer
	reportLost                          // it hears nothing sensible from peer
	reportAnswer                        // where it is in the call that was asked for
	reportNone                          // it is not in that call
	reportLeft                          // all ranks have ended, and it has not received these messages
	reportKinds
)

// A verdict is what the supervisor tells a rank. Which fields are used depends
// on its kind; the others are zero.
type verdict struct {
	kind verdictKind

	question int     // the number of a question
	wait     int     // the wait that is asked about, released or ended, 0 for none
	what     callKey // the call that is asked about, unless it is a wait

	rank  int    // that has ended
	text  string // the cause
	count int    // how many calls and messages it has sent to this rank

	failed   []callKey // the calls that a deadlock has failed
	deadlock *comm.DeadlockError
}

// A verdictKind says what a verdict tells.
type verdictKind byte

const (
	verdictQuestion verdictKind = 1 + iota // where is the rank in a wait or a call?
	verdictHold                            // the same, and the wait is not to end before the next
	verdictRelease                         // the wait that was held may end
	verdictAwake                           // it is known that the rank has resumed
	verdictEnded                           // a rank has ended normally
	verdictFailed                          // a rank has ended with a cause
	verdictLost                            // a rank cannot be relied on any more
	verdictGone                            // nor will it be in a later generation
	verdictDeadlock                        // waits have ended in a deadlock
	verdictKinds
)

// A callKey names a collective of a fabric; numbers start at 1. The zero value
// names none.
type callKey struct {
	group  uint64
	number uint64
}
