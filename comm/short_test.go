package comm

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Data that come with a contract, and are not as long as they must be, are
// believed in no call: their sender is relied on no more.
func TestShortCallRefuses(t *testing.T) {
	for _, kind := range []Kind{AllGather, AllToAll, Broadcast} {
		links, _, _ := linkedPair(t, SuperviseOptions{Grace: 10 * time.Millisecond})
		var groups [2]*Group
		for r := range links {
			var err error
			if groups[r], err = links[r].Fabric(0).Endpoint(r).Group([]int{0, 1}, ""); err != nil {
				t.Fatal(err)
			}
		}
		in, out := Whole(make([]byte, 8)), []Block{Whole(make([]byte, 8)), Whole(make([]byte, 8))}
		op := &Op{Kind: kind, Align: 1, In: []Block{in, in}, Desc: Desc{Op: "a_call", Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
		switch kind {
		case AllGather:
			op.In = op.In[:1]
		case Broadcast:
			op.In, out, op.Desc.Root = nil, out[:1], 1
		}
		op.Prepare = func([]Member, Flags) ([]Block, error) { return out, nil }
		alien := contract{hash: hashDesc(&op.Desc), bytes: 8, first: 1, data: make([]byte, 4)}
		line := groups[1].Transport().(*wireGroup)
		line.wireRank.write(0, frame{typ: frameContract, group: line.hash, call: 1}, appendContract(nil, &alien))
		_, err := groups[0].Run(t.Context(), op)
		if !errors.As(err, new(*PeerError)) || !strings.Contains(err.Error(), "got 4 bytes, want 8") {
			t.Errorf("kind %d: got %v, want that 4 bytes came for 8", kind, err)
		}
	}
}

// Members that are alike in two calls are the same list, which costs nothing; what
// came with a call is in no other.
func TestKeptMembers(t *testing.T) {
	var a callScratch
	draft := func(free int, meta []byte) []Member { return append(a.draft[:0], Member{}, Member{free, meta}) }
	first := a.keep(draft(3, nil))
	if again := a.keep(draft(3, nil)); &again[0] != &first[0] {
		t.Error("got another list for members that are alike")
	}
	for _, want := range []Member{{4, nil}, {4, []byte("x")}, {4, []byte("y")}, {3, nil}} {
		got := a.keep(draft(want.Free, want.Meta))
		if got[1].Free != want.Free || string(got[1].Meta) != string(want.Meta) || &got[0] == &first[0] {
			t.Errorf("got %v, want a list of its own with %v", got, want)
		}
	}
	if first[1].Free != 3 || first[1].Meta != nil {
		t.Errorf("got %v in a list that was given out, want what it was", first[1])
	}
}
