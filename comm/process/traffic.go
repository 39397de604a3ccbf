package process

import (
	"sync/atomic"

	"tpsh/comm/process/shm"
)

// Traffic is how much a rank has sent to other ranks since its Links were made: the
// bytes of messages, and of the data that shared memory passes beside them.
type Traffic struct {
	Memory  int64 `json:"memory"`  // through shared memory
	Streams int64 `json:"streams"` // through connections
	Across  int64 `json:"across"`  // of these, to other hosts
}

// A meter counts the Traffic of a rank.
type meter struct{ memory, streams, across atomic.Int64 }

// count counts n bytes that out sends, to another host if across is true.
func (m *meter) count(out messageWriter, across bool, n int) {
	if across {
		m.across.Add(int64(n))
	}
	if _, shared := out.(*shm.RingWriter); shared {
		m.memory.Add(int64(n))
	} else {
		m.streams.Add(int64(n))
	}
}
