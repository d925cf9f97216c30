"""Settings come from a TOML file or from what DISPLAY commands print."""

import numpy as np
import pytest

from advisor.given import rule_of, table
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import standard
from quaestor.advisor.display_output import looks_like
from quaestor.advisor.evaluate import advise
from quaestor.advisor.settings import SettingsError, load, merged, of_display, of_ours, read
from quaestor.advisor.shared_views import groups as groups_of

FILE = """
[all]
logload = 4000000
[QM01]
logload = 500000
trace_global = true
[QM01.structure.APPLICATION1]
cflevel = 4
[QM01.buffer_pool.3]
messages_live = "long"
"""

DISPLAY_SYSTEM_AND_LOG = """
10.15.01 CSQJ322I !QM01 DISPLAY SYSTEM report ...
Parameter   Initial value            SET value
----------- ----------------------   ----------------------
LOGLOAD     500000                   150000
QINDXBLD    WAIT
CLCACHE     STATIC
End of SYSTEM report
CSQJ322I !QM01 DISPLAY LOG report ...
Parameter   Initial value            SET value
----------- ----------------------   ----------------------
OUTBUFF     400
TWOACTV     NO
TWOBSDS     YES
End of LOG report
CSQH015I !QM01 Security timeout = 120 MINUTES
CSQH016I !QM01 Security interval = 12 MINUTES
"""

DISPLAY_USAGE = """
CSQI010I !QM01 Page set usage ...
 Page Buffer    Total  Unused Persistent NonPersist Expansion
  set   pool    pages   pages data pages data pages     count
_   0      0     1,078     961        117          0  USER    0
_   4      3   250,000   5,000    200,000     45,000  NONE    2
End of page set report
CSQW127I !QM01 CURRENT TRACE ACTIVITY IS -
TNO TYPE   CLASS        DEST       USERID    RMID
01  GLOBAL 01           RES        *         *
02  STAT   01           SMF        *         *
END OF TRACE REPORT
"""

DISPLAY_OBJECTS = """
CSQM401I !QM01
QUEUE(SYSTEM.COMMAND.REPLY.MODEL)
TYPE(QMODEL)
QSGDISP(QMGR)
STGCLASS(SYSTEM)
CSQM401I !QM01
QUEUE(DEEP)  TYPE(QLOCAL) INDXTYPE(MSGID) CURDEPTH(50000) DESCR(a queue)
CHANNEL(TO.QM2) CHLTYPE(SDR) NPMSPEED(NORMAL) BATCHSZ(50) BATCHINT(0)
CFSTRUCT(APPLICATION1) CFLEVEL(4) RECOVER(YES) OFFLOAD(NONE)
CFSTATUS(APPLICATION1) TYPE(SUMMARY) SIZEMAX(20480K) ENTSMAX(8053)
QMNAME(QM01) MAXUMSGS(10000) EXPRYINT(OFF)
"""


def test_what_holds_for_all_gives_way_to_the_queue_managers_own():
    settings = load(FILE)
    assert (500_000, 4_000_000) == tuple(settings.get(each, "system", "", "logload") for each in ("QM01", "QM02"))
    assert settings.get("QM02", "structure", "APPLICATION1", "cflevel") is None


# --- E6: structures are the group's -----------------------------------------------------------------------------------

OF_QM01 = "[QM01]\nlogload = 5\n[QM01.structure.APP1]\ncflevel = 4\nqueues = 3\n[all.structure.APP1]\ncflevel = 5\n"


@pytest.mark.parametrize(
    ("manager", "more", "cflevel"),
    [
        ("QM02", "", 4),  # of its group
        ("QM02", "[QM02.structure.APP1]\ncflevel = 3\n", 3),  # its own word
        ("QM03", "", 5),  # of another group: what holds for all
        ("QM04", "", 5),  # of none
    ],
)
def test_what_one_member_says_of_a_structure_holds_for_its_group(manager, more, cflevel):
    settings = load(OF_QM01 + more).beside([{"QM01", "QM02"}, {"QM03"}])
    assert cflevel == settings.get(manager, "structure", "APP1", "cflevel")


def test_all_else_is_a_queue_managers_own():
    settings = load(OF_QM01).beside([{"QM01", "QM02"}])
    assert settings.get("QM02", "system", "", "logload") is None
    assert [("QM01", "APP1"), ("all", "APP1")] == settings.objects("structure")  # said once, found once


