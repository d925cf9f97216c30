"""The file that says which group a queue manager belongs to: it may have passwords in it (GS4)."""

import stat

import pytest

from model.answers import fails
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.group_settings import GROUP_FILE, GroupSettings, group_in, joining, save_group, told

REDIS, POSTGRESQL = "rediss://:of-redis@host:6379", "postgresql://user:of-postgres@host/database"


def test_the_file_is_for_its_owner_only(tmp_path):
    (tmp_path / GROUP_FILE).write_text("")  # as an earlier version left it, for everybody
    save_group(tmp_path, GroupSettings("QSG1", REDIS, POSTGRESQL))
    assert 0o600 == stat.S_IMODE((tmp_path / GROUP_FILE).stat().st_mode)
    assert [GROUP_FILE] == [file.name for file in tmp_path.iterdir()]


@pytest.mark.parametrize("place", ['a "quoted" place', "back\\slash", "Grüße \U0001f600"])
def test_whatever_stands_in_an_address_comes_back(tmp_path, place):
    made = GroupSettings("QSG1", REDIS, place)
    save_group(tmp_path, made)
    assert made == group_in(tmp_path)


@pytest.mark.parametrize("repository", [POSTGRESQL, "postgresql://host/database?user=me&password=of-postgres"])
def test_no_message_shows_a_password(tmp_path, repository):
    made = GroupSettings("QSG1", REDIS, repository)
    save_group(tmp_path, made)
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
        joining(tmp_path, GroupSettings("QSG2", REDIS, repository))
    assert "QSG1" in str(refused.value)
    assert "host" in told(made)
    for secret in ("of-redis", "of-postgres"):
        assert secret not in str(refused.value)
