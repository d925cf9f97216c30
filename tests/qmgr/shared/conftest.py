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
