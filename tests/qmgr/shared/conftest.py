"""The group that most tests of shared queues begin with."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from qmgr.shared.sharing import Sharing

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path(request):
    """In memory, where that can be: a group forces its repository often, and what a power cut leaves is said by disks
    that play one. Repositories on a real disk are tested with the tables."""
    if not os.access(MEMORY, os.W_OK):
        yield request.getfixturevalue("tmp_path")
        return
    with TemporaryDirectory(dir=MEMORY, prefix="quaestor-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def sharing(tmp_path):
    """Two members and a shared queue."""
    made = Sharing(tmp_path)
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define()
    return made


@pytest.fixture
def recoverable(tmp_path):
    """Two members and a queue on each of two structures that can be recovered."""
    made = Sharing(tmp_path, structures=("APPL1", "APPL2"), RECOVER="YES")
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define()
    made.define("BILLS", "APPL2")
    made.members["QM2"].messages.follow_step()
    return made


@pytest.fixture
def one(sharing):
    """An application of the first member."""
    return sharing.members["QM1"].connect("ALICE")


@pytest.fixture
def two(sharing):
    """And of the second."""
    return sharing.members["QM2"].connect("BOB")
