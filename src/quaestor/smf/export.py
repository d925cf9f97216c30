"""Export: dumps become one file per structure, on all cores, in bounded memory.

Rules
  V1  A dump is read in parts (`splitting`); each part becomes pieces, one per structure; the pieces of all parts,
      in the order of the dump, become the files. Rows and their order do not depend on the number of processes.
  V2  A part that did not land on its end is read again together with what follows (Y3); its pieces are dropped.
  V3  Files appear whole or not at all: everything is made in a hidden folder beside them and moved when all is done.
      A run that fails or is stopped leaves nothing behind and nothing replaced.
  V4  Memory is bounded by the part, not by the dump: no process holds more than a few windows of one part.
  V5  A dump that cannot be used does not stop the others; its reason is told.

Called by the command line.  Calls splitting, crew, streaming, parquet_tables and text_tables.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import pyarrow as pa

from quaestor.layout import CP1047, CodePage, Layout
from quaestor.smf.arrow_schema import Names
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.crew import crew
from quaestor.smf.detection import UnusableDumpError
from quaestor.smf.framing import DumpReader
from quaestor.smf.memory import keep_freed_memory
from quaestor.smf.parquet_tables import ParquetFile, ParquetPieces
from quaestor.smf.records import STANDARD_INPUT, open_dump, open_input
from quaestor.smf.splitting import WHOLE, Part, split, together
from quaestor.smf.streaming import decode_blocks

WINDOW = 24 << 20
_LAYOUTS: dict[str, Layout] = {structure: section.LAYOUT for structure, section in SECTIONS.items()}
_MOST_DAMAGES = 100  # that a part names one by one; more are counted

Format = Literal["csv", "jsonl", "parquet"]


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What is to be written, and how dumps are to be read."""

    to: Format = "parquet"
    names: Names = "human"
    structures: tuple[str, ...] | None = None
    page: CodePage = CP1047
    leap_seconds: int = 0
    part_bytes: int = 0  # 0: as splitting thinks best


class Listener(Protocol):
    """Who is told what happens, in the order of the dumps."""

    def damaged(self, path: str, damages: Sequence[Damage], count: int) -> None:
        """`count` damages were met; the first of them are named."""

    def cannot_use(self, path: str, reason: str) -> None: ...

    def read(self, size: int) -> None:
        """So many more bytes of the dumps are done."""


@dataclass(frozen=True, slots=True)
class _Job:
    dump: int  # which of the dumps: the same path may be given twice
    path: str
    part: Part
    folder: Path
    options: ExportOptions


@dataclass(slots=True)
class _Done:
    """What a part gave: pieces by structure, damage, whether it landed on its end, why it could not be used."""

    pieces: dict[str, Path] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    damages: list[Damage] = field(default_factory=list)
    damage_count: int = 0
    landed: bool = True
    unusable: str = ""


class _Pieces(Protocol):
    """Takes the tables of a part, block by block."""

    def add(self, layout: Layout, table: pa.Table) -> None: ...

    def close(self) -> dict[str, Path]: ...


class _File(Protocol):
    """Grows by the pieces of a structure, in the order of the dump."""

    def add(self, piece: Path) -> None: ...

    def close(self) -> None: ...


# --- one part, in whatever process -----------------------------------------------------------------------------------


def _export_part(job: _Job) -> _Done:
    keep_freed_memory()
    done = _Done()
    job.folder.mkdir()
    pieces = _pieces(job)
    try:
        with _opened(job.path, job.part) as stream:
            reader = DumpReader(
                stream, window=WINDOW, framing=job.part.framing, position=job.part.start, limit=job.part.size
            )
            _read_blocks(reader, job.options, pieces, done)
    except UnusableDumpError as error:
        done.unusable = str(error)
    done.pieces = pieces.close()
    return done


def _read_blocks(reader: DumpReader, options: ExportOptions, pieces: _Pieces, done: _Done) -> None:
    damages: list[Damage] = []
    decoding = decode_blocks(
        _watched(reader, done), options.structures, options.page, options.names, options.leap_seconds, dictionary=True
    )
    for decoded in decoding:
        damages += decoded.damages
        for structure, table in decoded.tables.items():
            pieces.add(_LAYOUTS[structure], table)
            done.rows[structure] += len(table)
    done.damages = sorted(damages, key=lambda damage: damage.offset)[:_MOST_DAMAGES]
    done.damage_count = len(damages)


def _watched(reader: DumpReader, done: _Done) -> Iterator[Block]:
    """The blocks; damage in the last of them may mean that the part did not land on its end (V2)."""
    for block in reader.blocks():
        done.landed = not block.damages
        yield block


