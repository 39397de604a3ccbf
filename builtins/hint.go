package builtins

import (
	"slices"
	"sync"

	"tpsh/internal/lazyregexp"
	"tpsh/lang/advice"
)

// Hint returns what to do instead of what the interpreter refuses with message,
// or "" if there is nothing to say.
func (e *Env) Hint(message string) string {
	if hint := hintUnknown(message); hint != "" {
		return hint
	}
	if m := missingMember.Get().FindStringSubmatch(message); m != nil && isTensorType(m[1]) && absent()[m[2]] != "" {
		return absent()[m[2]]
	}
	if m := unknownBinary.Get().FindStringSubmatch(message); m != nil && (isTensorType(m[1]) || isTensorType(m[3])) {
		return operandHint(m[1], m[3])
	}
	m := refusedComparison.Get().FindStringSubmatch(message)
	switch {
	case m == nil:
		return advice.Refused(message)
	case isTensorType(m[1]):
		return "use ." + elementwise(comparisonTokens[m[2]]) + "() for elementwise truths"
	case isTensorType(m[3]):
		return "use the tensor's ." + elementwise(mirrored[comparisonTokens[m[2]]]) + "() for elementwise truths"
	}
	return ""
}

// What the interpreter says of attributes that are not there, and of operators
// between values that do not know each other.
var (
	missingMember = lazyregexp.New(`^(\S+) has no \.(\w+) field or method`)
	unknownBinary = lazyregexp.New(`^unknown binary op: (\S+) (\S+) (\S+)$`)
)

const oneDevice = "there is one device, the CPU of the rank: leave it out"

// absent says what to write instead of members of PyTorch's tensors, and of
// arrays, that tensors have not.
var absent = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"numpy": "tensors are arrays: x.tolist() gives lists, save_npy(path, x) a file", "cuda": oneDevice, "pin_memory": oneDevice, "mps": oneDevice,
		"grad_fn": "gradients are recorded unasked: y.backward(), then x.grad", "retain_grad": "grad(y, [x]) gives the gradient of any tensor",
		"astype": "x.to(dtype) converts", "type": "x.dtype is the type, x.to(dtype) converts",
		"len": "len(x) is the size of dim 0, x.numel() the number of elements", "length": "len(x) is the size of dim 0, x.numel() the number of elements", "rank": "x.ndim counts the dims, rank() is the rank",
		"chalf": "complex numbers are of two float32 or two float64: x.cfloat() or x.cdouble() converts", "to_sparse": "all tensors are dense",
		"append": "cat([x, y]) joins tensors", "concat": "cat([x, y]) joins tensors", "copy": "x.clone() is a copy", "wait": "a collective with async_op=True gives (result, work), and work.wait() waits", "all_reduce": "all_reduce(x) is a function",
	}
})

// operandHint says what to do with operands of which one is a tensor.
func operandHint(left, right string) string {
	switch other := []string{left, right}; {
	case slices.Contains(other, "string"):
		return `f"{x}" or str(x) makes a text of a tensor, float(s) a number of a text`
	case slices.Contains(other, "list"), slices.Contains(other, "tuple"):
		return "tensor(x) makes a tensor of a list"
	case slices.Contains(other, "NoneType"):
		return "one side is None: a function without return gives it, x.grad before backward, and reduce and gather off the root"
	case slices.Contains(other, "function"), slices.Contains(other, "builtin_function_or_method"):
		return "one side is a function: call it, with ()"
	}
	return ""
}
