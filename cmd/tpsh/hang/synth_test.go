package hang

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// A row is an entry of a dump that a test makes up.
type row map[string]any

// call returns an entry of a collective in the group "0".
func call(op string, seq int, in, out any) row {
	return row{
		"profiling_name": "nccl:" + op, "process_group": []any{"0", "default_pg"}, "pg_id": 0,
		"collective_seq_id": seq, "p2p_seq_id": 0, "is_p2p": false, "input_sizes": in, "output_sizes": out,
		"input_dtypes": []any{"Float"}, "output_dtypes": []any{"Float"}, "time_created_ns": 0,
	}
}

// sum returns an all_reduce of 16 elements.
func sum(seq int) row { return call("all_reduce", seq, sizes(4, 4), sizes(4, 4)) }

// with returns r with other fields.
func (r row) with(fields ...any) row {
	out := row{}
	for k, v := range r {
		out[k] = v
	}
	for i := 0; i < len(fields); i += 2 {
		out[fields[i].(string)] = fields[i+1]
	}
	return out
}

func (r row) group(name, desc string, id int) row {
	return r.with("process_group", []any{name, desc}, "pg_id", id)
}
func (r row) done() row    { return r.with("state", "completed", "retired", true) }
func (r row) pending() row { return r.with("state", "scheduled", "retired", false) }
func (r row) gloo(retired bool) row {
	return r.with("profiling_name", "gloo:"+r["profiling_name"].(string)[len("nccl:"):], "state", "scheduled", "retired", retired)
}
func (r row) line(n int) row {
	return r.with("frames", []any{
		row{"name": "all_reduce", "filename": "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 1},
		row{"name": "step", "filename": "/job/train.py", "line": n},
	})
}

// p2p returns a send or receive of members of the group "0".
func p2p(op string, from, to, seq int) row {
	arrow := "->"
	if op == "recv" {
		arrow = "<-"
	}
	return call(fmt.Sprintf("%s %d%s%d", op, from, arrow, to), 0, sizes(4), sizes(4)).with("is_p2p", true, "p2p_seq_id", seq)
}

func sizes(dims ...int) any { return []any{dims} }

// A world makes up the dumps of a job.
type world struct {
	n      int
	ranks  map[int][]row
	groups map[string][]int // beside "0"
	status map[int]map[string]Status
	plain  bool  // without pg_config and pg_status, as gloo's are
	bare   []int // ranks whose dumps have no pg_config at all
}

func (w *world) job(t interface {
	Helper()
	Fatal(...any)
}) *Job {
	t.Helper()
	j := &Job{Ranks: map[int]*Rank{}, Groups: map[string]*Group{}}
	for id, rows := range w.ranks {
		d, err := parseDump(w.dump(id, rows))
		if err != nil {
			t.Fatal(err)
		}
		j.add(id, fmt.Sprintf("fr_%d", id), d)
	}
	j.link()
	return j
}

func (w *world) dump(id int, rows []row) []byte {
	for i := range rows {
		if rows[i]["record_id"] == nil {
			rows[i] = rows[i].with("record_id", i)
		}
	}
	config := row{"0": row{"name": "0", "desc": "default_pg", "ranks": fmt.Sprint(allRanksJSON(w.n))}}
	if w.plain {
		config = row{"": row{"name": "", "desc": "", "ranks": allRanksJSON(w.n)}}
	}
	for name, ranks := range w.groups {
		for _, r := range ranks {
			if r == id && !w.plain {
				b, _ := json.Marshal(ranks)
				config[name] = row{"name": name, "desc": "undefined", "ranks": string(b)}
			}
		}
	}
	status := row{}
	for pg, s := range w.status[id] {
		status[pg] = row{"last_enqueued_collective": s.Made, "last_started_collective": -1, "last_completed_collective": s.Done}
	}
	if slices.Contains(w.bare, id) {
		config = row{}
	}
	b, _ := json.Marshal(row{"version": "2.10", "entries": rows, "pg_config": config, "pg_status": status})
	return b
}

func allRanksJSON(n int) string {
	b, _ := json.Marshal(allRanks(n))
	return string(b)
}

// verdict returns what is said of w in short: "culprits 2 never called".
func (w *world) verdict(t testing.TB) string { return short(Explain(w.job(t))) }

func short(v *Verdict) string {
	out := v.Verdict
	for _, c := range v.Culprits {
		out += fmt.Sprintf(" %d %s", c.Rank, c.Kind)
	}
	return out
}
