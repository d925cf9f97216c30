"""Commands as a person types them, in this process or in one of their own."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from quaestor.cli.main import main

ROOT = Path(__file__).parents[2]


def run(*words, code=0, **more):
    """What a command does; a traceback is nobody's answer."""
    done = CliRunner().invoke(main, [str(word) for word in words], **more)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert code == done.exit_code, done.output
    return done


def refusal(*words, **more):
    """The last line of what a command says that does nothing: exit code 2, and nothing on standard output (E1, E2)."""
    done = run(*words, code=2, **more)
    assert "" == done.stdout
    return done.stderr.splitlines()[-1]


def started(*words, redirected="", **more):
    """A command in a process of its own, with a shell's redirections."""
    line = ["sh", "-c", f'exec "$0" "$@" {redirected}', sys.executable, "-m", "quaestor.cli.main", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True, **more)
