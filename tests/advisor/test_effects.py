"""What a finding advises in figures (U6): the command to type and what it would bring, by the planner's formulas."""

import re
import tomllib
from pathlib import Path

import pytest

from advisor.cases import CASES
from advisor.given import findings_on, given, rule_of, table
from advisor.sources import SOURCES
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import Chosen, standard
from quaestor.advisor.evaluate import advise, run
from quaestor.advisor.rule import names_in
from quaestor.advisor.settings import OUR_SYSTEM, Settings
from quaestor.advisor.view_catalog import BY_NAME
from quaestor.qmgr.statistics import TraceSettings

ADVICE = tomllib.loads((Path(__file__).parent / "advices.toml").read_text(encoding="utf-8"))
ENLARGE = "ALTER BUFFPOOL(3) BUFFERS(1250)"
HALF_USED = (
    "1,250 buffers leave 60% stealable with the pages in memory at the worst moment;"
    " 589 keep the 15 % below which deferred write starts"
)
INDEX = "an index of so many messages takes {} bytes, and a get then skips none"
EXPIRY = "EXPRYINT(300) costs 10.00 to 20.00 s of CPU an hour for as many messages"
SIZES = "INITSIZE 1,000 KB goes with SIZE 2,000 KB and MINSIZE 1,000 KB"
ENTRIES = "entries ran out before elements: offload frees elements only, so the structure itself must grow"
OFFLOAD = "ALTER CFSTRUCT(APPLICATION1) CFLEVEL(5) OFFLOAD(SMDS) DSGROUP('prefix.*.suffix')"
HOLDS = "with CFLEVEL(5) and SMDS the same structure holds {} messages of 16,524 bytes"
BATCH = "at ten messages to a batch the sender logs 279 bytes a message for its batches, now 2,560"

