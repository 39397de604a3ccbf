package deadlock

import "tpsh/comm"

// A Report is what a rank tells the supervisor. Which fields are used depends
// on its kind; the others are zero.
type Report struct {
	Kind ReportKind

	// Of a wait, and of an answer about one.
	Wait   int // the number of the wait among those of the rank
	Heard  int // how many verdicts but questions the rank has had
	Call   CallKey
	Waits  []int       // the ranks that are missing, ascending
	All    []int       // the members of the group
	Caught comm.Caught // the errors that the rank has caught

	// Received[i] counts the calls and messages that came from Waits[i];
	// Sent[r] those that went to rank r before the report.
	Received, Sent []int

	// Calls has the latest call of the rank on each of the groups whose contracts are relayed, of
	// every report with Sent, and of ReportCalls. A wait for a call on one of them has neither Waits nor
	// Received: what has come says nothing of who has called, but this does.
	Calls []CallKey

	Peer int    // of ReportLost
	Text string // the cause of a failure, or a call as a script would write it

	Question        int // the number of the question that is answered
	Function, Where string

	Left []comm.Unreceived // of ReportLeft
}

// A ReportKind is the kind of news in a report.
type ReportKind byte

const (
	ReportWaits   ReportKind = 1 + iota // the rank waits
	ReportRuns                          // it waits no longer
	ReportEnded                         // it has ended normally
	ReportFailed                        // it has ended with a cause
	ReportIdle                          // it makes no call until it resumes
	ReportResumes                       // it does again, when it has an answer
	ReportLost                          // it hears nothing sensible from peer
	ReportAnswer                        // where it is in the call that was asked for
	ReportNone                          // it is not in that call
	ReportLeft                          // all ranks have ended, and it has not received these messages
	ReportCalls                         // it has made calls, in which it does not wait
	ReportKinds
)

// A Verdict is what the supervisor tells a rank. Which fields are used depends
// on its kind; the others are zero.
type Verdict struct {
	Kind VerdictKind

	Question int     // the number of a question
	Wait     int     // the wait that is asked about, released or ended, 0 for none
	Call     CallKey // the call that is asked about, unless it is a wait

	Rank  int       // that has ended, of kinds that tell a cause
	Text  string    // the cause
	Count int       // how many calls and messages it has sent to this rank
	Calls []CallKey // as in its report

	Ends []End // of VerdictEnded

	Failed   []CallKey // the calls that a deadlock has failed
	Deadlock *comm.DeadlockError
}

// A VerdictKind is the kind of news in a verdict.
type VerdictKind byte

const (
	VerdictQuestion VerdictKind = 1 + iota // where is the rank in a wait or a call?
	VerdictHold                            // the same, and the wait is not to end before the next
	VerdictRelease                         // the wait that was held may end
	VerdictAwake                           // it is known that the rank has resumed
	VerdictEnded                           // ranks have ended normally
	VerdictFailed                          // a rank has ended with a cause
	VerdictLost                            // a rank cannot be relied on any more
	VerdictGone                            // nor will it be in a later generation
	VerdictDeadlock                        // waits have ended in a deadlock
	VerdictLeftOut                         // the same, and members that have not made the failed calls have left them out
	VerdictKinds
)

// An End is that of a rank which has ended normally.
type End struct {
	Rank  int
	Count int // how many calls and messages it has sent to the rank that is told
}

// A CallKey names a collective of a fabric; numbers start at 1. The zero value
// names none.
type CallKey struct {
	Group  uint64
	Number uint64
}
