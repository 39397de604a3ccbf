package comm

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A station is one rank's side of frames: what has come for the rank, and who
// waits for it.
type station struct {
	fabric   *Fabric
	endpoint *Endpoint
	rank     int
	number   uint32        // of the generation
	where    string        // the host of the rank, "" if that is no matter
	meter    *meter        // of what is sent to other ranks, nil if nobody asks
	outlets  []sender      // to each rank, nil at its own; to the supervisor at the end
	apart    bool          // whether the supervisor is in another process, to which this rank tells what it has not received
	sent     []int         // calls and messages to each rank; for the rank's goroutine
	quiet    chan struct{} // closed when no message can come any more
	awake    chan struct{} // holds an element when the supervisor knows that the rank has resumed
	shared   *segmentLinks // what comes through shared memory, nil if there is none
	cables   *cables       // what comes through connections, nil if there are none
	sockets  []*socket     // that can be looked at, by rank; nil if there are none
	polled   *polled       // what comes through PollStreams, nil if there are none
	carrier  Carrier       // of whole collectives, nil if there is none
	pool     *bufferPool   // for data
	naps     naps          // of who sleeps at shared or at cables

	mu        sync.Mutex
	lines     map[uint64]*wireLine  // the groups that the rank has made, by hash
	calls     map[callKey]*wireCall // under way, or known from others, but for the latest
	latest    *wireCall             // nil if it has ended
	latestKey callKey
	spare     []*wireCall       // to be used again
	box       mailbox           // mailKey.src is a rank of the fabric
	loans     loans             // of the data of messages
	received  []int             // calls and messages from each rank
	broken    []bool            // whether nothing more can come from a rank
	endings   []ending          // of ranks, in the order of the supervisor, not yet valid
	failures  []lasting         // those with a cause that have become valid
	ended     map[int]bool      // the ranks whose ends have become valid
	heard     int               // verdicts other than questions
	watchers  map[*watcher]bool // who waits
	wait      *watcher          // of the rank itself
	waits     int               // how many waits the rank has begun
}

func newStation(f *Fabric, rank, size int) *station {
	return &station{
		fabric:   f,
		rank:     rank,
		pool:     &bufferPool{},
		outlets:  make([]sender, size+1),
		sent:     make([]int, size),
		quiet:    make(chan struct{}),
		awake:    make(chan struct{}, 1),
		lines:    map[uint64]*wireLine{},
		calls:    map[callKey]*wireCall{},
		received: make([]int, size),
		broken:   make([]bool, size),
		ended:    map[int]bool{},
		watchers: map[*watcher]bool{},
	}
}

// supervisor is the number of the supervisor among the participants.
func (st *station) supervisor() int { return len(st.received) }

func (st *station) report(r *report) {
	st.write(st.supervisor(), frame{typ: frameReport}, appendReport(nil, r))
}

// write sends a message to a participant.
func (st *station) write(to int, f frame, payload []byte) { st.writeParts(to, f, payload, nil) }

// writeParts sends a message in two parts to a participant.
func (st *station) writeParts(to int, f frame, head, body []byte) {
	f.generation = st.number
	if out := st.outlets[to]; st.meter != nil && to != st.supervisor() {
		st.meter.count(out, len(head)+len(body))
	}
	st.outlets[to].send(f, head, body)
}

// listen takes in what a participant sends, until it sends no more or what is
// no message.
func (st *station) listen(peer int, in *inlet) {
	for {
		f, err := in.next()
		if err == nil {
			err = st.accept(peer, f)
		}
		if st.fabric.ctx.Err() != nil {
			return
		}
		if err != nil {
			st.lose(peer, err)
			return
		}
	}
}

