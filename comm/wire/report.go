package wire

import (
	"fmt"
	"unsafe"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/mailbox"
	"tpsh/comm/schedule"
	"tpsh/internal/ranklist"
)

func AppendReport(buf []byte, r *deadlock.Report) []byte {
	buf = append(buf, byte(r.Kind))
	for _, x := range []int{r.Wait, r.Heard, r.Peer, r.Question} {
		buf = AppendInt(buf, x)
	}
	buf = appendKey(buf, r.Call)
	for _, list := range [][]int{r.Waits, r.All, r.Received, r.Sent} {
		buf = appendInts(buf, list)
	}
	buf = appendKeys(buf, r.Calls)
	for _, s := range []string{r.Text, r.Function, r.Where} {
		buf = AppendString(buf, s)
	}
	buf = appendCaught(buf, &r.Caught)
	buf = AppendInt(buf, ListLen(r.Left))
	for _, u := range r.Left {
		buf = appendUnreceived(buf, u)
	}
	return buf
}

func appendUnreceived(buf []byte, u comm.Unreceived) []byte {
	for _, x := range []int{u.Src, u.Dst, u.Tag} {
		buf = AppendInt(buf, x)
	}
	return AppendString(AppendString(buf, u.Group), u.Where)
}

// unreceived is the inverse of appendUnreceived. One takes at least 40 bytes.
func (d *Decoder) unreceived() []comm.Unreceived {
	n := d.List(40)
	if n < 0 {
		return nil
	}
	list := make([]comm.Unreceived, n)
	for i := range list {
		list[i] = comm.Unreceived{Src: d.Int(), Dst: d.Int(), Tag: d.Int(), Group: d.Text(), Where: d.Text()}
	}
	return list
}

// decodeReport is the inverse of AppendReport, and refuses all other bytes.
func decodeReport(b []byte) (*deadlock.Report, error) {
	d := Decoder{Rest: b}
	r := &deadlock.Report{
		Kind:     deadlock.ReportKind(d.byte()),
		Wait:     d.Int(),
		Heard:    d.Int(),
		Peer:     d.Int(),
		Question: d.Int(),
		Call:     d.key(),
		Waits:    d.ints(),
		All:      d.ints(),
		Received: d.ints(),
		Sent:     d.ints(),
		Calls:    d.keys(),
		Text:     d.Text(),
		Function: d.Text(),
		Where:    d.Text(),
		Caught:   d.caught(),
		Left:     d.unreceived(),
	}
	d.kind(byte(r.Kind), byte(deadlock.ReportKinds))
	if len(r.Received) != len(r.Waits) {
		d.Fail("length", fmt.Sprintf("%d counters", len(r.Received)), fmt.Sprint(len(r.Waits)))
	}
	return r, d.End("report")
}

func AppendVerdict(buf []byte, v *deadlock.Verdict) []byte {
	buf = append(buf, byte(v.Kind))
	for _, x := range []int{v.Question, v.Wait, v.Rank, v.Count} {
		buf = AppendInt(buf, x)
	}
	buf = appendKey(buf, v.Call)
	buf = AppendString(buf, v.Text)
	buf = appendKeys(appendKeys(buf, v.Failed), v.Calls)
	buf = AppendInt(buf, ListLen(v.Ends))
	for _, e := range v.Ends {
		buf = AppendInt(AppendInt(buf, e.Rank), e.Count)
	}
	if v.Deadlock == nil {
		return AppendInt(buf, 0)
	}
	return appendDeadlock(buf, v.Deadlock)
}

// appendDeadlock appends the number of waits, the waits, and the ranks that have
// ended or are told.
func appendDeadlock(buf []byte, e *comm.DeadlockError) []byte {
	buf = AppendInt(buf, ListLen(e.Waits))
	for _, w := range e.Waits {
		buf = AppendInt(buf, w.Rank)
		for _, s := range []string{w.Function, w.Text, w.Where} {
			buf = AppendString(buf, s)
		}
		buf = appendCaught(appendInts(buf, w.For), &w.Caught)
	}
	return appendInts(appendInts(buf, e.Ended), e.Told)
}

// DecodeVerdict is the inverse of AppendVerdict, and refuses all other bytes.
func DecodeVerdict(b []byte) (*deadlock.Verdict, error) {
	d := Decoder{Rest: b}
	v := &deadlock.Verdict{
		Kind:     deadlock.VerdictKind(d.byte()),
		Question: d.Int(),
		Wait:     d.Int(),
		Rank:     d.Int(),
		Count:    d.Int(),
		Call:     d.key(),
		Text:     d.Text(),
		Failed:   d.keys(),
		Calls:    d.keys(),
		Ends:     d.ends(),
	}
	v.Deadlock = d.deadlock()
	d.kind(byte(v.Kind), byte(deadlock.VerdictKinds))
	if ends := v.Kind == deadlock.VerdictDeadlock || v.Kind == deadlock.VerdictLeftOut; ends && (v.Deadlock == nil || len(v.Deadlock.Waits) == 0) {
		d.Fail("length", "a deadlock of no ranks", "1 or more")
	}
	return v, d.End("verdict")
}

// ends takes the ends of ranks, each of 16 bytes.
func (d *Decoder) ends() []deadlock.End {
	n := d.List(16)
	if n < 0 {
		return nil
	}
	list := make([]deadlock.End, n)
	for i := range list {
		list[i] = deadlock.End{Rank: d.Int(), Count: d.Int()}
	}
	return list
}

