// Package colossal is the vocabulary of ColossalAI: process groups, specs of how a
// tensor is cut and computed with, tensors that have such specs, and the search for
// a cheap way from one sharding spec to another.
//
//	pg = ProcessGroup(tp_degree=2)
//	w = ColoParameter(part, spec=ColoTensorSpec(pg, ShardSpec([-1], [2]), ComputeSpec(ComputePattern.TP1D)))
//	F.linear(x, w)                       # computed as the specs say
//	s = ShardingSpec(mesh, (8, 8), {0: [0]}); shape_consistency(s, target)
//
// A ColoTensor is a distributed tensor of the runtime, whose layout says how it is
// cut, seen through a specView (tensor.go), the lens that it carries: its process
// group and compute spec. Operators on it go to specView.Apply (call.go): the inputs
// meet in one group and on one mesh (move.go), then a rule of the operator (rules.go,
// weight.go) or else the planner of the runtime carries it out, and the results are
// seen through the lens again. A script may put a function in an operator's place
// (replace.go), and hooks see the operators on ColoParameters (hook.go).
//
// A ShardingSpec (sharding_spec.go) names the mesh dims by which each dim is cut; a
// CommSpec is one step between two, and sharding_path.go finds the cheapest steps.
package colossal
