#!/usr/bin/env python3
"""Compile the hot path of the queue manager with mypyc into `build/compiled`, beside a copy of the package.

Rules
  CO1 The source tree is not touched and plain Python keeps working: who wants the compiled build puts `build/compiled`
      first on PYTHONPATH. A module that was not compiled is imported from the copy as it is.
  CO2 Only what a put, a get or a commit runs through is compiled; a class that others extend, and so must stay open
      to plain subclasses, is marked in the copy.
  CO3 A build is made from nothing: no module of an earlier source is left behind.

Called by `make compile`.  Needs mypy, setuptools and a C compiler.
"""

import os
import shutil
import sys
from pathlib import Path

from mypyc.build import mypycify
from setuptools import setup

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "compiled"
HOT = {
    "storage": "active_log changes log_archives log_files log_record page page_set",
    "qmgr": "lock queue_store",
    "qmgr/log": "filling forcing in_flight manager meter reading",
    "qmgr/buffer": "__init__ frame meter pool stealing writing",
    "qmgr/recovery": "changing checkpointing manager unit",
    "qmgr/data": "express inserting manager objects occupied queue space stored volatile",
    "qmgr/message": "finding getting put_lookup put_with_care putting shared_getting thread waiting",
}
EXTENDED = {"qmgr/queue_store": "Arrival"}
"""Classes that have plain subclasses: the store that tests compare with has arrivals of its own."""


def copy_package() -> None:
    """The package as it is, and nothing of an earlier build (CO3)."""
    shutil.rmtree(PLACE, ignore_errors=True)
    for package in ("quaestor", "ibmmqc"):
        shutil.copytree(ROOT / "src" / package, PLACE / package, ignore=shutil.ignore_patterns("__pycache__"))


def open_to_subclasses() -> None:
    """Mark the classes that plain modules extend (CO2)."""
    for module, name in EXTENDED.items():
        path = PLACE / "quaestor" / f"{module}.py"
        text = path.read_text()
        plain = f"\nclass {name}"
        if text.count(plain) != 1:
            sys.exit(f"{path}: no class {name} to mark")
        marked = "\nimport mypy_extensions\n\n\n@mypy_extensions.mypyc_attr(allow_interpreted_subclasses=True)"
        path.write_text(text.replace(plain, marked + plain))


def main() -> None:
    copy_package()
    open_to_subclasses()
    os.chdir(PLACE)
    modules = [f"quaestor/{package}/{name}.py" for package, names in HOT.items() for name in names.split()]
    options = ["--strict", "--ignore-missing-imports", "--disable-error-code=import-untyped"]
    setup(
        name="quaestor-compiled",
        packages=[],
        ext_modules=mypycify([*options, *modules], opt_level="2", debug_level="0"),
        script_args=["--quiet", "build_ext", "--inplace", "--build-temp", "build/temporary"],
    )


if __name__ == "__main__":
    main()
