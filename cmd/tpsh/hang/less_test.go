package hang

import (
	"fmt"
	"math/rand/v2"
	"os"
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

// The same of dumps of real jobs, of which ranks are lost, beginnings and fields.
func TestRealLess(t *testing.T) {
	for dir, truth := range map[string][]int{"gpu_error_1st": {12, 14}, "lock_gil_1st": {9, 14}, "gloo_missing": {2}, "gloo_p2p": nil, "gloo_ok": nil} {
		list, err := listTo("testdata/real/"+dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(60) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			what := rnd.IntN(5)
			j := &Job{Ranks: map[int]*Rank{}, Groups: map[string]*Group{}}
			for _, path := range list {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				d, err := parseDump(b)
				m := rankName.Get().FindStringSubmatch(path)
				if err != nil || m == nil || d.json || what == 0 && rnd.IntN(4) == 0 {
					continue
				}
				hit := rnd.IntN(2) == 0
				switch {
				case hit && what == 1 && len(d.entries) > 1:
					d.entries = d.entries[rnd.IntN(len(d.entries)-1):]
				case hit && what == 2:
					d.groups = nil
				case hit && what == 3:
					clear(d.status)
				case what == 4:
					for _, e := range d.entries {
						e.call.Time, e.call.Frames = 0, nil
					}
				}
				j.add(int(atoi(m[2])), path, d)
			}
			j.link()
			for _, c := range Explain(j).Culprits {
				if !slices.Contains(truth, c.Rank) {
					t.Errorf("%s, loss %d, seed %d: got rank %d, %s in %s, want none but %v", dir, what, seed, c.Rank, c.Kind, c.Group, truth)
				}
			}
		}
	}
}
