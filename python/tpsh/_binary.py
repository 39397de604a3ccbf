"""Where the command is."""

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

_NAME = "tpsh.exe" if os.name == "nt" else "tpsh"


def packaged():
    """The path of the command that the wheel carries, or None in a checkout."""
    path = Path(__file__).with_name("bin") / _NAME
    return str(path) if path.is_file() else None


def binary():
    """The path of the command that run starts: what the variable TPSH of the
    environment says, or the one of this package, or in a checkout that of PATH."""
    path = os.environ.get("TPSH") or packaged() or shutil.which(_NAME)
    if not path:
        raise FileNotFoundError("tpsh: the package has no command, and PATH neither; set TPSH to its path")
    return path


@lru_cache(maxsize=None)
def version():
    """What `tpsh version` says."""
    return subprocess.run([binary(), "version"], capture_output=True, text=True, check=True).stdout.strip()
