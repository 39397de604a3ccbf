"""Prints calls of the entries of PyTorch's table of operators (op_db), with what PyTorch gives.

    table.py NAMES [ENTRIES]

NAMES is a file with the names of scripts, one a line, as Tensor.add or linalg.lu; ENTRIES are
those to print, separated by commas, all else. Each line is a JSON object: the entry, the name
under which scripts call it or null, and a Starlark list of calls. A call is (function of a list of
tensors, inputs, the parts of its value, gradients of the sum of its floats, how to compare).

The entries are those that take float32, as PyTorch's tests of DTensor choose them. Their samples are
PyTorch's own, in float64 and small. The table needs the package expecttest.
"""

import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")

import torch
import torch.testing._internal.common_methods_invocations as table
from torch.utils import _pytree as pytree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from values import number

torch.set_num_threads(1)

SAMPLES = 12  # of an entry, evenly chosen
ELEMENTS = 2500  # in all inputs and results of a call

# What a draw gives is another number here: the shapes are compared.
DRAWN = """_batch_norm_with_update bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial
new_empty new_empty_strided nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d
nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.rrelu
normal pca_lowrank rand_like randint randint_like randn randn_like svd_lowrank uniform""".split()

# Vectors whose sign or phase is free: absolute values are compared.
PHASES = "linalg.eig linalg.eigh linalg.svd svd linalg.qr qr geqrf".split()

# Arguments that say where and how elements are stored.
STORAGE = {"device", "layout", "pin_memory", "memory_format", "non_blocking"}

ATTRIBUTES = {"T", "H", "mT", "mH"}

# Names that are methods alone in scripts, where Python's functions and collectives have them.
METHODS = "abs all any bfloat16 bool float gather int max min normal,in_place round scatter sum".split()

# Entries whose function has its arguments in another order than PyTorch's own: where they are.
ORDER = {"einsum": (1, 0), "nn.functional.embedding": (1, 0), "nn.functional.embedding_bag": (1, 0), "polygamma": (1, 0), "special.polygamma": (1, 0), "where": (1, 0, 2)}

# Entries whose function takes the factors of a matrix, where the operator takes the matrix.
OF_FACTORS = ["svd_lowrank", "pca_lowrank", "linalg.pinv, singular"]

# What entries take of the results of their operators.
SOME = {"linalg.lstsq, grad_oriented": "[:2]"}

# Entries whose function does more than the operator, which names*.txt call.
OTHERS = ["max_pool2d_with_indices_backward"]

# How large the dims of size M are, and those of entries whose samples name elements that smaller ones do not have.
MIDDLE = 6
OF_SIZE = {"_segment_reduce": 10}

# Variants whose inputs are views of more elements, of which scripts would have to make them.
VIEWS = ["partial_views"]


class Untold(Exception):
    """A sample with arguments that have no words in Starlark."""


def entry_of(op):
    """The name of an entry: that of its operator, and its variant."""
    return op.name + (", " + op.variant_test_name if op.variant_test_name else "")


def tensor(t):
    """t as (elements, shape, dtype); the parts of complex ones are its last dim, and uint64 are ints."""
    kind, t = str(t.dtype).removeprefix("torch."), t.detach().clone()
    if t.dtype.is_complex:
        t = torch.stack([t.real, t.imag], -1)
    text = str if kind == "uint64" else lambda v: number(float(v))
    return "([%s], %s, %r)" % (", ".join(map(text, t.reshape(-1).tolist())), list(t.shape), kind)


def told(v, inputs):
    """An argument in Starlark; tensors go to inputs."""
    if isinstance(v, torch.Tensor):
        if v.layout != torch.strided or v.is_quantized:
            raise Untold("a sparse tensor")
        inputs.append(v)
        return "t[%d]" % (len(inputs) - 1)
    if v is None or isinstance(v, (bool, int, str)):
        return repr(v)
    if isinstance(v, float):
        return number(v)
    if isinstance(v, complex):
        return "complex(%r, %r)" % (v.real, v.imag)
    if isinstance(v, torch.dtype):
        return str(v).removeprefix("torch.")
    if isinstance(v, (list, torch.Size)):
        return "[%s]" % ", ".join(told(e, inputs) for e in v)
    if isinstance(v, tuple):
        return "(%s,)" % ", ".join(told(e, inputs) for e in v) if v else "()"
    if isinstance(v, torch.nn.PairwiseDistance):
        return "nn.PairwiseDistance(%r, %r, %r)" % (v.norm, v.eps, v.keepdim)
    if v is Ellipsis:
        return "..."
    raise Untold(type(v).__name__)


def index(v, inputs):
    """What stands between brackets."""
    if isinstance(v, slice):
        return ":".join("" if e is None else str(e) for e in ((v.start, v.stop) if v.step is None else (v.start, v.stop, v.step)))
    if isinstance(v, tuple):
        return ", ".join(index(e, inputs) for e in v) + ("," if len(v) == 1 else "")
    return told(v, inputs)


