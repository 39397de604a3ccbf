package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"tpsh/builtins/rundiff"
)

// planEpilogue is run behind the script of a plan: it prints what the script's globals hold, in
// lines that begin with planMark.
const planEpilogue = `
def __tpsh_plan():
    print("%[1]s" + json.encode(["mesh", list(mesh.shape), [str(n) for n in (mesh.mesh_dim_names or [])], mesh.mesh]))
    for __pattern, __list in placements.items():
        print("%[1]s" + json.encode(["rule", __pattern, [str(p) for p in (__list if type(__list) in ("list", "tuple") else [__list])]]))
__tpsh_plan()
`

// orderEpilogue prints the order of computation.
const orderEpilogue = `print("%[1]s" + json.encode(["order", list(order)]))
`

const planMark = "\x01tpsh plan "

// readDiffPlan runs the script of a plan on n ranks, and returns what its globals say: mesh, a
// DeviceMesh; placements, a dict from patterns of names to placements; and order, a list of
// patterns, if it is there.
func readDiffPlan(std *stdio, file string, n int) (*rundiff.Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, filef("for flag --plan: %w", err)
	}
	source := string(text) + fmt.Sprintf(planEpilogue, planMark)
	if bytes.Contains(text, []byte("\norder =")) || bytes.HasPrefix(text, []byte("order =")) {
		source += fmt.Sprintf(orderEpilogue, planMark)
	}
	var out bytes.Buffer
	if code := run(&stdio{std.in, &out, std.err}, []string{"run", "-n", strconv.Itoa(n), "--output", "rank0", "--quiet", "-c", source}); code != 0 {
		return nil, filef("for flag --plan: %s has failed, want a script with the globals mesh and placements", file)
	}
	p := &rundiff.Plan{}
	for line := range bytes.Lines(out.Bytes()) {
		if rest, ok := bytes.CutPrefix(line, []byte(planMark)); ok {
			if err := addToPlan(p, rest); err != nil {
				return nil, filef("for flag --plan: %s: %v", file, err)
			}
		}
	}
	if len(p.Mesh) == 0 {
		return nil, filef("for flag --plan: %s has told no mesh", file)
	}
	return p, nil
}

// addToPlan adds a line that the epilogue has printed.
func addToPlan(p *rundiff.Plan, line []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) < 2 {
		return fmt.Errorf("got %q", line)
	}
	var kind string
	if err := json.Unmarshal(parts[0], &kind); err != nil {
		return err
	}
	switch kind {
	case "mesh":
		var ranks any
		err := unmarshalAll(parts[1:], &p.Mesh, &p.Names, &ranks)
		p.Ranks = flatRanks(ranks, nil)
		return err
	case "order":
		return unmarshalAll(parts[1:], &p.Order)
	}
	var r rundiff.Rule
	var list []string
	if err := unmarshalAll(parts[1:], &r.Pattern, &list); err != nil {
		return err
	}
	if err := r.Parse(list); err != nil {
		return err
	}
	if len(list) == 1 && list[0] == "Replicate()" {
		for len(r.Placements) < len(p.Mesh) {
			r.Placements = append(r.Placements, r.Placements[0])
		}
	}
	if len(r.Placements) != len(p.Mesh) {
		return fmt.Errorf("got %d placements for %q, want %d, one for each dim of the mesh", len(r.Placements), r.Pattern, len(p.Mesh))
	}
	p.Rules = append(p.Rules, r)
	return nil
}

// flatRanks appends the numbers in nested lists to list.
func flatRanks(v any, list []int) []int {
	switch v := v.(type) {
	case float64:
		return append(list, int(v))
	case []any:
		for _, item := range v {
			list = flatRanks(item, list)
		}
	}
	return list
}

// unmarshalAll reads values one by one.
func unmarshalAll(parts []json.RawMessage, into ...any) error {
	if len(parts) != len(into) {
		return fmt.Errorf("got %d values, want %d", len(parts), len(into))
	}
	for i := range into {
		if err := json.Unmarshal(parts[i], into[i]); err != nil {
			return err
		}
	}
	return nil
}
