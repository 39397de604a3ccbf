package schedule

import (
	"slices"
	"testing"
)

// After all rounds each member has what each has said, once, in the order of Relay.Member, and
// in no round does it send more than it has.
func TestRelayTellsAll(t *testing.T) {
	for size := 1; size <= 140; size++ {
		known := make([][]int, size)
		for r := range known {
			known[r] = []int{r}
		}
		for round := range (Relay{0, size}).Rounds() {
			before := slices.Clone(known)
			for r := range known {
				relay := Relay{r, size}
				from := relay.From(round)
				if to := (Relay{from, size}).To(round); to != r {
					t.Fatalf("%d members, round %d: %d receives from %d, which sends to %d", size, round, r, from, to)
				}
				if n := relay.Count(round); n > len(before[from]) || n < 1 {
					t.Fatalf("%d members, round %d: %d sends %d of %d", size, round, from, n, len(before[from]))
				}
				known[r] = append(slices.Clip(before[r]), before[from][:relay.Count(round)]...)
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
		for round := range r.Rounds() {
			peers[r.To(round)], peers[r.From(round)] = true, true
		}
		if len(peers) != want {
			t.Errorf("%d members: got %d peers, want %d", size, len(peers), want)
		}
	}
}
