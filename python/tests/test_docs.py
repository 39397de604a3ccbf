"""What the page says runs."""

import re
from pathlib import Path

PAGES = [Path(__file__).parents[2] / "docs/python.md", Path(__file__).parents[1] / "README.md"]


def test_pages(capsys):
    for page in PAGES:
        names = {}
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
            exec(compile(block, page.name, "exec"), names)
    out = capsys.readouterr().out
    assert "mismatch [0, 1, 2, 3] <stdin>:1:" in out and "[4. 4. 4.]" in out
    assert "(6, 4) as [R, S(1)] on" in out
