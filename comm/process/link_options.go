package process

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process/shm"
	"tpsh/internal/ranklist"
)

// LinkOptions say how one rank, in a process of its own, reaches the others.
type LinkOptions struct {
	Rank, Size int

	// Supervisor is the other end of one of SuperviseOptions.Streams.
	Supervisor io.ReadWriteCloser

	// Peers are the streams to the other ranks, by rank. They are nil at Rank,
	// and at ranks that Segment reaches.
	Peers []io.ReadWriteCloser

	// Partners makes the streams to ranks that neither Peers nor Segment reach, when
	// they are first used. It is nil if there are none.
	Partners *bootstrap.Peers

	// Segment is memory that the ranks of Local share, which are ascending and
	// hold Rank. It is nil if there is none.
	Segment *shm.Segment
	Local   []int

	// Hosts says by rank on which host it is, whatever the numbers; nil if all are on one.
	// It is alike for all ranks.
	Hosts []int

	// Carrier, if it is set, carries out whole collectives of all ranks. Either
	// all ranks have one or none.
	Carrier Carrier

	// Heartbeat says that Peers and Supervisor carry heartbeats: one on which
	// nothing comes for PeerTimeout, or if that is 0 for ten seconds, is taken
	// to be lost.
	Heartbeat   bool
	PeerTimeout time.Duration

	// Where says on which host the rank is, for reports; "" if that is no matter.
	Where string

	// Deserted, if set, is called when the Supervisor is lost, and why: nobody
	// will end the rank. It must not block.
	Deserted func(cause error)

	backoff    backoff // in place of usualBackoff, in tests
	relaysFrom int     // in place of the constant, in tests
}

// Through returns the options that connect a rank through connections.
func Through(m *bootstrap.Connections) LinkOptions {
	return LinkOptions{Rank: m.Rank, Size: m.Size, Supervisor: m.Supervisor, Partners: m.Peers, Heartbeat: true}
}

// heartbeat returns the heartbeat of the streams, nil if they have none.
func (o *LinkOptions) heartbeat() *bootstrap.Heartbeat {
	if !o.Heartbeat {
		return nil
	}
	return bootstrap.NewHeartbeat(o.PeerTimeout)
}

// peers returns o.Peers with one for each rank.
func (o *LinkOptions) peers() []io.ReadWriteCloser {
	return append(slices.Clone(o.Peers), make([]io.ReadWriteCloser, o.Size-len(o.Peers))...)
}

// shares reports whether a rank is reached by memory.
func (o *LinkOptions) shares(rank int) bool {
	_, among := slices.BinarySearch(o.Local, rank)
	return o.Segment != nil && among
}

// check checks that o reaches every rank.
func (o *LinkOptions) check() error {
	switch {
	case o.Size < 1 || o.Rank < 0 || o.Rank >= o.Size:
		return fmt.Errorf("connect: got rank %d of %d, want one of them", o.Rank, o.Size)
	case o.Supervisor == nil:
		return errors.New("connect: got no stream to the supervisor, want one")
	case len(o.Peers) > o.Size:
		return fmt.Errorf("connect: got %d streams for %d ranks, want at most as many", len(o.Peers), o.Size)
	case o.Hosts != nil && len(o.Hosts) != o.Size:
		return fmt.Errorf("connect: got the hosts of %d ranks, want those of %d", len(o.Hosts), o.Size)
	case o.Segment != nil && (!slices.IsSorted(o.Local) || !slices.Contains(o.Local, o.Rank) || len(o.Local) != o.Segment.Size()):
		return fmt.Errorf("connect: got memory of %d ranks for %s, want as many, and rank %d among them", o.Segment.Size(), ranklist.Text(o.Local), o.Rank)
	}
	for r, s := range o.peers() {
		if r != o.Rank && s == nil && o.Partners == nil && !o.shares(r) {
			return fmt.Errorf("connect: got no way to rank %d, want a stream or shared memory", r)
		}
	}
	return nil
}
