package process

import (
	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
)

// Inject writes bytes to the pipe from one participant of frames to another.
func Inject(f *comm.Fabric, from, to int, b []byte) {
	t := f.Transport().(*frames)
	out := t.supervisor.writers
	if from != Supervisor {
		out = t.wireRanks[from].writers
	}
	o := out[t.index(to)].(*stream.Writer)
	if _, err := o.Stream.Write(b); err != nil {
		panic(err)
	}
}

// An Injection is bytes that one participant must not send to another.
type Injection struct {
	Name     string
	From, To int
	Bytes    []byte
	Lost     int // the rank that nobody relies on afterwards
}

// Injections returns bytes of which none is to pass unnoticed between three
// ranks.
func Injections() []Injection {
	payload := wire.AppendContract(nil, &wire.Contract{})
	contract := wire.Frame{Type: wire.FrameContract, Group: 1, Call: 2, Rest: len(payload), Payload: payload}
	flipped := wire.AppendFrame(nil, &contract)
	flipped[len(flipped)-1] ^= 1
	unfinished := contract
	unfinished.More = true
	unfinished.Rest++
	good := wire.AppendFrame(nil, &contract)
	contract.Number = 1
	second := wire.AppendFrame(nil, &contract)
	outOfRange := &deadlock.Report{Kind: deadlock.ReportWaits, Waits: []int{3}, Received: []int{0}, Sent: make([]int, 3)}
	fewCounters := &deadlock.Report{Kind: deadlock.ReportEnded, Sent: make([]int, 2)}
	frameOf := func(typ wire.FrameType, payload []byte) []byte {
		return wire.AppendFrame(nil, &wire.Frame{Type: typ, Rest: len(payload), Payload: payload})
	}
	nextOf := func(typ wire.FrameType) []byte { return wire.AppendFrame(nil, &wire.Frame{Type: typ, Number: 1}) }
	hop := func(step int, numbers ...uint32) (b []byte) {
		for _, n := range numbers {
			b = wire.AppendFrame(b, &wire.Frame{Type: wire.FrameContracts, Step: step, Group: 1, Call: 2, Number: n})
		}
		return b
	}
	return []Injection{
		{"alien bytes", 0, 1, []byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n"), 0},
		{"a flipped bit", 0, 1, flipped, 0},
		{"another source", 0, 1, wire.AppendFrame(nil, &wire.Frame{Type: wire.FrameData, Source: 2}), 0},
		{"a verdict from a peer", 0, 1, frameOf(wire.FrameVerdict, nil), 0},
		{"a contract cut short", 0, 1, frameOf(wire.FrameContract, contract.Payload[:20]), 0},
		{"a contract that comes twice", 0, 1, append(good, second...), 0},
		{"a message within a message", 0, 1, append(wire.AppendFrame(nil, &unfinished), nextOf(wire.FrameMessage)...), 0},
		{"contracts of a hop that come twice", 0, 1, hop(0, 0, 1), 0},
		{"contracts of no hop", 0, 1, hop(31, 0), 0},
		{"a description cut short", 0, 1, frameOf(wire.FrameDesc, []byte{1, 2, 3}), 0},
		{"data that comes twice", 0, 1, append(frameOf(wire.FrameData, nil), nextOf(wire.FrameData)...), 0},
		{"a frame that comes twice", 0, 1, append(frameOf(wire.FrameData, nil), frameOf(wire.FrameData, nil)...), 0},
		{"a frame that is missing", 0, 1, nextOf(wire.FrameData), 0},
		{"a message cut short", 0, 1, frameOf(wire.FrameMessage, []byte{1}), 0},
		{"a report of no kind", 0, Supervisor, frameOf(wire.FrameReport, wire.AppendReport(nil, &deadlock.Report{})), 0},
		{"a report of no rank", 0, Supervisor, frameOf(wire.FrameReport, wire.AppendReport(nil, outOfRange)), 0},
		{"a report with few counters", 0, Supervisor, frameOf(wire.FrameReport, wire.AppendReport(nil, fewCounters)), 0},
		{"data for the supervisor", 0, Supervisor, frameOf(wire.FrameData, nil), 0},
		{"a verdict on no rank", Supervisor, 0, frameOf(wire.FrameVerdict, wire.AppendVerdict(nil, &deadlock.Verdict{Kind: deadlock.VerdictEnded, Rank: 3})), 0},
		{"a verdict of no kind", Supervisor, 0, frameOf(wire.FrameVerdict, wire.AppendVerdict(nil, &deadlock.Verdict{Kind: deadlock.VerdictKinds})), 0},
		{"data from the supervisor", Supervisor, 0, frameOf(wire.FrameData, nil), 0},
	}
}

// Connected returns to how many ranks there are connections.
func Connected(l *Links) (n int) {
	for _, w := range l.onFirstUse {
		if w != nil && w.out.Load() != nil {
			n++
		}
	}
	return n
}