@pytest.mark.parametrize(
    ("groups", "found"), [(("QSG1", "QSG1"), ["QM02"]), (("QSG1", "QSG2"), []), ((None, None), [])]
)
def test_records_say_who_is_a_member(groups, found):
    """QM01 has displayed the structure that was full for QM02."""
    displayed = of_display("CSQM201I !QM01 CSQMDRTS DISPLAY CFSTRUCT DETAILS\nCFSTRUCT(APP1) CFLEVEL(4)\n")
    full = [{"structure": "APP1", "structure_full": 1}]
    rows = [
        {"queue_manager": manager, "queue_sharing_group": group, "structures": slots}
        for manager, group, slots in zip(("QM01", "QM02"), groups, ([], full), strict=True)
    ]
    made = advise(standard([rule_of("mp16-ch2-3/CF-R21")]), {"QEST": table("QEST", *rows)}, displayed)
    assert found == [each.queue_manager for each in made.findings]


def test_a_name_in_two_groups_is_in_none_for_sure():
    """V4: two systems may each have a QM01."""
    rows = [("QM01", "QSG1"), ("QM02", "QSG1"), ("QM03", "QSG1"), ("QM01", "QSG2"), ("QM04", ""), (None, "QSG1")]
    made = table("QEST", *({"queue_manager": name, "queue_sharing_group": group} for name, group in rows))
    assert [{"QM02", "QM03"}] == groups_of({"QEST": made, "other": made.select(["release"])})


def test_a_column_of_settings_follows_the_rows():
    settings = load(FILE)
    managers = np.array(["QM01", "QM02", "QM01"], object)
    found = settings.column(managers, "structure", ["APPLICATION1", "APPLICATION1", "OTHER"], "cflevel")
    assert 4 == found[0]
    assert np.isnan(found[1:]).all()
    pools = settings.column(managers, "buffer_pool", [3.0, 3.0, 1.0], "messages_live")
    assert ["long", None, None] == list(pools)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[QM01]\nlogloads = 3\n", "QM01: no setting logloads; did you mean logload?"),
        ("[QM01]\nlogload = 'big'\n", "QM01: logload takes a number, not 'big'"),
        ("[QM01]\ntrace_global = 1\n", "trace_global takes true or false, not 1"),
        ("[QM01]\narchive = 3\n", "archive takes text, not 3"),
        ("[QM01]\nlogload = true\n", "QM01: logload takes a number, not True"),
        ("[QM01]\nlogload = nan\n", "QM01: logload takes a number, not nan"),
        ("[QM01]\nlogload = inf\n", "QM01: logload takes a number, not inf"),
        pytest.param(f"[QM01]\nlogload = 1{'0' * 400}\n", "QM01: logload takes a number, not 1000", id="400 digits"),
        ("[QM01.structure]\ncflevel = 4\n", "cflevel stands outside a structure; put it under [QM01.structure.NAME]"),
        ("[QM01]\nqueue = 'A'\n", "QM01: no setting queue"),
        ("logload = 3\n", "logload stands outside a queue manager"),
        ("[QM01.structure.A]\nsize = 3\n", "QM01.structure.A: no setting size"),
        ("[", "settings: "),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text, said):
    with pytest.raises(SettingsError, match=said.replace("?", r"\?").replace("[", r"\[")):
        load(text)


def test_parameters_as_display_lists_them():
    settings = of_display(DISPLAY_SYSTEM_AND_LOG, "QM01")
    known = {key[3]: value for key, value in settings.values.items()}
    assert {
        "logload": 150_000,  # the value that was set, not the initial one
        "qindxbld": "WAIT",
        "clcache": "STATIC",
        "outbuff_kb": 400,
        "dual_logging": False,
        "dual_bsds": True,
        "security_timeout_min": 120,
        "security_interval_min": 12,
    } == known


def test_usage_and_trace_as_display_shows_them():
    settings = of_display(DISPLAY_USAGE, "QM01")
    assert (250_000, 5000, "NONE", 2) == tuple(
        settings.get("QM01", "page_set", "4", name) for name in ("total_pages", "unused_pages", "expand", "expansions")
    )
    assert (True, False, "RES") == tuple(
        settings.get("QM01", "system", "", name) for name in ("trace_global", "trace_chinit", "trace_destination")
    )