// deadlock is the inverse of appendDeadlock, or takes a 0 for none. A wait takes at
// least 56 bytes.
func (d *Decoder) deadlock() *comm.DeadlockError {
	n := d.List(56)
	if n < 0 {
		return nil
	}
	e := &comm.DeadlockError{Waits: make([]comm.Wait, n)}
	for i := range e.Waits {
		e.Waits[i] = comm.Wait{Rank: d.Int(), Function: d.Text(), Text: d.Text(), Where: d.Text(), For: d.ints(), Caught: d.caught()}
	}
	e.Ended, e.Told = d.ints(), d.ints()
	return e
}

func appendKey(buf []byte, k deadlock.CallKey) []byte {
	return AppendInt(AppendInt(buf, int(k.Group)), int(k.Number))
}

func (d *Decoder) key() deadlock.CallKey {
	return deadlock.CallKey{Group: d.Uint64(), Number: d.Uint64()}
}

func appendKeys(buf []byte, list []deadlock.CallKey) []byte {
	buf = AppendInt(buf, ListLen(list))
	for _, k := range list {
		buf = appendKey(buf, k)
	}
	return buf
}

func (d *Decoder) keys() []deadlock.CallKey {
	n := d.List(16)
	if n < 0 {
		return nil
	}
	list := make([]deadlock.CallKey, n)
	for i := range list {
		list[i] = d.key()
	}
	return list
}

// appendCaught appends the errors that a rank has caught, as others are told.
func appendCaught(buf []byte, c *comm.Caught) []byte {
	return AppendString(appendInts(buf, c.Clocks), c.Last)
}

func (d *Decoder) caught() comm.Caught { return comm.Caught{Clocks: d.ints(), Last: d.Text()} }

// kind checks a kind, which is above 0 and below end.
func (d *Decoder) kind(kind, end byte) {
	if kind == 0 || kind >= end {
		d.Fail("alien", fmt.Sprintf("kind %d", kind), fmt.Sprintf("1..%d", end-1))
	}
}

// AppendEnvelopeHead appends the encoding of an envelope but for its ranks and its Data,
// which goes behind it to the end: the line of its Send, the name of the group, its Meta.
func AppendEnvelopeHead(buf []byte, e *mailbox.Envelope) []byte {
	buf = AppendString(AppendString(buf, e.Where), e.Group)
	return append(AppendInt(buf, len(e.Message.Meta)), e.Message.Meta...)
}

// DecodeEnvelope is the inverse of AppendEnvelopeHead with Data behind it. The slices and
// texts of the result are parts of b, which may not change any more.
func DecodeEnvelope(b []byte) (*mailbox.Envelope, error) {
	d := Decoder{Rest: b}
	e := &mailbox.Envelope{Where: textOf(d.Take(d.Int())), Group: textOf(d.Take(d.Int()))}
	e.Message.Meta = d.Take(d.Size())
	e.Message.Data = d.Rest
	if d.Err != nil {
		return nil, fmt.Errorf("message: %w", d.Err)
	}
	return e, nil
}

// textOf returns b, which does not change any more, as a string.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// AppendSigned appends the encoding of a call as its report shows it: its
// kind, its line, the errors that the member had caught, and its Desc to the end.
func AppendSigned(buf []byte, s *comm.SignedCall) []byte {
	buf = AppendString(append(buf, byte(s.Kind)), s.Where)
	issued := 0
	if s.Issued {
		issued = 1
	}
	return appendDesc(appendCaught(AppendInt(buf, issued), &s.Caught), &s.Desc)
}

// DecodeSigned is the inverse of AppendSigned for a member of so many ranks, and refuses
// all other bytes.
func DecodeSigned(b []byte, size int) (*comm.SignedCall, error) {
	d := Decoder{Rest: b}
	s := &comm.SignedCall{Kind: comm.Kind(d.byte()), Where: d.Text(), Issued: d.bool(), Caught: d.caught()}
	if s.Kind >= schedule.Kinds {
		d.Fail("alien", fmt.Sprintf("kind %d", uint8(s.Kind)), fmt.Sprintf("0..%d", schedule.Kinds-1))
	}
	if n := len(s.Caught.Clocks); s.Caught.Clocks != nil && n != size {
		d.Fail("length", fmt.Sprintf("%d counters", n), fmt.Sprint(size))
	}
	if d.Err != nil {
		return nil, fmt.Errorf("call: %w", d.Err)
	}
	desc, err := decodeDesc(d.Rest)
	if err != nil {
		return nil, err
	}
	s.Desc = *desc
	return s, nil
}

// ReadReport returns the report of a frame from one of size ranks.
func ReadReport(f *Frame, size int) (*deadlock.Report, error) {
	if f.Type != FrameReport {
		return nil, AlienType(f)
	}
	r, err := decodeReport(f.Payload)
	if err != nil {
		return nil, err
	}
	return r, checkReport(r, size)
}

// checkReport checks the numbers of a report that are to be ranks.
func checkReport(r *deadlock.Report, size int) error {
	for _, list := range [][]int{r.Waits, r.All, {r.Peer}} {
		for _, x := range list {
			if x < 0 || x >= size {
				return OutOfRange(x, size)
			}
		}
	}
	if counts := r.Kind <= deadlock.ReportIdle && r.Kind != deadlock.ReportRuns; counts && len(r.Sent) != size {
		return &FrameError{"length", fmt.Sprintf("%d counters", len(r.Sent)), fmt.Sprint(size)}
	}
	if n := len(r.Caught.Clocks); r.Caught.Clocks != nil && n != size {
		return &FrameError{"length", fmt.Sprintf("%d clocks", n), fmt.Sprint(size)}
	}
	return nil
}

func AlienType(f *Frame) error {
	return &FrameError{"alien", fmt.Sprintf("type %d", f.Type), "another, from that source"}
}

func OutOfRange(rank, size int) error {
	return &FrameError{"alien", ranklist.Text([]int{rank}), fmt.Sprintf("0..%d", size-1)}
}
