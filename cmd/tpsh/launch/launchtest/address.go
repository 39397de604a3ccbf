// Package launchtest has what tests of launchers need: addresses at which the nodes of a job
// meet. It knows no launcher.
//
// A node that waits at an address is another process than the test, and starts later: a test
// that asks the system for a port, as listeners do, has to give it back first, and until
// the node listens there the system may give it to a rank of a test that runs meanwhile. An
// address of this package has a port that systems give to nobody who does not ask for it.
//
// For example, two launchers of one job:
//
//	at := launchtest.FreeAddress(t) // 127.0.0.1:17435
//	startProcess(t, "run", "--nnodes", "2", "--node-rank", "0", "--rdzv", at, script)
//	startProcess(t, "run", "--nnodes", "2", "--node-rank", "1", "--rdzv", at, script)
package launchtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The ports are lowest to highest: systems give out higher ones.
const (
	lowest  = 12_000
	highest = 32_000
)

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// FreeAddress returns an address of this machine at which nobody listens, each time another.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Address is FreeAddress for who has no testing.TB.
func Address() (string, error) {
	mu.Lock()
	defer mu.Unlock()
	for range 1000 {
		port := lowest + rand.IntN(highest-lowest)
		if given[port] {
			continue
		}
		given[port] = true
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address, nil
		}
	}
	return "", fmt.Errorf("no free port among %d to %d", lowest, highest)
}
