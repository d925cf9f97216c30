"""TT1, TT2: whatever somebody wrote into a file, a reader says in one line what is wrong and where."""

import pytest

from quaestor import toml_text
from quaestor.advisor import cutoffs, settings
from quaestor.cqs import group_directory
from quaestor.mqi.reasons import MQError
from quaestor.pipeline.periods import read_plan
from quaestor.pipeline.report_queries.departments import read_charge_plan
from quaestor.planner import workload_file
from quaestor.qmgr.group_settings import GROUP_FILE, group_in
from quaestor.server.home import Configuration, Home
from quaestor.smf.synth.profile_check import ProfileError
from quaestor.smf.synth.profile_file import load_profile

DEEP = "a = " + "[" * 20_000
LONG = "a = " + "9" * 5_000
REFUSALS = (ValueError, MQError, group_directory.PolicyError, ProfileError, workload_file.WorkloadError)
BAD = pytest.mark.parametrize("text", [DEEP, LONG, "a = [", "a ="], ids=["deep", "long", "open", "nothing"])


def configuration(file):
    home = Home(file.parent / "QM1")
    home.create(Configuration("QM1", security=False))
    home.configuration_file.write_text(file.read_text())
    home.configuration()


def group(file):
    (file.parent / GROUP_FILE).write_text(file.read_text())
    group_in(file.parent)


def policy(file):
    (file.parent / group_directory.POLICY_FILE).write_text(file.read_text())
    group_directory.read(file.parent)


READERS = {
    "workload": lambda file: workload_file.parse(file.read_text(), str(file)),
    "cut-offs": lambda file: cutoffs.load(file.read_text(), (), str(file)),
    "settings": lambda file: settings.load(file.read_text(), str(file)),
    "period plan": read_plan,
    "charge plan": read_charge_plan,
    "profile": lambda file: load_profile(str(file)),
    "queue manager": configuration,
    "group": group,
    "policy": policy,
}


@BAD
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_that_cannot_be_read_is_one_line_with_its_name(reader, text, tmp_path):
    file = tmp_path / "written.toml"
    file.write_text(text)
    with pytest.raises(REFUSALS) as refused:
        reader(file)
    said = str(refused.value)
    assert str(tmp_path) in said
    assert 1 == len(said.splitlines())


def test_what_is_too_deep_is_said_to_be():
    with pytest.raises(ValueError, match=r"^lists or tables in each other, too deep to be read$"):
        toml_text.tables(DEEP)
    assert {"a": {"b": [1]}} == toml_text.tables("[a]\nb = [1]")


@pytest.mark.parametrize(
    "reader",
    [workload_file.load_workload, read_plan, read_charge_plan, lambda file: load_profile(str(file))],
    ids=["workload", "period plan", "charge plan", "profile"],
)
def test_a_file_that_is_no_text_is_said_to_be_none(reader, tmp_path):
    """TT2: who gives a dump where a workload is asked for."""
    file = tmp_path / "dump.toml"
    file.write_bytes(b"PAY\xe2")
    with pytest.raises(REFUSALS) as refused:
        reader(file)
    assert f"{file}: no text in UTF-8: 0xe2 at byte 3" == str(refused.value).partition(";")[0]


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfa = 1")
    assert "a = 1" == toml_text.text_of(tmp_path / "a.toml")
