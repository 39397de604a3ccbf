"""Run sharded tensor programs of tpsh from Python.

    import numpy as np, tpsh

    r = tpsh.run('output("y", all_reduce(x))', n=4, inputs={"x": np.ones(3)})
    r.outputs["y"]        # array([4., 4., 4.])

run runs a script on ranks of its own and returns a Result, or raises Error. The package
carries the command, `tpsh`, and needs NumPy only where arrays are given or taken.
"""

from ._binary import binary, version
from ._run import Error, Result, run

__all__ = ["Error", "Result", "binary", "run", "version"]


def load_ipython_extension(shell):
    """Called by %load_ext tpsh: adds the magic %%tpsh."""
    from . import magic

    magic.load(shell)


def unload_ipython_extension(shell):
    """Called by %unload_ext tpsh: ends the ranks of the magic."""
    from . import magic

    magic.unload(shell)
