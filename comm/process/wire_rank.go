package process

import (
	"errors"
	"slices"
	"sync"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/mailbox"
	"tpsh/comm/wire"
	"tpsh/internal/ranklist"
)

// A wireRank is one rank's side of frames: the messages that have come for the rank, and the waits
// for them.
type wireRank struct {
	fabric           *comm.Fabric
	endpoint         *comm.Endpoint
	rank             int
	ranks            []int            // all of the fabric
	number           uint32           // of the generation
	where            string           // the host of the rank, "" if that is no matter
	hosts            []int            // by rank: its host, nil if all are on one
	meter            *meter           // of the bytes sent to other ranks, nil if nobody asks
	writers          []messageWriter  // to each rank, nil at its own; to the supervisor at the end
	remoteSupervisor bool             // whether the supervisor is in another process, to which this rank lists the messages that it has not received
	sent             []int            // calls and messages to each rank; for the rank's goroutine
	quiet            chan struct{}    // closed when no message can come any more
	awake            chan struct{}    // holds an element when the supervisor knows that the rank has resumed
	shared           *segmentLinks    // the shared memory of the ranks, nil if there is none
	inbounds         []inbound        // on which messages come that somebody must look at
	carrier          Carrier          // of whole collectives, nil if there is none
	pool             *wire.BufferPool // for data
	backoff          backoff          // of waits that sleep at shared or at polled connections
	relaysFrom       int              // from how many members on contracts are relayed
	swapsFrom        int              // and short blocks for each

	mu        sync.Mutex
	groups    map[uint64]*wireGroup           // the groups that the rank has made, by hash
	relaying  []*wireGroup                    // those whose contracts are relayed
	calls     map[deadlock.CallKey]*callState // under way, or known from others, but for the latest
	latest    *callState                      // nil if it has ended
	latestKey deadlock.CallKey
	spare     []*callState       // to be used again
	box       mailbox.Box        // mailbox.Key.Src is a rank of the fabric
	exposures exposures          // of the data of messages
	received  []int              // calls and messages from each rank
	broken    []bool             // whether nothing more can come from a rank
	endings   []ending           // of ranks, in the order of the supervisor, not yet valid
	failures  []lasting          // those with a cause that have become valid
	ended     []bool             // the ranks whose ends have become valid
	endCount  int                // how many they are
	heard     int                // verdicts other than questions
	waiting   map[*wireWait]bool // the waits under way
	wait      *wireWait          // of the rank itself
	waitCount int                // how many waits the rank has begun
}

func newWireRank(f *comm.Fabric, rank, size int) *wireRank {
	return &wireRank{
		fabric:     f,
		rank:       rank,
		relaysFrom: relaysFrom,
		swapsFrom:  swapsFrom,
		ranks:      comm.FirstRanks(size),
		pool:       &wire.BufferPool{},
		writers:    make([]messageWriter, size+1),
		sent:       make([]int, size),
		quiet:      make(chan struct{}),
		awake:      make(chan struct{}, 1),
		groups:     map[uint64]*wireGroup{},
		calls:      map[deadlock.CallKey]*callState{},
		received:   make([]int, size),
		broken:     make([]bool, size),
		ended:      make([]bool, size),
		waiting:    map[*wireWait]bool{},
	}
}

// supervisor is the number of the supervisor among the participants.
func (wr *wireRank) supervisor() int { return len(wr.received) }

func (wr *wireRank) report(r *deadlock.Report) {
	wr.write(wr.supervisor(), wire.Frame{Type: wire.FrameReport}, wire.AppendReport(nil, r))
}

// write sends a message to a participant.
func (wr *wireRank) write(to int, f wire.Frame, payload []byte) { wr.writeParts(to, f, payload, nil) }

// writeParts sends a message in two parts to a participant.
func (wr *wireRank) writeParts(to int, f wire.Frame, head, body []byte) {
	f.Generation = wr.number
	if out := wr.writers[to]; wr.meter != nil && to != wr.supervisor() {
		wr.meter.count(out, wr.hosts != nil && wr.hosts[to] != wr.hosts[wr.rank], len(head)+len(body))
	}
	wr.writers[to].Send(f, head, body)
}

