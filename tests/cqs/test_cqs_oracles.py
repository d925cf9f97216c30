"""The worked examples of the talk on shared queues, in its order and with its names."""

import pytest

from cqs.group import Group, fill, on_structure, texts
from quaestor.cqs import overflow
from quaestor.cqs.emh import Route, SysplexCode, route
from quaestor.cqs.fast_path import FastPath
from quaestor.cqs.messages import Beside, staged
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import (
    CLIENT_HEADERS,
    PRIVATE_HEADERS,
    REGISTERED,
    Private,
    QueueName,
    QueueType,
    header_of,
    lterm,
    program,
    remote,
    serial_transaction,
    transaction,
)
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.transaction_manager import TransactionManager
from quaestor.storage.lists.operations import Alter, Delete, Move, ReadList, Write

TRANX, LTRMZ = transaction("TRANX"), lterm("LTRMZ")
SEGMENT = b"s" * 1200


def on_list(server, header, low=bytes(16), high=b"\xff" * 16):
    return server.pair.primary.connection.request(ReadList(header, low, high))[0]


@pytest.mark.oracle("talks/12", kind="exact", lines="003:455-503")
def test_192_list_headers_and_what_they_are_for():
    """0 to 70 are private to the servers, 71 to 191 are the clients'; eleven for each of nine types."""
    assert (71, 121, 192) == (len(PRIVATE_HEADERS), len(CLIENT_HEADERS), CLIENT_HEADERS.stop)
    assert 0 == Private.CONTROL
    assert {
        QueueType.TRANSACTION_READY: (71, 81),
        QueueType.TRANSACTION_STAGING: (82, 92),
        QueueType.TRANSACTION_SUSPEND: (93, 103),
        QueueType.TRANSACTION_SERIAL: (104, 114),
        QueueType.LTERM_READY: (115, 125),
        QueueType.LTERM_STAGING: (126, 136),
        QueueType.APPC_READY: (137, 147),
        QueueType.REMOTE_READY: (148, 158),
        QueueType.OTMA_READY: (159, 169),
    } == {kind: (kind.headers[0], kind.headers[-1]) for kind in QueueType}
    assert {1, 4, 5, 8} == set(REGISTERED)
    assert program("PSBY").header in range(71, 82)


def test_names_of_a_type_are_spread_over_its_eleven_headers():
    used = {transaction(f"TRAN{number}").header for number in range(200)}
    assert set(range(71, 82)) == used
    assert {lterm("LTERMY").header} == {header_of(lterm("LTERMY").key) for _ in range(3)}


@pytest.mark.oracle("talks/13", kind="exact", lines="003:591-598")
def test_the_ready_entry_and_its_continuation():
    """5LTERMY, and behind it 6IMSA with the first seven bytes of the clock."""
    group = Group()
    server = group.start("CQSA")
    imsa = server.register("IMSA")
    imsa.put(lterm("LTERMY"), [SEGMENT] * 5)
    (ready,) = on_list(server, lterm("LTERMY").header)
    assert b"5LTERMY         " == ready.key
    count, name = staged(ready.data)
    (continuation,) = [e for header in QueueType.LTERM_STAGING.headers for e in on_list(server, header)]
    assert (2, continuation.key) == (count, name)
    assert (b"6IMSA    ", 7) == (continuation.key[:9], len(continuation.key[9:]))
    stck = (group.clock.now_us() + 2208988800 * 10**6) << 12
    assert (stck >> 8).to_bytes(7, "big") == continuation.key[9:]


def test_names_of_one_header_are_in_collating_order_and_synonyms_first_in_first_out():
    group = Group()
    server = group.start("CQS1")
    ims = server.register("IMS1")
    one_header = [name for number in range(200) if transaction(name := f"TRAN{number:03}").header == 71][:3]
    for number, name in enumerate(reversed(one_header * 2)):
        ims.put(transaction(name), [b"%d" % number])
    entries = on_list(server, 71)
    assert sorted(one_header * 2) == [Beside.of(entry.adjunct).queue.name for entry in entries]
    assert ["2", "5"] == texts(ims, transaction(one_header[0]))


@pytest.mark.oracle("talks/14", kind="rule", lines="003:547-551")
def test_five_segments_in_two_records():
    """Record 2, with segments 4 and 5, goes to the staging queue; then record 1, with 1 to 3, to the ready queue."""
    group = Group()
    server = group.start("CQSA")
    imsa = server.register("IMSA")
    came = []
    group.watchers.append(lambda _who, operations: came.extend(_arrivals(operations)))
    segments = [b"%d" % number + SEGMENT for number in range(1, 6)]
    imsa.put(lterm("LTERMY"), segments)
    staging, ready = QueueType.LTERM_STAGING, QueueType.LTERM_READY
    assert [staging, Private.MOVE, ready] == [_kind(header) for header in came]
    message = imsa.browse(lterm("LTERMY"))[0]
    assert segments == list(message.segments)
    first, second = message.records
    assert [3, 2] == [record.count(SEGMENT) for record in (first, second)]


