"""Ranks that stay: `tpsh kernel --pipe`, spoken to in lines of JSON."""

import json
import subprocess
import threading

from ._binary import binary
from ._run import Error


class Session:
    """Ranks that run cells in turn, and keep their variables between them."""

    def __init__(self, n=None, transport="inproc", flags=()):
        command = [binary(), "kernel", "--pipe", "--transport", transport, *map(str, flags)]
        command += ["-n", str(n)] if n is not None else []
        # A signal for the notebook is not one for the ranks: it decides what they hear.
        self._job = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True, encoding="utf-8", start_new_session=True)
        self._sending = threading.Lock()
        self._next = 0
        self.key = (n, transport, tuple(flags))
        self.ranks = self._receive()["ranks"]

    def _send(self, **request):
        with self._sending:
            self._job.stdin.write(json.dumps(request) + "\n")
            self._job.stdin.flush()

    def _receive(self):
        line = self._job.stdout.readline()
        if not line:
            raise Error(self._job.stderr.read() or "tpsh: the ranks have gone", "died")
        return json.loads(line)

    def _ask(self, tell=None, **request):
        """Send a request and return its last answer. KeyboardInterrupt ends what runs."""
        self._next += 1
        self._send(id=self._next, **request)
        while True:
            try:
                answer = self._receive()
            except KeyboardInterrupt:
                self.interrupt()
                continue
            if answer["id"] != self._next:
                continue  # of a request that was given up
            if answer.get("done"):
                self.ranks = answer.get("ranks", self.ranks)
                return answer
            if tell:
                tell(answer.get("text", ""), answer.get("note", ""))

    def execute(self, cell, tell=None):
        """Run a cell, of statements and commands of the shell. tell(text, note) is called as something is printed, or said beside
        that. The value of the last statement, as text, and a list of pictures in SVG
        are returned; an Error is raised."""
        answer = self._ask(tell, execute=cell)
        failure = answer.get("failure")
        if failure:
            error = Error(failure["report"], failure["kind"], failure["ranks"], failure["line"], failure["message"])
            error.svg = answer.get("svg") or []
            raise error
        return answer.get("value", ""), answer.get("svg") or []

    def complete(self, text):
        """(start, names): where the last word of text begins, and what it may be."""
        answer = self._ask(complete=text)
        return answer.get("start", 0), answer.get("names") or []

    def doc(self, name):
        """The documentation of a name of the language; "" for any other."""
        return self._ask(doc=name).get("text", "")

    def interrupt(self):
        """End what runs, from any thread."""
        self._send(interrupt=True)

    def close(self):
        """End the ranks."""
        if self._job.poll() is None:
            try:
                self.interrupt()
                self._job.stdin.close()
                self._job.wait(timeout=10)
            except (OSError, subprocess.TimeoutExpired):
                self._job.kill()
                self._job.wait()
        for pipe in (self._job.stdout, self._job.stderr):
            pipe.close()
