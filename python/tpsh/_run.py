"""tpsh.run."""

import os
import signal
import subprocess

from . import _arrays
from ._binary import binary
from ._files import Files, load

# How long a job may take to end that is told to, in seconds; then it is killed.
_PATIENCE = 15


class Error(Exception):
    """How a program failed. str(e) is the report that the command prints.

    kind      "argument", "mismatch", "deadlock", "assertion", "fail", "syntax", "died",
              "timeout", "unreceived", "usage" ..., as attempt() of scripts has it
    ranks     the ranks that failed so
    line      "file:line:col", or ""
    message   the error itself
    report    what the command prints of it
    text      what the program had printed
    """

    def __init__(self, report, kind="other", ranks=(), line="", message="", text=""):
        super().__init__(report.rstrip("\n"))
        self.report, self.kind, self.ranks, self.line = report, kind, list(ranks), line
        self.message, self.text = message or report.strip(), text

    def __reduce__(self):
        return type(self), (self.report, self.kind, self.ranks, self.line, self.message, self.text)


class Result:
    """What a program that ended well has left.

    text      what it printed
    notes     what tpsh said beside that, such as warnings
    ranks     how many ranks ran it
    outputs   a dict of what the script gave to output(name, x), by name: an array where
              ranks hold x together (a distributed tensor), where but one rank called,
              and where all ranks gave the same; else a dict of arrays by rank
    by_rank   the same as a dict of arrays by rank, always; of a distributed tensor
              every rank has the whole
    trace     what every rank did, and when, in the JSON of Chrome's tracing; None
              without trace=True
    """

    def __init__(self, text, notes, by_rank, ranks, trace=None):
        self.text, self.notes, self.by_rank, self.ranks, self.trace = text, notes, by_rank, ranks, trace
        self.outputs = {name: _merge(arrays, ranks) for name, arrays in by_rank.items()}

    def __repr__(self):
        shown = ", ".join(f"{k}: {_describe(v)}" for k, v in self.outputs.items())
        return f"Result(outputs={{{shown}}}, text={self.text!r})"


def _describe(x):
    if isinstance(x, dict):
        return "by rank " + "{" + ", ".join(f"{r}: {_describe(a)}" for r, a in x.items()) + "}"
    return f"{x.dtype}{list(x.shape)}"


def _merge(arrays, ranks):
    """What stands for arrays by rank in Result.outputs."""
    first, *others = arrays.values()
    if not others or len(arrays) == ranks and all(a is first or _arrays.equal(first, a) for a in others):
        return first
    return dict(arrays)


def run(script, n=None, inputs=None, transport="inproc", args=(), *, timeout=None, allow=(), seed=0,
        trace=False, lib=(), max_mem=None, strict=False, verify=False, cwd=None, env=None, tmp=None, flags=()):
    """Run a script on n ranks and return its Result, or raise Error.

    script      the path of a file, if it is a Path or ends in ".star"; else the source
    n           the number of ranks; None is what the command takes, a rank for each core
    inputs      names that the script has besides, with their values: arrays and tensors
                (NumPy, PyTorch, JAX, whatever has __array__ or __dlpack__), numbers,
                strings, None, and lists and dicts of these; a dict of arrays is a dict
                of tensors. Every rank has them all.
    transport   "inproc", "frames", "shm" or "tcp"
    args        words that the script finds in args, and flag() in turn
    timeout     in seconds, after which the program is ended: Error of kind "timeout"
    allow, lib  folders that it may read and write, and load files from
    seed        where random numbers start
    trace       keep what every rank did: Result.trace
    max_mem     the bytes that it may use, as 1 << 30 or "512M"
    cwd, env    the working folder, and the environment, of the command
    tmp         the folder for files that carry arrays; None is memory where the system has
                files in it, or else the folder of temporary files
    flags       more flags of `tpsh run`

    KeyboardInterrupt ends the job in order, and is raised again.
    """
    inputs = dict(inputs or {})
    with Files(inputs, tmp) as files:
        command = [binary(), "run", "--transport", transport, "--seed", str(seed)]
        command += ["--out", files.out, "--failure", files.failure]
        if n is not None:
            command += ["-n", str(n)]
        if inputs:
            command += ["--in", files.inputs]
        if timeout is not None:
            command += ["--timeout", f"{float(timeout):.9f}s"]
        command += _repeated("--allow", allow) + _repeated("--lib", lib)
        if max_mem is not None:
            command += ["--max-mem", str(max_mem)]
        command += ["--strict"] * bool(strict) + ["--verify"] * bool(verify)
        if trace:
            command += ["--trace", files.trace]
        command += [str(flag) for flag in flags]
        source = source_of(script)
        command += ["-" if source is not None else os.fspath(script), "--", *map(str, args)]
        done = _carry_out(command, source, cwd, env)
        if done.returncode != 0:
            raise _error(done, files.failure)
        ranks, by_rank = files.outputs()
        return Result(done.stdout, done.stderr, by_rank, ranks, load(files.trace) if trace else None)


def source_of(script):
    """The source that script is, or None if it is the path of a file."""
    if isinstance(script, os.PathLike) or script.endswith(".star") and "\n" not in script:
        return None
    return script


def _repeated(flag, dirs):
    dirs = [dirs] if isinstance(dirs, (str, os.PathLike)) else dirs
    return [word for one in dirs for word in (flag, os.fspath(one))]


def _carry_out(command, source, cwd, env):
    """Run the command with source as its standard input."""
    given = subprocess.DEVNULL if source is None else subprocess.PIPE
    with subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env, text=True,
                          encoding="utf-8", errors="replace") as job:
        try:
            out, err = job.communicate(source)
        except BaseException:
            end(job)
            raise
    return subprocess.CompletedProcess(command, job.returncode, out, err)


def end(job):
    """Have a job end in order, as an interrupt from the keyboard does, and wait for it."""
    if job.poll() is None:
        job.terminate() if os.name == "nt" else job.send_signal(signal.SIGINT)
    try:
        job.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()


def _error(done, path):
    """The Error of a command that has failed."""
    failure = load(path) if os.path.exists(path) else {"report": done.stderr, "kind": "died"}
    report = failure.get("report") or done.stderr or f"tpsh: exit status {done.returncode}"
    return Error(report, failure.get("kind", "other"), failure.get("ranks", ()), failure.get("line", ""), failure.get("message", ""), done.stdout)
