package process_test

import (
	"testing"

	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
	"tpsh/comm/process"
)

func TestShared(t *testing.T) { conform(t, process.NewShared) }

// Ranks of which some share memory and some do not.
func TestMixed(t *testing.T) { conform(t, process.NewMixed) }

func TestSharedAgrees(t *testing.T) {
	commtest.Agree(t, inproc.New, process.NewShared, process.NewMixed)
}