EFFECTS = [  # rule, what to change in the row and the settings of its case, command, effect
    ("mp1b/A-36", {}, "CSQ6LOGP OUTBUFF=4000", "OUTBUFF 4000 gives 1,000 log buffers"),
    ("mp1b/A-36", {"outbuff_kb": 400}, "CSQ6LOGP OUTBUFF=4000", "OUTBUFF 4000 gives 1,000 log buffers instead of 100"),
    ("mp1b/A-36", {"outbuff_kb": 4000}, "", ""),  # it has all there are
    (  # 6 checkpoints and 3,000,000 writes in half an hour
        "mp1b/A-43",
        {"writes_nowait": 3_000_000},
        "SET SYSTEM LOGLOAD(4000000)",
        "LOGLOAD 4000000 takes a checkpoint every 40 minutes at this load, now it is 5.0",
    ),
    ("mp1b/A-43", {"writes_nowait": 0}, "SET SYSTEM LOGLOAD(4000000)", ""),
    ("mp1b/A-43", {"writes_nowait": 0, "logload": 3_999_999}, "SET SYSTEM LOGLOAD(4000000)", ""),
    (
        "mp1b/A-43",
        {"writes_nowait": 3_000_000, "logload": 4_000_000},
        "SET SYSTEM LOGLOAD(16000000)",
        "LOGLOAD 16000000 takes a checkpoint every 160 minutes at this load, now it is 5.0",
    ),
    ("mp1b/A-43", {"writes_nowait": 3_000_000, "logload": 16_000_000}, "", ""),
    (
        "mp16-ch4-11/DASD-6",
        {},
        "CSQ6LOGP TWOACTV=YES",
        "single logging is worth 5 to 80 % throughput, the more the larger the messages",
    ),
    # 1 MiB/s into logs of 1000 MiB: three fill in 3000 s, and one more is written meanwhile
    ("mp16-ch1/A-9", {"archive_time_s": 3000}, "", "4 active logs of this size bridge an archive at this rate"),
    ("mp16-ch1/A-9", {"archive_time_s": 3001}, "", "5 active logs of this size bridge an archive at this rate"),
    (
        "mp16-ch1/A-9",
        {"archive_time_s": 3000, "mount_time_s": 1},
        "",
        "5 active logs of this size bridge an archive at this rate",
    ),
    ("mp16-ch1/A-15", {}, "", "active logs of 1,800 MiB last 30 minutes at this rate"),
    ("mp16-ch1/A-15", {"buffers_filled": 921_600}, "", "active logs of 3,600 MiB last 30 minutes at this rate"),
    (  # 60 s less 8.2 are 8,931 units of 10.03 writes each
        "mp16-ch1/A-56",
        {},
        "SET SYSTEM LOGLOAD(89578)",
        "LOGLOAD 89,578 at this load means a restart of up to 60 s",
    ),
    (  # no LOGLOAD makes a queue manager start in 8 s
        "mp16-ch1/A-56",
        {"restart_limit_s": 8},
        "",
        "",
    ),
    *(
        (name, {}, ENLARGE, HALF_USED)
        for name in ("mp1b/A-24", "mp1b/A-27", "mp16-ch1/A-41", "mp1b/A-28", "mp1b/A-26", "mp16-ch4-11/BP-9")
    ),
    (  # 851 in use: 851 / 0.85 is 1001.2
        "mp1b/A-25",
        {"deferred_write_starts": 1},
        ENLARGE,
        HALF_USED.replace("60%", "32%").replace("589", "1,002"),
    ),
    ("mp16-ch4-11/BP-12", {}, "ALTER QMODEL(SYSTEM.COMMAND.REPLY.MODEL) STGCLASS(REMOTE)", HALF_USED),
    ("mp16-ch1/A-80", {}, "ALTER BUFFPOOL(0) BUFFERS(7000)", "7,000 buffers hold the objects"),
    ("mp16-ch1/A-80", {"objects": 14_001}, "ALTER BUFFPOOL(0) BUFFERS(7001)", "7,001 buffers hold the objects"),
    ("mp16-ch1/A-47", {}, "ALTER BUFFPOOL(3) PAGECLAS(FIXED4KB)", "real storage suffices to fix the pool"),
    ("mp16-ch1/A-59", {}, "CSQ6LOGP OUTBUFF=4000", "1,000 log buffers instead of 100"),
    (
        "mp16-ch1/A-64",
        {},
        "SET SYSTEM LOGLOAD(1000000)",
        "for messages of this size on shallow queues LOGLOAD 1,000,000 to 16,000,000 is recommended",
    ),
    ("mp1b/A-17", {}, "CSQ6SYSP QSGDATA=(group,sharing,db2,8)", ""),
    (
        "mp1b/A-20",
        {"queue_sharing_group": "QSG1"},
        "SETXCF START,ALTER,STRNAME=QSG1APPLICATION1,SIZE=nnnn",
        ENTRIES,
    ),
    (
        "mp16-ch2-3/CF-R21",
        {},
        OFFLOAD,
        ENTRIES,
    ),
    *(  # ORACLE 12: 16 KB messages of 66 elements; whole up to 80 %, then two elements each
        (
            name,
            {"queue_sharing_group": "QSG1", "structure_full": 1, "bytes_per_entry": 16_896, **pools},
            command,
            effect,
        )
        for name, command in (
            ("mp1b/A-20", "SETXCF START,ALTER,STRNAME=QSG1APPLICATION1,SIZE=nnnn"),
            ("mp16-ch2-3/CF-R21", OFFLOAD),
        )
        for pools, effect in (
            ({"entries_high": 21_375, "elements_high": 1_410_796}, HOLDS.format("158,166")),
            ({"entries_high": 21_375, "elements_high": 1_410_796, "entries_total": 40_000}, HOLDS.format("40,000")),
            ({"entries_high": 21_375, "elements_high": 1_410_796, "entries_total": 21_375}, ENTRIES),
            ({"entries_high": 900, "elements_high": 59_400, "elements_total": 1_410_796}, HOLDS.format("158,166")),
        )
    ),
    (  # not full, and nobody said how large it is
        "mp16-ch2-3/CF-R21",
        {"structure_full": 0, "entries_high": 75, "entries_total": 100},
        OFFLOAD,
        "",
    ),
    ("mp16-ch2-3/CF-R37", {}, "", ""),
    (
        "mp16-ch2-3/CF-R37",
        {"entries_high": 10_000},
        "",
        "a get by a key shared by all messages costs up to 15 times one by a unique key",
    ),
    ("mp16-ch2-3/CF-R17", {}, "", "the ratio can adapt"),
    ("mp16-ch2-3/CF-R17", {"bytes_per_entry": 300}, "", "the ratio can adapt"),
    ("mp16-ch2-3/CF-R24", {}, "ALTER CFSTRUCT(APPLICATION1) DSEXPAND(YES)", ""),
    ("mp16-ch2-3/CH-R4", {}, "ALTER QMGR MAXCHL(800) ACTCHL(800)", ""),
    ("mp16-ch2-3/CH-R4", {"max_channels": 6000, "channels_high": 6000}, "ALTER QMGR MAXCHL(9999) ACTCHL(9999)", ""),
    ("mp16-ch2-3/CH-R4", {"max_channels": 9999, "channels_high": 9500}, "ALTER QMGR MAXCHL(9999) ACTCHL(9999)", ""),
    (  # nothing is left to raise
        "mp16-ch2-3/CH-R4",
        {"max_channels": 9999, "channels_high": 9500, "max_active_channels": 9999},
        "",
        "",
    ),
    ("mp16-ch2-3/CH-R8", {}, "ALTER QMGR CHIADAPS(16)", ""),
    ("mp16-ch2-3/CH-R12", {}, "ALTER QMGR MAXCHL(20)", ""),
    ("mp16-ch2-3/CH-R12", {"channels_high": 21}, "ALTER QMGR MAXCHL(40)", ""),
    ("mp16-ch2-3/CH-R13", {}, "ALTER QMGR CHIDISPS(20)", "CHIDISPS(20) for 1,500 channels"),
    ("mp16-ch2-3/CH-R30", {}, "ALTER QMGR SSLTASKS(6)", "SSLTASKS(6) lets every dispatcher have one at once"),
    ("mp16-ch2-3/CH-R31", {}, "ALTER QMGR SSLTASKS(16)", ""),
    (
        "mp16-ch2-3/CH-R17",
        {"messages_per_s": 1, "chltype": "SDR"},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHINT(50000)",
        BATCH,
    ),
    (  # a name in small letters is typed in quotation marks; less than a message to a batch counts as one
        "mp16-ch2-3/CH-R17",
        {"messages_per_s": 1, "chltype": "SDR", "channel": "to.qm2", "achieved_batch": 0.5},
        "ALTER CHANNEL('to.qm2') CHLTYPE(SDR) BATCHINT(50000)",
        BATCH,
    ),
    (  # five messages in four batches
        "mp16-ch2-3/CH-R17",
        {"messages_per_s": 1, "chltype": "SDR", "achieved_batch": 1.25},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHINT(50000)",
        BATCH.replace("2,560", "2,053"),
    ),
    (  # at a message in ten seconds a batch of 50 would be held open for more than eight minutes
        "mp16-ch2-3/CH-R17",
        {"messages_per_s": 0.1, "chltype": "SDR"},
        "",
        BATCH,
    ),
    ("talks/A-3", {"chltype": "SDR"}, "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHSZ(50)", ""),
    (
        "mp16-ch2-3/CH-R19",
        {"chltype": "SDR"},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHINT(0)",
        "a requester that waits for each reply has 1 a second at the most now, and 800 without BATCHINT",
    ),
    ("mp16-ch1/A-34", {"chltype": "SDR"}, "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHINT(60000)", ""),
    (
        "mp16-ch2-3/CH-R21",
        {"chltype": "SDR"},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHSZ(1)",
        "BATCHSZ(1) is the most for messages of this size",
    ),
    (
        "mp16-ch2-3/CH-R21",
        {"chltype": "SDR", "bytes_per_message": 200_000},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHSZ(10)",
        "BATCHSZ(10) is the most for messages of this size",
    ),
    (  # command and effect are of one mind about half a byte
        "mp16-ch2-3/CH-R21",
        {"chltype": "SDR", "bytes_per_message": 100_000.5},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHSZ(10)",
        "BATCHSZ(10) is the most for messages of this size",
    ),
    ("mp16-ch1/A-27", {"chltype": "SDR"}, "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) NPMSPEED(FAST)", ""),
    ("mp16-ch2-3/CH-R18", {}, "", "BATCHINT(2500) fills a batch of 50 at this rate"),
    (  # ORACLE 60 the other way round: 30 messages a second fill 50 in 1,667 ms
        "mp16-ch2-3/CH-R18",
        {"messages_per_s": 30, "chltype": "SDR"},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHINT(1667)",
        "BATCHINT(1667) fills a batch of 50 at this rate",
    ),
    (  # it is the channel's own BATCHSZ that must fit
        "mp16-ch2-3/CH-R18",
        {"messages_per_s": 30, "batch_size": 100, "chltype": "SDR"},
        "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) BATCHINT(3334)",
        "BATCHINT(3334) fills a batch of 100 at this rate",
    ),
    (  # so many messages do not come in five minutes
        "mp16-ch2-3/CH-R18",
        {"messages_per_s": 2, "batch_size": 600, "chltype": "SDR"},
        "",
        "",
    ),
    ("mp16-ch1/A-61", {}, "", "storage suffices for about 15 such channels at once"),
    ("mp16-ch2-3/CH-R28", {"chltype": "SDR"}, "ALTER CHANNEL(TO.QM2) CHLTYPE(SDR) DISCINT(6000)", ""),
    (
        "mp16-ch4-11/APP-1",
        {"held_per_unit": 10_000},
        "",
        "a get that fails behind so many uncommitted messages takes 10.0 ms",
    ),
    ("mp16-ch2-3/CF-R3", {}, "", "one structure instead of two saves about 6 % of the CPU"),
    ("mp16-ch2-3/CF-R3", {"log_bytes": 1000}, "", "one structure instead of two saves about 12 % of the CPU"),
    ("mp16-ch4-11/SHQ-5", {}, "", "each such open costs the queue manager about 114 microseconds"),
    (
        "mp16-ch4-11/TIER-1",
        {},
        "",
        "a message of a client costs 165 microseconds at 50 to a connection, 527 at this number",
    ),
    (
        "mp16-ch4-11/TIER-1",
        {"messages_per_connection": 0.5},
        "",
        "a message of a client costs 165 microseconds at 50 to a connection, 905 at this number",
    ),
    ("mp1b/A-4", {}, "ALTER QLOCAL(ORDERS) INDXTYPE(CORRELID)", INDEX.format("122,384")),
    ("mp1b/A-4", {"messages_skipped": 10}, "ALTER QLOCAL(ORDERS) INDXTYPE(CORRELID)", INDEX.format("48,400")),
    ("mp1b/A-5", {}, "ALTER QLOCAL(ORDERS) INDXTYPE(NONE)", ""),
    ("mp1b/A-9", {}, "", INDEX.format("129,728")),
    ("mp1b/A-9", {"by_identifier": 0}, "", ""),  # no index serves gets that name no identifier
    ("mp1b/A-10", {"messages_expired": 1_000_000}, "ALTER QMGR EXPRYINT(300)", EXPIRY),
    ("mp16-ch1/A-78", {"messages_expired": 1_000_000}, "ALTER QMGR EXPRYINT(300)", EXPIRY),
    ("mp16-ch1/A-44", {}, "ALTER QLOCAL(SYSTEM.ADMIN.CHANNEL.EVENT) STGCLASS(REMOTE)", ""),
    (
        "mp16-ch4-11/SHQ-6",
        {"opens_no_cf": 750},
        "",
        "25 % of opens went to the coupling facility; a holder saves 84 % of their CPU",
    ),
    ("mp16-ch4-11/Q-5", {}, "ALTER QLOCAL(ORDERS) TRIGTYPE(FIRST)", ""),
    (
        "mp16-ch1/A-29",
        {"message_size": 1000},
        "ALTER PSID(2) EXPAND(SYSTEM)",
        "twice the pages hold 476,837 messages of 1,000 bytes",
    ),
    ("mp16-ch1/A-38", {"message_size": 5000}, "", "100 messages need 200 pages at one to 2 pages"),
    ("mp16-ch1/A-53", {}, "", "twice the rate halves it to 4.9 s"),
    (
        "mp16-ch1/A-1",
        {},
        "STOP TRACE(G)",
        "what costs 100 microseconds of CPU untraced costs 200 traced to storage and 800 to GTF",
    ),
    ("mp16-ch2-3/CH-R26", {}, "STOP TRACE(CHINIT)", "at high load the trace costs up to 55 % CPU"),
    ("mp16-ch1/A-35", {}, "", "DFDSS copies at 1.7 times the rate of REPRO"),
    (
        "mp16-ch1/A-63",
        {},
        "SET SYSTEM LOGLOAD(4000000)",
        "LOGLOAD 4,000,000 to 16,000,000 is recommended where no restart limit or replication says otherwise",
    ),
    ("mp16-ch1/A-77", {}, "CSQ6SYSP QINDXBLD=NOWAIT", "restart waits about 1.8 s for this index"),
    ("mp16-ch1/A-43", {}, "ALTER QMODEL(SYSTEM.COMMAND.REPLY.MODEL) STGCLASS(REMOTE)", ""),
    ("mp16-ch1/A-32", {}, "ALTER PSID(4) EXPAND(SYSTEM)", ""),
    ("mp16-ch2-3/CF-R5", {}, "", "2 application structures take them"),
    ("mp16-ch2-3/CF-R5", {"queues": 1025}, "", "3 application structures take them"),
    ("mp16-ch2-3/CF-R9", {}, "", SIZES),
    ("mp16-ch2-3/CF-R10", {}, "", SIZES),
    ("mp16-ch2-3/CF-R13", {}, "", "it carries 3 members"),
    ("mp16-ch2-3/CF-R25", {}, "BACKUP CFSTRUCT(APP1)", ""),
    ("mp16-ch2-3/CF-R53", {}, "ALTER CFSTRUCT(APP1) CFLEVEL(5)", ""),
    ("mp16-ch2-3/CF-R23", {}, "ALTER CFSTRUCT(APP1) OFFLD1SZ(64K) OFFLD2SZ(64K) OFFLD3SZ(64K)", ""),
]


