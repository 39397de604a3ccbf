package comm_test

import (
	"testing"

	"tpsh/comm"
	"tpsh/comm/commtest"
)

func TestShared(t *testing.T) { commtest.Suite(t, comm.NewShared) }

// Ranks of which some share memory and some do not.
func TestMixed(t *testing.T) { commtest.Suite(t, comm.NewMixed) }

func TestSharedAgrees(t *testing.T) { commtest.Agree(t, comm.NewInproc, comm.NewShared, comm.NewMixed) }
