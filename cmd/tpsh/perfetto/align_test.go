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

// A clock that fits stays, and one that is off is moved so that members of a
// collective are in it at one time.
func TestAlign(t *testing.T) {
	for _, off := range []int64{0, 60, -60, 1e9, -1e9} {
		list := []Process{rank(0, 0), rank(1, off)}
		align(list)
		for i, a := range list[0].Rank.Events[:2] {
			b := list[1].Rank.Events[i]
			if a.Begin > b.Begin+b.Duration || b.Begin > a.Begin+a.Duration {
				t.Errorf("off by %d: %s from %d on rank 0 and from %d on rank 1, want both at one time", off, a.Name, a.Begin, b.Begin)
			}
		}
		if got := list[1].Rank.Events[0].Begin; off*off <= 60*60 && got != 100+off {
			t.Errorf("off by %d, which fits: moved to %d", off, got)
		}
		if list[0].Rank.Events[0].Begin != 100 {
			t.Errorf("off by %d: the first clock was moved", off)
		}
	}
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
