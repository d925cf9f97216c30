"""Whose DISPLAY output is (W1 to W4, E4)."""

import pytest

from quaestor.advisor.display_owners import by_owner
from quaestor.advisor.settings import ALL, SettingsError, of_display, read


def logloads(text, *who, **more):
    values = of_display(text, *who, **more).values
    return {manager: value for (manager, _, _, key), value in values.items() if key == "logload"}


def report(prefix, logload):
    return f"CSQJ322I {prefix} DISPLAY SYSTEM report ...\nLOGLOAD  {logload}\nEnd of SYSTEM report\n"


def test_a_message_names_its_queue_manager():
    """W1: two files in one, as a console log has them."""
    assert {"QM01": 1000, "QM02": 2000} == logloads(report("!QM01", 1000) + report("+QM02", 2000))


def test_what_was_typed_before_the_first_answer_belongs_to_it():
    """W3: CSQ9022I may be the only message there is."""
    text = "LOGLOAD 3000\nCSQ9022I !QM01 CSQJC001 ' DISPLAY SYSTEM' NORMAL COMPLETION\n"
    assert {"QM01": 3000} == logloads(text)


IN_ONE_LINE = "CSQM409I !A QMNAME(PRD1) MAXUMSGS(10)"
IN_LINES = "CSQM201I !A CSQMDRTC DISPLAY QMGR DETAILS\nQMNAME(PRD1)\nMAXUMSGS(10)\n END QMGR DETAILS"


@pytest.mark.parametrize("answer", [IN_ONE_LINE, IN_LINES])
def test_a_prefix_may_be_another_word_than_the_name(answer):
    """W2: DISPLAY QMGR says who answers to it, wherever it stands."""
    assert {"PRD1": 4000} == logloads(report("!A", 4000) + answer)


def test_without_prefixes_the_name_holds_for_what_follows():
    """W2, W3: as runmqsc prints."""
    text = "LOGLOAD 1000\nAMQ8408I: Display Queue Manager details.\n   QMNAME(QM1)  MAXUMSGS(10)\n"
    more = "AMQ8408I: Display Queue Manager details.\n   QMNAME(QM2)  MAXUMSGS(20)\nLOGLOAD 2000\n"
    assert {"QM1": 1000, "QM2": 2000} == logloads(text + more)


@pytest.mark.parametrize(
    "text",
    ["CSQ9022I @# CSQYASCP 'DISPLAY LOG' NORMAL COMPLETION", "CHANNEL(TO.QM2) CHLTYPE(CLNTCONN)\nQMNAME(QM2)", ""],
)
def test_what_names_nobody(text):
    """W2, W4: a prefix without a name, and the name that a client's channel has among its attributes."""
    assert {None} >= {owner for owner, _ in by_owner(text)}
    assert {ALL: 5000} == logloads(f"LOGLOAD 5000\n{text}")
    assert {"QM01": 5000} == logloads(f"LOGLOAD 5000\n{text}", "QM01")


def test_who_gives_a_file_may_say_whose_it_is():
    """E4: and TOML, which has names in it, takes no other."""
    assert {"PRD1": 6000} == logloads(report("!A", 6000), owner="PRD1")
    with pytest.raises(
        SettingsError, match="TOML has the names of queue managers in it; write no QM01: before the file"
    ):
        read("[QM01]\nlogload = 4\n", owner="QM01")
