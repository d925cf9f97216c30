"""The group that most tests of shared queues begin with."""

import pytest

from qmgr.shared.sharing import Sharing


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