def _arrivals(operations):
    """The lists to which a request brings messages."""
    for operation in operations:
        if isinstance(operation, Write) and operation.list != Private.CONTROL:
            yield operation.list
        elif isinstance(operation, Move):
            yield operation.target


def _kind(header):
    return next((kind for kind in QueueType if header in kind.headers), header)


def test_no_reader_sees_a_message_without_its_end():
    """Between any two requests of the putter another system reads: nothing, or all five segments."""
    group = Group()
    imsa = group.start("CQSA").register("IMSA")
    reader = group.start("CQSB").register("IMSB")
    seen = []

    def look(who, _operations):
        if who == "CQSA":
            group.watchers.remove(look)
            seen.extend(len(message.segments) for message in reader.browse(TRANX))
            group.watchers.append(look)

    group.watchers.append(look)
    for _ in range(3):
        imsa.put(TRANX, [SEGMENT] * 5)
    assert set(seen) <= {5}
    assert len(seen) > 3


@pytest.mark.oracle("talks/15", kind="exact", lines="003:679-686")
def test_who_is_told_and_when():
    """Told: work at registration, and empty to not empty. Not told: further messages, and not empty to empty."""
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    told = []
    ims1 = one.register("IMS1", lambda queue: told.append(("IMS1", queue)))
    ims2 = two.register("IMS2", lambda queue: told.append(("IMS2", queue)))
    ims1.register_interest(TRANX)
    assert [] == told
    ims2.put(TRANX, [b"1"])
    assert [("IMS1", TRANX)] == told
    ims2.register_interest(TRANX)
    assert [("IMS1", TRANX), ("IMS2", TRANX)] == told
    ims2.put(TRANX, [b"2"])
    assert 2 == len(told)
    assert [b"1", b"2"] == [ims1.delete(TRANX).segments[0] for _ in range(2)]
    assert 2 == len(told)
    ims2.put(TRANX, [b"3"])
    assert {("IMS1", TRANX), ("IMS2", TRANX)} == set(told[2:])
    ims1.deregister_interest(TRANX)
    ims1.delete(TRANX)
    ims2.put(TRANX, [b"4"])
    assert [("IMS2", TRANX)] == told[4:]


def test_no_interest_is_registered_in_staging_suspend_appc_and_otma():
    ims = Group().start("CQS1").register("IMS1")
    for kind in (QueueType.TRANSACTION_SUSPEND, QueueType.APPC_READY, QueueType.OTMA_READY):
        with pytest.raises(CQSError) as refused:
            ims.register_interest(QueueName(kind, "X"))
        assert Why.NOT_A_REGISTERED_TYPE is refused.value.why
    ims.register_interest(serial_transaction("TRANS", "IMS1"))
    ims.register_interest(remote("MSN1"))


def reply_to(segments):
    """The program of TRANX: one reply to where the input came from."""
    return [(lterm(segments[0].decode()), [b"O-" + segments[1][2:]])]


@pytest.mark.oracle("talks/16", kind="rule", lines="003:131-166")
def test_a_message_runs_through_two_systems():
    """I-MSG1 from LTRMZ at IMS1 runs in IMS2; O-MSG1 is delivered by IMS1 and deleted when it is acknowledged."""
    group, story = Group(), []
    ims1 = TransactionManager("IMS1", group.start("CQS1"), {"TRANX": reply_to}, regions=0, tell=story.append)
    ims2 = TransactionManager("IMS2", group.start("CQS2"), {"TRANX": reply_to}, regions=1, tell=story.append)
    ims1.client.register_interest(TRANX)
    terminal = ims1.log_on("LTRMZ")

    ims1.enter("LTRMZ", "TRANX", "I-MSG1")
    assert (1, 1) == (ims1.counts.informed, ims2.counts.informed)
    running = ims2.schedule()
    assert [Private.LOCK] == [placed.header for placed in on_structure(group.servers["CQS1"]).of(0)]
    ims2.complete(running)
    assert [LTRMZ.header] == [placed.header for placed in on_structure(group.servers["CQS1"]).of(0)]
    assert 2 == ims1.counts.informed

    sent = ims1.send(LTRMZ)
    assert ["O-MSG1"] == terminal.received
    assert [Private.LOCK] == [placed.header for placed in on_structure(group.servers["CQS1"]).of(0)]
    ims1.acknowledge(sent)
    assert [] == on_structure(group.servers["CQS1"]).of(0)
    assert [
        "IMS1 registers interest in LTRMZ, which logged on",
        "IMS1 puts input for TRANX on its queue",
        "IMS1 is told: there is work on 1TRANX",
        "IMS2 is told: there is work on 1TRANX",
        "IMS2 reads 1TRANX: the message is on the lock queue",
        "IMS1 is told: there is work on 5LTRMZ",
        "IMS2 commits: output is put, 1TRANX is deleted",
        "IMS1 reads 5LTRMZ and sends it to LTRMZ",
        "IMS1 deletes 5LTRMZ: the terminal has acknowledged it",
    ] == story[:2] + sorted(story[2:4]) + story[4:]


