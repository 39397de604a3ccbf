package comm_test

import (
	"testing"

	"tpsh/comm"
)

func TestLargeShared(t *testing.T) { testLarge(t, comm.NewShared) }

func TestLargeMixed(t *testing.T) { testLarge(t, comm.NewMixed) }
