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
