"""Arrays as safetensors files, and back, with no copy that can be avoided."""

import json
import mmap
import os

# A file is the length of its header (8 bytes, little-endian), the header, which is
# JSON, and the elements without gaps. Elements begin at a page, so that tpsh maps
# them as they are.
_PAGE = 4096

_NUMPY = {
    "float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL",
    "int16": "I16", "int8": "I8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}
_DTYPES = {kind: name for name, kind in _NUMPY.items()}

# What NumPy lacks is of ml_dtypes, and kept in integers of that size without it.
_FOREIGN = {"BF16": "u2", "F8_E4M3": "u1", "F8_E5M2": "u1"}


def numpy():
    """NumPy, or an ImportError that says what it is for."""
    try:
        import numpy as np
    except ImportError as e:
        raise ImportError("tpsh: arrays need NumPy: pip install numpy") from e
    return np


def is_array(x):
    """Whether x is an array or a tensor of some library."""
    return hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def as_array(x, what):
    """(array, kind): x, which messages call what, as an array of NumPy that shares its memory
    where it can, and what safetensors call its dtype."""
    np = numpy()
    try:
        a, kind = _plain(np, x)
    except Exception as e:  # of whatever library it is
        raise TypeError(f"tpsh: {what}: got {_describe(x)}, want an array whose elements can be read ({e})") from e
    kind = kind or _NUMPY.get(a.dtype.name)
    if kind is None:
        raise TypeError(f"tpsh: {what}: got dtype {a.dtype}, want one of {', '.join(_NUMPY)}")
    if not a.dtype.isnative:
        a = a.astype(a.dtype.newbyteorder("="))
    return a, kind


def _describe(x):
    dtype = getattr(x, "dtype", None)
    return type(x).__name__ if dtype is None else f"a {type(x).__name__} of {dtype}"


def _plain(np, x):
    """x as an array of NumPy, and what safetensors call its dtype if NumPy has none for it."""
    kind = None
    if type(x).__module__.partition(".")[0] == "torch":
        import torch

        if x.layout != torch.strided:
            raise TypeError(f"its layout is {x.layout}: give x.to_dense()")
        if hasattr(x, "full_tensor"):
            raise TypeError("it is a part of a distributed tensor: give x.full_tensor() or x.to_local()")
        x = x.detach().cpu().resolve_conj().resolve_neg()
        kind = _NUMPY.get(str(x.dtype).removeprefix("torch."))
        if kind in _FOREIGN:
            x = x.view(torch.int16 if kind == "BF16" else torch.uint8)
        a = x.numpy()
    elif isinstance(x, np.ma.MaskedArray):
        raise TypeError("it has a mask: give x.filled()")
    elif isinstance(x, np.ndarray) or hasattr(x, "__array__"):
        a = np.asarray(x)
    else:
        a = np.from_dlpack(x)
    return a, kind


class Packed:
    """Tensors, a dict of arrays by name, as a file will hold them. label is what messages
    call the input that they are, or that is a dict of them."""

    def __init__(self, tensors, label, alone):
        arrays = {name: as_array(x, label if alone else f"{label}, key {name!r}") for name, x in tensors.items()}
        header, at = {}, 0
        # The widest elements first: then all lie at a multiple of their size.
        order = sorted(arrays, key=lambda name: -arrays[name][0].itemsize)
        for name in order:
            a, kind = arrays[name]
            header[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
            at += a.nbytes
        text = json.dumps(header).encode()
        text += b" " * (-(8 + len(text)) % _PAGE)
        header = len(text).to_bytes(8, "little") + text
        self.parts = [memoryview(header), *(_bytes(arrays[name][0]) for name in order if arrays[name][0].nbytes)]
        self.size = 8 + len(text) + at


def _bytes(a):
    return memoryview(numpy().ascontiguousarray(a).reshape(-1).view("u1"))


def read(f, memory=None):
    """The tensors of an open file, by name: arrays on the file, which is mapped into memory, and
    which their changes do not reach. Nothing is read before it is used. bfloat16 and the
    floats of 8 bits are those of ml_dtypes, or float32 without it. memory is the File of _memory that it is, if it is one."""
    np = numpy()
    size = int.from_bytes(f.read(8), "little")
    header = json.loads(f.read(size))
    at = 8 + size
    end = max((t["data_offsets"][1] for n, t in header.items() if n != "__metadata__"), default=0)
    if memory:
        data = memory.mapped(at + end)
    elif os.name == "nt" or end == 0:  # a file that is mapped cannot be removed there
        data = bytearray(f.read())
        at = 0
    else:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays = {}
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            arrays[name] = _view(np, data, at + begin, (end - begin), t["dtype"], t["shape"])
    return arrays


def _view(np, data, at, size, kind, shape):
    widen = False
    if kind in _FOREIGN:
        try:
            import ml_dtypes

            dtype = np.dtype(getattr(ml_dtypes, _DTYPES[kind]))
        except ImportError:
            dtype, widen = np.dtype(_FOREIGN[kind]), True
    else:
        dtype = np.dtype(_DTYPES[kind])
    if size == 0:
        a = np.empty(0, dtype)
    elif at % dtype.itemsize == 0:
        a = np.frombuffer(data, dtype, size // dtype.itemsize, at)
    else:
        a = np.frombuffer(bytes(data[at:at + size]), dtype).copy()
    if widen:
        a = _widened(np, a, kind)
    return a.reshape(shape)


def _widened(np, a, kind):
    """The float32 that the bits of a kind NumPy lacks stand for."""
    if kind == "BF16":
        return (a.astype("u4") << 16).view("f4")
    if kind == "F8_E5M2":  # the upper half of a float16
        return (a.astype("u2") << 8).view("f2").astype("f4")
    bits = a.astype("u4")
    value = ((bits & 0x7f) << 20).view("f4") * np.float32(2.0**120)
    value[(bits & 0x7f) == 0x7f] = np.nan
    return np.where(bits & 0x80, -value, value)


def equal(a, b):
    """Whether two arrays are of one dtype and shape and hold the same bytes."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = (x.reshape(-1).view("u1") for x in (a, b))
    step = 1 << 20  # what is compared stays in the cache
    return all((a[i:i + step] == b[i:i + step]).all() for i in range(0, a.size, step))
