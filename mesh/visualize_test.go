package mesh

import (
	"strings"
	"testing"
)

func TestDraw(t *testing.T) {
	ranges, err := NewFlat([]int{2, 3}, []int{0, 1, 2, 3}, [][]Range{{{0, 2}, {4, 6}}, {{2, 4}}, {}, {}})
	if err != nil {
		t.Fatal(err)
	}
	place := func(mesh, shape []int, text string) Layout {
		return mustPlace(t, mustMesh(t, mesh...), shape, placements(t, text)...)
	}
	for _, c := range []struct {
		layout Layout
		want   string
	}{
		{place([]int{2, 3}, []int{7, 5}, "S(0) S(1)"), `
(7, 5) as [S(0), S(1)] on (2, 3)

      0:2   2:4   4:5
    ┌─────┬─────┬─────┐
0:4 │ 0   │ 1   │ 2   │
    ├─────┼─────┼─────┤
4:7 │ 3   │ 4   │ 5   │
    └─────┴─────┴─────┘
`},
		{place([]int{2, 3}, []int{7, 5}, "S(0) S(0)"), `
(7, 5) as [S(0), S(0)] on (2, 3)

      0:5
    ┌─────┐
0:2 │ 0   │
    ├─────┤
2:4 │ 1   │
    ├─────┤
4:5 │ 3   │
    ├─────┤
5:6 │ 4   │
    ├─────┤
6:7 │ 5   │
    └─────┘
nothing: 2
`},
		{place([]int{2, 3}, []int{7, 5}, "R P"), `
(7, 5) as [R, P(sum)] on (2, 3)

      0:5
    ┌─────────────────┐
0:7 │ 0,3 + 1,4 + 2,5 │
    └─────────────────┘
+ adds terms
`},
		{place([]int{4}, []int{5}, "S(0)"), `
(5,) as [S(0)] on (4,)

   0:2   2:4   4:5
 ┌─────┬─────┬─────┐
 │ 0   │ 1   │ 2   │
 └─────┴─────┴─────┘
nothing: 3
`},
		{place([]int{2, 2, 2}, []int{4, 4, 4}, "S(0) S(1) S(2)"), `
(4, 4, 4) as [S(0), S(1), S(2)] on (2, 2, 2)

      0:2     2:4
    ┌───────┬───────┐
0:2 │ 0 | 4 │ 1 | 5 │
    ├───────┼───────┤
2:4 │ 2 | 6 │ 3 | 7 │
    └───────┴───────┘
| is between blocks along the other dims
`},
		{place([]int{2, 2, 2}, []int{4, 6, 4}, "S(0) R S(2)"), `
(4, 6, 4) as [S(0), R, S(2)] on (2, 2, 2)

      0:2   2:4
    ┌─────┬─────┐
0:2 │ 0,2 │ 1,3 │
    ├─────┼─────┤
2:4 │ 4,6 │ 5,7 │
    └─────┴─────┘
`},
		{place([]int{3}, nil, "R"), `
() as [R] on (3,)

 ┌─────┐
 │ 0-2 │
 └─────┘
`},
		{place([]int{2}, []int{0, 3}, "S(0)"), `
(0, 3) as [S(0)] on (2,)

      0:3
    ┌─────┐
0:0 │     │
    └─────┘
nothing: 0,1
`},
		{ranges, `
(2, 3) in ranges on ranks 0-3

      0:1   1:2   2:3
    ┌─────┬─────┬─────┐
0:1 │ 0   │ 0   │ 1   │
    ├─────┼─────┼─────┤
1:2 │ 1   │ 0   │ 0   │
    └─────┴─────┴─────┘
nothing: 2,3
`},
	} {
		row, col := DrawDims(c.layout)
		if got, want := Draw(c.layout, row, col), strings.TrimPrefix(c.want, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// Of many rows and columns the first and the last are drawn.
func TestDrawLeavesOut(t *testing.T) {
	m := mustMesh(t, 24)
	lines := strings.Split(Draw(mustPlace(t, m, []int{24, 3}, Shard(0)), 0, 1), "\n")
	if len(lines) != 4+2*17+1 || !strings.Contains(lines[4+2*8], "... │ ... │") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	lines = strings.Split(Draw(mustPlace(t, m, []int{24, 3}, Shard(0)), 1, 0), "\n")
	if want := "      0:1   1:2   2:3   3:4   4:5   5:6   6:7   7:8   ...   16:17   17:18"; !strings.HasPrefix(lines[2], want) {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
}
