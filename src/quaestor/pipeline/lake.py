"""The lake: tables made of Parquet files in a folder, changed in one step or not at all.

    lake.json       the head: format version, the lists that are current, the summary tables
    lake.lock       held by who changes the lake
    manifest/       lists of live files and of loaded dumps, one pair for each snapshot; marks of loads under way
    raw/TABLE/day=2026-01-31/queue_manager=QM01/LOAD-PART.parquet
    summary/TABLE/day=2026-01-31/LOAD.parquet

Rules
  K1  A file is alive when the current snapshot lists it. Files are written under names that no snapshot knows, and the
      replacement of `lake.json` makes them alive all at once: that is the commit. Killed before it, a load changed
      nothing; killed after it, everything.
  K2  What a killed load left behind bears its id and is swept by the next change. What a commit retires stays until
      the change after it, so that a reader of the snapshot before can finish.
  K3  A lake of a newer format is refused.
  K4  A folder that holds other things is not made into a lake. That is told before anything is done, and so
      is a place where none can be made.
  K5  A commit that finds another snapshot than the one it began with is given up.
  K6  Tables are read through the snapshot that is current when they are asked for. Who puts several together takes one
      snapshot for all of them: beside a load, one table would otherwise tell of records that the next one lacks.

Called by flow, ingest, reports and the doors.  Calls manifest, place, lock.
"""

import errno
import json
import os
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from quaestor import __version__
from quaestor.pipeline import manifest, reading
from quaestor.pipeline.errors import LakeError, LoadError, NewerLakeError, NoLakeError
from quaestor.pipeline.lock import locked
from quaestor.pipeline.manifest import LakeFile, LoadedDump, Snapshot
from quaestor.pipeline.place import Place, is_fresh

FORMAT = 1
HEAD, LOCK, MANIFEST = "lake.json", "lake.lock", "manifest"
_KEYS = {"snapshot", "files", "dumps", "summaries", "horizon", "retired"}
_OURS = {HEAD, LOCK, MANIFEST, manifest.RAW, manifest.SUMMARY}


class Lake:
    """A lake at a path or URI."""

    def __init__(self, root: str | Path) -> None:
        self.place = Place(root)

    @classmethod
    def at(cls, root: str | Path) -> "Lake":
        """The lake that is there already."""
        lake = cls(root)
        if not lake.place.exists(HEAD):
            raise NoLakeError(f"{root}: there is no lake; `quaestor lake load` makes one")
        lake.snapshot()
        return lake

    @classmethod
    def made_at(cls, root: str | Path) -> "Lake":
        """The lake that is there, or the empty one that the first commit will make (K4)."""
        lake = cls.to_be_at(root)
        lake.place.make_folder(MANIFEST)
        return lake

    @classmethod
    def to_be_at(cls, root: str | Path) -> "Lake":
        """The same, with nothing made yet: a place where no lake can be is refused (K4)."""
        lake = cls(root)
        if lake.place.is_local:
            folder = Path(lake.place.path(""))
            near = next(each for each in (folder, *folder.parents) if each.exists())
            if not near.is_dir():
                raise LakeError(f"{root if near == folder else near}: not a folder")
            if not os.access(near, os.W_OK):
                raise LakeError(f"{root}: {os.strerror(errno.EACCES)}")
            names = {each.name for each in folder.iterdir()} if folder.exists() else set()
            strangers = sorted(each for each in names - _OURS if not is_fresh(each, HEAD))
            if strangers and not lake.place.exists(HEAD):
                raise LakeError(f"{root}: not a lake, and not empty ({strangers[0]} is in it)")
        lake.snapshot()
        return lake

    # --- reading -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The current snapshot (K3); a reader that two commits overtake reads the head again."""
        head = self._head()
        while head is not None:
            try:
                return self._listed(head)
            except FileNotFoundError:
                now = self._head()
                if now == head:
                    raise LakeError(f"{self.place.root}: a list of its files is missing; the lake is damaged") from None
                head = now
        return manifest.EMPTY

    def _listed(self, head: dict[str, Any]) -> Snapshot:
        return Snapshot(
            head["snapshot"],
            manifest.unpacked(self.place.read(head["files"]), manifest.FILES_SCHEMA),
            manifest.unpacked(self.place.read(head["dumps"]), manifest.DUMPS_SCHEMA),
            head["summaries"],
            date.fromisoformat(head["horizon"]) if head["horizon"] else None,
            tuple(head["retired"]),
        )

    def _head(self) -> dict[str, Any] | None:
        if not self.place.exists(HEAD):
            return None
        try:
            head: dict[str, Any] = json.loads(self.place.read(HEAD))
            format_version = int(head["format"])
        except (ValueError, KeyError, TypeError):
            raise LakeError(_unreadable(self.place)) from None
        if format_version > FORMAT:
            raise NewerLakeError(
                f"{self.place.root}: lake format {format_version}, written by {head.get('writer', 'a newer version')};"
                f" this version knows formats up to {FORMAT}"
            )
        if not head.keys() >= _KEYS:
            raise LakeError(_unreadable(self.place))
        return head

    def list_of_files(self) -> str | None:
        """The name of the current list of live files, for tasks to read; None for an empty lake."""
        head = self._head()
        return head["files"] if head else None

    def table(
        self,
        spark: SparkSession,
        name: str,
        *,
        days: Collection[date] | None = None,
        queue_managers: Collection[str] | None = None,
        at: Snapshot | None = None,
    ) -> DataFrame:
        """A raw or summary table, or FILES or DUMPS, of the current snapshot or of the one given (K6).

        `days` and `queue_managers` narrow it to some partitions before Spark sees it.
        """
        chosen = at or self.snapshot()
        return reading.table(spark, self.place, chosen, name, days=days, queue_managers=queue_managers)

    def rows(self, name: str, wanted: Collection[str], *, at: Snapshot | None = None) -> pa.Table:
        """A summary table of the current snapshot, or of the one given, as Arrow with the columns wanted (K6)."""
        return reading.rows(self.place, at or self.snapshot(), name, wanted)

    def tables(self) -> list[str]:
        """The names of all tables."""
        return reading.names(self.snapshot())

    # --- changing ----------------------------------------------------------------------------------------------------

    @contextmanager
    def change(self, *, wait: bool = True, say: Callable[[str], None] = lambda _: None) -> Iterator["Change"]:
        """Hold the lock and collect a change; nothing is alive before its `commit` (K1).

        Left without a commit, the files of the change are removed.
        """
        if not self.place.is_local:
            with self._change() as change:
                yield change
            return
        with locked(Path(self.place.path(LOCK)), wait=wait, say=say), self._change() as change:
            yield change

    @contextmanager
    def _change(self) -> Iterator["Change"]:
        base = self.snapshot()
        self._sweep(base)
        change = Change(self, base, f"{base.number + 1:06d}-{uuid.uuid4().hex[:8]}")
        mark = _mark(change.id)
        self.place.replace(mark, b"")
        try:
            yield change
        finally:
            if not change.committed:
                self._remove_load(change.id)
            self.place.remove(mark)

    def _sweep(self, base: Snapshot) -> None:
        """Remove what the last commit retired and what dead loads left behind (K2)."""
        for name in base.retired:
            self.place.remove(name)
        for name, _ in list(self.place.walk(MANIFEST)):
            if name.startswith(f"{MANIFEST}/loading-"):
                self._remove_load(name.removeprefix(f"{MANIFEST}/loading-"))
                self.place.remove(name)
        self.place.remove_fresh("", HEAD)
        self.place.remove_fresh(MANIFEST)

    def _remove_load(self, load: str) -> None:
        head = self._head()
        live = {*self.snapshot().files["path"].to_pylist(), *((head["files"], head["dumps"]) if head else ())}
        for folder in (manifest.RAW, manifest.SUMMARY, MANIFEST):
            for name, _ in list(self.place.walk(folder)):
                if name.rpartition("/")[2].startswith(load) and name not in live:
                    self.place.remove(name)


