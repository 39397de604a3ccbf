package process

import (
	"sync/atomic"

	"tpsh/comm/process/shm"
)

// Traffic is what a rank has sent to other ranks since its Links were made: the
// bytes of messages, and of what shared memory passes beside them.
type Traffic struct {
	Memory  int64 `json:"memory"`  // through shared memory
	Streams int64 `json:"streams"` // through connections
}

// A meter counts the Traffic of a rank.
type meter struct{ memory, streams atomic.Int64 }

// count counts n bytes that out sends.
func (m *meter) count(out messageWriter, n int) {
	if _, shared := out.(*shm.RingWriter); shared {
		m.memory.Add(int64(n))
	} else {
		m.streams.Add(int64(n))
	}
}
