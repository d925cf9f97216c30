"""The folder of a session is nobody else's (N9)."""

import os
import stat

import pytest

from quaestor.pipeline import session
from quaestor.pipeline.errors import NoSparkError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where it is made."""
    monkeypatch.setattr(session.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path / f"quaestor-spark-{os.getuid()}"


def test_it_is_made_for_us_alone_and_found_again(folder):
    assert folder == session._private() == session._private()
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)


def test_others_may_look_but_not_write(folder):
    folder.mkdir()
    folder.chmod(0o755)
    assert folder == session._private()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_one_that_others_may_write_is_refused(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(NoSparkError, match=r"may be written by others .* TMPDIR"):
        session._private()


def test_one_that_is_another_users_is_refused(folder, monkeypatch):
    another = os.getuid() + 1
    folder.with_name(f"quaestor-spark-{another}").mkdir(mode=0o700)
    monkeypatch.setattr(session.os, "getuid", lambda: another)
    with pytest.raises(NoSparkError, match="may be written by others"):
        session._private()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_no_folder_is_refused(folder, tmp_path, kind):
    """Also a link to a folder of ours: whoever made it may make it lead elsewhere."""
    if kind == "link":
        (tmp_path / "ours").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "ours")
    else:
        folder.touch(mode=0o600)
    with pytest.raises(NoSparkError, match="may be written by others"):
        session._private()