def call_text(op, name, sample, inputs):
    """The call of a sample in Starlark."""
    if op.name in OTHERS or op.variant_test_name in VIEWS:
        raise Untold("a call that scripts make in another way")
    first = told(sample.input, inputs)
    if op.name == "to":
        return "%s.to(%s)" % (first, ", ".join(told(a, inputs) for a in sample.args if isinstance(a, (torch.dtype, torch.Tensor))))
    if name == "Tensor.__getitem__":
        return "%s[%s]" % (first, index(sample.args[0], inputs))
    if name.removeprefix("Tensor.") in ATTRIBUTES:
        return first + name.removeprefix("Tensor")
    args = [told(a, inputs) for a in sample.args]
    args += ["%s=%s" % (k, told(v, inputs)) for k, v in sample.kwargs.items() if k not in STORAGE]
    if name.startswith("Tensor."):
        if name.endswith("_") and not name.endswith("__"):
            first += ".clone()"
        return "%s%s(%s)" % (first, name.removeprefix("Tensor"), ", ".join(args))
    if entry_of(op) in OF_FACTORS:
        first, args = "%s @ %s.mT" % (first, args[0]), args[1:]
    args = [first] + args
    if op.name in ORDER:
        order = ORDER[op.name]
        args = [args[i] for i in order] + args[len(order):]
    if op.name == "einsum":
        args = [args[0], args[1][1:-1]]
    return "%s(%s)%s" % (name, ", ".join(args), SOME.get(entry_of(op), ""))


def parts(value):
    """The tensors and numbers that a result is made of, in order."""
    return [v if isinstance(v, torch.Tensor) else torch.tensor(v) for v in pytree.tree_leaves(value) if v is not None and not isinstance(v, (str, torch.dtype))]


def loss(out, how):
    """The sum of the floats of a result, or None."""
    terms = []
    for v in out:
        if v.requires_grad and (v.is_floating_point() or v.is_complex()):
            v = v.abs() if how == "phases" else v
            terms.append((v.real + v.imag if v.is_complex() else v).sum())
    return sum(terms) if terms else None


def draws(sample):
    """Whether elements are dropped at random."""
    numbers = [v for v in sample.args if isinstance(v, float)] if len(sample.args) > 10 else []
    return any(0 < p < 1 for p in numbers + [sample.kwargs.get("dropout_p", 0)])


def call(op, name, sample, how, most):
    """A call as Starlark; None if it is too large or PyTorch refuses it."""
    how = "drawn" if draws(sample) else how
    inputs = []
    text = call_text(op, name, sample, inputs)
    if sum(v.numel() for v in inputs) > most:
        return None
    before = [v.detach().clone() for v in inputs]
    value = op.op(sample.input, *sample.args, **sample.kwargs)
    out = parts(value)
    if sum(v.numel() for v in out) > most or any(v.layout != torch.strided for v in out):
        return None
    total = loss(out, how) if how != "drawn" else None
    grads = "None"
    if total is not None and all(v.is_leaf for v in inputs):
        given = [v for v in inputs if v.requires_grad]
        found = dict(zip(map(id, given), torch.autograd.grad(total, given, allow_unused=True))) if given else {}
        grads = "[%s]" % ", ".join("None" if found.get(id(v)) is None else tensor(found[id(v)]) for v in inputs)
    flags = [v.requires_grad and grads != "None" for v in inputs]
    texts = ["%s + (%r,)" % (tensor(v), flag) for v, flag in zip(before, flags)]
    return "    (%r, lambda t: %s, [%s], [%s], %s, %r)," % (text, text, ", ".join(texts), ", ".join(map(tensor, out)), grads, how)


def calls(op, name):
    """The calls of an entry, and why the last that is left out is."""
    how = "drawn" if op.name in DRAWN else "phases" if op.name in PHASES else "values"
    texts, why = [], ""
    samples = list(op.sample_inputs("cpu", torch.float64 if torch.float64 in op.supported_dtypes("cpu") else torch.float32, requires_grad=op.supports_autograd))
    step = max(1, len(samples) // SAMPLES)
    chosen = [(sample, ELEMENTS) for sample in (samples[::step] if len(samples) > SAMPLES else samples)]
    for sample, most in chosen + [(samples[0], 10 * ELEMENTS)]:
        if texts and most > ELEMENTS:
            break  # the last is for entries of large samples alone
        try:
            text = call(op, name, sample, how, most)
        except (Untold, RuntimeError, ValueError, TypeError) as e:
            text, why = None, "%s: %s" % (type(e).__name__, e)
        if text:
            texts.append(text)
    return texts, why


def script_name(op, names):
    """What scripts call an operator, or None."""
    name = op.name
    if name in METHODS or name + "," + op.variant_test_name in METHODS:
        return next(c for c in ("Tensor." + name, "Tensor." + name + "_") if c in names)
    short = name.split(".")[-2] if name.endswith(".default") else name
    short = short.replace("nn.functional.", "F.")
    for candidate in (short, "Tensor." + short, "Tensor." + short + "_"):
        if candidate in names:
            return candidate
    return None


def main():
    names = set(pathlib.Path(sys.argv[1]).read_text().split())
    wanted = sys.argv[2].split(",") if len(sys.argv) > 2 and sys.argv[2] else None
    table.L = 8
    for op in table.op_db:
        entry = entry_of(op)
        if torch.float32 not in op.supported_dtypes("cpu") or wanted and entry not in wanted and op.name not in wanted:
            continue
        table.M = OF_SIZE.get(op.name, MIDDLE)
        torch.manual_seed(1)
        name = script_name(op, names)
        cases, why = [], ""
        if name:
            try:
                cases, why = calls(op, name)
            except Exception as e:  # of the table's own samples at these sizes
                why = "%s: %s" % (type(e).__name__, e)
        print(json.dumps({"entry": entry, "name": name, "cases": "CASES = [\n%s\n]\n" % "\n".join(cases), "count": len(cases), "why": why}), flush=True)


main()
