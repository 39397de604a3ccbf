package process

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/process/shm"
	"tpsh/comm/wire"
)

// everyone returns the groups of all ranks of a fabric whose ranks share memory,
// and the rank of each.
func everyone(t *testing.T, f *comm.Fabric) ([]*comm.Group, []*wireRank) {
	t.Helper()
	var groups []*comm.Group
	var stations []*wireRank
	for r := range f.Size() {
		g, err := f.Endpoint(r).Group(comm.FirstRanks(f.Size()), "")
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
		stations = append(stations, g.Transport().(*wireGroup).wireRank)
	}
	return groups, stations
}

// giveUp is after how long a test takes a receive to hang.
const giveUp = 2 * time.Minute

// lent sends a long message and returns its data, and how often Done was called.
func lent(t *testing.T, g *comm.Group, dst, tag int) ([]byte, *atomic.Int32) {
	t.Helper()
	data, done := bytes.Repeat([]byte("lent"), leastExposed), new(atomic.Int32)
	if err := g.Send(dst, tag, comm.Message{Data: data, Done: func() { done.Add(1) }}, "a.star:1:1"); err != nil {
		t.Fatal(err)
	}
	return data, done
}

// took fails the test unless a message comes with the data.
func took(t *testing.T, g *comm.Group, src, tag int, data []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	if m, err := g.Recv(ctx, src, tag, nil); err != nil || !bytes.Equal(m.Data, data) {
		t.Fatalf("got %d bytes and %v, want %d", len(m.Data), err, len(data))
	}
}

// count returns how many exposures have not ended, which a listener may just be ending.
func (l *exposures) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// An exposure lasts from the Send until the sender hears that the message was read.
func TestLoan(t *testing.T) {
	f := NewShared(2)
	defer f.Close()
	groups, stations := everyone(t, f)
	stations[1].shared.try(nil)
	data, done := lent(t, groups[0], 1, 5)
	other, otherDone := lent(t, groups[0], 1, 6)
	if n := stations[0].exposures.count(); n != 2 {
		t.Fatalf("got %d loans, want 2", n)
	}
	took(t, groups[1], 0, 6, other)
	stations[0].drain()
	if done.Load() != 0 || otherDone.Load() != 1 {
		t.Errorf("got %d and %d ends of loans, want 0 and 1", done.Load(), otherDone.Load())
	}
	took(t, groups[1], 0, 5, data)
	stations[0].drain()
	if done.Load() != 1 || stations[0].exposures.count() != 0 {
		t.Errorf("got %d ends of a loan and %d open, want 1 and 0", done.Load(), stations[0].exposures.count())
	}
}

// What cannot be read is not exposed.
func TestLoanUnreadable(t *testing.T) {
	f := NewShared(2)
	defer f.Close()
	groups, stations := everyone(t, f)
	s := stations[0].shared.segment
	s.Reads(0, 1).Store(shm.Unreadable)
	data, done := lent(t, groups[0], 1, 0)
	if stations[0].exposures.count() != 0 || done.Load() != 1 {
		t.Errorf("got %d loans and %d ends of the use, want none and 1", stations[0].exposures.count(), done.Load())
	}
	took(t, groups[1], 0, 0, data)
}

// A receiver that has ended reads no more, nor does one when its generation is
// over.
func TestLoanEnds(t *testing.T) {
	for name, end := range map[string]func(f *comm.Fabric, wr *wireRank){
		"with the receiver": func(f *comm.Fabric, wr *wireRank) { f.Endpoint(1).End(nil) },
		"with a failed one": func(f *comm.Fabric, wr *wireRank) { f.Endpoint(1).End(errors.New("failed")) },
		"with a generation": func(f *comm.Fabric, wr *wireRank) { wr.shared.links.Fabric(1) },
		"with the links":    func(f *comm.Fabric, wr *wireRank) { f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := NewShared(3)
			defer f.Close()
			groups, stations := everyone(t, f)
			stations[1].shared.try(nil)
			_, done := lent(t, groups[0], 1, 0)
			end(f, stations[0])
			for since := time.Now(); done.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Since(since) > giveUp {
					t.Fatal("the loan does not end")
				}
			}
		})
	}
}

// A receiver that reads what is not exposed any more fails as if the sender had
// died, and so does one that cannot read, though the sender has ended in good
// order. What was sent besides is received.
func TestLoanLost(t *testing.T) {
	for want, spoil := range map[string]func(s *shm.Segment){
		"it no longer exposes what it has sent": func(s *shm.Segment) { s.ExposesIn(0).Store(shm.ExposureGeneration(7)) },
		"no such process":                       func(s *shm.Segment) { s.RankWord(0, shm.ProcessAt).Store(1<<31 - 2) },
	} {
		for _, ended := range []bool{false, true} {
			f := NewShared(3)
			groups, stations := everyone(t, f)
			stations[1].shared.try(nil)
			lent(t, groups[0], 1, 0)
			if err := groups[0].Send(1, 1, comm.Message{Data: []byte("short")}, ""); err != nil {
				t.Fatal(err)
			}
			if ended {
				f.Endpoint(0).End(nil)
			}
			spoil(stations[0].shared.segment)
			ctx, cancel := context.WithTimeout(t.Context(), giveUp)
			_, err := groups[1].Recv(ctx, 0, 0, nil)
			var peer *comm.PeerError
			if !errors.As(err, &peer) || peer.Rank != 0 || peer.Function() != "recv" || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want a failure of rank 0 with %q", err, want)
			}
			cancel()
			took(t, groups[1], 0, 1, []byte("short"))
			f.Close()
		}
	}
}

// An exposure that nobody reads is reported with its line.
func TestLoanUnreceived(t *testing.T) {
	f := NewShared(2)
	defer f.Close()
	groups, stations := everyone(t, f)
	stations[1].shared.try(nil)
	lent(t, groups[0], 1, 3)
	if stations[0].exposures.count() != 1 {
		t.Error("the message is not lent")
	}
	f.Endpoint(0).End(nil)
	f.Endpoint(1).End(nil)
	got := f.Unreceived()
	if want := (comm.Unreceived{Src: 0, Dst: 1, Group: "world", Tag: 3, Where: "a.star:1:1"}); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What says where an exposure is decodes to the same, and nothing else does.
func TestDecodeBorrowed(t *testing.T) {
	want := remoteData{number: 3, address: 1 << 40, length: 1 << 20}
	got, err := decodeRemoteData(want.append(nil))
	if err != nil || *got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	long := remoteData{length: wire.MaxMessage + 1}
	for _, bad := range [][]byte{nil, want.append(nil)[:20], want.append([]byte{0}), long.append(nil)} {
		if _, err := decodeRemoteData(bad); err == nil {
			t.Errorf("%d bytes: want an error", len(bad))
		}
	}
}
