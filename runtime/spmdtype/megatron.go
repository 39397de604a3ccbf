package spmdtype

// A Region is one of Megatron-LM's functions between tensor-parallel regions: a transition with
// fixed types.
type Region struct {
	// Name is the function's in scripts, Long that of Megatron-LM.
	Name, Long string
	Call       string // the transition's function
	Src, Dst   Type
	// NoGrad is Dst for tp_grad=False, which says that the gradient is the same on all ranks. It is no
	// type if the function has no such parameter.
	NoGrad Type
	Doc    string
}

// Regions lists Megatron-LM's functions.
var Regions = []Region{
	{"copy_to", "copy_to_tensor_model_parallel_region", "convert", I, R, Type{}, "x as it is; the gradient is summed over the axis."},
	{"reduce_from", "reduce_from_tensor_model_parallel_region", "all_reduce", P, I, Type{}, "the sum of x over the axis; the gradient goes back as it is."},
	{"scatter_to", "scatter_to_tensor_model_parallel_region", "convert", I, S(-1), Type{}, "this rank's block of the last dim of x; the gradient is gathered."},
	{"gather_from", "gather_from_tensor_model_parallel_region", "all_gather", S(-1), I, Type{}, "the blocks of the last dim, joined; the gradient is this rank's block."},
	{"scatter_to_sequence", "scatter_to_sequence_parallel_region", "convert", I, S(0), Type{}, "this rank's block of dim 0 of x; the gradient is gathered."},
	{"gather_from_sequence", "gather_from_sequence_parallel_region", "all_gather", S(0), R, I, "the blocks of dim 0, joined; the gradient is summed and scattered, or with tp_grad=False this rank's block of it."},
	{"reduce_scatter_to_sequence", "reduce_scatter_to_sequence_parallel_region", "reduce_scatter", P, S(0), Type{}, "this rank's block of dim 0 of the sum of x; the gradient is gathered."},
	{"all_gather_last_dim", "all_gather_last_dim_from_tensor_parallel_region", "all_gather", S(-1), R, Type{}, "the blocks of the last dim, joined; the gradient is summed and scattered."},
	{"reduce_scatter_last_dim", "reduce_scatter_last_dim_to_tensor_parallel_region", "reduce_scatter", P, S(-1), Type{}, "this rank's block of the last dim of the sum of x; the gradient is gathered."},
}
