package launch

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		ranks spans
		text  string
	}{
		{nil, "null"},
		{spans{0}, "[[0,0]]"},
		{spans{0, 1, 2, 3}, "[[0,3]]"},
		{spans{1, 2, 5, 7, 8, 9}, "[[1,2],[5,5],[7,9]]"},
	} {
		data, err := json.Marshal(c.ranks)
		if string(data) != c.text || err != nil {
			t.Errorf("%v: got %s, %v, want %s", c.ranks, data, err, c.text)
		}
		var back spans
		if err := json.Unmarshal(data, &back); err != nil || !slices.Equal(back, c.ranks) {
			t.Errorf("%s: got %v, %v, want %v", data, back, err, c.ranks)
		}
	}
}

func TestSpansRefuse(t *testing.T) {
	for _, text := range []string{"[[-1,0]]", "[[1,0]]", "[[0,1],[1,2]]", "[[2,3],[0,0]]", "[[0,16384]]", "[[0,9000],[9001,16384]]", "[[0,9223372036854775807]]", "[0]"} {
		var back spans
		if err := json.Unmarshal([]byte(text), &back); err == nil {
			t.Errorf("%s: got %d ranks, want an error", text, len(back))
		}
	}
}