def finding(name, changes):
    columns, _, *rest = CASES[name]
    rule = rule_of(name)
    asked = {each.rpartition(".")[2] for each in rule.settings}
    columns, settings = dict(columns), dict(rest[0] if rest else {})
    for key, changed in changes.items():
        (settings if key in asked else columns)[key] = changed
    (found,) = findings_on(rule, columns, settings)
    return found


@pytest.mark.parametrize(("name", "changes", "command", "effect"), EFFECTS)
def test_a_finding_says_what_to_type_and_what_it_brings(name, changes, command, effect):
    found = finding(name, changes)
    assert (command, effect) == (found.command, found.effect)


def test_every_rule_with_an_effect_or_a_figure_in_its_command_stands_above():
    assert {rule.id for rule in RULES if rule.effect or names_in(rule.command)} <= {name for name, *_ in EFFECTS}


@pytest.mark.parametrize("name", ["mp1b/A-24", "mp1b/A-27", "mp16-ch1/A-41", "mp1b/A-28", "mp1b/A-26"])
def test_a_pool_that_was_shrunk_in_the_interval_is_told_without_a_size(name):
    """More buffers were stealable before than there are now: how many are wanted is not known (U6)."""
    found = finding(name, {"stealable_low": 1001})
    assert ("", "") == (found.command, found.effect)
    assert found.advice


