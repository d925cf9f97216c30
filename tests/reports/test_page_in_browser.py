"""The page in a real browser: every chart is drawn, nothing is asked of a network, no error is logged."""

import re
import shutil
import subprocess

import pytest

from quaestor.reports.page import PICTURES, page
from reports.given import four_weeks

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
    "--dump-dom",
]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium to look at the page")
def test_a_browser_draws_every_chart(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page(four_weeks(), "MQ accounts", ""), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert 'data-charts="drawn"' in done.stdout
    charts = sum(len(each.captions) for each in PICTURES)
    assert charts == len(re.findall(r'class="chart js-plotly-plot"', done.stdout))
    assert charts <= done.stdout.count('<svg class="main-svg"')
    assert [] == [line for line in done.stderr.splitlines() if "CONSOLE" in line]