// accept takes in one message.
func (st *station) accept(peer int, f *frame) error {
	if peer == st.supervisor() {
		st.drain() // what was sent before it spoke
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.take(peer, f)
}

// take is accept for those who hold mu.
func (st *station) take(peer int, f *frame) error {
	if peer == st.supervisor() {
		return st.takeVerdict(f)
	}
	switch f.typ {
	case frameContract:
		st.count(peer)
		return st.toCall(peer, f, func(call *wireCall) error { return call.sign(peer, f) })
	case frameDesc:
		return st.takeDesc(peer, f)
	case frameData:
		return st.toCall(peer, f, func(call *wireCall) error { return call.put(dataKey{peer, f.step}, f) })
	case frameMessage:
		return st.takeMessage(peer, f)
	case recordLoan, recordReturned:
		return st.takeLoan(peer, f)
	}
	return alienType(f)
}

func alienType(f *frame) error {
	return &FrameError{"alien", fmt.Sprintf("type %d", f.typ), "another, from that source"}
}

func outOfRange(rank, size int) error {
	return &FrameError{"alien", rankList([]int{rank}), fmt.Sprintf("0..%d", size-1)}
}

var errTwice = errors.New("frame: the same of one call came twice")

func (st *station) takeDesc(peer int, f *frame) error {
	s, err := decodeSigned(f.payload)
	if err != nil {
		return err
	}
	return st.toCall(peer, f, func(call *wireCall) error {
		if call.descs == nil {
			call.descs = make([]*signed, len(st.received))
		}
		if call.descs[peer] != nil {
			return errTwice
		}
		call.descs[peer] = s
		return nil
	})
}

func (st *station) takeMessage(peer int, f *frame) error {
	payload := f.payload
	if f.lent {
		payload = append(st.pool.get(len(payload)), payload...)
	}
	l, err := decodeLetter(payload)
	if err != nil {
		return err
	}
	if f.data != nil {
		l.message.Data = f.data
	}
	l.message.pool, l.message.memory = st.pool, payload
	return st.deliver(peer, f, l)
}

// deliver puts a letter into the box.
func (st *station) deliver(peer int, f *frame, l *letter) error {
	l.src, l.dst = peer, st.rank
	st.box.put(mailKey{f.group, peer, f.tag}, *l)
	st.count(peer)
	return st.checkMember(peer, f.group)
}

// toCall has accept take in what peer has sent for a call, and lets those look
// again who wait for the call. What comes for a call that has ended here,
// because it has failed, is dropped.
func (st *station) toCall(peer int, f *frame, accept func(*wireCall) error) error {
	if err := st.checkMember(peer, f.group); err != nil {
		return err
	}
	key := callKey{f.group, f.call}
	call := st.call(key)
	if call == nil {
		return nil
	}
	err := accept(call)
	st.signal(key)
	return err
}

// checkMember checks that a rank may send to a group, if the group is known.
func (st *station) checkMember(rank int, group uint64) error {
	if l := st.lines[group]; l != nil && !slices.Contains(l.ranks, rank) {
		return &FrameError{"alien", rankList([]int{rank}), "a member of " + l.name}
	}
	return nil
}

// call returns the call of key, or nil if it has ended here.
func (st *station) call(key callKey) *wireCall {
	call := st.known(key)
	if call != nil {
		return call
	}
	if line := st.lines[key.group]; line != nil && key.number <= line.calls {
		return nil
	}
	if n := len(st.spare); n > 0 {
		call, st.spare = st.spare[n-1], st.spare[:n-1]
	} else {
		call = newWireCall(len(st.received), st.pool)
	}
	if st.latest != nil {
		st.calls[st.latestKey] = st.latest
	}
	st.latest, st.latestKey = call, key
	return call
}

// known returns the call of key, or nil if nothing is known of it.
func (st *station) known(key callKey) *wireCall {
	if st.latest != nil && st.latestKey == key {
		return st.latest
	}
	return st.calls[key]
}

// forget ends a call at the station. No one may know call afterwards if it is
// to be used again.
func (st *station) forget(key callKey, call *wireCall, again bool) {
	if st.latest == call {
		st.latest = nil
	} else {
		delete(st.calls, key)
	}
	if again && len(st.spare) < spareCalls {
		call.reset()
		st.spare = append(st.spare, call)
	}
}

// spareCalls is how many calls that have ended a station keeps.
const spareCalls = 4

// count counts what peer has sent, of which the supervisor must hear if the
// rank waits still.
func (st *station) count(peer int) {
	st.received[peer]++
	st.settle()
	if st.wait != nil {
		st.wait.signal()
	}
}

// takeVerdict takes in what the supervisor says.
func (st *station) takeVerdict(f *frame) error {
	if f.typ != frameVerdict {
		return alienType(f)
	}
	v, err := decodeVerdict(f.payload)
	if err != nil {
		return err
	}
	if size := len(st.received); v.rank < 0 || v.rank >= size {
		return outOfRange(v.rank, size)
	}
	st.obey(v)
	return nil
}

// obey does what the supervisor says.
func (st *station) obey(v *verdict) {
	if v.kind > verdictAwake {
		st.heard++
		defer st.signalAll() // for the supervisor to know who waits still
	}
	switch v.kind {
	case verdictQuestion, verdictHold:
		st.answer(v)
	case verdictRelease:
		st.release(v)
	case verdictAwake:
		select {
		case st.awake <- struct{}{}:
		default:
		}
	case verdictDeadlock:
		st.condemn(v)
	case verdictEnded:
		st.conclude(ending{lasting{failure{v.rank, nil}, false}, v.count})
	case verdictFailed, verdictLost, verdictGone:
		if v.kind == verdictGone && v.rank != st.rank {
			st.outlets[v.rank].cut() // for whoever is sending to it
		}
		st.conclude(ending{lasting{failure{v.rank, errors.New(v.text)}, v.kind != verdictFailed}, v.count})
	}
}

// condemn ends the waits that a deadlock has ended.
func (st *station) condemn(v *verdict) {
	for _, key := range v.failed {
		if call := st.call(key); call != nil {
			call.verdict = v.deadlock
		}
	}
	if st.wait != nil && st.wait.id == v.wait {
		st.wait.verdict = v.deadlock
	}
}
