package inproc_test

import (
	"testing"

	"go.uber.org/goleak"

	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestInproc(t *testing.T) { commtest.Suite(t, inproc.New) }

// Groups of many members, in which arrivals are counted, calls compared once, and short blocks
// reduced once, do what those of few do.
func TestInprocOfMany(t *testing.T) {
	commtest.Suite(t, inproc.NewOfMany)
}