def test_objects_as_display_shows_them():
    settings = of_display(DISPLAY_OBJECTS, "QM01")
    assert "SYSTEM" == settings.get("QM01", "queue", "SYSTEM.COMMAND.REPLY.MODEL", "stgclass")
    assert 50_000 == settings.get("QM01", "queue", "DEEP", "curdepth")
    assert ("NORMAL", 50) == tuple(settings.get("QM01", "channel", "TO.QM2", each) for each in ("npmspeed", "batchsz"))
    assert (4, 20_480, 8053) == tuple(
        settings.get("QM01", "structure", "APPLICATION1", each) for each in ("cflevel", "size_kb", "entries_total")
    )
    assert (10_000, "OFF") == tuple(settings.get("QM01", "system", "", each) for each in ("maxumsgs", "expryint"))


def test_a_file_of_either_form_is_told_apart():
    assert looks_like(DISPLAY_OBJECTS)
    assert looks_like(DISPLAY_SYSTEM_AND_LOG)
    assert not looks_like(FILE)
    both = merged([read(FILE), read(DISPLAY_SYSTEM_AND_LOG, unnamed="QM01")])
    assert (150_000, True) == tuple(both.get("QM01", "system", "", each) for each in ("logload", "trace_global"))


def test_what_holds_for_every_queue_manager_of_ours():
    """It archives on disk, or not at all, and has no trace for z/OS's service."""
    made = of_ours("CSQJ322I +QM1 DISPLAY LOG report ...\nOFFLOAD    NO\n", "QM1")
    known = {key[3]: value for key, value in made.values.items()}
    assert {"product": "quaestor", "archive": "NONE", "trace_global": False, "trace_chinit": False} == known
    assert "DASD" == of_ours("OFFLOAD    YES\n", "QM1").get("QM1", "system", "", "archive")
    assert made.is_ours("QM1", "SYSA")


def test_output_that_says_nothing_gives_nothing():
    assert {} == of_display("CSQM297I !QM01 NO QUEUE FOUND\nQUEUE() CURDEPTH(many)\n").values


def test_rules_on_settings_find_what_display_shows():
    settings = merged(of_display(each, "QM01") for each in (DISPLAY_SYSTEM_AND_LOG, DISPLAY_USAGE, DISPLAY_OBJECTS))
    found = {(each.rule.id, each.subject) for each in advise(standard(RULES), {}, settings).findings}
    assert {
        ("mp16-ch1/A-1", "queue manager"),
        ("mp16-ch1/A-63", "queue manager"),
        ("mp16-ch1/A-79", "queue manager"),
        ("mp16-ch1/A-82", "queue manager"),
        ("mp16-ch1/A-32", "page set 4"),
        ("mp16-ch1/A-43", "queue SYSTEM.COMMAND.REPLY.MODEL"),
        ("mp16-ch1/A-77", "queue DEEP"),
    } == found


def found(rule, text):
    return [(each.queue_manager, each.subject) for each in advise(standard([rule_of(rule)]), {}, load(text)).findings]


@pytest.mark.parametrize(
    ("admin", "structures"),
    [
        ("duplexed = false", ["structure APP1"]),
        ("duplexed = true", []),
        ("cflevel = 5", []),  # nobody said whether it is duplexed
    ],
)
def test_a_duplexed_structure_leans_on_csq_admin(admin, structures):
    """CF-R28: only where an application structure is duplexed does CSQ_ADMIN have to be."""
    text = (
        f"[QM01.structure.CSQ_ADMIN]\n{admin}\n[QM01.structure.APP1]\nduplexed = true\n"
        "[QM01.structure.APP2]\nduplexed = false\n[QM02.structure.CSQ_ADMIN]\nduplexed = false\n"
    )
    assert [("QM01", structure) for structure in structures] == found("mp16-ch2-3/CF-R28", text)


@pytest.mark.parametrize(("each_mb", "structures"), [(676, []), (677, ["structure APP1", "structure APP2"])])
def test_storage_class_memory_of_all_structures_shares_what_is_free(each_mb, structures):
    """CF-R46: 7.4 % of both structures' memory against 100 MB."""
    text = "[QM01]\ncf_free_mb = 100\n" + "".join(
        f"[QM01.structure.{name}]\nscm_max_mb = {each_mb}\n" for name in ("APP1", "APP2")
    )
    assert [("QM01", structure) for structure in structures] == found("mp16-ch2-3/CF-R46", text)
