package timeline

import "testing"

// rank returns a rank whose clock is off by some nanoseconds: it was in two
// collectives, from 100 to 200 and from 300 to 400, and sent or received a message.
func rank(id int, off int64) *Rank {
	at := func(name string, begin int64, number int) Event {
		return Event{Name: name, Begin: begin + off, Duration: 100, Group: "world", Ranks: []int{0, 1}, Number: number, Peer: -1}
	}
	message := at("send", 500, 0)
	if message.Peer = 1 - id; id == 1 {
		message.Name = "recv"
	}
	return &Rank{Rank: id, Size: 2, Events: []Event{at("all_reduce", 100, 0), at("barrier", 300, 1), message}}
}

// A clock that fits stays, and one that is off is moved so that members of a
// collective are in it at one time.
func TestAlign(t *testing.T) {
	for _, off := range []int64{0, 60, -60, 1e9, -1e9} {
		list := []*Rank{rank(0, 0), rank(1, off)}
		Align(list)
		for i, a := range list[0].Events[:2] {
			b := list[1].Events[i]
			if a.Begin > b.Begin+b.Duration || b.Begin > a.Begin+a.Duration {
				t.Errorf("off by %d: %s from %d on rank 0 and from %d on rank 1, want both at one time", off, a.Name, a.Begin, b.Begin)
			}
		}
		if got := list[1].Events[0].Begin; off*off <= 60*60 && got != 100+off {
			t.Errorf("off by %d, which fits: moved to %d", off, got)
		}
		if list[0].Events[0].Begin != 100 {
			t.Errorf("off by %d: the first clock was moved", off)
		}
	}
}
