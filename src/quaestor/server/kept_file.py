"""Kept file: a small file of a queue manager's directory that is never half written.

Rules
  KF1 What is written stands beside the file, is durable, and then takes its place: a crash leaves the old file or the
      new one, and a full disk the old one and nothing beside it. When it is said to be there the new one stays: a
      user who was removed does not come back with a power cut.
  KF2 What fails names the file.
  KF3 Who changes what others may be changing reads and writes alone, among all processes: nobody's change is lost.

Called by home, users and certificates.  Calls the disk.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quaestor.storage.real_disk import sync_directory

OWNER_ONLY, EVERYBODY_READS = 0o600, 0o644


def replace_file(path: Path, content: str | bytes, mode: int = OWNER_ONLY) -> None:
    """Write the whole file (KF1, KF2); who is not the only one to write it is alone meanwhile."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.unlink(missing_ok=True)  # left by a crash
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """While the block runs, nobody else who asks for this changes files of the directory (KF3)."""
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
