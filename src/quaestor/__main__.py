"""`python -m quaestor`: the `quaestor` command where its script is not on the path."""

from quaestor.cli.main import main

main(prog_name="quaestor")
