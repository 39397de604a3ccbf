//go:build !amd64 && !arm64

package peak

import "tpsh/runtime/kernel/vec"

// rounds does n rounds. There are no vector instructions to do them with.
func rounds(_ vec.Set, n int) (operations int) { return scalar(n) }

// pairRounds does n rounds: there are no tiles.
func pairRounds(s vec.Set, n int) (operations int) { return rounds(s, n) }
