package process

import "tpsh/comm/wire"

// A messageWriter passes messages on to one other participant. Messages that several
// goroutines send do not mix. Whether anyone gets them is not for the sender
// to know: the receiver notices that a stream has been cut.
type messageWriter interface {
	// Send sends head and then body as one message with the numbers of f. It
	// is done with both when it returns.
	Send(f wire.Frame, head, body []byte)
	// Stop ends the message being sent, and lets nothing be sent any more.
	Stop()
}
