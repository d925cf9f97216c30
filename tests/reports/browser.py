"""A page in headless Chromium: what it logged, what became of it, and how wide it came out."""

import re
import shutil
import subprocess
from dataclasses import dataclass

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH: scripts/chromium installs it")
DESKTOP, PHONE = 1280, 500  # Chromium opens no narrower window without a device; 500 is below the page's phone width
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
]
_MEASURE = """<script>setInterval(() => {
  const root = document.documentElement;
  root.dataset.width = root.scrollWidth;
  root.dataset.window = window.innerWidth;
  const boxes = [...document.querySelectorAll(".js-plotly-plot")].map((plot) => {
    const legend = plot.querySelector(".legend"), area = plot.querySelector(".nsewdrag");
    if (!legend || !area) return 0;
    return Math.max(0, Math.round(legend.getBoundingClientRect().bottom - area.getBoundingClientRect().top));
  });
  root.dataset.covered = Math.max(0, ...boxes);
  const beyond = [...document.querySelectorAll(".js-plotly-plot")].flatMap((plot) =>
    [...plot.querySelectorAll(".ytick text")].map((label) =>
      plot.getBoundingClientRect().left - label.getBoundingClientRect().left));
  root.dataset.cut = Math.max(0, ...beyond.map(Math.round));
}, 200);</script>"""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a browser made of a page."""

    dom: str
    console: list[str]

    def number(self, name):
        """A figure the page measured of itself: `width`, `window`, `covered` (pixels of charts under a legend), `cut`
        (pixels of a name beyond the edge of its chart).
        """
        return int(re.search(rf'<html[^>]* data-{name}="(\d+)"', self.dom)[1])


def look(html, folder, width):
    """Open a page in a window of that width; a picture of it is left in the folder."""
    path = folder / f"page-{width}.html"
    path.write_text(html.replace("</body>", f"{_MEASURE}</body>"), encoding="utf-8")
    command = [CHROMIUM, *_FLAGS, f"--window-size={width},1000", f"--user-data-dir={folder / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    return Looked(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])
