package hang

import "testing"

// The pairs of events of the tests of PyTorch's analyser (pytorch:
// test/distributed/flight_recorder/test_fr_analysis.py), each as a job of two
// ranks that recorded one of them.
func TestPairs(t *testing.T) {
	event := func(op string, in, out any, state string) row {
		r := call(op, 1, in, out).with("state", state, "input_dtypes", "float32", "output_dtypes", "float32", "collective_seq_id", "1")
		delete(r, "retired")
		return r
	}
	s44, s54 := sizes(4, 4), sizes(5, 4)
	e1 := event("all_reduce", s44, s44, "scheduled")
	e9 := event("all_reduce", s44, s44, "completed")
	e11 := event("gather", s44, []any{[]int{4, 4}, []int{4, 4}}, "completed")
	for _, c := range []struct {
		name string
		a, b row
		want string
	}{
		{"same", e1, e1, Nothing},
		{"type", e1, event("all_gather", s44, s44, "scheduled"), "culprits 0 calls differ 1 calls differ"},
		{"all to all", event("all_to_all", s44, s44, "scheduled"), event("all_to_all", s44, s44, "scheduled"), Nothing},
		{"input size", e1, event("all_reduce", s54, s44, "scheduled"), "culprits 0 calls differ 1 calls differ"},
		{"output size", e1, event("all_reduce", s44, s54, "scheduled"), "culprits 0 calls differ 1 calls differ"},
		{"input and output size", event("all_reduce", s44, s54, "scheduled"), event("all_reduce", s44, s54, "scheduled"), "culprits 0 calls differ 1 calls differ"},
		{"state", e1, e9, "culprits 0 not finished"},
		{"dtype", e9.with("output_dtypes", "float16"), e9, "culprits 0 calls differ 1 calls differ"},
		{"gather at the root", e11, event("gather", s44, []any{[]int{}}, "completed").with("output_dtypes", ""), Nothing},
		{"gather, sizes", e11, event("gather", s44, s44, "completed").with("output_dtypes", ""), Nothing},
		{"broadcast from one of other input", event("broadcast", s44, s44, "completed").with("input_dtypes", ""), event("broadcast", s44, s44, "completed"), Nothing},
		{"uneven exchange", event("all_to_all", sizes(6), sizes(4), "completed"), event("all_to_all", sizes(2), sizes(4), "completed"), Nothing},
		{"exchange that does not add up", event("all_to_all", sizes(6), sizes(4), "completed"), event("all_to_all", sizes(4), sizes(4), "completed"), "culprits 0 calls differ 1 calls differ"},
		{"all_gather", event("_all_gather_base", s44, sizes(32), "completed"), event("_all_gather_base", s44, sizes(32), "completed"), Nothing},
		{"reduce_scatter", event("_reduce_scatter_base", s44, sizes(8), "completed"), event("_reduce_scatter_base", s44, sizes(8), "completed"), Nothing},
		{"reduce_scatter of another size", event("_reduce_scatter_base", s44, sizes(4), "completed"), event("_reduce_scatter_base", s44, sizes(4), "completed"), "culprits 0 calls differ 1 calls differ"},
	} {
		for _, order := range []bool{false, true} {
			a, b := c.a, c.b
			want := c.want
			if order {
				a, b = b, a
				if c.name == "state" {
					want = "culprits 1 not finished"
				}
			}
			w := &world{n: 2, ranks: map[int][]row{0: {a}, 1: {b}}}
			if got := w.verdict(t); got != want {
				t.Errorf("%s (the other way round: %t): got %s, want %s", c.name, order, got, want)
			}
		}
	}
}

// The whole databases of the same tests: numbers are text, all 0, and calls
// that were coalesced have one number.
func TestDatabases(t *testing.T) {
	entry := func(op string, in, out any) row {
		r := call(op, 0, in, out).with("state", "completed", "input_dtypes", "float32", "output_dtypes", "float32", "collective_seq_id", "0")
		r["process_group"] = []any{"0", "default"}
		delete(r, "pg_id")
		return r
	}
	s44, s55, none := sizes(4, 4), sizes(5, 5), []any{[]int{}}
	own := func(r row) row { return r.with("process_group", []any{"1", "sub_pg"}) }
	for _, c := range []struct {
		name string
		a, b []row
		want string
	}{
		{"matched", []row{entry("all_reduce", s44, s44), own(entry("all_reduce", s55, s55))}, []row{entry("all_reduce", s44, s44), own(entry("all_reduce", s55, s55))}, Nothing},
		{"coalesced all_reduce", []row{entry("allreduce_coalesced", s44, s44)}, []row{entry("allreduce_coalesced", s44, s44)}, Nothing},
		{"two broadcasts, coalesced", []row{entry("broadcast", s44, s44), entry("broadcast", s44, s44), entry("coalesced", none, none)},
			[]row{entry("broadcast", s44, s44), entry("broadcast", s44, s44), entry("coalesced", none, none)}, Nothing},
		{"uneven all_gather, not matched", []row{entry("_broadcast_oop", s44, s44), entry("_broadcast_oop", s55, s55), entry("ALLGATHER_coalesced", none, none)},
			[]row{entry("_broadcast_oop", s44, s44), entry("_broadcast_oop", s44, s44), entry("ALLGATHER_coalesced", none, none)}, "culprits 0 calls differ 1 calls differ"},
		{"uneven reduce_scatter", []row{entry("_reduce_oop", s44, s44), entry("_reduce_oop", s44, s44), entry("REDUCE_SCATTER_coalesced", none, none)},
			[]row{entry("_reduce_oop", s44, s44), entry("_reduce_oop", s44, s44), entry("REDUCE_SCATTER_coalesced", none, none)}, Nothing},
		{"coalesced calls of one rank", []row{entry("all_reduce", s44, s44)},
			[]row{entry("all_reduce", s44, s44), entry("_reduce_oop", s44, s44), entry("_reduce_oop", s44, s44), entry("REDUCE_SCATTER_coalesced", none, none)}, "culprits 0 never called"},
	} {
		w := &world{n: 2, ranks: map[int][]row{0: c.a, 1: c.b}, groups: map[string][]int{}}
		j := &Job{Ranks: map[int]*Rank{}, Groups: map[string]*Group{}}
		for id, rows := range w.ranks {
			w.groups["1"] = []int{id} // the name of a group on each
			d, err := parseDump(w.dump(id, rows))
			if err != nil {
				t.Fatal(err)
			}
			j.add(id, "", d)
		}
		j.link()
		if got := short(Explain(j)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