// readFrames takes in a participant's frames, until it sends no more or what is
// no message.
func (wr *wireRank) readFrames(peer int, in *wire.Reader) {
	for {
		f, err := in.Next()
		if err == nil {
			err = wr.acceptFrame(peer, f)
		}
		if wr.fabric.Context().Err() != nil {
			return
		}
		if err != nil {
			wr.lose(peer, err)
			return
		}
	}
}

// acceptFrame takes in one message.
func (wr *wireRank) acceptFrame(peer int, f *wire.Frame) error {
	if peer == wr.supervisor() {
		wr.drain() // records that were sent before it spoke
	}
	wr.mu.Lock()
	defer wr.mu.Unlock()
	return wr.takeFrame(peer, f)
}

// takeFrame is acceptFrame for callers that hold mu.
func (wr *wireRank) takeFrame(peer int, f *wire.Frame) error {
	if peer == wr.supervisor() {
		return wr.takeVerdict(f)
	}
	switch f.Type {
	case wire.FrameContract:
		wr.count(peer)
		return wr.toCall(peer, f, func(call *callState) error { return call.sign(peer, f) })
	case wire.FrameContracts:
		return wr.toCall(peer, f, func(call *callState) error { return call.signRelayed(peer, f) })
	case wire.FrameDesc:
		return wr.takeDesc(peer, f)
	case wire.FrameData:
		return wr.toCall(peer, f, func(call *callState) error { return call.put(dataKey{peer, f.Step}, f) })
	case wire.FrameMessage:
		return wr.takeMessage(peer, f)
	case recordExposure, recordReleased:
		return wr.takeExposure(peer, f)
	}
	return wire.AlienType(f)
}

func (wr *wireRank) takeDesc(peer int, f *wire.Frame) error {
	s, err := wire.DecodeSigned(f.Payload, len(wr.received))
	if err != nil {
		return err
	}
	return wr.toCall(peer, f, func(call *callState) error {
		if call.descs == nil {
			call.descs = make([]*comm.SignedCall, len(wr.received))
		}
		if call.descs[peer] != nil {
			return errTwice
		}
		call.descs[peer] = s
		return nil
	})
}

func (wr *wireRank) takeMessage(peer int, f *wire.Frame) error {
	payload := f.Payload
	if f.Transient {
		payload = append(wr.pool.Get(len(payload)), payload...)
	}
	e, err := wire.DecodeEnvelope(payload)
	if err != nil {
		return err
	}
	if f.Data != nil {
		e.Message.Data = f.Data
	}
	e.Message.Own(wr.pool, payload)
	return wr.deliver(peer, f, e)
}

// deliver puts an envelope into the box.
func (wr *wireRank) deliver(peer int, f *wire.Frame, e *mailbox.Envelope) error {
	e.Src, e.Dst = peer, wr.rank
	wr.box.Put(mailbox.Key{Group: f.Group, Src: peer, Tag: f.Tag}, *e)
	wr.count(peer)
	return wr.checkMember(peer, f.Group)
}

// toCall has accept take in a frame of peer's for a call, and lets the waits look
// again that wait for the call. A frame for a call that has ended here,
// because it has failed, is dropped.
func (wr *wireRank) toCall(peer int, f *wire.Frame, accept func(*callState) error) error {
	if err := wr.checkMember(peer, f.Group); err != nil {
		return err
	}
	key := deadlock.CallKey{Group: f.Group, Number: f.Call}
	call := wr.call(key)
	if call == nil {
		return nil
	}
	err := accept(call)
	wr.signal(key)
	return err
}

// checkMember checks that a rank may send to a group, if the group is known.
func (wr *wireRank) checkMember(rank int, group uint64) error {
	if g := wr.groups[group]; g != nil && !slices.Contains(g.ranks, rank) {
		return &wire.FrameError{What: "alien", Got: ranklist.Text([]int{rank}), Want: "a member of " + g.name}
	}
	return nil
}

