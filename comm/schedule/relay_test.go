package schedule

import (
	"slices"
	"testing"
)

// After all hops each member has what each has said, once, in the order of Relay.Member, and
// in no hop does it send more than it has.
func TestRelayTellsAll(t *testing.T) {
	for size := 1; size <= 140; size++ {
		known := make([][]int, size)
		for r := range known {
			known[r] = []int{r}
		}
		for hop := range (Relay{0, size}).Hops() {
			before := slices.Clone(known)
			for r := range known {
				relay := Relay{r, size}
				from := relay.From(hop)
				if to := (Relay{from, size}).To(hop); to != r {
					t.Fatalf("%d members, hop %d: %d receives from %d, which sends to %d", size, hop, r, from, to)
				}
				if n := relay.Count(hop); n > len(before[from]) || n < 1 {
					t.Fatalf("%d members, hop %d: %d sends %d of %d", size, hop, from, n, len(before[from]))
				}
				known[r] = append(slices.Clip(before[r]), before[from][:relay.Count(hop)]...)
			}
		}
		for r := range known {
			want := make([]int, size)
			for i := range want {
				want[i] = Relay{r, size}.Member(i)
			}
			if !slices.Equal(known[r], want) {
				t.Fatalf("%d members: %d knows %v, want %v", size, r, known[r], want)
			}
		}
	}
}

// A member talks to a few others: twice the logarithm of their number.
func TestRelayHasFewPeers(t *testing.T) {
	for size, want := range map[int]int{2: 1, 16: 7, 128: 13, 256: 15} {
		peers := map[int]bool{}
		r := Relay{size / 3, size}
		for hop := range r.Hops() {
			peers[r.To(hop)], peers[r.From(hop)] = true, true
		}
		if len(peers) != want {
			t.Errorf("%d members: got %d peers, want %d", size, len(peers), want)
		}
	}
}

// What each member has for each other comes to it, in half of it a hop.
func TestRelayCarriesBlocks(t *testing.T) {
	type block struct{ from, to int }
	for size := 1; size <= 140; size++ {
		held := make([][]block, size) // by member, and how far behind the member is that a block was for
		for r := range held {
			for behind := range size {
				held[r] = append(held[r], block{r, (r + behind) % size})
			}
		}
		for hop := range (Relay{0, size}).Hops() {
			before := make([][]block, size)
			for r := range held {
				before[r] = slices.Clone(held[r])
			}
			for r := range held {
				relay, moved := Relay{r, size}, 0
				for behind := range size {
					if relay.Carries(hop, behind) {
						held[r][behind] = before[relay.From(hop)][behind]
						moved++
					}
				}
				if moved > (size+1)/2 {
					t.Errorf("%d members, hop %d: %d blocks, want half of them at most", size, hop, moved)
				}
			}
		}
		for r := range held {
			for behind, b := range held[r] {
				if want := (block{Relay{r, size}.Member(behind), r}); b != want {
					t.Fatalf("%d members: %d has %v, want %v", size, r, b, want)
				}
			}
		}
	}
}