@pytest.mark.parametrize(
    ("name", "changes", "figure", "value"),
    [
        ("mp1b/A-1", {"elapsed_us_per_unit": 25_000}, "ms_per_unit", 25.0),
        ("mp1b/A-1", {"elapsed_us_per_unit": 25_000, "latch_longest_us": 1500}, "latch_ms", 1.5),
        ("mp1b/A-3", {"force_us": 2500}, "force_ms", 2.5),
        ("mp16-ch1/A-49", {"available_64": 24 << 30}, "available_gb", 24.0),
        ("mp16-ch4-11/LOG-4", {"buffers_filled": 460_800}, "log_mb_per_s", 1.0),
        ("mp16-ch2-3/CF-R13", {"entries_total": 2999}, "members_carried", 2.0),
        ("mp16-ch4-11/SHQ-5", {"db2_requests": 60, "opens": 24}, "db2_per_open", 2.5),
        ("mp1b/A-26", {"page_reads": 3600}, "reads_per_s", 2.0),
        ("mp16-ch1/A-38", {"pages_nonpersistent": 40_000, "depth": 100}, "left_over", 39_900),
    ],
)
def test_figures_stand_in_the_units_of_their_names(name, changes, figure, value):
    assert value == finding(name, changes).figures[figure]


# --- advice ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [rule.id for rule in RULES])
def test_a_finding_says_how_bad_it_is_where_and_what_to_do(name):
    found = finding(name, {})
    said = {"severity": found.severity.name.lower(), "subject": found.subject, "advice": found.advice}
    assert ADVICE[name] == said


