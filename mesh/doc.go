// Package mesh computes which rank holds which part of a tensor, and what has to
// move where to change that. It knows integers alone: no tensors and no
// communication.
//
// Terms:
//
//   - An axis is one dim of a tensor, of n elements. It is cut into parts
//     blocks, numbered from 0, by one rule (Block) everywhere: blocks of
//     ceil(n/parts) elements, the last ones shorter or empty. So every n and
//     every number of parts is legal, and nothing needs to divide evenly.
//   - A Mesh is an n-dimensional array of ranks. A rank's position is its place
//     in row-major order; a line holds the ranks that differ only in their
//     indices along some dims.
//   - A Placement says what the ranks along one mesh dim hold of a tensor:
//     Replicate, Shard or Partial.
//   - A Layout says which Boxes of a tensor each rank holds. It is Placed, from
//     one placement for each mesh dim, or Flat, from ranges of the elements in
//     row-major order. A grid of blocks over the ranks of one mesh dim is Placed
//     on that dim split (Grid).
//   - A part is the boxes that replicas hold. A term is a summand of a tensor
//     that is Partial: the ranks of a part hold its terms.
//   - An Exchange takes ranks from one Layout to any other. Each receives
//     exactly the elements that it lacks.
//   - A Plan takes a tensor from one Placed to another on the same mesh, in the
//     cheapest Steps by a fixed cost model. Each step is an exchange within lines
//     of the mesh: an all-gather, an all-to-all, a reduction, or any other.
//   - A Cache keeps meshes, layouts and plans.
//
// Layouts that the ranks of a mesh hold a tensor in, and the way from one to
// another:
//
//	m, err := mesh.New([]int{2, 4}, nil, []string{"dp", "tp"})
//	rows, err := mesh.Place(m, []int{7, 5}, []mesh.Placement{mesh.Replicate(), mesh.Shard(0)})
//	cols, err := mesh.Place(m, []int{7, 5}, []mesh.Placement{mesh.Replicate(), mesh.Shard(1)})
//	plan, err := mesh.NewPlan(rows, cols, 4) // 4 bytes an element
//	for _, step := range plan.Steps {
//		fmt.Println(step.Op, step.Dims, step.Dst, step.Exchange(3).Sends(3)) // what rank 3 sends
//	}
package mesh
