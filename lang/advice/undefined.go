package advice

import (
	"fmt"
	"strings"
	"sync"
)

// libraries are names of packages of Python whose functions are there without
// them.
var libraries = map[string]bool{
	"torch": true, "np": true, "numpy": true, "jnp": true, "jax": true, "dist": true, "tf": true, "lax": true, "pl": true, "torchvision": true, "colossalai": true, "onp": true,
}

// renamed are functions of libraries that have another name here, by the end of
// their path.
var renamed = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"array": "tensor", "asarray": "tensor", "from_numpy": "tensor", "concatenate": "cat", "vstack": "cat", "hstack": "cat", "clip": "x.clamp", "transpose": "x.transpose", "power": "x ** y",
		"manual_seed": "manual_seed", "seed": "manual_seed", "load": "load_npy, load_npz or load_checkpoint", "save": "save_npy, save_npz or save_checkpoint", "init_process_group": "nothing: the ranks are there", "destroy_process_group": "nothing: the ranks end by themselves", "get_rank": "rank()", "get_world_size": "world_size()", "psum": "lax.psum", "pmean": "lax.pmean", "ppermute": "lax.ppermute", "is_initialized": "True", "send": "send", "isend": "send", "irecv": "recv",
		"float": "float32", "long": "int64", "half": "float16", "double": "float64", "Tensor": "tensor", "FloatTensor": "tensor", "LongTensor": "tensor(x, dtype=int64)", "device": "nothing: there is one device", "cuda": "nothing: there is one device", "inf": `float("inf")`, "nan": `float("nan")`, "pi": "math.pi", "newaxis": "None",
		"sqrt": "x.sqrt() or math.sqrt(x)", "exp": "x.exp() or math.exp(x)", "log": "x.log() or math.log(x)", "sum": "x.sum()", "mean": "x.mean()", "max": "x.max()", "min": "x.min()", "abs": "x.abs()", "sin": "x.sin()", "cos": "x.cos()", "tanh": "x.tanh()", "sigmoid": "x.sigmoid()", "relu": "F.relu", "argmax": "x.argmax()", "argmin": "x.argmin()",
	}
})

