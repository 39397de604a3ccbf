package main

import (
	"slices"
	"testing"

	"tpsh/builtins"
	"tpsh/cmd/tpsh/chakra"
	"tpsh/runtime"
	"tpsh/runtime/hardware"
)

// byPairs are the collectives that go from member to member, and in traces are messages.
var byPairs = []string{"collective_permute", "ring_forward"}

// asBroadcast are those whose cost is that of a broadcast.
var asBroadcast = []string{"broadcast", "reduce"}

// orNone are those of which a script may get None, so that nothing is said of the type.
var orNone = []string{"reduce", "gather"}

// A collective that ranks can call is one that scripts call, and is known wherever calls are
// listed by name. What is missing is told with the file that lacks it.
func TestCollectivesAreKnown(t *testing.T) {
	m, err := hardware.Builtin("hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	cost := func(op string) float64 {
		return m.Collective(hardware.Collective{Op: op, Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, Bytes: 1 << 24})
	}
	results := languageOf(t).Results
	ops := runtime.CollectiveOps()
	if len(ops) < 10 {
		t.Errorf("package runtime has the collectives %q, want ten at least", ops)
	}
	for _, op := range ops {
		if _, ok := builtins.Doc(op); !ok {
			t.Errorf("%s is no name of the language: it lacks a row in builtins/collective/collective.go", op)
		}
		if paired := slices.Contains(byPairs, op); paired == chakra.Knows(op) {
			t.Errorf("%s: chakra.Knows is %v; it needs a type in cmd/tpsh/chakra/chakra.go, or goes by pairs and stands in byPairs here", op, !paired)
		}
		if like := cost(op) == cost("no such collective"); like != slices.Contains(asBroadcast, op) {
			t.Errorf("%s costs as a broadcast does: %v; it needs a case in runtime/hardware/collective.go, or stands in asBroadcast here", op, like)
		}
		if typed := results[op] != ""; typed == slices.Contains(orNone, op) {
			t.Errorf("%s has a type of its result: %v; it needs one in cmd/tpsh/language_results.go, or stands in orNone here", op, typed)
		}
	}
}
