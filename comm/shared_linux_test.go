package comm_test

import (
	"testing"

	"tpsh/comm"
	"tpsh/comm/commtest"
)

func TestShared(t *testing.T) { commtest.Suite(t, comm.NewShared) }

func TestSharedAgrees(t *testing.T) { commtest.Agree(t, comm.NewInproc, comm.NewShared) }
