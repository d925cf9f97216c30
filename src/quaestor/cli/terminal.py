"""How wide the terminal is on which a person reads.

Called by commands that print lines too long for a narrow one.
"""

import os
import sys


def columns(most: int) -> int:
    """Those of the terminal, if it is a narrower one; what goes into a file or a pipe is the same everywhere."""
    return min(most, os.get_terminal_size().columns or most) if sys.stdout.isatty() else most
