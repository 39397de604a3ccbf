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
