"""What a command shows on a terminal of so many columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown(columns, *arguments):
    """Standard output of `quaestor ARGUMENTS`, as the terminal receives it, without styles."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "TERM": "xterm"}
    command = [sys.executable, "-m", "quaestor.cli.main", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
        os.close(theirs)
        received = b""
        with suppress(OSError):  # the other side is closed
            while some := os.read(ours, 4096):
                received += some
    os.close(ours)
    return _STYLE.sub("", received.decode())