@pytest.mark.parametrize("name", [rule.id for rule in RULES])
def test_a_rule_cites_the_lines_of_its_extract(name):
    """What the extract prints beside a rule is within what the rule cites; it may cite more, of rules it covers."""
    assert set(lines(SOURCES[name])) <= set(lines(rule_of(name).lines))


def lines(text):
    for begin, end in re.findall(r"(?<!\d)(\d+)(?:-(\d+))?", text.replace("002:", "")):
        yield from range(int(begin), int(end or begin) + 1)


def test_more_log_wants_backups_as_much_more_often():
    """A-54: the interval between backups shrinks as the log grows (F-27): 3,600 MiB an hour are 3.6 times 1,000."""
    found = finding("mp16-ch1/A-54", {})
    assert 3.6 == found.figures["as_often"]
    assert "3.6 times as often" in found.advice


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"single_us": 70, "multiple_us": 633},
            "took 70 microseconds against 70 usually, a multi-entry call 633 against",
        ),
        ({"multiple_us_usual": None}, "multi-entry call 210 against not known: one of them 2.1 times"),
    ],
)
def test_the_slow_kind_of_call_is_told(changes, said):
    assert said in finding("mp1b/A-21", changes).advice


# --- U7, E5: queue managers of this product ---------------------------------------------------------------------------

