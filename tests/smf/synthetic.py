"""Synthetic dumps as columns: generated in memory, decoded, with the number of the interval beside every row."""

import io
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quaestor.smf.columns import decode
from quaestor.smf.dump import DumpWriter
from quaestor.smf.framing import DumpReader
from quaestor.smf.synth.generate import generate, with_days
from quaestor.smf.synth.profile_file import at_level, load_profile


def dump_of(profile, size_bytes=None, **options):
    """The bytes of a synthetic dump, and what the generator says of it."""
    stream = io.BytesIO()
    with DumpWriter(stream, **options) as dump:
        made = generate(profile, dump, size_bytes=size_bytes)
    return stream.getvalue(), made


@dataclass
class Rows:
    """The rows of one structure; columns by name, absent values as NaN or None."""

    table: pa.Table

    def __len__(self):
        return self.table.num_rows

    def __getitem__(self, name):
        return self.table[name].combine_chunks().to_numpy(zero_copy_only=False)

    def where(self, mask):
        return Rows(self.table.filter(pa.array(mask)))

    def columns(self, *names):
        return [self[name] for name in names]


class Installation:
    """All tables of a synthetic dump."""

    def __init__(self, profile):
        self.profile = profile
        data, self.made = dump_of(profile)
        self.tables, self.inventory = {}, {}
        parts = {}
        for block in DumpReader(io.BytesIO(data)).blocks():
            decoded = decode(block)
            assert [] == decoded.damages
            for (name, release), count in decoded.inventory.items():
                self.inventory[name, release] = self.inventory.get((name, release), 0) + count
            for structure, table in decoded.tables.items():
                parts.setdefault(structure, []).append(table)
        for structure, tables in parts.items():
            self.tables[structure] = Rows(self._numbered(structure, pa.concat_tables(tables)))
        if "WTAS" in self.tables:
            self._number_queues()

    def __getitem__(self, structure):
        return self.tables[structure]

    def __contains__(self, structure):
        return structure in self.tables

    def _numbered(self, structure, table):
        """With a column `interval`: which interval of the profile the row belongs to, in local time."""
        zones = {each.name: each.zone_minutes * 60_000_000 for each in self.profile.queue_managers}
        start = int(datetime.combine(self.profile.start, time(), UTC).timestamp()) * 1_000_000
        column = "interval_end" if structure == "WTAS" else "utc_time"
        if pc.all(pc.is_null(table[column])).as_py():
            return table
        moment = table[column].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
        local = moment + np.array([zones[name] for name in table["queue_manager"].to_pylist()])
        late = 0 if structure == "WTAS" else 200_000  # statistics are built just after their interval
        interval = -(-(local - start - late) // self.profile.interval_us) - 1
        return table.append_column("interval", pa.array(interval))

    def _number_queues(self):
        """A queue record belongs to the interval of its task."""
        tasks, queues = self["WTAS"], self["WQST"].table
        of_task = dict(zip(tasks["position"].tolist(), tasks["interval"].tolist(), strict=True))
        interval = [of_task.get(position, -1) for position in queues["position"].to_pylist()]
        queues = queues.drop_columns(["interval"]).append_column("interval", pa.array(interval))
        self.tables["WQST"] = Rows(queues)

    def sums(self, structure, *figures, by=()):
        """Sums of figures by queue manager, interval and some columns more."""
        table = self[structure].table
        keys = ["queue_manager", "interval", *by]
        grouped = table.group_by(keys).aggregate([(figure, "sum") for figure in figures])
        return {
            tuple(row[key] for key in keys): tuple(row[f"{figure}_sum"] for figure in figures)
            for row in grouped.to_pylist()
        }


def thin(profile, share):
    """The profile with fewer short tasks, for tests that read record by record."""
    from dataclasses import replace

    return replace(
        profile,
        applications=tuple(replace(each, tasks_per_hour=each.tasks_per_hour * share) for each in profile.applications),
    )


@cache
def installation(name, days=None, level=None):
    """A shipped profile, generated and decoded once."""
    profile = with_days(load_profile(name), days)
    return Installation(at_level(profile, level) if level else profile)
