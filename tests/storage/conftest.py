"""Databases that tests of the shared repository are run on."""

from itertools import count

import pytest

from quaestor.storage.shared_tables import open_tables
from servers import postgres_server

GROUPS = count(1)


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where each database is."""
    return str(tmp_path / "group.db") if request.param == "sqlite" else request.getfixturevalue("postgres").url


@pytest.fixture
def member(address):
    """A way for further members of one group to come to its tables."""
    group, opened = f"QSG{next(GROUPS)}", []

    def come():
        opened.append(open_tables(address, group))
        return opened[-1]

    yield come
    for each in opened:
        each.close()


@pytest.fixture
def tables(member):
    return member()
