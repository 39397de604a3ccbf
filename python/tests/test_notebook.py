"""Notebooks: the kernel, and the magic in one of Python."""

import tempfile
import threading
import time

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager, KernelManager
from nbclient import NotebookClient

from tpsh import Error
from tpsh._session import Session

SHARDED = 'd = distribute_tensor(ones(4, 6), init_device_mesh("cpu", (4,)), [Shard(0)])\nvisualize_sharding(d)'


@pytest.fixture
def sockets():
    """Where kernels talk: files, as a port that is free when it is chosen may be taken when it is used."""
    with tempfile.TemporaryDirectory(prefix="tpsh") as folder:
        yield {"transport": "ipc", "ip": folder + "/kernel"}


def execute(sockets, kernel, *cells, **options):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(book, km=AsyncKernelManager(kernel_name=kernel, **sockets), timeout=600, **options).execute()
    return [c.outputs for c in book.cells]


def text(outputs):
    return "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in outputs)


def svg(outputs):
    return [o.data["image/svg+xml"] for o in outputs if "image/svg+xml" in o.get("data", {})]


def test_kernel_notebook(sockets):
    one, two, three, four = execute(sockets, "tpsh", "x = ones(2) * rank()\nprint('hi')\nall_reduce(x)", SHARDED, "x.sum().item()", "%ranks 2 shm\nworld_size()")
    assert text(one) == "hi\n[6. 6.]"
    assert svg(two)[0].startswith("<svg") and "0:1" in svg(two)[0] and "[S(0)]" in text(two)
    assert "[3] 6.0" in text(three)
    assert text(four) == "2"


def test_kernel_errors(sockets):
    outputs = execute(sockets, "tpsh", "y = 1\nones(3) @ ones([4, 4])", "y", allow_errors=True)
    assert outputs[0][0].ename == "argument" and "<cell>:2:9" in "\n".join(outputs[0][0].traceback)
    assert text(outputs[1]) == "1"


def test_kernel_commands(sockets):
    help_, doc, who, ranks, both, wrong, after, time_ = execute(
        sockets, "tpsh", ":help", "all_reduce?", "x = 3\n:who", ":ranks 2", "y = ones(3)[\n:2\n]\n:rank 1 rank() + 5\n:viz distribute_tensor(ones(4), init_device_mesh(\"cpu\", (2,)), [Shard(0)])",
        "y = 1\n:nonsense", "y", ":time all_reduce(ones(2))", allow_errors=True)
    assert ":doc NAME" in text(help_) and ":break" not in text(help_)
    assert text(doc).startswith("all_reduce(")
    assert text(who).startswith("x  int 3")
    assert text(ranks) == "2 ranks, no variables\n"
    assert text(both).startswith("6\n") and svg(both)
    assert wrong[0].ename == "usage" and ":nonsense: unknown command" in wrong[0].evalue
    assert text(after) == "1"
    assert "[2. 2.]" in text(time_) and "took" in text(time_)


def test_magic_notebook(sockets):
    outputs = execute(sockets, "python3", "%load_ext tpsh", "%%tpsh -n 4\nx = all_reduce(ones(2))\nx", "%%tpsh\n" + SHARDED, "%%tpsh\nfail('no')", "%tpsh_end", allow_errors=True)
    assert text(outputs[1]) == "[4. 4.]\n"
    assert "<svg" in svg(outputs[2])[0]
    assert "Error in fail: no" in text(outputs[3]) + str(outputs[3])


def test_kernel_interrupt_and_completion(sockets):
    manager = KernelManager(kernel_name="tpsh", **sockets)
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)
        client.execute("x = 1", reply=True, timeout=300)
        reply = client.complete("all_red", reply=True, timeout=300)["content"]
        assert "all_reduce" in reply["matches"] and (reply["cursor_start"], reply["cursor_end"]) == (0, 7)
        assert ":ranks " in client.complete(":ra", reply=True, timeout=300)["content"]["matches"]
        found = client.inspect("y = all_reduce(x)", 8, reply=True, timeout=300)["content"]
        assert found["found"] and found["data"]["text/plain"].startswith("all_reduce(")
        assert not client.inspect("x", 1, reply=True, timeout=300)["content"]["found"]
        client.execute("while True: pass", stop_on_error=False)  # else Jupyter aborts what comes soon after
        while client.get_iopub_msg(timeout=300)["content"].get("code") != "while True: pass":
            pass
        time.sleep(0.5)  # until it runs: Jupyter ignores interrupts between cells
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=300)["content"]
        while reply["status"] == "ok":
            reply = client.get_shell_msg(timeout=300)["content"]
        assert reply["ename"] == "interrupted"
        assert client.execute("x + 1", reply=True, timeout=300)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_session():
    s = Session(2)
    try:
        assert s.execute("x = rank()\nx") == ("[0] 0\n[1] 1\n", [])
        threading.Timer(0.3, s.interrupt).start()
        with pytest.raises(Error) as e:
            s.execute("while True: pass")
        assert e.value.kind == "interrupted"
        assert s.execute("x + 1")[0] == "[0] 1\n[1] 2\n"
        s.execute(":ranks 3")
        assert s.ranks == 3 and s.execute("world_size()")[0] == "3\n"
        start, names = s.complete("y = all_red")
        assert start == 4 and "all_reduce" in names
    finally:
        s.close()
