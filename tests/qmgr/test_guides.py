"""The guides are true: every Python block of a guide runs, in order, in one directory."""

import gc
import re
from pathlib import Path

import pytest

GUIDE_SAYS = {
    "embedded.md": ("one order", "100 order 99 of order 0", "seven", "MQRC 2033", "an order", "ship 4711"),
    "mqsc.md": ("True 1",),
    "accounting.md": (),
}
GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.fixture
def collector():
    """A guide may turn Python's collector down; for its own examples."""
    looks = gc.get_threshold()
    yield
    gc.set_threshold(*looks)


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize(("guide", "expected"), GUIDE_SAYS.items())
def test_the_examples_of_a_guide_run(guide, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```", (GUIDES / guide).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert blocks
    for block in blocks:
        exec(compile(block, guide, "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    for words in expected:
        assert words in printed
