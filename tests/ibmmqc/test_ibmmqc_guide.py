"""The guide for programs written for IBM MQ is true: its program runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ibmmq", reason="IBM's package is not installed")
ROOT = Path(__file__).parents[2]


def test_the_program_of_the_guide_runs(tmp_path):
    guide = (ROOT / "docs" / "guides" / "ibmmq.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "b'one order'\n" == run.stdout
