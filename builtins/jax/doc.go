// Package jax is the vocabulary of JAX's words for distributed tensors, over those that are there:
//
//	P("dp", None, ("pp", "tp"))   which axes of a mesh cut which dim; accepted where placements are
//	NamedSharding(mesh, P(...))   the same on a mesh
//	reshard(x, P(...))            a redistribution
//	shard_map(f, mesh=, in_specs=, out_specs=, check_vma=True)   local_map with types on
//	lax.psum(x, "tp"), ...        collectives by the names of axes, inside of it
//	jax.typeof(x)                 float32[8@dp, 4@tp]
//
// In a shard_map what JAX calls invariant is R (package spmdtype), varying V, and unreduced P. So what is the same on
// all ranks meets what varies without a cast, and its gradient is summed at the border, as JAX's pvary does. With
// check_vma the types are held, and out_specs that say that ranks have alike what they may not are an error.
//
// spec.go has P and NamedSharding, map.go shard_map, lax.go the collectives, tree.go lists and dicts of tensors, typeof.go
// what is shown.
package jax
