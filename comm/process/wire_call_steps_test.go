package process

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/wire"
)

// Data that come with a contract, and are not as long as they must be, are
// believed in no call: their sender is relied on no more.
func TestShortCallRefuses(t *testing.T) {
	for _, kind := range []comm.Kind{comm.AllGather, comm.AllToAll, comm.Broadcast} {
		links, _, _ := linkedPair(t, SuperviseOptions{Grace: 10 * time.Millisecond})
		var groups [2]*comm.Group
		for r := range links {
			var err error
			if groups[r], err = links[r].Fabric(0).Endpoint(r).Group([]int{0, 1}, ""); err != nil {
				t.Fatal(err)
			}
		}
		in, out := comm.Whole(make([]byte, 8)), []comm.Block{comm.Whole(make([]byte, 8)), comm.Whole(make([]byte, 8))}
		op := &comm.Op{Kind: kind, Align: 1, In: []comm.Block{in, in}, Desc: comm.Desc{Op: "a_call", Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
		switch kind {
		case comm.AllGather:
			op.In = op.In[:1]
		case comm.Broadcast:
			op.In, out, op.Desc.Root = nil, out[:1], 1
		}
		op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil }
		alien := wire.Contract{Hash: wire.HashDesc(&op.Desc), Bytes: 8, First: 1, Data: make([]byte, 4)}
		line := groups[1].Transport().(*wireGroup)
		line.wireRank.write(0, wire.Frame{Type: wire.FrameContract, Group: line.hash, Call: 1}, wire.AppendContract(nil, &alien))
		_, err := groups[0].Run(t.Context(), op)
		if !errors.As(err, new(*comm.PeerError)) || !strings.Contains(err.Error(), "got 4 bytes, want 8") {
			t.Errorf("kind %d: got %v, want that 4 bytes came for 8", kind, err)
		}
	}
}

// Members that are alike in two calls are the same list, which costs nothing; what
// came with a call is in no other.
func TestKeptMembers(t *testing.T) {
	var a callScratch
	draft := func(free int, meta []byte) []comm.Member {
		return append(a.draft[:0], comm.Member{}, comm.Member{Free: free, Meta: meta})
	}
	first := a.keep(draft(3, nil))
	if again := a.keep(draft(3, nil)); &again[0] != &first[0] {
		t.Error("got another list for members that are alike")
	}
	for _, want := range []comm.Member{{Free: 4, Meta: nil}, {Free: 4, Meta: []byte("x")}, {Free: 4, Meta: []byte("y")}, {Free: 3, Meta: nil}} {
		got := a.keep(draft(want.Free, want.Meta))
		if got[1].Free != want.Free || string(got[1].Meta) != string(want.Meta) || &got[0] == &first[0] {
			t.Errorf("got %v, want a list of its own with %v", got, want)
		}
	}
	if first[1].Free != 3 || first[1].Meta != nil {
		t.Errorf("got %v in a list that was given out, want what it was", first[1])
	}
}
