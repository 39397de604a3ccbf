package advice

import (
	"regexp"
	"strings"
	"sync"

	"tpsh/internal/lazyregexp"
)

// A rule has the advice for a refusal of the interpreter with a
// message that matches. In text, $1 is the match of the pattern's first group.
type rule struct {
	pattern *regexp.Regexp
	text    string
}

// rules are asked in turn.
var rules = sync.OnceValue(func() []rule { return compile(refusals) })

// refusals are the patterns of messages, and the advice for each.
var refusals = [][2]string{
	{`^(?:list|dict|set|tuple|string|range|int|float|bool) has no \.(?:shape|dtype|numpy|backward|sum|mean|numel|flatten|reshape|view) field`, "tensor(x) makes a tensor of numbers and lists of them"},
	{`^(?:list|tuple) has no \.tolist field`, "it is a list, or a tuple, already: leave .tolist() out"},
	{`^nn\.utils has no \.(?:remove_)?(weight_norm|spectral_norm)`, "nn.utils.parametrizations.$1(module) has the weight computed, nn.utils.parametrize.remove_parametrizations(module, \"weight\") ends it"},
	{`^tuple has no \.wait field`, "a collective with async_op=True gives the result, too: y, work = all_reduce(x, async_op=True)"},
	{`^jax has no \.(?:grad|value_and_grad|vjp|jvp)`, "y = f(x), and then grad(y, [x]), of an x that requires grad"},
	{`^jax has no \.(?:jit|pmap|block_until_ready)`, "programs are not compiled: call the function"},
	{`^jax has no \.(?:set_mesh|use_mesh|get_mesh)`, "P(...) is of the last mesh that was made, and mesh= names another"},
	{`^jax has no \.(?:numpy|nn|random|tree|tree_util)\b`, "what it has is there without a name in front: zeros(2, 3), F.relu(x), randn(2), x.sum()"},
	{`^jax has no \.(?:devices|local_devices|device_count|local_device_count|process_count|process_index)`, "world_size() is how many ranks there are, rank() which this is"},
	{`^jax has no \.(?:Array|ShapeDtypeStruct)`, "a tensor is one: x.shape, x.dtype"},
	{`^(?:jax\.)?lax has no \.with_sharding_constraint`, "reshard(x, P(...)) places it"},
	{`^(?:jax\.)?lax has no \.(?:scan|fori_loop|while_loop|cond|switch|map)`, "for, while and if do it"},
	{`^(?:jax\.)?lax has no \.(?:dynamic_|slice|index)`, "x[a:b] and x.narrow(dim, start, length) cut, x[a:b] = v stores"},
	{`^(?:jax\.)?lax has no \.(?:dot|dot_general|batch_matmul)\b`, "x @ y and einsum multiply"},
	{`^ShardedFlatParameter has no \.(?:placements|device_mesh|to_local|redistribute)`, "it is this rank's part, flat: x.gather() is the whole, and the module's state_dict() has distributed tensors"},
	{`^tensor has no \.(?:sharding|addressable_shards|is_fully_addressable)`, "of a distributed tensor x.placements and x.device_mesh say how it lies, and x.to_local() is this rank's block"},
	{`^DTensor has no \.(?:sharding|addressable_shards|is_fully_addressable)`, "x.placements and x.device_mesh say how it lies, and x.to_local() is this rank's block"},
	{`^tuple has no \.(values|indices) field`, "a pair of values and indices: values, indices = x.topk(k), or x.topk(k)[1] for the indices"},
	{`^nn has no \.Lazy(\w+)`, "nn.$1 takes the size of its input, which a lazy layer would wait for"},
	{`^nn has no \.SyncBatchNorm`, "nn.BatchNorm1d, 2d and 3d of a distributed input take the mean and variance of all ranks"},
	{`^nn has no \.(?:DataParallel|DistributedDataParallel)`, "replicate(module, mesh) is data parallel, fully_shard(module, mesh) shards parameters too"},
	{`^optim has no \.SparseAdam`, "gradients are dense: optim.Adam"},
	{`^F has no \.(relu|elu|celu|selu|leaky_relu|hardtanh|rrelu|threshold|dropout|alpha_dropout)_\b`, "x = F.$1(x): F does nothing in place"},
	{`^F has no \.(max_pool\dd|adaptive_max_pool\dd|fractional_max_pool\dd)_with_indices`, "F.$1(x, ..., return_indices=True) gives both"},
	{`^nn has no \.functional`, "F has the functions: F.relu(x)"},
	{`^nn has no \.parallel`, "replicate(module, mesh) is data parallel, fully_shard(module, mesh) shards parameters too"},
	{`^\w+ has no \.(?:cuda|mps|xpu) field`, "there is one device, the CPU of the rank: leave it out"},
	{`^list has no \.sort field`, "sorted(x) gives a list in order"},
	{`^list has no \.reverse field`, "x[::-1] and reversed(x) give the elements from the last on"},
	{`^list has no \.copy field`, "list(x) gives a copy"},
	{`^list has no \.(?:count|contains) field`, "v in x tells whether v is there, and len([y for y in x if y == v]) how often"},
	{`^list has no \.(?:push|add|push_back) field`, "x.append(v) adds an element"},
	{`^(?:list|dict|tuple|string|range|set) has no \.(?:length|size|len) field`, "len(x) counts the elements"},
	{`^dict has no \.(?:iteritems|iterkeys|itervalues|has_key|copy) field`, "x.items(), x.keys() and x.values() are lists, k in x tells whether a key is there, and dict(x) is a copy"},
	{`^string has no \.(?:decode|encode) field`, "text is UTF-8 already; bytes(x) gives its bytes"},
	{`^string has no \.(?:zfill|ljust|rjust|center) field`, `f"{x:>8}" and f"{n:08}" pad`},
	{`^string has no \.(?:append|push) field`, "text does not change: x + y is a new one"},
	{`^string has no \.contains field`, "y in x tells whether a text holds another"},
	{`^(?:print: )?unexpected keyword argument "(?:end|flush|file)"`, "print writes one line: join what belongs to it, as in print(a, b) or an f-string"},
	{`^unknown binary op: string \+ (?:int|float|bool|NoneType)`, `f"{x}" or str(x) makes a text of a number`},
	{`^unknown binary op: (?:int|float|bool|NoneType) \+ string`, `f"{x}" or str(x) makes a text of a number, int(s) and float(s) numbers of a text`},
	{`^unknown binary op: list [-*/+] (?:int|float)`, "lists hold anything: tensor(x) makes a tensor, with which one computes"},
	{`^unknown binary op: list [-/] list`, "lists hold anything: tensor(x) makes a tensor, with which one computes"},
	{`^unknown binary op: dict \+ dict`, "a | b holds the entries of both"},
	{`^unknown binary op: (\S+) [-+*/%|&^]+ NoneType|^unknown binary op: NoneType`, "one side is None: a function without return gives it, x.grad before backward, and reduce and gather off the root"},
	{`^NoneType has no \.`, "the value is None: a function without return gives it, x.grad before backward, and reduce and gather off the root"},
	{`^invalid call of non-function \(NoneType\)`, "the value is None, and no function"},
	{`^invalid call of non-function \(tensor\)`, "a tensor is indexed with x[...]; () calls functions"},
	{`^invalid call of non-function \((?:list|dict|tuple|string)\)`, "an element is x[i]; () calls functions"},
	{`^list index: got (?:tuple|slice), want int`, "lists in a list are indexed x[i][j]; tensor(x)[i, j] indexes a tensor"},
	{`^local variable (\S+) referenced before assignment`, "a function that assigns $1 anywhere has its own: give it a value first, or keep what is global in a list or a dict"},
	{`^global variable (\S+) referenced before assignment`, "it gets its value further down, or in a branch that was not taken"},
	{`^cannot (?:insert into|append to|assign to element of|clear|delete from) frozen|^cannot .* frozen `, "what a loaded file has made cannot change: make it in a function, or copy it"},
	{`^unhashable type: list|^unhashable: list`, "a key is a number, a text or a tuple: tuple(x)"},
	{`^(?:int|float) value is not iterable|^(?:\S+: )?for parameter 1: got int, want iterable`, "range(n) counts to n"},
	{`^cannot (?:unpack|assign) .* with length`, "there are as many names on the left as values on the right"},
	{`^too (?:few|many) values to unpack`, "there are as many names on the left as values on the right"},
	{`^invalid (?:start|end|step) index: got (?:tensor|DTensor), want int`, "int(i) is the number that a tensor of one element holds: x[int(i):int(i) + n]"},
	{`^(?:abs: )?got (?:tensor|DTensor), want int or float`, "of a tensor it is x.abs()"},
	{`^can't assign to \.data of a tensor`, "x.data.copy_(y) puts the elements of y in their place, and m.weight = nn.Parameter(y) makes another parameter"},
	{`^(tuple|string) value does not support item assignment`, "a $1 does not change: list(x) makes a list that does, and x[:i] + y + x[i:] another $1"},
	{`^got (\S+) in sequence assignment`, "several names on the left take the elements of a list or a tuple"},
	{`^(?:int|float) (?:<|<=|>|>=) string not implemented|^string (?:<|<=|>|>=) (?:int|float) not implemented`, "int(s) and float(s) make a number of a text, str(n) a text of a number"},
	{`^builtin_function_or_method has no \.(?:init_process_group|destroy_process_group|is_initialized)`, "what torch.distributed has is there without a name in front, and the ranks are there: delete this call"},
	{`^builtin_function_or_method has no \.(?:get_)?(rank|world_size)\b`, "what torch.distributed has is there without a name in front: write $1()"},
	{`^builtin_function_or_method has no \.i(send|recv)`, "what torch.distributed has is there without a name in front: write $1, which needs no wait()"},
	{`^builtin_function_or_method has no \.(all_reduce|all_gather|all_gather_object|all_to_all|barrier|broadcast|gather|new_group|recv|reduce|reduce_scatter|ReduceOp|scatter|send|init_device_mesh) field`, "what torch.distributed has is there without a name in front: write $1"},
	{`^builtin_function_or_method has no \.(all_gather|reduce_scatter)_(?:into_)?tensor`, "what torch.distributed has is there without a name in front: write y = $1(x)"},
	{`^builtin_function_or_method has no \.(all_to_all)_single`, "what torch.distributed has is there without a name in front: write y = $1(x, 0, 0)"},
	{`^builtin_function_or_method has no \.(broadcast|scatter)_object_list`, "what torch.distributed has is there without a name in front: write $1_object"},
	{`^builtin_function_or_method has no \.(\w+)`, "what stands before .$1 is a function: call it with (), or leave it out"},
	{`^list \* list|^unknown binary op: list \* list`, "lists hold anything: tensor(x) makes a tensor, with which one computes"},
	{`^invalid call of non-function \((?:int|float|bool)\)`, "the value is a number, and no function: * multiplies"},
	{`^invalid literal with base|^invalid float literal`, "the text is no number"},
}

func compile(table [][2]string) []rule {
	list := make([]rule, len(table))
	for i, row := range table {
		list[i] = rule{regexp.MustCompile(row[0]), row[1]}
	}
	return list
}

// Refused returns the advice for a refusal of the interpreter with a
// message, or "".
func Refused(message string) string {
	for _, r := range rules() {
		if m := r.pattern.FindStringSubmatchIndex(message); m != nil {
			return string(r.pattern.ExpandString(nil, strings.ReplaceAll(r.text, "$1", "${1}"), message, m))
		}
	}
	return ""
}

// guess is the spelling that the interpreter proposes behind a message.
var guess = lazyregexp.New(` \(did you mean [^()]*\?\)$`)

// With returns the message with advice behind it, if there is any, in place of
// the spelling that the interpreter proposes.
func With(message, advice string) string {
	if advice == "" {
		return message
	}
	return guess.Get().ReplaceAllString(message, "") + " (" + advice + ")"
}
