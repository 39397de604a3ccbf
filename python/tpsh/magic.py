"""%%tpsh in notebooks of Python: cells on ranks that stay from cell to cell.

    %load_ext tpsh
    %%tpsh -n 4
    all_reduce(ones(3))

With other ranks or another transport new ones are started; %tpsh_end ends them.
"""

import argparse
import shlex
import sys

from ._run import Error
from ._session import Session

_current = []  # the Session, if there is one


def _parse(line):
    p = argparse.ArgumentParser(prog="%%tpsh", add_help=False)
    p.add_argument("-n", type=int, default=None, help="the number of ranks")
    p.add_argument("--transport", default=None)
    return p.parse_args(shlex.split(line))


def _session(args):
    if _current and (args.n in (None, _current[0].ranks)) and args.transport in (None, _current[0].key[1]):
        return _current[0]
    end()
    _current.append(Session(args.n if args.n is not None else 4, args.transport or "inproc"))
    return _current[0]


def _tell(text, note):
    sys.stdout.write(text)
    sys.stderr.write(note)


def cell(line, body):
    """The magic %%tpsh."""
    from IPython.display import SVG, display

    try:
        args = _parse(line)
    except SystemExit:
        return  # argparse has said what is wrong
    try:
        value, pictures = _session(args).execute(body, _tell)
    except Error as e:
        if e.kind == "died":
            end()
        raise
    for svg in pictures:
        display(SVG(svg))
    if value:
        print(value, end="")


def end(line=""):
    """End the ranks: the magic %tpsh_end."""
    while _current:
        _current.pop().close()


def load(shell):
    shell.register_magic_function(cell, "cell", "tpsh")
    shell.register_magic_function(end, "line", "tpsh_end")
    shell.set_custom_exc((Error,), _show_error)


def _show_error(shell, kind, error, trace, tb_offset=None):
    """An Error is its report: where in Python it was raised says nothing."""
    print(error, file=sys.stderr)


def unload(shell):
    end()
