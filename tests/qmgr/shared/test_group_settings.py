"""The file that says which group a queue manager belongs to: it may have passwords in it (GS4)."""

import stat

import pytest

import quaestor
from model.answers import fails
from quaestor.clock import FakeClock
from quaestor.mqi.reasons import Abend, Reason
from quaestor.qmgr.group_settings import GROUP_FILE, GroupSettings, group_in, joining, placed, save_group, told
from quaestor.qmgr.operator_log import OperatorLog

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


@pytest.mark.parametrize("address", [POSTGRESQL, "postgresql://host/database?user=me&password=of-postgres", REDIS])
def test_what_operators_are_told_shows_no_password(address, caplog):
    """OL4."""
    log = OperatorLog("QM1", FakeClock())
    with caplog.at_level("INFO", "quaestor.operator"):
        log.say("CSQ5001I", f"connected to {address}", address=address, why=OSError(f"{address} is away"), tries=3)
    (entry,) = log.entries
    assert 3 == entry.facts["tries"]
    for shown in (caplog.text, entry.as_text(), str(entry.as_dict())):
        assert "host" in shown
        assert "of-" not in shown


def test_why_a_queue_manager_does_not_start_shows_no_password(tmp_path, monkeypatch):
    def join(*_):
        raise Abend("DM3", f"the shared repository {POSTGRESQL} is away")

    monkeypatch.setattr("quaestor.embedded.joining", lambda *_: join)
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
        quaestor.connect("QM1", tmp_path)
    assert "user:***@host" in str(refused.value)


@pytest.mark.parametrize("repository", ["QSG1.db", "./QSG1.db", "sqlite:QSG1.db"])
def test_a_member_finds_its_group_wherever_it_is_started(tmp_path, monkeypatch, repository):
    """GS5: by a name from where somebody is, each place of starting would have a repository of its own."""
    monkeypatch.chdir(tmp_path)
    whole = GroupSettings("QSG1", f"cf://{tmp_path}/cf.sock", f"{tmp_path}/QSG1.db")
    assert joining(tmp_path / "QM1", GroupSettings("QSG1", "cf://cf.sock", repository)) is not None
    assert whole == group_in(tmp_path / "QM1")
    assert joining(tmp_path / "QM1", GroupSettings("QSG1", "cf://cf.sock", repository)) is not None
    monkeypatch.chdir("/")
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        joining(tmp_path / "QM1", GroupSettings("QSG1", "cf://cf.sock", repository))


def test_addresses_of_servers_are_kept_as_they_are():
    made = GroupSettings("QSG1", REDIS, POSTGRESQL)
    assert made == placed(made)
