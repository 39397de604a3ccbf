package process

import (
	"tpsh/comm"
	"tpsh/comm/deadlock"
)

// Inject writes bytes to the pipe from one participant of frames to another.
func Inject(f *comm.Fabric, from, to int, b []byte) {
	t := f.Transport().(*frames)
	out := t.supervisor.writers
	if from != Supervisor {
		out = t.wireRanks[from].writers
	}
	o := out[t.index(to)].(*frameWriter)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.stream.Write(b); err != nil {
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
	payload := appendContract(nil, &contract{})
	contract := frame{typ: frameContract, group: 1, call: 2, rest: len(payload), payload: payload}
	flipped := appendFrame(nil, &contract)
	flipped[len(flipped)-1] ^= 1
	unfinished := contract
	unfinished.more = true
	unfinished.rest++
	good := appendFrame(nil, &contract)
	contract.number = 1
	second := appendFrame(nil, &contract)
	outOfRange := &deadlock.Report{Kind: deadlock.ReportWaits, Waits: []int{3}, Received: []int{0}, Sent: make([]int, 3)}
	fewCounters := &deadlock.Report{Kind: deadlock.ReportEnded, Sent: make([]int, 2)}
	frameOf := func(typ frameType, payload []byte) []byte {
		return appendFrame(nil, &frame{typ: typ, rest: len(payload), payload: payload})
	}
	nextOf := func(typ frameType) []byte { return appendFrame(nil, &frame{typ: typ, number: 1}) }
	return []Injection{
		{"alien bytes", 0, 1, []byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n"), 0},
		{"a flipped bit", 0, 1, flipped, 0},
		{"another source", 0, 1, appendFrame(nil, &frame{typ: frameData, source: 2}), 0},
		{"a verdict from a peer", 0, 1, frameOf(frameVerdict, nil), 0},
		{"a contract cut short", 0, 1, frameOf(frameContract, contract.payload[:20]), 0},
		{"a contract that comes twice", 0, 1, append(good, second...), 0},
		{"a message within a message", 0, 1, append(appendFrame(nil, &unfinished), nextOf(frameMessage)...), 0},
		{"a description cut short", 0, 1, frameOf(frameDesc, []byte{1, 2, 3}), 0},
		{"data that comes twice", 0, 1, append(frameOf(frameData, nil), nextOf(frameData)...), 0},
		{"a frame that comes twice", 0, 1, append(frameOf(frameData, nil), frameOf(frameData, nil)...), 0},
		{"a frame that is missing", 0, 1, nextOf(frameData), 0},
		{"a message cut short", 0, 1, frameOf(frameMessage, []byte{1}), 0},
		{"a report of no kind", 0, Supervisor, frameOf(frameReport, appendReport(nil, &deadlock.Report{})), 0},
		{"a report of no rank", 0, Supervisor, frameOf(frameReport, appendReport(nil, outOfRange)), 0},
		{"a report with few counters", 0, Supervisor, frameOf(frameReport, appendReport(nil, fewCounters)), 0},
		{"data for the supervisor", 0, Supervisor, frameOf(frameData, nil), 0},
		{"a verdict on no rank", Supervisor, 0, frameOf(frameVerdict, appendVerdict(nil, &deadlock.Verdict{Kind: deadlock.VerdictEnded, Rank: 3})), 0},
		{"a verdict of no kind", Supervisor, 0, frameOf(frameVerdict, appendVerdict(nil, &deadlock.Verdict{Kind: deadlock.VerdictKinds})), 0},
		{"data from the supervisor", Supervisor, 0, frameOf(frameData, nil), 0},
	}
}
