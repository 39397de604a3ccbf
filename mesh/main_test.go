package mesh

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // as the command does
	os.Exit(m.Run())
}
