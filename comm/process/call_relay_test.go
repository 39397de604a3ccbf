package process

import (
	"math/rand/v2"
	"testing"

	"tpsh/comm/wire"
)

// Relays tell each of many members all contracts, as they are, and those that are alike and follow
// each other cross once: what a hop sends does not grow with the members where all call alike.
func TestRelayedContractsCrossOnce(t *testing.T) {
	for _, size := range []int{2, 3, 64, 129} {
		for _, odd := range []int{0, 1, 5, size} { // how many may have another contract
			rng := rand.New(rand.NewPCG(uint64(size), uint64(odd)))
			hashes := make([]uint64, size)
			for range odd {
				hashes[rng.IntN(size)] = rng.Uint64N(3)
			}
			relays, most := relayAll(t, hashes)
			for m, heard := range relays {
				for of, hash := range heard {
					if hash != hashes[of] {
						t.Fatalf("%d members: %d heard %d of %d, want %d", size, m, hash, of, hashes[of])
					}
				}
				if len(heard) != size-1 {
					t.Fatalf("%d members: %d heard of %d", size, m, len(heard))
				}
			}
			if each := len(wire.AppendListed(nil, 1, &wire.Contract{})); most > each*(2*odd+1) {
				t.Errorf("%d members of which %d differ: got a message of %d bytes, want at most %d contracts of %d", size, odd, most, 2*odd+1, each)
			}
		}
	}
}

// relayAll has members relay contracts with these hashes twice, in the same memory. It returns what each has heard of each,
// and how long the longest message was.
func relayAll(t *testing.T, hashes []uint64) (heard []map[int]uint64, most int) {
	relays := make([]callRelay, len(hashes))
	for range 2 {
		heard = make([]map[int]uint64, len(hashes))
		for m := range relays {
			relays[m].begin(m, len(hashes), &wire.Contract{Hash: hashes[m]})
			heard[m] = map[int]uint64{}
		}
		for range relays[0].Hops() {
			sent := make([][]byte, len(hashes))
			for m := range relays {
				to, list, _ := relays[m].due()
				sent[to], most = append([]byte(nil), list...), max(most, len(list))
			}
			for m := range relays {
				err := relays[m].take(sent[m], func(member int, k *wire.Contract) { heard[m][member] = k.Hash })
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for m := range relays {
			relays[m] = relays[m].reset()
		}
	}
	return heard, most
}

// A contract that says to be of more members than the hop tells of is refused, and of none.
func TestRelayRefusesRepeats(t *testing.T) {
	for _, repeats := range []int{0, 3, 1 << 31} {
		var r callRelay
		r.begin(0, 5, &wire.Contract{})
		r.hop = 1 // of two members
		if err := r.take(wire.AppendListed(nil, repeats, &wire.Contract{}), func(int, *wire.Contract) {}); err == nil {
			t.Errorf("got no error for a contract of %d members, want one: the hop tells of 2", repeats)
		}
	}
}
