"""A kernel of Jupyter whose cells are the statements of the shell, and its commands.

A first line "%ranks N" or "%ranks N shm" starts the ranks anew.
"""

import json
import os
import re
import sys
import tempfile

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from ._binary import version
from ._run import Error
from ._session import Session

SPEC = {"argv": ["python", "-m", "tpsh.kernel", "-f", "{connection_file}"], "display_name": "tpsh", "language": "tpsh", "interrupt_mode": "signal"}


class TpshKernel(Kernel):
    implementation = "tpsh"
    implementation_version = "1"
    language_info = {"name": "tpsh", "mimetype": "text/x-starlark", "file_extension": ".star", "pygments_lexer": "python", "codemirror_mode": "python"}
    banner = "tpsh: the shell for sharded tensor programs"
    session_ = None

    def _ranks(self, words=()):
        if self.session_ is None or words:
            if self.session_ is not None:
                self.session_.close()
            n = int(words[0]) if words else int(os.environ.get("TPSH_RANKS", 4))
            self.session_ = Session(n, *words[1:2])
        return self.session_

    def _tell(self, text, note):
        for name, part in (("stdout", text), ("stderr", note)):
            if part:
                self.send_response(self.iopub_socket, "stream", {"name": name, "text": part})

    def _show(self, pictures):
        for svg in pictures:
            self.send_response(self.iopub_socket, "display_data", {"data": {"image/svg+xml": svg}, "metadata": {}})

    async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **more):
        tell = (lambda text, note: None) if silent else self._tell
        try:
            first, _, rest = code.partition("\n")
            if first.split()[:1] == ["%ranks"]:
                session, code = self._ranks(first.split()[1:]), rest
            else:
                session = self._ranks()
            value, pictures = session.execute(code, tell) if code.strip() else ("", [])
        except (Error, ValueError) as e:
            return self._failed(e, silent)
        if not silent:
            self._show(pictures)
            if value:
                self.send_response(self.iopub_socket, "execute_result", {"execution_count": self.execution_count, "data": {"text/plain": value.rstrip("\n")}, "metadata": {}})
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _failed(self, e, silent):
        failure = {"ename": getattr(e, "kind", "usage"), "evalue": getattr(e, "message", str(e)), "traceback": str(e).splitlines()}
        if not silent:
            self._show(getattr(e, "svg", []))
            self.send_response(self.iopub_socket, "error", failure)
        if getattr(e, "kind", "") == "died" and self.session_ is not None:
            self.session_.close()
            self.session_ = None
        return {"status": "error", "execution_count": self.execution_count, **failure}

    async def do_complete(self, code, cursor_pos):
        line = code[:cursor_pos].rpartition("\n")[2]
        start, names = self._ranks().complete(line)
        # start counts bytes.
        word = len(line.encode()[start:].decode(errors="replace"))
        return {"status": "ok", "matches": names, "cursor_start": cursor_pos - word, "cursor_end": cursor_pos, "metadata": {}}

    async def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        around = re.search(r"\w*\Z", code[:cursor_pos])[0] + re.match(r"\w*", code[cursor_pos:])[0]
        text = self._ranks().doc(around) if around else ""
        return {"status": "ok", "found": bool(text), "data": {"text/plain": text} if text else {}, "metadata": {}}

    async def do_shutdown(self, restart):
        if self.session_ is not None:
            self.session_.close()
            self.session_ = None
        return {"status": "ok", "restart": restart}


def install(args):
    """Install the kernel's specification: for the user, or with --sys-prefix or --prefix DIR."""
    from jupyter_client.kernelspec import KernelSpecManager

    prefix = sys.prefix if "--sys-prefix" in args else args[args.index("--prefix") + 1] if "--prefix" in args else None
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w") as f:
            json.dump({**SPEC, "argv": [sys.executable, *SPEC["argv"][1:]]}, f, indent=1)
        print(KernelSpecManager().install_kernel_spec(folder, "tpsh", user=prefix is None, prefix=prefix))


def main():
    if sys.argv[1:2] == ["install"]:
        install(sys.argv[2:])
    else:
        version()  # there is a command, or this says where it was looked for
        IPKernelApp.launch_instance(kernel_class=TpshKernel)


if __name__ == "__main__":
    main()
