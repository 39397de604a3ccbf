package mesh

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlacementTexts(t *testing.T) {
	var zero Placement
	for _, c := range []struct {
		p            Placement
		text, script string
	}{
		{zero, "R", "Replicate()"},
		{Replicate(), "R", "Replicate()"},
		{Shard(0), "S(0)", "Shard(0)"},
		{Shard(-2), "S(-2)", "Shard(-2)"},
		{StridedShard(0, 2), "_S(0, 2)", "_StridedShard(0, split_factor=2)"},
		{StridedShard(-1, 1), "S(-1)", "Shard(-1)"},
		{Partial(Sum), "P(sum)", `Partial("sum")`},
		{Partial(Max), "P(max)", `Partial("max")`},
	} {
		if c.p.String() != c.text || c.p.Script() != c.script {
			t.Errorf("got %v and %v, want %v and %v", c.p, c.p.Script(), c.text, c.script)
		}
	}
}

// valuePlacements returns placements of every kind by which ranks hold values, and no
// summands, of a tensor of two dims.
func valuePlacements() []Placement {
	var list []Placement
	for _, p := range PlacementKinds() {
		if p.kind == strided || p.kind == ragged {
			continue // they go with others, or with some sizes: see orders, and TestRagged
		}
		if _, ok := p.Shard(); ok {
			list = append(list, Shard(0), Shard(1))
		} else if _, ok := p.Partial(); !ok {
			list = append(list, p)
		}
	}
	return list
}

// Each kind has a row, and is written and read by it.
func TestPlacementKinds(t *testing.T) {
	names, letters := map[string]bool{}, map[string]bool{}
	for _, p := range PlacementKinds() {
		row := &placementRows[p.kind]
		if row.name == "" || row.letter == "" || row.parse == nil || names[row.name] || letters[row.letter] {
			t.Fatalf("the kind of placement %d, %q, lacks a name, a letter or parse of its own: see placementRows in mesh/placement.go", p.kind, row.name)
		}
		names[row.name], letters[row.letter] = true, true
		if got, err := ParsePlacement(p.String()); err != nil || got != p {
			t.Errorf("ParsePlacement(%q) = %v, %v", p.String(), got, err)
		}
		if p.Kind() != row.name || !strings.HasPrefix(p.Script(), row.name+"(") {
			t.Errorf("%v is a %s, and a script writes %s", p, p.Kind(), p.Script())
		}
	}
}

// What String writes is read back, and texts that are read are written so that
// they are read alike.
func TestParsePlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Just(Replicate()), rapid.Map(rapid.Int(), Shard),
			rapid.Custom(func(t *rapid.T) Placement {
				return StridedShard(rapid.Int().Draw(t, "dim"), rapid.IntRange(1, math.MaxInt).Draw(t, "factor"))
			}),
			rapid.Custom(func(t *rapid.T) Placement {
				dims := rapid.SampledFrom([][]int{{0}, {-1}, {2}, {0, 1}, {0, 1, 2}}).Draw(t, "dims")
				units := rapid.SliceOfN(rapid.IntRange(0, maxUnits/8), 0, 7).Draw(t, "units")
				p, err := RaggedShard(dims, append(units, 1))
				if err != nil {
					t.Fatal(err)
				}
				return p
			}),
			rapid.Map(rapid.SampledFrom([]ReduceOp{Sum, Mean, Prod, Max, Min}), Partial)).Draw(t, "p")
		if got, err := ParsePlacement(p.String()); err != nil || got != p {
			t.Fatalf("ParsePlacement(%q) = %v, %v", p.String(), got, err)
		}
	})
	for _, c := range []struct {
		text string
		want Placement
	}{{"P", Partial(Sum)}, {"P(avg)", Partial(Mean)}, {"S(-1)", Shard(-1)}, {"_S(-1,4)", StridedShard(-1, 4)}, {"RS(0, 1:3)", PlacementKinds()[ragged]}, {"RS((0,),(1,3))", PlacementKinds()[ragged]}} {
		if got, err := ParsePlacement(c.text); err != nil || got != c.want {
			t.Errorf("ParsePlacement(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "S", "S()", "S(x)", "S(0", "R(0)", "P(0)", "Shard(0)", "S[0]", "_S(0)", "_S(0, 1)", "_S(0, x)", "_S(0, -2)", "RS(0)", "RS(0, 0:0)", "RS(0, 1:-1)", "RS(1+2, 1:1)", "RS(0, )", "RS(, 1)"} {
		want := (&Error{"placements", `"` + text + `"`, "R, S(dim) or P(op)", ""}).Error()
		if got, err := ParsePlacement(text); err == nil || err.Error() != want {
			t.Errorf("ParsePlacement(%q) = %v, %v, want error %v", text, got, err, want)
		}
	}
}

func FuzzParsePlacement(f *testing.F) {
	for _, s := range []string{"R", "S(0)", "S(-1)", "_S(0, 2)", "RS(0+1, 1:0:2)", "RS((0,),(1,2))", "P(sum)", "P(avg)", "P"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePlacement(s)
		if err != nil {
			return
		}
		if q, err := ParsePlacement(p.String()); err != nil || q != p {
			t.Errorf("%q is %v, which is %v, %v", s, p, q, err)
		}
	})
}

func TestNormalize(t *testing.T) {
	given := []Placement{Shard(-1), Replicate(), Shard(0), Partial(Sum), Shard(-3), StridedShard(-2, 2)}
	got, err := Normalize(given, []int{2, 3, 4})
	if want := "[S(2), R, S(0), P(sum), S(0), _S(1, 2)]"; err != nil || List(got) != want {
		t.Errorf("Normalize = %v, %v, want %v", List(got), err, want)
	}
	if List(given) != "[S(-1), R, S(0), P(sum), S(-3), _S(-2, 2)]" {
		t.Errorf("Normalize has changed its argument to %v", List(given))
	}
	for _, c := range []struct {
		p     Placement
		shape []int
		want  string
	}{
		{Shard(4), []int{3, 3}, `for parameter "placements": got Shard(4) at index 0, want a dim in -2..1 (shape (3, 3))`},
		{Shard(-3), []int{3, 3}, `for parameter "placements": got Shard(-3) at index 0, want a dim in -2..1 (shape (3, 3))`},
		{Shard(0), nil, `for parameter "placements": got Shard(0) at index 0, want no Shard (shape ())`},
	} {
		if _, err := Normalize([]Placement{c.p}, c.shape); err == nil || err.Error() != c.want {
			t.Errorf("Normalize(%v, %v): got error %v, want %v", c.p, c.shape, err, c.want)
		}
	}
}

func TestParseReduceOp(t *testing.T) {
	for name, want := range map[string]ReduceOp{"sum": Sum, "mean": Mean, "avg": Mean, "prod": Prod, "max": Max, "min": Min} {
		if got, err := ParseReduceOp(name); err != nil || got != want {
			t.Errorf("ParseReduceOp(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	want := `for parameter "op": got "add", want one of "sum", "mean", "prod", "max", "min"`
	if _, err := ParseReduceOp("add"); err == nil || err.Error() != want {
		t.Errorf("ParseReduceOp: got error %v, want %v", err, want)
	}
}
