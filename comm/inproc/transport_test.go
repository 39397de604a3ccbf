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
