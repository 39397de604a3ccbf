package main

import (
	"strings"
	"sync"

	"tpsh/builtins"
	"tpsh/builtins/collective"
	"tpsh/lang/analysis"
	"tpsh/runtime/op"
	"tpsh/runtime/pipeline"
)

// results says what functions return and what attributes are, as analysis.Language
// has it. Operators are not in it: the table knows them. A test holds it to what
// the examples of the documentation give.
var results = sync.OnceValue(func() map[string]string {
	return map[string]string{
		// functions of numbers, texts and lists
		"abs": "", "bool": "bool", "chr": "string", "dict": "dict", "dir": "list:string", "enumerate": "list:tuple", "float": "float", "fmt": "string",
		"hasattr": "bool", "hash": "int", "int": "int", "json.encode": "string", "json.indent": "string", "len": "int", "list": "list", "ord": "int",
		"range": "range", "repr": "string", "reversed": "list", "set": "set", "sorted": "list", "str": "string", "tuple": "tuple", "type": "string", "zip": "list:tuple",
		"math.ceil": "int", "math.floor": "int", "math.sqrt": "float", "math.exp": "float", "math.log": "float", "math.pow": "float", "math.sin": "float",
		"math.cos": "float", "math.tan": "float", "math.atan2": "float", "math.fabs": "float", "math.hypot": "float", "math.tanh": "float", "math.pi": "float", "math.e": "float",
		"args": "list:string", "attempt": "Attempt", "planning": "bool", "should_stop": "bool", "rank": "int", "local_rank": "int", "world_size": "int", "restarts": "int", "time": "float",
		"tmpdir": "string", "resume_dir": "string", "read_text": "string", "read_csv": "Tensor", "rng_state": "dict", "no_grad": "@0", "with_seed": "@1", "autocast": "@1",
		"checkpoint": "@0", "regather": "@0", "region": "@1", "no_sync": "@1", "tensor": "Tensor",

		// tensors and collectives
		"all_gather": "Tensor", "all_reduce": "Tensor", "all_to_all": "Tensor", "broadcast": "Tensor", "collective_permute": "Tensor", "reduce_scatter": "Tensor", "recv": "Tensor",
		"scatter": "Tensor", "all_gather_object": "list", "new_group": "Group", "comm_counts": "dict", "comm_table": "CommTable", "comm_trace": "list:CommTrace", "vmap": "",
		"distribute_tensor": "Tensor", "DTensor.from_local": "Tensor", "DTensor.ones": "Tensor", "DTensor.zeros": "Tensor", "DTensor.full": "Tensor", "DTensor.rand": "Tensor", "DTensor.randn": "Tensor",
		"Tensor.shape": "tuple:int", "Tensor.ndim": "int", "Tensor.T": "Tensor", "Tensor.mT": "Tensor", "Tensor.mH": "Tensor", "Tensor.H": "Tensor", "broadcast_shapes": "tuple:int", "Tensor.requires_grad": "bool", "Tensor.dtype": "dtype", "Tensor.placements": "tuple",
		"Tensor.device_mesh": "DeviceMesh", "Tensor.local_shape": "tuple:int", "Tensor.tolist": "", "Tensor.item": "", "Tensor.numel": "int", "Tensor.dim": "int", "Tensor.backward": "NoneType",
		"Tensor.detach": "Tensor", "Tensor.requires_grad_": "Tensor", "Tensor.aminmax": "tuple:Tensor", "Tensor.kthvalue": "tuple:Tensor", "Tensor.cummax": "tuple:Tensor", "Tensor.cummin": "tuple:Tensor", "Tensor.mode": "tuple:Tensor", "Tensor.frexp": "tuple:Tensor", "frexp": "tuple:Tensor", "histogramdd": "tuple", "Tensor.unique": "", "Tensor.unique_consecutive": "", "Tensor.std_mean": "tuple:Tensor", "Tensor.var_mean": "tuple:Tensor",
		"Tensor.sort": "tuple:Tensor", "Tensor.topk": "tuple:Tensor", "linalg.eigh": "tuple:Tensor", "linalg.lstsq": "tuple:Tensor", "linalg.slogdet": "tuple:Tensor", "linalg.svd": "tuple:Tensor", "linalg.qr": "tuple:Tensor",
		"linalg.lu_factor": "tuple:Tensor", "linalg.lu_factor_ex": "tuple:Tensor", "linalg.lu": "tuple:Tensor", "linalg.ldl_factor": "tuple:Tensor", "linalg.ldl_factor_ex": "tuple:Tensor", "linalg.inv_ex": "tuple:Tensor", "linalg.cholesky_ex": "tuple:Tensor", "linalg.solve_ex": "tuple:Tensor",
		"triangular_solve": "tuple:Tensor", "Tensor.triangular_solve": "tuple:Tensor", "lu": "tuple:Tensor", "Tensor.lu": "tuple:Tensor", "lu_unpack": "tuple:Tensor", "geqrf": "tuple:Tensor", "Tensor.geqrf": "tuple:Tensor",
		"linalg.eig": "tuple:Tensor", "linalg.polar": "tuple:Tensor", "svd": "tuple:Tensor", "Tensor.svd": "tuple:Tensor", "svd_lowrank": "tuple:Tensor", "pca_lowrank": "tuple:Tensor",
		"Tensor.grad": "Tensor", "grad": "list:Tensor", "ColoParameter.from_torch_tensor": "Tensor", "ColoTensor.from_torch_tensor": "Tensor", "ComputeSpec": "ComputeSpec", "ProcessGroup": "ProcessGroup", "ReplicaSpec": "ReplicaSpec",
		"ShardSpec": "ShardSpec", "ring_forward": "Tensor", "optim.clip_grad_norm_": "Tensor", "nn.utils.clip_grad_norm_": "Tensor", "nn.utils.get_total_norm": "Tensor", "nn.utils.parameters_to_vector": "Tensor", "nn.utils.rnn.pad_sequence": "Tensor", "nn.utils.rnn.unpad_sequence": "list:Tensor", "make_input_replicate_1d": "Tensor", "make_input_shard_1d": "Tensor", "make_output_tensor": "Tensor", "send": "NoneType",
		"Tensor.full_tensor": "Tensor", "Tensor.to_local": "Tensor", "Tensor.redistribute": "Tensor",
		"Group.size": "int", "Group.rank": "", "Group.ranks": "list:int", "Group.global_rank": "int", "CommTable.bytes": "int", "CommTable.calls": "int", "CommTrace.op": "string", "CommTrace.bytes": "int",
		"CommTrace.shape": "tuple:int", "CommTrace.group": "Group", "CommTrace.dims": "tuple:string", "CommTrace.dtype": "string", "CommTrace.where": "string",
		"Attempt.ok": "bool", "Error.kind": "string", "Error.message": "string", "Error.function": "string", "Error.where": "string", "Error.ranks": "list:int",
		"explain": "Explanation", "Explanation.tree": "list:any", "memory_trace": "", "plan_redistribute": "Plan", "Plan.steps": "list:Step", "Plan.bytes": "int", "Plan.seconds": "float", "load_npy": "Tensor", "load_npz": "dict:Tensor",
		"open_safetensors": "SafetensorsFile", "load_tokenizer": "Tokenizer", "toml.decode": "dict", "Tokenizer.decode": "string", "Tokenizer.encode": "list:int",

		// meshes and placements
		"init_device_mesh": "DeviceMesh", "DeviceMesh": "DeviceMesh", "DeviceMesh.flatten": "DeviceMesh", "DeviceMesh._flatten": "DeviceMesh", "DeviceMesh._unflatten": "DeviceMesh", "DeviceMesh.size": "int", "DeviceMesh.ndim": "int", "DeviceMesh.shape": "tuple:int",
		"DeviceMesh.get_group": "Group", "DeviceMesh.get_rank": "int", "DeviceMesh.mesh": "list", "DeviceMesh.device_type": "string", "DeviceMesh.get_dim_groups": "list:Group",
		"Shard": "Shard", "Replicate": "Replicate", "Partial": "Partial", "_Partial": "Partial", "_StridedShard": "_StridedShard", "RaggedShard": "RaggedShard", "Shard.dim": "int", "_StridedShard.dim": "int", "_StridedShard.split_factor": "int", "RaggedShard.dims": "tuple:int", "RaggedShard.local_units": "tuple:int",

		// modules and optimisers
		"nn.Module": "Module", "nn.Sequential": "Module", "nn.ModuleList": "Module", "nn.Parameter": "Tensor", "parallelize_module": "=0", "fully_shard": "=0", "replicate": "=0", "distribute_module": "=0",
		"Module.parameters": "list:Tensor", "Module.named_parameters": "list:tuple", "Module.named_modules": "list:tuple", "Module.state_dict": "dict", "Module.eval": "self", "Module.train": "self", "Module.training": "bool",
		"Module.register_forward_hook": "RemovableHandle", "nn.Linear()": "Tensor", "nn.Embedding()": "Tensor", "nn.LayerNorm()": "Tensor", "nn.RMSNorm()": "Tensor", "nn.ReLU()": "Tensor", "nn.GELU()": "Tensor",
		"optim.Adadelta": "Optimizer", "optim.Adagrad": "Optimizer", "optim.Adam": "Optimizer", "optim.AdamW": "Optimizer", "optim.Adamax": "Optimizer", "optim.NAdam": "Optimizer", "optim.RMSprop": "Optimizer",
		"optim.Adafactor": "Optimizer", "optim.Rprop": "Optimizer", "optim.SGD": "Optimizer", "Optimizer.state_dict": "dict", "Optimizer.param_groups": "tuple:dict", "pipeline_schedule": "Pipeline",
		"PipelineSchedule": "PipelineSchedule", "PipelineSchedule.order": "list:list", "PipelineSchedule.positions": "list:list", "PipelineSchedule.in_flight": "list:int", "PipelineSchedule.home": "int", "PipelineSchedule.bubble": "float",
	}
})