@dataclass(slots=True)
class Change:
    """A change of a lake: what it adds and takes away, and the commit."""

    lake: Lake
    base: Snapshot
    id: str
    added: list[LakeFile] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    dumps: list[LoadedDump] = field(default_factory=list)
    summaries: dict[str, dict[str, object]] = field(default_factory=dict)
    horizon: date | None = None
    anew: bool = False
    committed: bool = False

    def start_over(self, summaries: Collection[str]) -> None:
        """Take away the details and the summaries that will be made again; what is left of purged days stays."""
        self.anew = True
        horizon = self.base.horizon
        for each in manifest.as_files(self.base.files):
            again = each.table in summaries and (horizon is None or (each.day is not None and each.day >= horizon))
            if each.kind == manifest.RAW or again:
                self.removed.add(each.path)

    @property
    def ledger(self) -> dict[str, LoadedDump]:
        """The dumps whose records are in the lake already."""
        return {} if self.anew else self.base.digests()

    @property
    def known_files(self) -> str | None:
        """The list of files whose records are in the lake already."""
        return None if self.anew else self.lake.list_of_files()

    def files(self) -> pa.Table:
        """The files that will be alive after the commit."""
        kept = manifest.without(self.base.files, self.removed)
        return pa.concat_tables([kept, manifest.files_table(self.added)])

    def preview(self) -> Snapshot:
        """The snapshot that the commit will make."""
        named = {each.digest for each in self.dumps}
        kept = [each for each in self.ledger.values() if each.digest not in named]
        return Snapshot(
            self.base.number + 1,
            self.files(),
            manifest.dumps_table(sorted([*kept, *self.dumps], key=lambda dump: dump.digest)),
            {**self.base.summaries, **self.summaries},
            self.horizon or self.base.horizon,
            tuple(sorted(self.removed)),
        )

    def commit(self) -> Snapshot:
        """Make the change (K1, K5)."""
        place, made = self.lake.place, self.preview()
        names = {each: f"{MANIFEST}/{self.id}.{each}.parquet" for each in ("files", "dumps")}
        place.replace(names["files"], manifest.packed(made.files))
        place.replace(names["dumps"], manifest.packed(made.dumps))
        head = self.lake._head()  # noqa: SLF001  the commit is the lake's own
        if (head["snapshot"] if head else 0) != self.base.number:
            raise LoadError(f"{place.root}: another load has changed this lake meanwhile; load again")
        old = [head["files"], head["dumps"]] if head else []
        place.replace(HEAD, json.dumps(self._new_head(made, names, old), indent=1).encode())
        self.committed = True
        return made

    def _new_head(self, made: Snapshot, names: dict[str, str], old: Collection[str]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "writer": f"quaestor {__version__}",
            "snapshot": made.number,
            **names,
            "summaries": made.summaries,
            "horizon": made.horizon.isoformat() if made.horizon else None,
            "retired": [*made.retired, *old],
        }


def _unreadable(place: Place) -> str:
    return f"{place.root}: {HEAD} cannot be read; is this a lake?"


def _mark(load: str) -> str:
    return f"{MANIFEST}/loading-{load}"
