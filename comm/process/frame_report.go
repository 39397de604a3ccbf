package process

import (
	"fmt"
	"unsafe"

	"tpsh/comm"
	"tpsh/comm/mailbox"
)

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

func appendReport(buf []byte, r *report) []byte {
	buf = append(buf, byte(r.kind))
	for _, x := range []int{r.wait, r.heard, r.peer, r.question} {
		buf = appendInt(buf, x)
	}
	buf = appendKey(buf, r.what)
	for _, list := range [][]int{r.waits, r.all, r.received, r.sent} {
		buf = appendInts(buf, list)
	}
	for _, s := range []string{r.text, r.function, r.where} {
		buf = appendString(buf, s)
	}
	buf = appendInt(buf, listLen(r.left))
	for _, u := range r.left {
		buf = appendUnreceived(buf, u)
	}
	return buf
}

func appendUnreceived(buf []byte, u comm.Unreceived) []byte {
	for _, x := range []int{u.Src, u.Dst, u.Tag} {
		buf = appendInt(buf, x)
	}
	return appendString(appendString(buf, u.Group), u.Where)
}

// unreceived takes what appendUnreceived appends. One takes at least 40 bytes.
func (d *decoder) unreceived() []comm.Unreceived {
	n := d.list(40)
	if n < 0 {
		return nil
	}
	list := make([]comm.Unreceived, n)
	for i := range list {
		list[i] = comm.Unreceived{Src: d.int(), Dst: d.int(), Tag: d.int(), Group: d.string(), Where: d.string()}
	}
	return list
}

// decodeReport decodes what appendReport appends, and nothing else.
func decodeReport(b []byte) (*report, error) {
	d := decoder{rest: b}
	r := &report{
		kind:     reportKind(d.byte()),
		wait:     d.int(),
		heard:    d.int(),
		peer:     d.int(),
		question: d.int(),
		what:     d.key(),
		waits:    d.ints(),
		all:      d.ints(),
		received: d.ints(),
		sent:     d.ints(),
		text:     d.string(),
		function: d.string(),
		where:    d.string(),
		left:     d.unreceived(),
	}
	d.kind(byte(r.kind), byte(reportKinds))
	if len(r.received) != len(r.waits) {
		d.fail("length", fmt.Sprintf("%d counters", len(r.received)), fmt.Sprint(len(r.waits)))
	}
	return r, d.end("report")
}

func appendVerdict(buf []byte, v *verdict) []byte {
	buf = append(buf, byte(v.kind))
	for _, x := range []int{v.question, v.wait, v.rank, v.count} {
		buf = appendInt(buf, x)
	}
	buf = appendKey(buf, v.what)
	buf = appendString(buf, v.text)
	buf = appendInt(buf, listLen(v.failed))
	for _, k := range v.failed {
		buf = appendKey(buf, k)
	}
	if v.deadlock == nil {
		return appendInt(buf, 0)
	}
	return appendDeadlock(buf, v.deadlock)
}

// appendDeadlock appends the number of waits, the waits, and the ended ranks.
func appendDeadlock(buf []byte, e *comm.DeadlockError) []byte {
	buf = appendInt(buf, listLen(e.Waits))
	for _, w := range e.Waits {
		buf = appendInt(buf, w.Rank)
		for _, s := range []string{w.Function, w.Text, w.Where} {
			buf = appendString(buf, s)
		}
		buf = appendInts(buf, w.For)
	}
	return appendInts(buf, e.Ended)
}

// decodeVerdict decodes what appendVerdict appends, and nothing else.
func decodeVerdict(b []byte) (*verdict, error) {
	d := decoder{rest: b}
	v := &verdict{
		kind:     verdictKind(d.byte()),
		question: d.int(),
		wait:     d.int(),
		rank:     d.int(),
		count:    d.int(),
		what:     d.key(),
		text:     d.string(),
	}
	if n := d.list(16); n >= 0 {
		v.failed = make([]callKey, n)
		for i := range v.failed {
			v.failed[i] = d.key()
		}
	}
	v.deadlock = d.deadlock()
	d.kind(byte(v.kind), byte(verdictKinds))
	if v.kind == verdictDeadlock && (v.deadlock == nil || len(v.deadlock.Waits) == 0) {
		d.fail("length", "a deadlock of no ranks", "1 or more")
	}
	return v, d.end("verdict")
}

