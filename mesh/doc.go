// Package mesh computes which rank holds which part of a tensor. It knows
// integers alone: no tensors and no communication.
//
// An axis is one dim of a tensor, of n elements. It is cut into parts blocks,
// numbered from 0, by one rule (Block) everywhere: blocks of ceil(n/parts)
// elements, the last ones shorter or empty. So every n and every number of
// parts is legal, and nothing needs to divide evenly:
//
//	for i := range 4 {
//		fmt.Println(mesh.Block(9, 4, i)) // 0 3, 3 6, 6 9, 9 9
//	}
package mesh
