package hang

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Evidence that has less in it may tell less, and never names a rank that the whole
// does not.
func TestLessEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSim(t)
		gloo := rapid.Bool().Draw(t, "gloo")
		kind, _ := s.truth()
		all := map[int]string{}
		for _, c := range Explain(s.world(gloo).job(t)).Culprits {
			all[c.Rank] = c.Kind
		}
		w := s.world(gloo)
		var did []string
		for range rapid.IntRange(1, 3).Draw(t, "losses") {
			did = append(did, w.lose(t))
		}
		for _, c := range Explain(w.job(t)).Culprits {
			if all[c.Rank] == "" && !(c.Kind == kind && (kind == CallsDiffer || len(all) == 0)) {
				t.Fatalf("gloo %t, after %q: got rank %d, %s, which the whole evidence does not name: %v\n%+v", gloo, did, c.Rank, c.Kind, all, s)
			}
		}
	})
}

// lose takes something away, and returns what.
func (w *world) lose(t *rapid.T) string {
	rank := rapid.IntRange(0, w.n-1).Draw(t, "of")
	rows, there := w.ranks[rank]
	if !there {
		return "nothing"
	}
	drop := func(fields ...string) {
		for i, r := range rows {
			rows[i] = r.with()
			for _, f := range fields {
				delete(rows[i], f)
			}
		}
	}
	what := rapid.SampledFrom([]string{"dump", "first", "retired", "state", "pg_id", "desc", "record", "sizes", "dtypes", "config"}).Draw(t, "what")
	switch what {
	case "dump":
		if len(w.ranks) > 1 {
			delete(w.ranks, rank)
		}
	case "first": // the buffer is a ring
		for i, r := range rows {
			if r["record_id"] == nil {
				rows[i] = r.with("record_id", i)
			}
		}
		w.ranks[rank] = slices.Clone(rows[rapid.IntRange(0, max(len(rows)-1, 0)).Draw(t, "n"):])
	case "retired", "pg_id":
		drop(what)
	case "state":
		drop("state")
	case "desc":
		for i, r := range rows {
			if pg, ok := r["process_group"].([]any); ok {
				rows[i] = r.with("process_group", pg[:1])
			}
		}
	case "record":
		for i, r := range rows {
			rows[i] = r.with("record_id", "")
		}
	case "sizes":
		if w.plain {
			return "nothing" // gloo's recorder has them always
		}
		for r := range w.ranks { // of all: else they differ
			rows = w.ranks[r]
			drop("input_sizes", "output_sizes")
		}
	case "dtypes":
		for r := range w.ranks {
			rows = w.ranks[r]
			drop("input_dtypes", "output_dtypes")
		}
	case "config":
		w.bare = append(w.bare, rank)
	}
	return fmt.Sprintf("%s of %d", what, rank)
}
