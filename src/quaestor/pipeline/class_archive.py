"""The class archive: what Spark's JVM loads, prepared once, so that later sessions start in half the time.

Rules
  A1  An archive belongs to one Java and one Spark: its name has a digest of both.
  A2  The first session records what it loads, and its JVM writes the archive when it ends; one session at a time does.
  A3  An archive is put in place by a later session, when nobody has written to it for a while: a JVM that is still
      writing, or was killed over it, harms nobody. The JVM itself refuses one that does not fit, and starts without,
      in silence.
  A4  A record that was never finished is begun again after ten minutes.

Called by session, for JVMs on this machine.  Calls nothing of the house.
"""

import os
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyspark

_WRITTEN_FOR_S = 10.0  # nobody writes to it any more
_GIVEN_UP_S = 600.0
_SILENT = "-Xlog:disable"


def options(private: Path, java: Path, now: Callable[[], float] = time.time) -> str:
    """What to tell a JVM of `java`, so that it uses the archive in a folder of ours, or makes it (A1, A2)."""
    archive = private / f"classes-{_digest(java)}.jsa"
    recording = archive.with_suffix(".recording")
    _put_in_place(recording, archive, now())
    if archive.exists():
        return f"-XX:SharedArchiveFile={archive} -Xshare:auto {_SILENT}"
    if not _claimed(recording):
        return _SILENT
    return f"-XX:ArchiveClassesAtExit={recording.with_suffix('.written')} {_SILENT}"


def _digest(java: Path) -> str:
    """One for each Java and each Spark (A1)."""
    release = java / "release"
    told = release.read_text(encoding="utf-8") if release.exists() else ""
    return sha256(f"{java}\n{told}\n{pyspark.__file__}\n{pyspark.__version__}".encode()).hexdigest()[:16]


def _put_in_place(recording: Path, archive: Path, now: float) -> None:
    """Use what an earlier session recorded, if it is whole; forget a record that never came to an end (A3, A4)."""
    written = recording.with_suffix(".written")
    try:
        if written.exists() and now - written.stat().st_mtime > _WRITTEN_FOR_S:
            written.replace(archive)
            recording.unlink(missing_ok=True)
        elif recording.exists() and now - recording.stat().st_mtime > _GIVEN_UP_S:
            recording.unlink()
    except FileNotFoundError:
        return  # another session did it


def _claimed(recording: Path) -> bool:
    """Whether this session is the one that records (A2)."""
    try:
        os.close(os.open(recording, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True
