// Package spmd is the vocabulary of the types of local tensors: what a plain tensor is along
// each axis of a mesh, and the collectives and conversions by which that changes.
//
// A script says what tensors are, and mistakes are found before the first step, in a plan, too:
//
//	mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
//
//	def mlp(x, w1, w2):
//	    h = F.gelu(spmd.copy_to(x, "tp").matmul(w1))
//	    return spmd.reduce_from(h.matmul(w2), "tp")
//
//	spmd.typed(mlp, mesh, [{"tp": spmd.I}, {"tp": spmd.S(1)}, {"tp": spmd.S(0)}], {"tp": spmd.I})(x, w1, w2)
//
// The lattice and its transitions are package spmdtype's, what operators make of types is package
// typing's, and how a transition is carried out is runtime.Rank.Transit. Here are the values
// and functions that scripts have, and their errors: axis.go resolves "tp", transition.go has the
// transitions, typed.go the scope, assert.go what is said of one tensor.
package spmd
