"""Following a folder where dumps keep arriving.

Rules
  B1  The ledger of the lake is the checkpoint. Each round lists the folder and loads what is not in the ledger, in one
      change of the lake; killed at any moment, the next round finds the same files missing and loads them. A record
      that arrives twice is loaded once (loading, O1). So no record is lost or doubled, and there is no second state
      that could disagree with the tables.
  B2  A dump is loaded when it has settled: same size and time of change in two rounds. A dump that grew after all, or
      was replaced by another of its size, is another content; its records that are known are left out. At a start, what
      has the name and size of the ledger is believed to be that dump.
  B3  Hidden files and unfinished transfers (.part, .tmp, .filepart) are not looked at.
  B4  A dump that vanishes between a look and its load is no failure: the next round sees what is there.
  B5  A dump that is there and cannot be read, or is empty, is told once. It is looked at in every round, and loaded
      when it can be.

Called by the doors.  Calls flow and lake.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from quaestor.pipeline import flow
from quaestor.pipeline.errors import LoadError
from quaestor.pipeline.flow import Definitions, LoadReport
from quaestor.pipeline.ingest import IngestReport
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.place import is_there, readable_size
from quaestor.smf.detection import UnusableDumpError

State = tuple[int, int]
"""Size and time of change."""

UNFINISHED = (".part", ".tmp", ".filepart")


@dataclass(slots=True)
class Follower:
    """Rounds over a folder; `step` is one of them."""

    spark: SparkSession | None
    root: str | Path
    folder: Path
    definitions: Definitions
    pattern: str = "*"
    say: Callable[[str], None] = lambda _: None
    wait: bool = True
    _seen: dict[str, State] = field(default_factory=dict)
    _taken: dict[str, State] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def step(self, *, settled: bool = False) -> LoadReport | None:
        """Load what has arrived and settled; None when there is nothing. `settled` takes all as they are now (B2)."""
        now = dict(self._arrived())
        ready = [name for name, state in now.items() if settled or self._seen.get(name) == state]
        self._seen = now
        fresh, refused = self._readable(sorted(set(ready) - self._loaded(now)))
        if not fresh:
            return LoadReport(IngestReport(unread=refused)) if refused else None
        try:
            report = flow.load(self.spark, self.root, fresh, self.definitions, wait=self.wait, say=self.say)
        except LoadError:
            if all(map(is_there, fresh)):
                raise
            return None  # B4
        self._taken.update((name, now[name]) for name in fresh)
        report.ingest.unread = refused + [each for each in report.ingest.unread if is_there(each[0])]  # B4
        return report

    def _readable(self, fresh: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
        """Dumps that can be read; others, with the reason, that were not told of yet (B5)."""
        told, self._refused = self._refused, {}
        for name in fresh:
            try:
                readable_size(name)
            except UnusableDumpError as error:
                self._refused[name] = str(error)
        refused = [(name, why) for name, why in self._refused.items() if told.get(name) != why and is_there(name)]
        return [name for name in fresh if name not in self._refused], refused

    def _arrived(self) -> Iterator[tuple[str, State]]:
        for path in sorted(self.folder.glob(self.pattern)):
            if path.is_file() and not path.name.startswith(".") and path.suffix not in UNFINISHED:
                with suppress(FileNotFoundError):  # B4
                    found = path.stat()
                    yield str(path.absolute()), (found.st_size, found.st_mtime_ns)

    def _loaded(self, now: dict[str, State]) -> set[str]:
        """Names in the ledger whose dump is still what was loaded (B2); any doubt is settled by digest."""
        snapshot = Lake.made_at(self.root).snapshot()
        known = {(name, dump.bytes) for dump in snapshot.digests().values() for name in dump.names}
        same = {name: state for name, state in now.items() if (name, state[0]) in known}
        return {name for name, state in same.items() if self._taken.setdefault(name, state) == state}
