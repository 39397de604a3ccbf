"""Files in memory that have no name, and are used again: a file that is written anew costs
its pages, which takes longer than a copy into pages that are there.

A File is a descriptor of this process; others open it as /proc/PID/fd/N. What is spare is
kept, _KEPT bytes of it at most, until the process ends.
"""

import mmap
import os
import threading
import weakref
from collections import deque

_KEPT = 256 << 20

_POPULATE_WRITE = 23  # of madvise, in linux/mman.h

# Whether the system has such files. Elsewhere arrays lie in a folder.
available = hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")

_lock = threading.Lock()
_spare = []          # Files, the one last given back at the end
_returned = deque()  # those that are not among them yet


class File:
    """A file in memory, closed when it is gone."""

    def __init__(self, fd=None):
        self.fd = os.memfd_create("tpsh") if fd is None else fd
        self._view = None  # all of it, to be written to
        weakref.finalize(self, os.close, self.fd).atexit = False

    @property
    def path(self):
        """The path by which other processes open it."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def size(self):
        return os.fstat(self.fd).st_size

    def write(self, parts):
        """Make parts, memoryviews of bytes, the contents."""
        size = sum(map(len, parts))
        view = self._writable(size)
        if view is None:
            os.lseek(self.fd, 0, os.SEEK_SET)
            for part in parts:
                write_all(self.fd, part)
        else:
            at = 0
            for part in parts:
                view[at:at + len(part)] = part
                at += len(part)
        os.ftruncate(self.fd, size)

    def _writable(self, size):
        """The memory of the file, if it has so many bytes: once that is mapped a copy is all
        that writing takes. None if the system has no means to map it at once."""
        if self.size() < size:
            self._view = None
        elif self._view is None or len(self._view) < size:
            try:
                pages = mmap.mmap(self.fd, size)
                pages.madvise(_POPULATE_WRITE)
            except (AttributeError, OSError):
                return None
            self._view = memoryview(pages)
        return self._view

    def mapped(self, size):
        """The first bytes, mapped into memory; changes do not reach the file, which is spare
        when nothing uses the memory any more."""
        data = mmap.mmap(self.fd, size, access=mmap.ACCESS_COPY)
        weakref.finalize(data, _gone, self, os.getpid()).atexit = False
        return data


def write_all(fd, data):
    """Write all of data, a memoryview of bytes."""
    while len(data):
        data = data[os.write(fd, data):]


def take(size):
    """A File to write size bytes into, of which many are there already, if there is one; else
    a new one."""
    with _lock:
        _settle()
        best = None
        for i, file in enumerate(_spare):
            has = file.size()
            # What is much too large is kept for what needs it: it would be cut.
            if has <= 4 * size and (best is None or best < (min(has, size), file._view is not None, i)):
                best = min(has, size), file._view is not None, i
        return File() if best is None else _spare.pop(best[-1])


def take_all(least):
    """All Files that are spare, and new ones, so that there are at least that many."""
    with _lock:
        _settle()
        files = _spare[:]
        _spare.clear()
    return files + [File() for _ in range(least - len(files))]


def give(files):
    """Give Files back."""
    _returned.extend(files)
    with _lock:
        _settle()


def _gone(file, owner):
    # It may be called at any time, even when this thread has the lock.
    if os.getpid() == owner:
        _returned.append(file)


def _settle():
    while _returned:
        file = _returned.popleft()
        if file.size():
            _spare.append(file)
    kept = 0
    for i in reversed(range(len(_spare))):
        kept += _spare[i].size()
        if kept > _KEPT:
            del _spare[:i + 1]
            break


def _forget():
    """In a process that was forked the files are its parent's."""
    global _lock
    _lock = threading.Lock()
    _spare.clear()
    _returned.clear()


if available:
    os.register_at_fork(after_in_child=_forget)
