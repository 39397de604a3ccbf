package collective

import (
	"tpsh/builtins"
)

// The documentation that collectives have in common.
const (
	docGroup = "group is None for all ranks, or a Group, a ProcessGroup (for its tensor-parallel group), a DeviceMesh of one dim or\na ParallelMode, and the caller is in it; parallel_mode is another name of group.\n"
	docAsync = "With async_op=True the call returns (result, work) at once; the result can be read after work.wait(),\nand waits by itself if it is read before.\n"
	docOp    = `op is "sum", "mean", "prod", "max" or "min", or one of ReduceOp; integers have no mean. Additions are made` + "\nin the order of the ranks.\n"
	docAlike = "Shapes and dtypes are the same on every member.\n"
	docChunk = "A dim that does not divide evenly is cut as x.chunk(n, dim) cuts it: the last parts are shorter, or empty.\n"
)

func init() {
	for _, c := range []struct{ name, params, doc string }{
		{"all_reduce", "x group op",
			"all_reduce(x, group=None, op=\"sum\", async_op=False) returns the reduction of every member's x, on every member.\n" +
				docAlike + docOp + docGroup + docAsync + "The gradient is an all_reduce.\n" +
				">>> all_reduce(tensor([1.0, 2.0]), op=\"mean\").tolist()\n[1.0, 2.0]"},
		{"all_gather", "x dim group",
			"all_gather(x, dim=0, group=None, async_op=False) returns every member's x, joined along dim in rank order.\n" +
				"Sizes along dim may differ; other sizes and dtypes are the same on every member.\n" +
				docGroup + docAsync + "The gradient is a reduce_scatter, at the sizes that came in.\n" +
				">>> all_gather(tensor([7])).tolist() == [7] * world_size()\nTrue"},
		{"reduce_scatter", "x dim group op",
			"reduce_scatter(x, dim=0, group=None, op=\"sum\", async_op=False) returns this member's part along dim of the reduction of every member's x.\n" +
				docAlike + docChunk + docOp + docGroup + docAsync + "The gradient is an all_gather.\n" +
				">>> reduce_scatter(ones(world_size()), op=\"mean\").tolist()\n[1.0]"},
		{"broadcast", "x src group",
			"broadcast(x, src=0, group=None, async_op=False) returns the x of the member src, on every member.\n" +
				docAlike + docGroup + docAsync + "The gradient is a reduce to src.\n" +
				">>> broadcast(tensor([rank()]), src=0).tolist()\n[0]"},
		{"reduce", "x dst group op",
			"reduce(x, dst=0, group=None, op=\"sum\", async_op=False) returns the reduction of every member's x on the member dst, and None on the others.\n" +
				docAlike + docOp + docGroup + docAsync + "It has no gradient: all_reduce has.\n" +
				">>> (reduce(ones(2), dst=0) == None) == (rank() != 0)\nTrue"},
		{"gather", "x dst dim group",
			"gather(x, dst=0, dim=0, group=None, async_op=False) returns every member's x, joined along dim, on the member dst, and None on the others.\n" +
				"Sizes along dim may differ; other sizes and dtypes are the same on every member.\n" +
				docGroup + docAsync + "It has no gradient: all_gather has.\n" +
				">>> (gather(ones(2), dst=0) == None) == (rank() != 0)\nTrue"},
		{"scatter", "x src dim group",
			"scatter(x, src=0, dim=0, group=None, async_op=False) returns this member's part along dim of the x of the member src.\n" +
				docAlike + docChunk + docGroup + docAsync + "The gradient is a gather to src.\n" +
				">>> scatter(arange(world_size()), src=0).tolist() == [rank()]\nTrue"},
		{"all_to_all", "x split_dim concat_dim group",
			"all_to_all(x, split_dim, concat_dim, group=None, async_op=False) returns the parts that the members cut for this one along split_dim, joined along concat_dim in rank order.\n" +
				"Sizes along concat_dim may differ; other sizes and dtypes are the same on every member.\n" + docChunk +
				"x may also be a list of tensors, one for each member and of any shapes; the result is then the list of those\nthat the members have sent here, and the dims are not needed.\n" +
				docGroup + docAsync + "The gradient is an all_to_all.\n" +
				">>> all_to_all(ones(world_size(), 2), 0, 1).shape == (1, 2 * world_size())\nTrue"},
		{"collective_permute", "x pairs group",
			"collective_permute(x, pairs, group=None, async_op=False) returns the x of the member a where pairs has (a, this member), and zeros where it has none.\n" +
				"Each member is at most once a source and at most once a destination.\n" +
				docAlike + docGroup + docAsync + "The gradient goes along the reversed pairs.\n" +
				">>> n = world_size()\n" +
				">>> ring = [(r, (r + 1) % n) for r in range(n)]\n" +
				">>> collective_permute(tensor([rank()]), ring).tolist() == [(rank() - 1) % n]\nTrue"},
	} {
		builtins.Register(&builtins.Row{Name: c.name, Communicates: true, Doc: c.doc, Fn: newCollective(c.name, c.params).call})
	}
}