DUAL = "quaestor qmgr create NAME --dual-logs (how many copies a log has is said when it is created)"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("mp16-ch4-11/DASD-6", DUAL),
        ("mp1b/A-36", "outbuff_kb = 4000 under [engine] in server.toml"),
        ("mp1b/A-20", "ALTER CFSTRUCT(APPLICATION1) SIZE(nnnn)"),
        ("mp1b/A-41", ""),  # tape units are z/OS's
        ("mp1b/A-43", "SET SYSTEM LOGLOAD(4000000)"),  # both take it
    ],
)
def test_a_queue_manager_of_ours_is_told_what_it_takes(name, command):
    assert TraceSettings().system == OUR_SYSTEM
    assert command == finding(name, {"system": OUR_SYSTEM}).command


@pytest.mark.parametrize(
    ("product", "system", "command"),
    [
        ("quaestor", "SYSA", DUAL),
        ("Quaestor", "SYSA", DUAL),
        ("mq", OUR_SYSTEM, "CSQ6LOGP TWOACTV=YES"),
        (None, "SYSA", "CSQ6LOGP TWOACTV=YES"),
    ],
)
def test_a_setting_says_whose_product_it_is(product, system, command):
    rule, settings = rule_of("mp16-ch4-11/DASD-6"), Settings()
    if product:
        settings.put("QM01", "system", "", {"product": product})
    view = BY_NAME[rule.table]
    rows = given(view, {"system": system, "ios_copy_1": 900, "ios_copy_2": 0})
    (found,) = run(Chosen(rule, rule.defaults), view, rows, settings)
    assert command == found.command


def test_settings_alone_say_it_too():
    rule, settings = rule_of("mp16-ch1/A-5"), Settings()
    settings.put("QM01", "system", "", {"product": "quaestor", "log_dasd_redundant": False, "dual_logging": False})
    view = BY_NAME[rule.table]
    (found,) = run(Chosen(rule, rule.defaults), view, settings.table("system"), settings)
    assert DUAL == found.command


@pytest.mark.parametrize("name", ["mp16-ch1/A-15", "mp16-ch1/A-63", "mp16-ch1/A-64"])
@pytest.mark.parametrize(("system", "told"), [("SYSA", True), (OUR_SYSTEM, False)])
def test_what_was_measured_of_zos_is_not_held_against_ours(name, system, told):
    """U8: LOGLOAD of 4 million and more was best on z/OS. Here it makes restart longer, and a put no quicker; nor do
    larger logs.
    """
    settings = Settings()
    settings.put("QM01", "system", "", {"logload": 100_000, "active_log_mb": 16})
    large = {"persistent_puts": 10, "persistent_bytes_put": 10_000_000}
    row = {"queue_manager": "QM01", "system": system, **large}
    log = {"queue_manager": "QM01", "system": system, "buffers_filled": 1_000_000}
    records = {"QMST": table("QMST", row), "QJST": table("QJST", log)}
    made = advise(standard([rule_of(name)]), records, settings)
    assert told == bool(made.findings)


def test_settings_have_the_system_of_the_records():
    """E5: of a name that is on z/OS too it is not known whose is meant."""
    rule = rule_of("mp16-ch1/A-5")
    for systems, command in (
        ([OUR_SYSTEM], DUAL),
        (["SYSA"], rule.command),
        ([OUR_SYSTEM, "SYSA"], rule.command),
        ([], rule.command),
    ):
        settings = Settings()
        settings.put("QM01", "system", "", {"log_dasd_redundant": False, "dual_logging": False})
        records = {"QMST": table("QMST", *({"system": each} for each in systems))}
        (found,) = advise(standard([rule]), records, settings).findings
        assert command == found.command, systems


def test_what_only_zos_takes_is_never_told_to_ours():
    """Macros of the parameter module, tape units and the coupling facility's operator."""
    for rule in RULES:
        if rule.command.startswith(("CSQ6", "SET ARCHIVE", "SETXCF")):
            assert rule.own_command is not None, rule.id
