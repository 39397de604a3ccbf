package perfetto

import (
	"bytes"
	"encoding/json"
	"testing"

	"tpsh/runtime/timeline"
)

// rank returns a rank whose clock is off by some nanoseconds: it was in two
// collectives, from 100 to 200 and from 300 to 400, and sent or received a message.
func rank(id int, off int64) Process {
	at := func(name string, begin int64, number int) timeline.Event {
		return timeline.Event{Name: name, Begin: begin + off, Duration: 100, Group: "world", Ranks: []int{0, 1}, Number: number, Peer: -1}
	}
	message := at("send", 500, 0)
	if message.Peer = 1 - id; id == 1 {
		message.Name = "recv"
	}
	return Process{Name: "rank", Rank: &timeline.Rank{Rank: id, Size: 2, Events: []timeline.Event{at("all_reduce", 100, 0), at("barrier", 300, 1), message}}}
}

// The message has one arrow, from its send to its receive, and each collective one.
func TestArrows(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, []Process{rank(0, 0), rank(1, 0)}); err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []event }
	if err := json.Unmarshal(out.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	begins, ends := map[int]int{}, map[int]int{}
	for _, e := range trace.TraceEvents {
		switch e.Ph {
		case "s":
			begins[e.ID] = e.PID
		case "f":
			ends[e.ID] = e.PID
		}
	}
	if len(begins) != 3 || len(ends) != 3 || begins[3] != 0 || ends[3] != 1 {
		t.Errorf("arrows begin on %v and end on %v, want three, the last from rank 0 to rank 1", begins, ends)
	}
}
