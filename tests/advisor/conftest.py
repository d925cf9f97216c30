"""A small synthetic dump, and its tables."""

import pyarrow as pa
import pytest

from quaestor.smf.columns import decode
from quaestor.smf.dump import DumpWriter
from quaestor.smf.framing import DumpReader
from quaestor.smf.synth.generate import generate, with_days
from quaestor.smf.synth.profile_file import load_profile


@pytest.fixture(scope="session")
def synthetic_dump(tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / "clean.smf"
    with path.open("wb") as stream, DumpWriter(stream) as dump:
        generate(with_days(load_profile("clean"), 1), dump)
    parts = {}
    with path.open("rb") as stream:
        for block in DumpReader(stream).blocks():
            for structure, table in decode(block).tables.items():
                parts.setdefault(structure, []).append(table)
    return path, {structure: pa.concat_tables(several) for structure, several in parts.items()}