// names has the advice for names that Python has.
var names = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"true": "True", "false": "False", "null": "None", "nil": "None", "none": "None", "TRUE": "True", "FALSE": "False",
		"map": "a list is made by [f(x) for x in xs]", "filter": "a list is made by [x for x in xs if f(x)]", "reduce": "reduce(x, dst) is a collective; a loop folds a list",
		"isinstance": `type(x) == "list" compares types`, "issubclass": `type(x) == "list" compares types`, "callable": `type(x) in ["function", "builtin_function_or_method"] tells`,
		"os": "there is no environment: flag(name, default) and args have what the command line says", "sys": "args has what stands behind -- on the command line, and fail(text) ends the program",
		"random": "rand, randn, randint and randperm draw tensors, manual_seed(n) seeds them", "re": "there are no regular expressions: text.split, .find, .replace, .startswith", "itertools": "loops and comprehensions do it", "functools": "lambda and def do it", "collections": "dict, list and set are there", "typing": "there are no annotations", "time": "time() gives seconds", "copy": "x.clone() copies a tensor, list(x) and dict(x) copy containers",
		"input": "flag(name, default) and args have what the command line says", "open": "read_text(path) and write_text(path, text) read and write whole files", "exit": "fail(text) ends the program with an error, return ends a function", "quit": "fail(text) ends the program with an error, return ends a function", "help": "tpsh doc NAME explains a name, tpsh doc -k WORD looks for one", "is_main": `__name__ == "__main__" tells whether a file is the script, rank() == 0 whether this is rank 0`,
		"self": "nn.Module(forward=f, **children) calls f(self, ...)", "super": "there are no classes: nn.Module(forward=f, **children) makes a module", "object": "struct(a=1) makes a record", "Exception": "fail(text) fails, and attempt(f, x) gives r.ok, r.value and r.error", "ValueError": "fail(text) fails, and attempt(f, x) gives r.ok, r.value and r.error", "RuntimeError": "fail(text) fails, and attempt(f, x) gives r.ok, r.value and r.error", "AssertionError": "assert.fails(f, pattern) checks that f fails",
		"OffloadPolicy": "fully_shard offloads nothing: parameters are in the memory of the processor already", "CPUOffloadPolicy": "fully_shard offloads nothing: parameters are in the memory of the processor already", "MixedPrecision": "MixedPrecisionPolicy",
		"__file__":    "paths are relative to the script's folder",
		"concatenate": "cat", "vstack": "cat", "hstack": "cat(xs, dim=1)", "asarray": "tensor", "array": "tensor", "ndarray": "tensor", "clip": "x.clamp(low, high)",
		"format": `f"{x:.3f}" and fmt(x, ".3f") format`, "printf": `print(f"{x:.3f}")`, "sprintf": `f"{x:.3f}" formats`, "println": "print", "echo": "print", "puts": "print", "log": "print writes a line; x.log() and math.log(x) are logarithms",
		"pow": "x ** y", "divmod": "x // y and x % y", "iter": "for goes through lists, dicts, tensors and ranges", "next": "for goes through lists, dicts, tensors and ranges, and x[0] is the first", "slice": "x[a:b, c] is written as it is", "frozenset": "set", "complex": "dtype=complex64 makes a tensor of complex numbers", "bytearray": "bytes", "memoryview": "bytes", "property": "a function with def", "staticmethod": "a function with def", "vars": "dir(x) lists the attributes", "globals": "names are written out", "locals": "names are written out", "eval": "programs cannot run text", "exec": "programs cannot run text", "id": "x == y compares", "hex": `f"{x:x}"`, "oct": `f"{x:o}"`, "bin": `f"{x:b}"`, "ascii": `f"{x!a}"`, "delattr": "give the attribute another value",
		"nn": "nn is there", "device": "there is one device: leave it out", "cuda": "there is one device: leave it out", "Variable": "tensor(x, requires_grad=True)", "Parameter": "nn.Parameter(t)", "Linear": "nn.Linear", "Sequential": "nn.Sequential", "Module": "nn.Module(forward=f, **children)", "Adam": "optim.Adam", "AdamW": "optim.AdamW", "SGD": "optim.SGD", "relu": "F.relu(x)", "softmax": "F.softmax(x, dim)", "gelu": "F.gelu(x)", "Dataset": "a list of tensors", "DataLoader": "x.split(n) cuts batches", "tqdm": "range(n)", "wandb": "print",
		"CommDebugMode": "comm_counts(fn) counts what fn communicates, comm_trace(fn) lists it, and comm_table(fn) is its table",
		"pipeline":      "give each rank the function of its stage: pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches)", "PipelineStage": "give each rank the function of its stage: pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches)", "SplitPoint": "give each rank the function of its stage: pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches)",
		"ScheduleGPipe": `pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches, schedule="gpipe")`, "Schedule1F1B": `pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches, schedule="1f1b")`, "ScheduleInterleaved1F1B": `pipeline_schedule(stage_fns, inputs, targets, loss_fn, num_microbatches, schedule="interleaved")`, "ScheduleInterleavedZeroBubble": `pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches, schedule="zb1p")`, "ScheduleZBVZeroBubble": `pipeline_schedule(stage_fns, inputs, targets, loss_fn, num_microbatches, schedule="zbv")`, "ScheduleDualPipeV": `pipeline_schedule(stage_fns, inputs, targets, loss_fn, num_microbatches, schedule="dualpipev")`,
		"batch_isend_irecv": "send(x, dst) does not wait: send first, and then recv(src)", "P2POp": "send(x, dst) does not wait: send first, and then recv(src)",
		"broadcast_object_list": "broadcast_object(obj, src) returns what src has", "scatter_object_list": "scatter_object(list, src) returns this member's", "send_object_list": "broadcast_object(obj, src, group) hands values on", "gather_object": "all_gather_object(obj) returns the list",
		"get_model_state_dict": "model.state_dict() has distributed tensors, and x.full_tensor() is the whole of one", "set_model_state_dict": "model.load_state_dict(d) takes whole tensors and distributed ones", "get_optimizer_state_dict": "optimizer.state_dict() has distributed tensors", "set_optimizer_state_dict": "optimizer.load_state_dict(d) takes whole tensors and distributed ones", "dcp": "save_checkpoint(dir, state) and load_checkpoint(dir, state)",
		"load_safetensors": "f = open_safetensors(path), and then f.keys() and f.get(name)", "load_file": "f = open_safetensors(path), and then f.keys() and f.get(name)", "save_file": "save_safetensors(path, tensors)", "safe_open": "open_safetensors(path)",
		"DistributedSampler": "x.chunk(world_size())[rank()] is this rank's share", "Accelerator": "replicate(model) or fully_shard(model) prepares a model, and every rank takes its share of the data", "deepspeed": "fully_shard(model) shards parameters, gradients and the optimizer's state", "checkpoint_wrapper": "checkpoint(fn, *args) computes fn again in backward",
		"mpu": `init_parallel(pipeline, tensor) and ParallelMode.TENSOR, or a mesh: mesh["tp"].size()`, "ColumnParallelLinear": `nn.Linear, and ColwiseParallel() for it in parallelize_module`, "RowParallelLinear": `nn.Linear, and RowwiseParallel() for it in parallelize_module`, "VocabParallelEmbedding": `nn.Embedding, and RowwiseParallel() for it in parallelize_module`,
		"partial": "lambda x: f(1, x)", "dataclass": "struct(a=1) makes a record", "namedtuple": "struct(a=1) makes a record", "OrderedDict": "dict", "defaultdict": "d.setdefault(key, [])", "deepcopy": "x.clone() copies a tensor, list(x) and dict(x) copy containers",
		"mesh_utils": "init_device_mesh(\"cpu\", shape, mesh_dim_names=names)", "create_device_mesh": "init_device_mesh(\"cpu\", shape, mesh_dim_names=names)", "Mesh": "DeviceMesh(\"cpu\", ranks, mesh_dim_names=names), or jax.make_mesh(shape, names)", "make_mesh": "jax.make_mesh(shape, names)", "value_and_grad": "y = f(x), and then grad(y, [x]), of an x that requires grad", "pjit": "nothing: programs are not compiled, and operators take distributed tensors", "with_sharding_constraint": "reshard(x, P(...)) places it",
		"BoolTensor": "tensor(x, dtype=bool) makes one, x.dtype == bool tells one", "IntTensor": "tensor(x, dtype=int32) makes one", "ByteTensor": "tensor(x, dtype=uint8) makes one", "Size": "x.shape is a tuple, and (2, 3) a shape", "dtype": "x.dtype is a tensor's dtype; float32, int64 and bool are dtypes",
		"compile": "nothing: programs are not compiled", "export": "nothing: programs are not compiled", "onnx": "save_safetensors writes weights; programs are not exported",
		"enable_grad": "gradients are recorded unless no_grad(f) calls f", "set_grad_enabled": "no_grad(f) calls f unrecorded", "is_grad_enabled": "gradients are recorded unless no_grad(f) calls f", "autograd": "grad(outputs, inputs), x.backward() and custom_vjp(forward, backward) are there",
		"distributions": "randn, rand, randint and multinomial draw; F.kl_div and F.gaussian_nll_loss compare", "Generator": "manual_seed(n) seeds all draws", "contiguous_format": "x.contiguous() and x.clone() lie row by row: there is no other format", "preserve_format": "x.contiguous() and x.clone() lie row by row: there is no other format", "channels_last": "x.contiguous() and x.clone() lie row by row: there is no other format",
		"promote_types": "(x + y).dtype is what x and y are promoted to", "can_cast": "x.to(dtype) converts to any dtype", "is_autocast_enabled": "autocast(dtype, f) calls f with products in a narrower dtype", "amp": "autocast(dtype, f) calls f with products in a narrower dtype",
		"use_deterministic_algorithms": "nothing: every result is the same in every run", "are_deterministic_algorithms_enabled": "nothing: every result is the same in every run", "get_num_threads": "nothing: ranks share the cores of the machine", "set_num_threads": "nothing: ranks share the cores of the machine", "backends": "there is one device, and nothing of it to set",
		"as_tensor": "tensor", "get_default_dtype": "zeros(1).dtype is the default dtype", "inference_mode": "no_grad(f) calls f unrecorded", "result_type": "(x + y).dtype is what x and y are promoted to", "save": "save_safetensors, save_npy and save_checkpoint write files", "load": "load_npy, load_npz, open_safetensors and load_checkpoint read files",
		"hann_window": "signal.windows.hann(n, sym=False)", "hamming_window": "signal.windows.hamming(n, sym=False)", "blackman_window": "signal.windows.blackman(n, sym=False)", "bartlett_window": "signal.windows.bartlett(n, sym=False)", "kaiser_window": "signal.windows.kaiser(n, beta=12.0, sym=False)",
		"pmap": "every rank runs the whole script: local_map(f, in_placements, out_placements, mesh) runs f on blocks", "jit": "nothing: programs are not compiled", "vjp": "custom_vjp(forward, backward), grad(outputs, inputs)", "psum": "lax.psum(x, axis) in shard_map, all_reduce(x) outside", "pmean": "lax.pmean(x, axis) in shard_map", "ppermute": "lax.ppermute(x, axis, perm) in shard_map, collective_permute(x, pairs) outside", "psum_scatter": "lax.psum_scatter(x, axis) in shard_map", "axis_index": "lax.axis_index(axis) in shard_map", "einops": "einsum, reshape and permute", "rearrange": "reshape and permute", "allreduce": "all_reduce(x)", "allgather": "all_gather(x)", "alltoall": "all_to_all(x, split_dim, concat_dim)", "bcast": "broadcast(x, src)", "Bcast": "broadcast(x, src)", "MPI": "all_reduce, all_gather, send and recv are there", "comm": "all_reduce, all_gather, send and recv are there",
	}
})