@pytest.mark.oracle("talks/17", kind="rule", lines="003:800-826")
def test_the_lock_queue_while_a_transaction_runs():
    """MSG1 is locked; at commit MSG2B is staged, then MSG2A is ready, then MSG1 is deleted from the lock queue."""
    group = Group()
    imsa = group.start("CQSA").register("IMSA")
    server = group.start("CQSB")
    imsb = server.register("IMSB")
    imsa.put(TRANX, [b"MSG1"])
    unit = imsb.begin()
    assert (b"MSG1",) == unit.read(TRANX).segments
    assert imsa.begin().read(TRANX) is None
    assert 1 == len(on_list(server, Private.LOCK))

    steps = []
    group.watchers.append(lambda _who, operations: steps.extend(map(_step, operations)))
    unit.insert(LTRMZ, [SEGMENT] * 5)
    assert [] == [step for step in steps if step]
    unit.commit()
    group.watchers.clear()
    assert ["staging", "move queue", "ready", "delete from the lock queue"] == [step for step in steps if step]

    delivery = imsa.begin()
    assert 5 == len(delivery.read(LTRMZ).segments)
    assert 2 == len(on_structure(server).of(0)[0].message.records)
    delivery.commit()
    assert [] == on_structure(server).of(0)
    assert 3 == server.pair.primary.space().entries - len(server.clients) - 1  # two servers and the identity


def _step(operation):
    if isinstance(operation, Write):
        return {Private.MOVE: "move queue", QueueType.LTERM_STAGING: "staging"}.get(_kind(operation.list))
    if isinstance(operation, Move):
        return "ready" if operation.target == LTRMZ.header else None
    return "delete from the lock queue" if isinstance(operation, Delete) and operation.list == Private.LOCK else None


@pytest.mark.oracle("talks/18", kind="exact", lines="003:845-859")
@pytest.mark.parametrize(
    ("code", "stopped", "here", "queued", "anywhere", "expected"),
    [
        (SysplexCode.LOCAL_ONLY, True, True, 0, True, Route.REJECT),
        (SysplexCode.LOCAL_FIRST, True, True, 0, True, Route.REJECT),
        (SysplexCode.GLOBAL_ONLY, True, True, 0, True, Route.REJECT),
        (SysplexCode.LOCAL_ONLY, False, True, 99, True, Route.LOCAL),
        (SysplexCode.LOCAL_ONLY, False, False, 0, True, Route.REJECT),
        (SysplexCode.LOCAL_FIRST, False, True, 0, True, Route.LOCAL),
        (SysplexCode.LOCAL_FIRST, False, True, 5, True, Route.LOCAL),
        (SysplexCode.LOCAL_FIRST, False, True, 6, True, Route.GLOBAL),
        (SysplexCode.LOCAL_FIRST, False, False, 0, True, Route.GLOBAL),
        (SysplexCode.LOCAL_FIRST, False, False, 0, False, Route.REJECT),
        (SysplexCode.GLOBAL_ONLY, False, True, 0, True, Route.GLOBAL),
        (SysplexCode.GLOBAL_ONLY, False, False, 0, False, Route.REJECT),
    ],
)
def test_where_fast_path_input_runs(code, stopped, here, queued, anywhere, expected):
    told = {"stopped": stopped, "active_here": here, "queued_here": queued, "active_anywhere": anywhere}
    assert expected is route(code, **told)


def test_the_seventh_message_of_a_busy_program_runs_elsewhere():
    """Five or fewer queued here stay here; what is more goes to the program ready queue, and its reply comes back."""
    group = Group(Policy("EMHQ", size=1000, fast_path=True))
    ims1 = FastPath("IMS1", group.start("CQS1"), {"PSBY": lambda text: f"{text} by IMS1"})
    ims2 = FastPath("IMS2", group.start("CQS2"), {"PSBY": lambda text: f"{text} by IMS2"})
    ims1.log_on("LTRMZ")
    routes = [ims1.enter("LTRMZ", "PSBY", f"m{number}") for number in range(8)]
    assert [Route.LOCAL] * 6 + [Route.GLOBAL] * 2 == routes
    assert 2 == ims2.run()
    assert 6 == ims1.run()
    assert 2 == ims1.deliver()
    assert [*(f"m{n} by IMS1" for n in range(6)), "m6 by IMS2", "m7 by IMS2"] == ims1.received["LTRMZ"]
    assert Route.LOCAL is ims1.enter("LTRMZ", "PSBY", "too late")
    ims1.stop_program("PSBY")
    assert "PSBY has stopped" == ims1.received["LTRMZ"][-1]
    assert Route.GLOBAL is ims1.enter("LTRMZ", "PSBY", "elsewhere")
    group.kill("CQS2")
    group.servers["CQS1"].step()
    assert Route.REJECT is ims1.enter("LTRMZ", "PSBY", "nobody runs it any more")


