"""The plugin of pytest: *_test.star files are collected, each test an item.

A test on 2 ranks that talk inproc is the item test_name[n2-inproc], one of PARAMS
test_name[1, 2-n2-inproc]; -k takes any part of that. Its report is what pytest shows.
"""

import json
import os
import re
import subprocess

import pytest

from ._binary import binary
from ._run import end

_LISTED = re.compile(r"^(.*):(\d+): (.*) \(n=(\d+), (\w+)\)$")


def pytest_addoption(parser):
    group = parser.getgroup("tpsh", "tests of tpsh (*_test.star)")
    group.addoption("--tpsh-n", metavar="N,...", help="run the tests on so many ranks (those that each file names, or 1,2,4)")
    group.addoption("--tpsh-transport", metavar="T,...", help="let ranks talk by inproc, frames, shm or tcp (inproc)")


def pytest_collect_file(file_path, parent):
    if file_path.name.endswith("_test.star"):
        return StarFile.from_parent(parent, path=file_path)
    return None


def _tpsh(config, path, *args):
    """Run `tpsh test` on a file, in the folder that pytest shows paths relative to."""
    root = config.rootpath
    try:
        path = path.relative_to(root)
    except ValueError:
        pass  # it lies elsewhere
    command = [binary(), "test", *args, os.path.join(os.curdir, path)]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, encoding="utf-8", errors="replace") as job:
        try:
            out, err = job.communicate()
        except BaseException:
            end(job)
            raise
    return job.returncode, out, err


class StarFile(pytest.File):
    """A *_test.star file."""

    def collect(self):
        args = ["--list"]
        for flag, value in (("-n", self.config.getoption("--tpsh-n")), ("--transport", self.config.getoption("--tpsh-transport"))):
            args += [flag, value] if value else []
        status, out, err = _tpsh(self.config, self.path, *args)
        listed = [_LISTED.match(line) for line in out.splitlines()]
        if status != 0 or not all(listed):
            raise self.CollectError((err or out).strip())
        for m in listed:
            _, line, label, n, transport = m.groups()
            where = f"n{n}-{transport}"
            name = f"{label[:-1]}-{where}]" if label.endswith("]") else f"{label}[{where}]"
            yield StarTest.from_parent(self, name=name, label=label, line=int(line), ranks=n, transport=transport)


class StarFailure(Exception):
    """A test has failed; its text is the report."""


class StarTest(pytest.Item):
    """A test, on some number of ranks and a transport."""

    def __init__(self, *, label, line, ranks, transport, **kwargs):
        super().__init__(**kwargs)
        self.label, self.line, self.ranks, self.transport = label, line, ranks, transport

    def runtest(self):
        only = f"^{re.escape(self.label)}$"
        status, out, err = _tpsh(self.config, self.path, "--json", "-n", self.ranks, "--transport", self.transport, "--run", only)
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        text = "".join(e.get("Output", "") for e in events)
        actions = {e["Action"] for e in events if e.get("Test")}
        if status != 0 or "fail" in actions:
            raise StarFailure((text + err).rstrip("\n") or f"tpsh: exit status {status}")
        if "skip" in actions and "pass" not in actions:
            raise pytest.skip.Exception(text.strip(), _use_item_location=True)
        if text:
            self.add_report_section("call", "stdout", text)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, StarFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, self.line - 1, self.name