// deadlock takes what appendDeadlock appends, or a 0 for none. A wait takes at
// least 40 bytes.
func (d *decoder) deadlock() *comm.DeadlockError {
	n := d.list(40)
	if n < 0 {
		return nil
	}
	e := &comm.DeadlockError{Waits: make([]comm.Wait, n)}
	for i := range e.Waits {
		e.Waits[i] = comm.Wait{Rank: d.int(), Function: d.string(), Text: d.string(), Where: d.string(), For: d.ints()}
	}
	e.Ended = d.ints()
	return e
}

func appendKey(buf []byte, k callKey) []byte {
	return appendInt(appendInt(buf, int(k.group)), int(k.number))
}

func (d *decoder) key() callKey { return callKey{d.uint64(), d.uint64()} }

func appendString(buf []byte, s string) []byte { return append(appendInt(buf, len(s)), s...) }

func appendInts(buf []byte, list []int) []byte {
	buf = appendInt(buf, listLen(list))
	for _, x := range list {
		buf = appendInt(buf, x)
	}
	return buf
}

func (d *decoder) ints() []int {
	n := d.list(8)
	if n < 0 {
		return nil
	}
	list := make([]int, n)
	for i := range list {
		list[i] = d.int()
	}
	return list
}

// kind checks a kind, which is above 0 and below end.
func (d *decoder) kind(kind, end byte) {
	if kind == 0 || kind >= end {
		d.fail("alien", fmt.Sprintf("kind %d", kind), fmt.Sprintf("1..%d", end-1))
	}
}

// end returns the error of decoding what, which is to be over.
func (d *decoder) end(what string) error {
	if d.err == nil && len(d.rest) > 0 {
		d.fail("length", fmt.Sprintf("%d bytes more", len(d.rest)), "none")
	}
	if d.err != nil {
		return fmt.Errorf("%s: %w", what, d.err)
	}
	return nil
}

// appendEnvelope appends the encoding of what an envelope holds but for its ranks:
// the line of its Send, the name of the group, its Meta, and its Data to the
// end.
func appendEnvelope(buf []byte, l *mailbox.Envelope) []byte {
	return append(appendEnvelopeHead(buf, l), l.Message.Data...)
}

// appendEnvelopeHead appends what comes before Data.
func appendEnvelopeHead(buf []byte, l *mailbox.Envelope) []byte {
	buf = appendString(appendString(buf, l.Where), l.Group)
	return append(appendInt(buf, len(l.Message.Meta)), l.Message.Meta...)
}

// decodeEnvelope decodes what appendEnvelope appends. The slices and texts of the
// result are parts of b, which may not change any more.
func decodeEnvelope(b []byte) (*mailbox.Envelope, error) {
	d := decoder{rest: b}
	l := &mailbox.Envelope{Where: textOf(d.take(d.int())), Group: textOf(d.take(d.int()))}
	l.Message.Meta = d.take(d.size())
	l.Message.Data = d.rest
	if d.err != nil {
		return nil, fmt.Errorf("message: %w", d.err)
	}
	return l, nil
}

// textOf returns b, which does not change any more, as a string.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// appendSigned appends the encoding of a call as its report shows it: its
// kind, its line, and its Desc to the end.
func appendSigned(buf []byte, s *comm.SignedCall) []byte {
	return appendDesc(appendString(append(buf, byte(s.Kind)), s.Where), &s.Desc)
}

// decodeSigned decodes what appendSigned appends, and nothing else.
func decodeSigned(b []byte) (*comm.SignedCall, error) {
	d := decoder{rest: b}
	s := &comm.SignedCall{Kind: comm.Kind(d.byte()), Where: d.string()}
	if s.Kind > comm.Permute {
		d.fail("alien", fmt.Sprintf("kind %d", s.Kind), fmt.Sprintf("0..%d", comm.Permute))
	}
	if d.err != nil {
		return nil, fmt.Errorf("call: %w", d.err)
	}
	desc, err := decodeDesc(d.rest)
	if err != nil {
		return nil, err
	}
	s.Desc = *desc
	return s, nil
}
