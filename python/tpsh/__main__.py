"""The command: `python -m tpsh`, and the script tpsh that pip installs."""

import os
import subprocess
import sys

from ._binary import packaged


def main():
    path = os.environ.get("TPSH") or packaged()
    if not path:
        sys.exit("tpsh: the package has no command; set TPSH to its path")
    os.environ.setdefault("TPSH_KERNEL_PYTHON", sys.executable)  # for tpsh kernel
    if os.name == "nt":  # a process cannot become another there
        sys.exit(subprocess.run([path, *sys.argv[1:]]).returncode)
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