@contextmanager
def _opened(path: str, part: Part) -> Iterator[BinaryIO]:
    with open_input(path) as stream:
        if part.start:
            stream.seek(part.start)
        yield stream


def _pieces(job: _Job) -> _Pieces:
    if job.options.to == "parquet":
        return ParquetPieces(job.folder, job.options.names)
    from quaestor.smf.text_tables import TextPieces  # noqa: PLC0415 - a twentieth of a second that Parquet saves

    return TextPieces(job.folder, job.options.to, job.options.names)


# --- all parts, in the process that owns the files -------------------------------------------------------------------


def export(
    paths: Sequence[str], directory: Path, options: ExportOptions, processes: int, listener: Listener
) -> dict[str, int]:
    """Write the structures of the dumps to files in `directory`; rows written by structure."""
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = directory / f".quaestor-export-{os.getpid()}-{os.urandom(4).hex()}"
        stack.callback(shutil.rmtree, folder, ignore_errors=True)  # V3: whenever it is stopped
        folder.mkdir(mode=0o700)
        jobs = list(_jobs(paths, folder, options, listener))
        shared = STANDARD_INPUT not in paths  # which only this process has
        files = _Files(folder, options)
        for job, done in _in_order(jobs, min(processes, len(jobs)) if shared else 1):
            _tell(listener, job, done)
            files.add(done)
            shutil.rmtree(job.folder)
        for path in files.close():
            path.replace(directory / path.name)
    return dict(files.rows)


def _tell(listener: Listener, job: _Job, done: _Done) -> None:
    if done.unusable:
        listener.cannot_use(job.path, done.unusable)  # V5
    if done.damage_count:
        listener.damaged(job.path, done.damages, done.damage_count)
    if job.path != STANDARD_INPUT:
        listener.read(max(0, (job.part.stop or _size(job.path)) - job.part.start))


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # gone since it was read
        return 0


def _jobs(paths: Sequence[str], folder: Path, options: ExportOptions, listener: Listener) -> Iterator[_Job]:
    """Every part of every dump."""
    number = 0
    for dump, path in enumerate(paths):
        try:
            parts = _split(path, options.part_bytes)
        except UnusableDumpError as error:
            listener.cannot_use(path, str(error))
            continue
        for part in parts:
            yield _Job(dump, path, part, folder / f"part-{number}", options)
            number += 1


def _split(path: str, part_bytes: int) -> list[Part]:
    if path == STANDARD_INPUT or _is_read_once(Path(path)):
        return [WHOLE]
    with open_dump(path):
        pass  # says why not
    try:
        return split(Path(path), part_bytes) if part_bytes else split(Path(path))
    except OSError:  # who reads it will say why, and read what can be read
        return [WHOLE]


def _is_read_once(path: Path) -> bool:
    """Whether what is read is gone, so that a look at it would cost it (Y4)."""
    return path.is_fifo() or path.is_char_device() or path.is_socket()


def _in_order(jobs: list[_Job], processes: int) -> Iterator[tuple[_Job, _Done]]:
    """Read all parts; those that did not land together with what follows them (V2)."""
    with crew(jobs, _export_part, processes) as reading:
        at = 0
        while at < len(jobs):
            job, done = jobs[at], reading.result(at)
            following = [each for each in jobs[at:] if each.dump == job.dump]
            taken = 1
            while not done.landed and taken < len(following):
                shutil.rmtree(job.folder)
                taken = min(2 * taken, len(following))  # doubling keeps the reading twice at most
                job = replace(job, part=together([each.part for each in following[:taken]]))
                done = _export_part(job)
            for number in range(at + 1, at + taken):
                reading.drop(number)
            yield job, done
            at += taken


class _Files:
    """One file for each structure that occurs."""

    def __init__(self, folder: Path, options: ExportOptions) -> None:
        self.rows: Counter[str] = Counter()
        self._folder = folder
        self._options = options
        self._files: dict[str, _File] = {}

    def add(self, done: _Done) -> None:
        for structure, piece in done.pieces.items():
            if structure not in self._files:
                self._files[structure] = self._open(structure)
            self._files[structure].add(piece)
        self.rows += done.rows

    def close(self) -> list[Path]:
        for each in self._files.values():
            each.close()
        return [self._path(structure) for structure in self._files]

    def _path(self, structure: str) -> Path:
        return self._folder / f"{structure}.{self._options.to}"

    def _open(self, structure: str) -> _File:
        options = self._options
        if options.to == "parquet":
            return ParquetFile(self._path(structure), _LAYOUTS[structure], options.names)
        from quaestor.smf.text_tables import TextFile  # noqa: PLC0415 - as above

        return TextFile(self._path(structure), _LAYOUTS[structure], options.names)
