package lang

// A stopReason says why a run was ended before its time.
type stopReason string

const (
	stopInterrupt stopReason = "interrupt" // the user's wish
	stopTimeout   stopReason = "timeout"
	stopLimit     stopReason = "limit"   // of steps, or of output: the rank's own doing
	stopMemory    stopReason = "memory"  // more than may be used
	stopPeer      stopReason = "stopped" // on account of another rank
	stopHung      stopReason = "hung"    // was told to stop, and did not
)

// A stopError is the cause with which a run's context is cancelled.
type stopError struct {
	Reason stopReason
	Text   string
	within string // the function that was stopped, if it is at fault
}

func (e *stopError) Error() string    { return e.Text }
func (e *stopError) Function() string { return e.within }
