package spmd

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tpsh/runtime/spmdtype"
)

var update = flag.Bool("update", false, "write docs/types.md")

const page = "../../docs/types.md"

// The tables of docs/types.md are those of the code, and its mistakes what the example prints.
func TestTypesPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile("../../examples/typed.txt")
	if err != nil {
		t.Fatal(err)
	}
	var ways, regions, mistakes strings.Builder
	ways.WriteString("| from | to | call | what ranks do | its gradient |\n| --- | --- | --- | --- | --- |\n")
	for _, tr := range spmdtype.Transitions() {
		back := "`reinterpret(V, P)`, then `all_reduce(P, I)`"
		if row, ok := tr.Gradient(); ok {
			back = "`" + row.String() + "`"
		}
		fmt.Fprintf(&ways, "| %v | %v | `%s` | %v | %s |\n", tr.Src, tr.Dst, tr.Name, tr.Do, back)
	}
	regions.WriteString("| function | is | gives |\n| --- | --- | --- |\n")
	for _, r := range spmdtype.Regions {
		fmt.Fprintf(&regions, "| `spmd.%s(x, axis=\"tp\")` | `%s(%v, %v)` | %s |\n", r.Name, r.Call, r.Src, r.Dst, r.Doc)
	}
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	mistakes.WriteString("```\n" + strings.Join(lines[:len(lines)-1], "\n") + "\n```\n")
	want := string(text)
	for name, table := range map[string]string{"transitions": ways.String(), "regions": regions.String(), "mistakes": mistakes.String()} {
		begin := "<!-- " + name + " -->\n"
		head, rest, ok := strings.Cut(want, begin)
		_, tail, ok2 := strings.Cut(rest, "<!-- end -->")
		if !ok || !ok2 {
			t.Fatalf("%s has no place for %s", page, name)
		}
		want = head + begin + table + "<!-- end -->" + tail
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is not what the code says: go test ./builtins/spmd -run TypesPage -update", page)
	}
}