// call returns the call of key, or nil if it has ended here.
func (wr *wireRank) call(key deadlock.CallKey) *callState {
	call := wr.known(key)
	if call != nil {
		return call
	}
	if g := wr.groups[key.Group]; g != nil && key.Number <= g.calls {
		return nil
	}
	if n := len(wr.spare); n > 0 {
		call, wr.spare = wr.spare[n-1], wr.spare[:n-1]
	} else {
		call = newCallState(len(wr.received), wr.pool)
	}
	if wr.latest != nil {
		wr.calls[wr.latestKey] = wr.latest
	}
	wr.latest, wr.latestKey = call, key
	return call
}

// known returns the call of key, or nil if nothing is known of it.
func (wr *wireRank) known(key deadlock.CallKey) *callState {
	if wr.latest != nil && wr.latestKey == key {
		return wr.latest
	}
	return wr.calls[key]
}

// forget ends a call at the rank. No one may know call afterwards if it is
// to be used again.
func (wr *wireRank) forget(key deadlock.CallKey, call *callState, again bool) {
	if wr.latest == call {
		wr.latest = nil
	} else {
		delete(wr.calls, key)
	}
	if again && len(wr.spare) < spareCalls {
		call.reset()
		wr.spare = append(wr.spare, call)
	}
}

// spareCalls is how many calls that have ended a rank keeps.
const spareCalls = 4

// count counts a message of peer's, of which the supervisor must hear if the
// rank waits still.
func (wr *wireRank) count(peer int) {
	wr.received[peer]++
	wr.settle()
	if wr.wait != nil {
		wr.wait.signal()
	}
}

// takeVerdict takes in a verdict of the supervisor's.
func (wr *wireRank) takeVerdict(f *wire.Frame) error {
	if f.Type != wire.FrameVerdict {
		return wire.AlienType(f)
	}
	v, err := wire.DecodeVerdict(f.Payload)
	if err != nil {
		return err
	}
	size := len(wr.received)
	for _, e := range append(v.Ends, deadlock.End{Rank: v.Rank}) {
		if e.Rank < 0 || e.Rank >= size {
			return wire.OutOfRange(e.Rank, size)
		}
	}
	wr.apply(v)
	return nil
}

// apply carries out a verdict.
func (wr *wireRank) apply(v *deadlock.Verdict) {
	if v.Kind > deadlock.VerdictAwake {
		wr.heard++
		defer wr.signalAll() // for the supervisor to know which ranks wait still
	}
	switch v.Kind {
	case deadlock.VerdictQuestion, deadlock.VerdictHold:
		wr.answer(v)
	case deadlock.VerdictRelease:
		wr.release(v)
	case deadlock.VerdictAwake:
		wr.wake()
	case deadlock.VerdictDeadlock, deadlock.VerdictLeftOut:
		wr.condemn(v)
	case deadlock.VerdictEnded:
		wr.concludeAll(v.Ends)
	case deadlock.VerdictFailed, deadlock.VerdictLost, deadlock.VerdictGone:
		if v.Kind == deadlock.VerdictGone && v.Rank != wr.rank {
			wr.writers[v.Rank].Stop() // for whoever is sending to it
		}
		wr.conclude(ending{lasting{v.Rank, errors.New(v.Text), v.Kind != deadlock.VerdictFailed, v.Calls}, v.Count})
	}
}

// condemn ends the waits that a deadlock has ended.
func (wr *wireRank) condemn(v *deadlock.Verdict) {
	for _, key := range v.Failed {
		if call := wr.call(key); call != nil {
			call.verdict = v.Deadlock
			call.leftOut = v.Kind == deadlock.VerdictLeftOut && call.site == nil
		}
	}
	if wr.wait != nil && wr.wait.id == v.Wait {
		wr.wait.verdict, wr.wait.held = v.Deadlock, false
	}
}
