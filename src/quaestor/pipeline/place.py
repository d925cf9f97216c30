"""A folder on any file system: where a lake lives, and where dumps lie.

Rules
  F1  A local path and a URI (file, hdfs, s3, gs) are used alike; tasks on other machines open the same names.
  F2  A file is replaced in one step: readers see the old content or the new one. Locally the content and its name are
      on the disk before `replace` returns; an object store replaces an object in one step by nature.
  F3  What others have removed already is not an error to remove.
  F4  Whether a dump can be read is found out by reading its first byte. A dump is read twice, first for its digest: a
      pipe or a device is none, and is not opened, for that may wait for ever.

Called by lake, by the doors, by the tasks of ingest and by the data source.  Calls Arrow's file systems.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from quaestor.pipeline.errors import LakeError
from quaestor.smf.detection import UnusableDumpError, reason_of

_FRESH = ".new-"  # between a file's name and the process that writes its next content
_SPARK_SCHEMES = {"s3://": "s3a://", "gs://": "gs://"}


class Place:
    """A folder, named by a local path or a URI (F1)."""

    def __init__(self, root: str | Path) -> None:
        text = str(root)
        self.is_local = "://" not in text or text.startswith("file://")
        if "://" not in text:
            text = str(Path(text).absolute())
        self.root = text
        self._base: str
        try:
            found = fs.FileSystem.from_uri(text) if "://" in text else (fs.LocalFileSystem(), text)
        except (OSError, pa.ArrowInvalid) as error:
            raise LakeError(f"{text}: {error}") from None
        self.filesystem, self._base = found

    def __reduce__(self) -> tuple[type["Place"], tuple[str]]:
        return (Place, (self.root,))

    def path(self, name: str) -> str:
        """What the file system calls the file."""
        return f"{self._base}/{name}" if name else self._base

    def spark_path(self, name: str) -> str:
        """What Spark calls the file: Hadoop takes names as they are, not percent-encoded as a URI has them (F1)."""
        root = unquote(self.root) if "://" in self.root else self.root
        full = f"{root}/{name}" if name else root
        scheme = next((each for each in _SPARK_SCHEMES if full.startswith(each)), "")
        if scheme:
            return _SPARK_SCHEMES[scheme] + full.removeprefix(scheme)
        return full if "://" in full else f"file://{full}"

    def exists(self, name: str) -> bool:
        return bool(self.filesystem.get_file_info(self.path(name)).type != fs.FileType.NotFound)

    def size(self, name: str) -> int:
        return int(self.filesystem.get_file_info(self.path(name)).size)

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(self.path(name)) as stream:
            return bytes(stream.read())

    def make_folder(self, name: str) -> None:
        self.filesystem.create_dir(self.path(name), recursive=True)

    def replace(self, name: str, content: bytes) -> None:
        """Give `name` this content in one step (F2)."""
        if not self.is_local:
            with self.filesystem.open_output_stream(self.path(name)) as stream:
                stream.write(content)
            return
        target = Path(self.path(name))
        fresh = target.with_name(f".{target.name}{_FRESH}{os.getpid()}")
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
        sync_folder(target.parent)

    def remove_fresh(self, folder: str, name: str = "") -> None:
        """Remove what was to become a file (of that name) in `folder` and never did, for who wrote it was killed."""
        if self.is_local:
            for each in Path(self.path(folder)).iterdir():
                if is_fresh(each.name, name):
                    each.unlink(missing_ok=True)  # F3

    def remove(self, name: str) -> None:
        try:
            self.filesystem.delete_file(self.path(name))
        except FileNotFoundError:  # F3
            return

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        """Every file below `folder`: its name below the root, and its size."""
        chosen = fs.FileSelector(self.path(folder), recursive=True, allow_not_found=True)
        for each in self.filesystem.get_file_info(chosen):
            if each.type == fs.FileType.File:
                yield each.path[len(self._base) + 1 :], int(each.size)


def is_fresh(found: str, name: str = "") -> bool:
    """Whether a file is the new content of a file (of that name) that has not taken its place (F2)."""
    target, mark, process = found.removeprefix(".").rpartition(_FRESH)
    return found.startswith(".") and bool(mark) and process.isdecimal() and name in ("", target)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_dump(name: str) -> BinaryIO:
    """A dump to read, local or at a URI (F1)."""
    if "://" not in name:
        return Path(name).open("rb")
    filesystem, path = fs.FileSystem.from_uri(name)
    return cast("BinaryIO", filesystem.open_input_file(path))


def dump_size(name: str) -> int:
    """The size of a dump in bytes; raises OSError when there is none."""
    if "://" not in name:
        return Path(name).stat().st_size
    filesystem, path = fs.FileSystem.from_uri(name)
    found = filesystem.get_file_info(path)
    if found.type != fs.FileType.File:
        raise FileNotFoundError(f"no such file: {name}")
    return int(found.size)


def readable_size(name: str) -> int:
    """The size of a dump that can be read; `UnusableDumpError` says in few words why one cannot (F4)."""
    try:
        if "://" not in name:
            kind = Path(name).stat().st_mode
            if not stat.S_ISREG(kind):
                raise UnusableDumpError("is a directory" if stat.S_ISDIR(kind) else "not a file")
        size = dump_size(name)
        with open_dump(name) as stream:
            if not stream.read(1):
                raise UnusableDumpError("empty")
    except OSError as error:
        raise UnusableDumpError(reason_of(error)) from None
    except pa.ArrowException as error:  # a URI that no file system is known for
        raise UnusableDumpError(str(error).partition("\n")[0]) from None
    return size


def is_there(name: str) -> bool:
    """Whether there is a dump of that name."""
    try:
        dump_size(name)
    except OSError:
        return False
    return True
