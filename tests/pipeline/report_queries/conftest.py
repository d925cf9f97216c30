"""Lakes of synthetic installations, loaded once: `small` with every table, `clean` and `incidents` for exceptions."""

from functools import lru_cache

import pytest

from quaestor.smf.dump import DumpWriter
from quaestor.smf.synth.generate import generate
from quaestor.smf.synth.profile_file import load_profile


@pytest.fixture(scope="session")
def installation(spark, tmp_path_factory):
    """`installation(profile)`: what was planted, and the provider of its tables."""
    from quaestor.pipeline.flow import Definitions, load
    from quaestor.pipeline.lake import Lake
    from quaestor.pipeline.report_queries.exceptions import SOURCES
    from quaestor.pipeline.report_queries.summary_rows import LakeTables

    folder = tmp_path_factory.mktemp("installations")
    looked_at = {each.table for each in SOURCES.values()}

    @lru_cache(maxsize=4)
    def made(name):
        dump, profile = folder / f"{name}.smf", load_profile(name)
        with dump.open("wb") as stream, DumpWriter(stream) as writer:
            planted = generate(profile, writer).incidents
        every = Definitions.read()
        some = Definitions({table: each for table, each in every.tables.items() if table in looked_at}, every.plan)
        load(spark, folder / name, [dump], every if name == "small" else some)
        return planted, LakeTables(Lake.at(folder / name), lambda: spark)

    return made
