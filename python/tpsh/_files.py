"""The files by which a run is given its inputs, and gives back what it has to give."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from . import _arrays, _memory

# A folder of files in memory, where the system has one.
_SHARED = "/dev/shm"

# Arrays of so many bytes lie in files of _memory.
_LARGE = 64 << 10

# How many of those a run is given to write into at least.
_SPARE = 4

_RANK = re.compile(r"\.rank(\d+)$")


class Files:
    """The folder of a run, with its inputs written, until the block ends."""

    def __init__(self, inputs, tmp=None):
        self._memory = tmp is None and _memory.available
        self._taken = {}  # Files of _memory, by their descriptors
        self._inputs = set()  # those of them that hold an input
        self._folder = tempfile.mkdtemp(prefix="tpsh-", dir=tmp or _roomy(inputs))
        self.inputs, self.out = (os.path.join(self._folder, name) for name in ("in", "out"))
        self.failure, self.trace = (os.path.join(self._folder, name) for name in ("failure.json", "trace.json"))
        try:
            if inputs:
                self._write_inputs(inputs)
            if self._memory:
                self._offer_spare()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _memory.give(self._taken.values())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write_inputs(self, inputs):
        os.mkdir(self.inputs)
        for name, x in inputs.items():
            if not (isinstance(name, str) and name.isidentifier()):
                raise ValueError(f"tpsh: input {name!r}: want the name of a variable")
            path = os.path.join(self.inputs, name)
            if _arrays.is_array(x):
                self._write_arrays(path, name, {name: x})
            elif isinstance(x, Mapping) and x and all(map(_arrays.is_array, x.values())):
                self._write_dict(path, name, x)
            else:
                _write_value(path + ".json", name, x)

    def _write_dict(self, path, name, arrays):
        """A dict of arrays. One that has only its own name would be read as an array."""
        if list(arrays) == [name] or not all(isinstance(key, str) for key in arrays):
            raise ValueError(f"tpsh: input {name!r}: got a dict with the keys {list(arrays)}, want strings other than the name of the input alone")
        self._write_arrays(path, name, arrays)

    def _write_arrays(self, path, name, arrays):
        path += ".safetensors"
        packed = _arrays.Packed(arrays, f"input {name!r}", list(arrays) == [name])
        if self._memory and packed.size >= _LARGE:
            file = _memory.take(packed.size)
            self._taken[file.fd] = file
            self._inputs.add(file)
            file.write(packed.parts)
            os.symlink(file.path, path)
        else:
            with open(path, "wb", buffering=0) as f:
                for part in packed.parts:
                    _memory.write_all(f.fileno(), part)

    def _offer_spare(self):
        """Give the run files that are spare to write large outputs into, by the names that
        tpsh looks for in a folder of outputs that has the mark of one."""
        spare = _memory.take_all(_SPARE)
        self._taken.update((file.fd, file) for file in spare)
        folder = os.path.join(self.out, ".spare")
        os.makedirs(folder)
        for file in spare:
            os.symlink(file.path, os.path.join(folder, str(file.fd)))
        with open(self._mark(), "w") as f:
            f.write("{}")

    def _mark(self):
        return os.path.join(self.out, ".tpsh-outputs")

    def outputs(self):
        """How many ranks there were, and what they have written: arrays by rank, by name."""
        ranks = load(self._mark())["ranks"]
        found, opened = {}, {}
        for path in sorted(Path(self.out).rglob("*.safetensors")):
            stem = path.relative_to(self.out).as_posix()[:-len(".safetensors")]
            inode = os.stat(path)
            inode = inode.st_dev, inode.st_ino
            if inode not in opened:
                opened[inode] = self._read(path)
            given_back, arrays = opened[inode]
            for name, array in arrays.items():
                if given_back:  # an input, by the name of that
                    name = _RANK.sub("", stem)
                if stem == name:
                    found.setdefault(name, {}).update((rank, array) for rank in range(ranks))
                else:
                    found.setdefault(name, {}).setdefault(int(_RANK.search(stem)[1]), array)
        return ranks, {name: dict(sorted(found[name].items())) for name in sorted(found)}

    def _read(self, path):
        """Whether a file is that of an input, and its arrays."""
        if path.is_symlink():
            file = self._taken.pop(int(os.path.basename(os.readlink(path))))
        elif self._memory and os.path.dirname(self._folder) == _SHARED and path.stat().st_size >= _LARGE:
            file = _memory.File(os.open(path, os.O_RDWR))
        else:
            with open(path, "rb") as f:
                return False, _arrays.read(f)
        with open(file.fd, "rb", closefd=False) as f:
            f.seek(0)
            return file in self._inputs, _arrays.read(f, file)


def _roomy(inputs):
    """The folder for files: in memory if inputs, and outputs a few times as large, have room
    there; None for that of temporary files."""
    need = 4 * sum(_nbytes(a) for x in inputs.values() for a in (x.values() if isinstance(x, Mapping) else [x]))
    try:
        room = os.statvfs(_SHARED)
    except (AttributeError, OSError):
        return None
    return _SHARED if room.f_bavail * room.f_frsize >= need + (32 << 20) and os.access(_SHARED, os.W_OK) else None


def _nbytes(x):
    try:
        return getattr(x, "nbytes", 0)
    except Exception:  # such as that of a tensor which is no array; as_array says so
        return 0


def _write_value(path, name, x):
    try:
        text = json.dumps(x, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise TypeError(f"tpsh: input {name!r}: got {type(x).__name__}, want an array, a number, a string, None, or lists and dicts of these ({e})") from e
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)
