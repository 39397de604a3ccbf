package mesh_test

import (
	"fmt"

	"tpsh/mesh"
)

func ExampleBlock() {
	for i := range 4 {
		fmt.Println(mesh.Block(9, 4, i))
	}
	// Output:
	// 0 3
	// 3 6
	// 6 9
	// 9 9
}

// Seven rows on four ranks, made whole again.
func ExampleNewPlan() {
	m, err := mesh.New([]int{4}, nil, []string{"tp"})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := mesh.Place(m, []int{7, 2}, []mesh.Placement{mesh.Shard(0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	whole, err := mesh.Place(m, []int{7, 2}, []mesh.Placement{mesh.Replicate()})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := mesh.NewPlan(rows, whole, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("rank 3 holds", rows.LocalShape(3), "at", rows.Offset(3))
	for _, step := range plan.Steps {
		fmt.Println(step.Op, "to", step.Dst)
		for _, piece := range step.Exchange(3).Pieces(3) {
			fmt.Println("  rank 3 has", piece.Box, "of", piece.From)
		}
	}
	// Output:
	// rank 3 holds [1 2] at [6 0]
	// all_gather to (7, 2) as [R] on (tp=4)
	//   rank 3 has [0:2, 0:2] of [0]
	//   rank 3 has [2:4, 0:2] of [1]
	//   rank 3 has [4:6, 0:2] of [2]
	//   rank 3 has [6:7, 0:2] of [3]
}
