package wire

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/mailbox"
)

var (
	drawNumber = rapid.IntRange(-2, 1<<40)
	drawText   = rapid.SampledFrom([]string{"", "recv", "a.star:3:1", "recv(src=1, tag=0)"})
	drawRanks  = rapid.SliceOfN(rapid.IntRange(0, 5), 1, 4)
	drawKey    = rapid.Custom(func(t *rapid.T) deadlock.CallKey {
		return deadlock.CallKey{Group: rapid.Uint64().Draw(t, "group"), Number: rapid.Uint64().Draw(t, "number")}
	})
)

func drawReport(t *rapid.T) *deadlock.Report {
	r := &deadlock.Report{
		Kind:     deadlock.ReportKind(rapid.IntRange(1, int(deadlock.ReportKinds)-1).Draw(t, "kind")),
		Wait:     drawNumber.Draw(t, "wait"),
		Heard:    drawNumber.Draw(t, "heard"),
		Call:     drawKey.Draw(t, "what"),
		Peer:     drawNumber.Draw(t, "peer"),
		Text:     drawText.Draw(t, "text"),
		Question: drawNumber.Draw(t, "question"),
		Function: drawText.Draw(t, "function"),
		Where:    drawText.Draw(t, "where"),
	}
	if r.Kind == deadlock.ReportLeft {
		r.Left = []comm.Unreceived{{Src: drawNumber.Draw(t, "src"), Dst: drawNumber.Draw(t, "dst"), Group: drawText.Draw(t, "group"), Tag: 3, Where: drawText.Draw(t, "line")}}
	}
	if rapid.Bool().Draw(t, "lists") {
		r.Waits, r.All, r.Sent = drawRanks.Draw(t, "waits"), drawRanks.Draw(t, "all"), drawRanks.Draw(t, "sent")
		r.Calls = rapid.SliceOfN(drawKey, 1, 3).Draw(t, "calls")
		r.Received, r.Caught = make([]int, len(r.Waits)), comm.Caught{Clocks: []int{1, 0}, Last: drawText.Draw(t, "caught")}
	}
	return r
}

func drawVerdict(t *rapid.T) *deadlock.Verdict {
	v := &deadlock.Verdict{
		Kind:     deadlock.VerdictKind(rapid.IntRange(1, int(deadlock.VerdictKinds)-1).Draw(t, "kind")),
		Question: drawNumber.Draw(t, "question"),
		Wait:     drawNumber.Draw(t, "wait"),
		Call:     drawKey.Draw(t, "what"),
		Rank:     drawNumber.Draw(t, "rank"),
		Text:     drawText.Draw(t, "text"),
		Count:    drawNumber.Draw(t, "count"),
	}
	if v.Kind == deadlock.VerdictFailed {
		v.Calls = rapid.SliceOfN(drawKey, 1, 3).Draw(t, "calls")
	}
	if v.Kind == deadlock.VerdictEnded {
		v.Ends = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deadlock.End {
			return deadlock.End{Rank: drawNumber.Draw(t, "ended"), Count: drawNumber.Draw(t, "sent")}
		}), 1, 3).Draw(t, "ends")
	}
	if v.Kind == deadlock.VerdictDeadlock || v.Kind == deadlock.VerdictLeftOut {
		v.Failed = rapid.SliceOfN(drawKey, 1, 3).Draw(t, "failed")
		v.Deadlock = &comm.DeadlockError{Ended: drawRanks.Draw(t, "ended"), Told: drawRanks.Draw(t, "told")}
		for range rapid.IntRange(1, 3).Draw(t, "waits") {
			v.Deadlock.Waits = append(v.Deadlock.Waits, comm.Wait{
				Rank: drawNumber.Draw(t, "rank"), Function: drawText.Draw(t, "function"), Text: drawText.Draw(t, "text"),
				Where: drawText.Draw(t, "where"), For: drawRanks.Draw(t, "for"), Caught: comm.Caught{Clocks: drawRanks.Draw(t, "clocks"), Last: drawText.Draw(t, "caught")},
			})
		}
	}
	return v
}

// roundTrips checks that what encode writes is what decode reads, whole and no
// part of it.
func roundTrips[T any](t *rapid.T, want T, encode func([]byte, T) []byte, decode func([]byte) (T, error)) {
	encoded := encode([]byte("x"), want)[1:]
	got, err := decode(encoded)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v and %v, want %+v", got, err, want)
	}
	for n := range encoded {
		if _, err := decode(encoded[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes: want an error", n, len(encoded))
		}
	}
	if _, err := decode(append(encoded, 0)); err == nil {
		t.Fatal("one byte more: want an error")
	}
}

func TestReportRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { roundTrips(t, drawReport(t), AppendReport, decodeReport) })
}

func TestVerdictRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { roundTrips(t, drawVerdict(t), AppendVerdict, DecodeVerdict) })
}

func decodeSignedOf3(b []byte) (*comm.SignedCall, error) { return DecodeSigned(b, 3) }

func TestSignedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &comm.SignedCall{Desc: *drawDesc(t), Kind: comm.Kind(rapid.IntRange(0, int(comm.Kinds)-1).Draw(t, "kind")), Where: drawText.Draw(t, "where")}
		s.Caught = comm.Caught{Clocks: rapid.SliceOfN(rapid.IntRange(0, 5), 3, 3).Draw(t, "since"), Last: drawText.Draw(t, "last")}
		s.Issued = rapid.Bool().Draw(t, "issued")
		roundTrips(t, s, AppendSigned, decodeSignedOf3)
	})
}

// appendEnvelope appends the encoding of an envelope but for its ranks.
func appendEnvelope(buf []byte, e *mailbox.Envelope) []byte {
	return append(AppendEnvelopeHead(buf, e), e.Message.Data...)
}

func TestEnvelopeRoundTrip(t *testing.T) {
	want := &mailbox.Envelope{Message: comm.Message{Meta: []byte{1, 2}, Data: []byte{3}}, Where: "a.star:1:1", Group: "world"}
	encoded := appendEnvelope(nil, want)
	got, err := DecodeEnvelope(encoded)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	if _, err := DecodeEnvelope(encoded[:20]); err == nil {
		t.Error("a part of a message: want an error")
	}
}

// fuzz checks that what decodes encodes to the same bytes.
func fuzz[T any](f *testing.F, encode func([]byte, T) []byte, decode func([]byte) (T, error), seeds ...T) {
	for _, s := range seeds {
		f.Add(encode(nil, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := decode(b)
		if err == nil && !bytes.Equal(encode(nil, x), b) {
			t.Errorf("%x decodes to %+v, which encodes to %x", b, x, encode(nil, x))
		}
	})
}

func FuzzDecodeReport(f *testing.F) {
	fuzz(f, AppendReport, decodeReport,
		&deadlock.Report{Kind: deadlock.ReportRuns, Wait: 3},
		&deadlock.Report{Kind: deadlock.ReportWaits, Waits: []int{1}, Received: []int{5}, Sent: []int{0, 1}, All: []int{}})
}

func FuzzDecodeVerdict(f *testing.F) {
	fuzz(f, AppendVerdict, DecodeVerdict,
		&deadlock.Verdict{Kind: deadlock.VerdictFailed, Rank: 1, Text: "boom"},
		&deadlock.Verdict{Kind: deadlock.VerdictDeadlock, Failed: []deadlock.CallKey{{Group: 1, Number: 2}}, Deadlock: &comm.DeadlockError{Waits: []comm.Wait{{For: []int{1}}}}})
}

func FuzzDecodeSigned(f *testing.F) {
	fuzz(f, AppendSigned, decodeSignedOf3, &comm.SignedCall{Desc: comm.Desc{Op: "barrier", Free: -1}, Kind: comm.Barrier, Where: "a.star:1:1"})
}

func FuzzDecodeEnvelope(f *testing.F) {
	fuzz(f, appendEnvelope, DecodeEnvelope, &mailbox.Envelope{Message: comm.Message{Data: []byte("data")}, Where: "a.star:1:1"})
}

// Lists are short where ranks follow each other and counters are alike, as in a report of one of
// hundreds of ranks.
func TestListsAreShort(t *testing.T) {
	r := deadlock.Report{Kind: deadlock.ReportWaits, All: comm.FirstRanks(1000), Sent: make([]int, 1000), Waits: []int{-1, 1 << 40, 3}, Received: []int{0, 0, 0}}
	data := AppendReport(nil, &r)
	if len(data) > 2200 {
		t.Errorf("got %d bytes, want at most 2200", len(data))
	}
	back, err := decodeReport(data)
	if err != nil || !reflect.DeepEqual(back, &r) {
		t.Errorf("got %+v, %v, want %+v", back, err, r)
	}
	d := Decoder{Rest: []byte{0x80, 0x00}}
	if d.varint(); d.Err == nil {
		t.Error("a number in two bytes that takes one: got no error")
	}
}
