// Package shard computes with tensors that ranks hold together. It is where
// layouts (package mesh) and communication (package comm) meet, and the only
// place that does arithmetic on blocks besides package mesh.
//
// Terms:
//
//   - A placed tensor is one logical tensor of which each rank of a mesh holds a
//     block, as its layout says (mesh.Placed). It has one value and one gradient,
//     whatever the layout.
//   - To move a tensor is to give it another layout: the planner says in which
//     steps, and each step that communicates is one call of package comm, a stepPlan.
//   - A decision says how an operator runs on inputs with given layouts: the layout that each
//     input is moved to, and how the results lie. It is computed once from the
//     operator's rule (op.Rule) and kept.
//
// A flat tensor is one of which each rank of a group stores some ranges of the
// elements in row-major order (mesh.Flat). To operators it is a plain tensor of one
// dim, or the whole where that has been gathered: this package takes it apart and
// puts it together.
//
// The gradient of a placed tensor is placed. A move has the gradient moved back,
// so that a gather's is a slice: nothing is added up. Operators are recorded
// whole, and their gradients are operators on placed tensors, through the same
// door.
//
// A rank outside a mesh takes part in nothing: its blocks are empty, layouts and
// shapes are as on the others.
package shard
