package process_test

import (
	"testing"

	"tpsh/comm"
	"tpsh/comm/process"
)

func TestLargeShared(t *testing.T) { testLarge(t, process.NewShared) }

func TestLargeMixed(t *testing.T) { testLarge(t, process.NewMixed) }

// Where the system does not let some ranks read the memory of some others, staging buffers
// serve.
func TestLargeUnreadable(t *testing.T) {
	testLarge(t, func(size int) *comm.Fabric {
		return process.NewUnreadable(size, func(from, to int) bool { return to == 0 || from == 1 })
	})
}