// Undefined returns the advice for a name that is not defined, or "".
// path holds the attributes that follow the name; known reports whether a name,
// perhaps of a module, is there.
func Undefined(name string, path []string, known func(name string) bool) string {
	if libraries[name] {
		return library(name, path, known)
	}
	text := names()[name]
	if text == "" && Elsewhere[name] != name && known(Elsewhere[name]) {
		text = Elsewhere[name]
	}
	switch {
	case text == "":
		if text = method(name); text == "" {
			text = member(name, known)
		}
		return text
	case strings.ContainsAny(text, " ,"):
		return text
	}
	return "write " + text
}

// modules are those of which people write the functions without a name in front.
var modules = []string{"F", "nn", "optim", "linalg", "fft", "special", "nn.utils", "nn.init"}

// member says in which module the function called name is, or "" if it is in none.
func member(name string, known func(string) bool) string {
	for _, m := range modules {
		if known(m + "." + name) {
			return "write " + m + "." + name
		}
	}
	return ""
}

// library returns the advice for a path into a library.
func library(name string, path []string, known func(string) bool) string {
	intro := fmt.Sprintf("what %s has is there without a name in front", name)
	if len(path) == 0 {
		return intro
	}
	last := path[len(path)-1]
	for _, full := range []string{strings.Join(path, "."), last, "F." + last, "nn." + last, "optim." + last} {
		if known(full) {
			return intro + ": write " + full
		}
	}
	for _, part := range []string{last, path[0]} {
		if other := renamed()[part]; other != "" {
			return intro + ": write " + other
		}
	}
	if text := method(last); text != "" {
		return intro + "; " + text
	}
	for _, part := range []string{last, path[0]} {
		switch text := names()[part]; {
		case strings.ContainsAny(text, " ,"):
			return intro + "; " + text
		case text != "":
			return intro + ": write " + text
		}
	}
	return intro + "; tpsh doc -k " + last + " looks for names"
}