@pytest.mark.oracle("talks/19", kind="derived", lines="003:910-911, 1100")
def test_a_structure_is_enlarged_so_that_its_use_falls_by_20_points():
    """50,000 at 70 % grow to 70,000, which is 50 %; those at 70 % to 98,000; never beyond SIZE."""
    assert 70_000 == overflow.enlarged(50_000, 35_000, 100_000)
    assert 98_000 == overflow.enlarged(70_000, 49_000, 100_000)
    assert 100_000 == overflow.enlarged(98_000, 68_600, 100_000)


def test_initsize_grows_before_anything_overflows():
    group = Group(Policy(size=160, initsize=80, overflow_size=80))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    before = server.pair.primary.space()
    while server.pair.primary.space().elements_total == before.elements_total:
        ims.put(TRANX, [b"x" * 3000])
    space = server.pair.primary.space()
    assert 70 <= 100 * space.elements / before.elements_total < 77
    assert 50 <= 100 * space.elements / space.elements_total < 57
    assert not server.pair.overflow


def full_group():
    """A structure that has room for one small message and no large one."""
    group = Group(Policy(size=40, overflow_threshold_percent=1000))
    server = group.start("CQS1")
    ims = TransactionManager("IMS1", server, {"TRANX": lambda s: [(LTRMZ, [b"x" * 3000])]})
    filler = server.register("FILL")
    fill(filler, transaction("FILLER"))
    return group, ims, filler


@pytest.mark.oracle("talks/20", kind="exact", lines="003:977-995")
def test_what_is_said_when_a_structure_is_full():
    """QF to the application; committed output is kept; DFS070 to a terminal; DFS2140 for a link; CQS0205E once."""
    group, ims, filler = full_group()
    assert ["CQS0205E STRUCTURE MSGQ IS FULL"] == group.console
    terminal = ims.log_on("LTRMZ")
    assert ims.enter("LTRMZ", "TRANX", "i" * 3000) is None
    assert ["DFS070 UNABLE TO ROUTE MESSAGE"] == terminal.received
    assert "DFS2140 DESTINATION TRANX STOPPED, REASON CODE STRUCTURE_FULL" == ims.enter_from_link(
        "LINK1", "TRANX", "i" * 3000
    )
    assert {"LINK1"} == ims.links_stopped
    unit = filler.begin()
    with pytest.raises(CQSError, match="STRUCTURE_FULL"):
        unit.insert(LTRMZ, [b"o" * 3000])
    assert 1 == len(group.console)
    assert filler.delete(transaction("FILLER")) is not None, "reads and deletes go on"
    ims.enter_from_link("LINK1", "TRANX", "fits again")
    assert 1 == ims.client.count(TRANX)


def test_fast_path_terminals_have_their_own_message():
    group = Group(Policy("EMHQ", size=20, fast_path=True, overflow_threshold_percent=1000))
    ims = FastPath("IMS1", group.start("CQS1"), {"PSBY": str})
    ims.log_on("LTRMZ")
    while Route.GLOBAL is ims.enter("LTRMZ", "PSBY", "i" * 2000, SysplexCode.GLOBAL_ONLY):
        continue
    assert ["DFS2194 SHARED EMHQ NOT AVAILABLE"] == ims.received["LTRMZ"]


def test_committed_output_is_kept_until_a_system_checkpoint_finds_room():
    group = Group(Policy(size=40, overflow_threshold_percent=1000))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    ims.put(TRANX, [b"input"])
    unit = ims.begin()
    unit.read(TRANX)
    unit.insert(LTRMZ, [b"reply", b"x" * 3000])
    filler = group.start("CQS2").register("FILL")
    fill(filler, transaction("FILLER"))
    (kept,) = unit.commit()
    assert (0, 0) == (ims.count(TRANX), ims.count(LTRMZ))
    server.system_checkpoint()
    assert (0, [kept]) == (ims.count(LTRMZ), list(server.pair.kept))
    group.kill("CQS1")
    server = group.start("CQS1")
    assert [kept] == list(server.pair.kept), "it is in the log"
    filler.delete(transaction("FILLER"))
    filler.delete(transaction("FILLER"))
    server.system_checkpoint()
    assert ["reply"] == texts(filler, LTRMZ)
    assert not server.pair.kept
    server.pair.primary.connection.request(Alter(100, 200))
    group.stop()