// choices returns the strings that parameters take.
func choices() map[string][]string {
	all := map[string][]string{
		"pipeline_schedule.schedule": pipeline.AllNames(), "PipelineSchedule.schedule": pipeline.AllNames(), "implicit_redistribution.mode": {"allow", "warn", "error"},
	}
	for _, path := range []string{"all_reduce.op", "reduce.op", "reduce_scatter.op", "Partial.op", "_Partial.op"} {
		all[path] = collective.ReduceOps()
	}
	add := func(path string, params []op.Param) {
		for _, p := range params {
			if p.Kind == op.Choice || p.Kind == op.OptChoice {
				all[path+"."+p.Name] = p.Choices
			}
		}
	}
	for _, path := range builtins.Names() {
		add(path, builtins.ParamsOf(path))
	}
	for class, f := range map[string]string{"nn.GELU": "F.gelu", "nn.CrossEntropyLoss": "F.cross_entropy", "nn.MSELoss": "F.mse_loss"} {
		add(class, builtins.ParamsOf(f))
	}
	return all
}

// isType reports whether a name of results is that of a type of the language.
func isType(name string, types map[string][]string) bool {
	name, elem, found := strings.Cut(name, ":")
	_, ok := types[name]
	if name == "Module" || name == analysis.Any {
		return true
	}
	return ok && (!found || isType(elem, types))
}
