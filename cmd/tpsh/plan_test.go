package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tpsh/lang"
	"tpsh/runtime"
	"tpsh/runtime/plan"
)

// planSizes are the numbers of ranks that examples are planned for, beside those that
// they cannot be run with.
var planSizes = map[string][]int{
	"colo_tensor.star": {4}, "comm_spec.star": {4}, "redistribute.star": {4}, "ring.star": {4}, "groups.star": {2, 4},
	"gpt_pipeline.star": {2, 4}, "pipeline.star": {4}, "llama.star": {1, 2}, "flat.star": {2, 4}, "local_map.star": {2, 4}, "custom_op.star": {4}, "moe.star": {},
}

// What a plan says is moved is what a trace counts in a run: every call, in order, on
// every rank.
func TestPlanMovesWhatARunDoes(t *testing.T) {
	scripts, err := filepath.Glob("../../examples/*.star")
	if err != nil || len(scripts) < 15 {
		t.Fatalf("got %d examples: %v", len(scripts), err)
	}
	for _, script := range scripts {
		sizes := planSizes[filepath.Base(script)]
		if sizes == nil {
			sizes = []int{1, 4}
		}
		for _, n := range sizes {
			t.Run(fmt.Sprint(filepath.Base(script), "/", n), func(t *testing.T) {
				args := fewer[filepath.Base(script)]
				want := traceOf(t, script, args, n)
				p, err := evaluate(context.Background(), question{Script: script, Args: args, Ranks: n, Each: true})
				if err != nil {
					t.Fatal(err)
				}
				for rank := range n {
					compareCalls(t, rank, callsOf(p, rank), want[rank])
				}
			})
		}
	}
}

// fewer are the arguments by which examples that train take few steps.
var fewer = map[string][]string{"gpt.star": {"2"}, "megatron.star": {"--steps", "2"}}

// traceOf returns what each rank communicates in a run.
func traceOf(t *testing.T, script string, args []string, n int) [][]string {
	t.Helper()
	p, err := lang.ReadProgram(script)
	if err != nil {
		t.Fatal(err)
	}
	traces := make([]*runtime.Trace, n)
	s := &starter{limits: &limits{quiet: true}, ranks: n, transport: "inproc", args: args, flags: p.ReadFlags().Names()}
	s.seen = func(r *runtime.Rank) { traces[r.ID()] = r.StartTrace() }
	ranks, err := s.startHere()
	if err != nil {
		t.Fatal(err)
	}
	defer ranks.stop()
	session := lang.NewSession(ranks.conns, lang.Options{})
	defer session.Close()
	o, err := session.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if o.ExitStatus() != lang.StatusOK {
		var b strings.Builder
		o.Report(&b)
		t.Fatal(b.String())
	}
	list := make([][]string, n)
	for rank, trace := range traces {
		for _, r := range trace.Records {
			list[rank] = append(list[rank], fmt.Sprint(r.Op, " ", r.Bytes, " ", r.Wire))
		}
	}
	return list
}

// callsOf returns what a rank of p communicates.
func callsOf(p *plan.Program, rank int) []string {
	var list []string
	for _, e := range p.Kinds[p.KindOf[rank]].Events {
		switch e.Do {
		case plan.Collective, plan.Issue, plan.Send, plan.Recv:
			c := p.Calls[e.Index]
			list = append(list, fmt.Sprint(c.Op, " ", c.Bytes, " ", c.Wire))
		}
	}
	return list
}

func compareCalls(t *testing.T, rank int, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("rank %d, call %d of %d: got %s, want %s", rank, i, len(want), g, w)
			return
		}
	}
}
