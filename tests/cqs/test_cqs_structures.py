"""Structure operations as the talk has them: overflow, checkpoints, copy, recovery, alter, delete, failed members."""

import pytest

from cqs.group import Group, agrees_with_log, fill, on_structure, texts
from quaestor.cqs import overflow
from quaestor.cqs.emh import SysplexCode, active_programs
from quaestor.cqs.fast_path import FastPath
from quaestor.cqs.messages import Message
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, QueueType, lterm, program, remote, transaction
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.transaction_manager import TransactionManager
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.operations import ReadList
from quaestor.storage.lists.structure import StructureLostError

TRANX, LTRMZ, GREEDY = transaction("TRANX"), lterm("LTRMZ"), transaction("GREEDY")
LONG = b"." * 3000


def refused(why, call):
    with pytest.raises(CQSError) as error:
        call()
    assert why is error.value.why
    return error.value


# -- overflow


def greedy(policy, **options):
    """A system that puts to a greedy queue until the threshold is reached."""
    group = Group(policy)
    server = group.start("CQS1", **options)
    ims = server.register("IMS1")
    ims.put(TRANX, [b"small"])
    while not server.pair.overflow:
        ims.put(GREEDY, [b"%d" % ims.count(GREEDY), LONG])
    return group, server, ims


def test_the_names_that_use_most_go_to_the_overflow_structure():
    _, server, ims = greedy(Policy(size=200, overflow_size=400))
    image = on_structure(server)
    assert ([TRANX], [GREEDY]) == (list(image.queues(0)), list(image.queues(1)))
    number = ims.count(GREEDY)
    ims.put(GREEDY, [b"%d" % number])
    assert [str(n) for n in range(number + 1)] == texts(ims, GREEDY)
    assert number + 1 == len(on_structure(server).queues(1)[GREEDY])


def test_a_fifth_of_the_elements_is_enough():
    group = Group(Policy(size=300, overflow_size=600))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    names = [transaction(f"TRAN{number:02}") for number in range(20)]
    for turn in range(6):
        for weight, queue in enumerate(names):
            if not server.pair.overflow and turn <= weight // 4:
                ims.put(queue, [LONG])
    moved = on_structure(server).elements(1)
    total = server.pair.primary.space().elements_total
    assert 20 <= 100 * moved / total < 30
    sizes = {queue: ims.count(queue) for queue in names}
    chosen = {queue for queue in names if queue.key in server.pair.overflow}
    assert min(sizes[queue] for queue in chosen) >= max(sizes[queue] for queue in names if queue not in chosen)


def test_512_names_at_most(monkeypatch):
    assert 512 == overflow.CANDIDATES_MAX
    monkeypatch.setattr(overflow, "CANDIDATES_MAX", 2)
    group = Group(Policy(size=200, overflow_size=400))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    number = 0
    while not server.pair.overflow:
        ims.put(transaction(f"T{number}"), [b"x" * 900])
        number += 1
    assert 2 == len(server.pair.overflow)


def test_an_exit_spares_a_name():
    group = Group(Policy(size=200, overflow_size=400))
    server = group.start("CQS1", overflow_exit=lambda queue, _elements: queue != GREEDY)
    ims = server.register("IMS1")
    ims.put(TRANX, [b"small"])
    for _ in range(38):
        ims.put(GREEDY, [LONG])
    assert {TRANX.key} == server.pair.overflow


def test_without_an_overflow_structure_puts_to_the_names_are_rejected():
    group, server, ims = greedy(Policy(size=200))
    refused(Why.QUEUE_IN_OVERFLOW, lambda: ims.put(GREEDY, [b"more"]))
    refused(Why.QUEUE_IN_OVERFLOW, lambda: ims.begin().insert(GREEDY, [b"more"]))
    ims.put(TRANX, [b"others go on"])
    fill(ims, TRANX)
    assert {GREEDY.key} == server.pair.overflow, "the threshold is not tested again"
    assert ["CQS0205E STRUCTURE MSGQ IS FULL"] == group.console
    while ims.delete(GREEDY) is not None:
        continue
    assert not server.pair.overflow
    ims.put(GREEDY, [b"again"])


def test_a_full_overflow_structure_rejects_its_names_and_no_others():
    group, server, ims = greedy(Policy(size=200, overflow_size=200))
    fill(ims, GREEDY)
    assert ["CQS0205E STRUCTURE MSGQ.OFLW IS FULL"] == group.console
    ims.put(TRANX, [b"goes on"])
    assert server.pair.overflow


def test_another_server_learns_of_the_names():
    group = Group(Policy(size=200, overflow_size=400))
    other = group.start("CQS2").register("IMS2")
    server = group.start("CQS1")
    ims = server.register("IMS1")
    while not server.pair.overflow:
        ims.put(GREEDY, [b"%d" % ims.count(GREEDY), LONG])
    number = ims.count(GREEDY)
    other.put(GREEDY, [b"from the other one"])
    assert number + 1 == len(on_structure(server).queues(1)[GREEDY])
    unit = other.begin()
    assert b"0" == unit.read(GREEDY).segments[0]
    unit.backout()
    assert b"0" == ims.delete(GREEDY).segments[0]


# -- checkpoints and recovery


def test_the_two_recovery_data_sets_are_written_in_turn():
    group = Group()
    server = group.start("CQS1")
    taken = [server.structure_checkpoint().sequence for _ in range(3)]
    assert [2, 3, 4] == taken
    assert [4, 3] == [checkpoint.sequence for checkpoint, _ in server.pair.data_sets.all()]


@pytest.mark.parametrize("damaged", ["MSGQ.SRDS1", "MSGQ.SRDS2"])
def test_recovery_is_possible_from_either(damaged):
    group = Group(segment_bytes=2000)
    ims = group.start("CQS1").register("IMS1")
    for text in ("a", "b", "c"):
        ims.put(TRANX, [text.encode(), LONG, LONG])
        group.servers["CQS1"].structure_checkpoint()
    ims.delete(TRANX)
    group.disk.open(damaged).write(40, b"\xff\xff\xff\xff")
    group.lose()
    assert ["b", "c"] == texts(ims, TRANX)


def test_without_a_good_recovery_data_set_nothing_begins():
    group = Group()
    ims = group.start("CQS1").register("IMS1")
    ims.put(TRANX, [b"a"])
    group.disk.open("MSGQ.SRDS1").write(40, b"\xff\xff\xff\xff")
    group.lose()
    for _ in range(3):
        refused(Why.NO_RECOVERY_DATA_SET, lambda: ims.count(TRANX))
        refused(Why.NO_RECOVERY_DATA_SET, lambda: ims.put(TRANX, [b"not on an empty structure"]))


def test_a_recovery_that_fails_is_made_again():
    """No space for the recovery data set: the structure stays closed, and the next request recovers it."""
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    save = one.pair.data_sets.save

    def no_space(*_):
        raise OSError(28, "No space left on device")

    one.pair.data_sets.save = no_space
    with pytest.raises(OSError, match="No space"):
        one.recover_structure()
    with pytest.raises(OSError, match="No space"):
        ims1.put(TRANX, [b"b"])
    one.pair.data_sets.save = save
    ims2.put(TRANX, [b"c"])
    assert ["a", "c"] == texts(ims1, TRANX) == texts(ims2, TRANX)
    assert agrees_with_log(one)


def test_a_structure_that_moved_nobody_knows_where_to():
    group = Group()
    one = group.start("CQS1")
    ims2 = group.start("CQS2").register("IMS2")
    one.register("IMS1").put(TRANX, [b"a"])
    one.copy_structure("CF02")
    (newest,) = [name for name in one.pair.data_sets.names if b"CF02" in group.disk.open(name).read(0, 500)]
    group.disk.open(newest).write(40, b"\xff\xff\xff\xff")
    refused(Why.NO_RECOVERY_DATA_SET, lambda: ims2.count(TRANX))


def test_the_log_is_trimmed_to_what_recovery_needs():
    group = Group(segment_bytes=2000)
    server = group.start("CQS1")
    ims = server.register("IMS1")
    for _ in range(6):
        ims.put(TRANX, [LONG, LONG])
    many = len(group.disk.names("MSGQ.log-"))
    server.structure_checkpoint()
    server.structure_checkpoint()
    assert len(group.disk.names("MSGQ.log-")) < many
    group.lose()
    assert 6 == ims.count(TRANX)


def test_recovery_keeps_what_is_locked_locked():
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    for text in (b"a", b"b", b"c"):
        ims1.put(TRANX, [text])
    one.structure_checkpoint()
    unit = ims2.begin()
    unit.read(TRANX)
    other = ims1.begin()
    other.read(TRANX)
    other.backout()
    group.lose()
    assert ["b", "c"] == texts(ims1, TRANX)
    unit.insert(LTRMZ, [b"reply to a"])
    unit.commit()
    assert (["b", "c"], ["reply to a"]) == (texts(ims1, TRANX), texts(ims1, LTRMZ))
    assert agrees_with_log(one)


def test_clients_are_told_again_when_a_structure_was_recovered():
    group, told = Group(), []
    server = group.start("CQS1")
    ims = server.register("IMS1", told.append)
    ims.register_interest(TRANX), ims.register_interest(LTRMZ)
    ims.put(TRANX, [b"a"])
    group.lose()
    server.step()
    assert [TRANX, TRANX] == told
    ims.put(LTRMZ, [b"b"])
    assert [TRANX, TRANX, LTRMZ] == told


def test_only_committed_output_of_fast_path_is_recovered():
    group = Group(Policy("EMHQ", size=400, fast_path=True))
    server = group.start("CQS1")
    ims = FastPath("IMS1", server, {"PSBY": str.upper})
    ims.log_on("LTRMZ")
    for text in ("a", "b"):
        ims.enter("LTRMZ", "PSBY", text, SysplexCode.GLOBAL_ONLY)
    assert ims._run_shared("PSBY")
    server.copy_structure("CF02")
    assert (1, 1) == (ims.client.count(program("PSBY")), ims.client.count(LTRMZ)), "a copy has both"
    assert {"PSBY": ["IMS1"]} == active_programs(server.pair)
    group.lose("CF02")
    assert (0, 1) == (ims.client.count(program("PSBY")), ims.client.count(LTRMZ))


def test_fast_path_has_two_queue_types_and_one_buffer():
    group = Group(Policy("EMHQ", size=400, fast_path=True))
    ims = group.start("CQS1").register("IMS1")
    refused(Why.NOT_A_REGISTERED_TYPE, lambda: ims.register_interest(remote("MSN1")))
    refused(Why.NOT_ON_THIS_STRUCTURE, lambda: ims.put(remote("MSN1"), [b"x"]))
    refused(Why.SEGMENT_TOO_LONG, lambda: ims.put(program("PSBY"), [LONG, LONG]))


def test_nobody_works_while_a_structure_is_quiesced():
    """Whenever CQS1 reads the structure for its checkpoint, a put of CQS2 has to wait."""
    group, waits = Group(), []

    class WaitedError(Exception):
        pass

    def wait():
        waits.append(True)
        raise WaitedError

    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    two.pair.around.wait = wait
    tried = []

    def disturb(who, operations):
        if who == "CQS1" and any(isinstance(each, ReadList) and each.list == TRANX.header for each in operations):
            tried.append(True)
            with pytest.raises(WaitedError):
                ims2.put(TRANX, [b"b"])

    group.watchers.append(disturb)
    one.structure_checkpoint()
    group.watchers.clear()
    assert len(tried) == len(waits) > 0
    ims2.put(TRANX, [b"b"])
    assert ["a", "b"] == texts(ims1, TRANX)


def test_a_commit_that_met_a_quiesced_structure_is_done_behind_it():
    """It is in the log: it has happened, and whoever looks afterwards finds it."""
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    unit = ims1.begin()
    unit.read(TRANX)
    unit.insert(LTRMZ, [b"reply"])
    append = one.pair.log.append

    def and_then_a_checkpoint(*arguments, **options):
        record = append(*arguments, **options)
        one.pair.log.append = append
        two.pair.hold()
        return record

    one.pair.log.append = and_then_a_checkpoint
    assert () == unit.commit()
    two.pair.open()
    assert two.structure_checkpoint().messages == 1, "the checkpoint did it first"
    assert (0, ["reply"]) == (ims1.count(TRANX), texts(ims2, LTRMZ))
    assert agrees_with_log(one)


def test_rebuild_when_enough_systems_have_lost_access():
    policy = Policy(rebuild_percent=10)
    assert not policy.rebuild_due(0, 10)
    assert policy.rebuild_due(1, 10)
    assert not policy.rebuild_due(1, 11)
    assert not policy.rebuild_due(10, 10), "nobody is left to copy it: it is recovered"


def test_a_structure_that_others_cannot_reach_is_copied_to_where_they_can():
    """CQS2 has lost CF01, one of two: CQS1 copies the structure to CF02, and CQS2 goes on there."""
    group = Group(Policy(size=200, rebuild_percent=10, preference=("CF01", "CF02")))
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"]), ims1.put(TRANX, [b"b"])
    unit = ims2.begin()
    unit.read(TRANX)
    group.cut("CQS2", "CF01")
    for _ in range(2):
        with pytest.raises(StructureLostError):
            ims2.put(TRANX, [b"c"])
    assert [] == one.step(), "it lives, and is not recovered"
    assert "CF02" == one.pair.places()[0][1]
    unit.insert(LTRMZ, [b"reply"])
    unit.commit()
    assert (["b"], ["reply"]) == (texts(ims1, TRANX), texts(ims1, LTRMZ))
    assert agrees_with_log(one)


def test_a_server_that_has_not_started_or_has_ended_says_so():
    group = Group()
    server = group.start("CQS1")
    ims = server.register("IMS1")
    group.stop()
    refused(Why.NOT_STARTED, lambda: ims.pair.active(lambda: None))
    refused(Why.NOT_REGISTERED, lambda: ims.put(TRANX, [b"a"]))


def test_a_copy_is_larger_and_others_follow_it():
    group = Group(Policy(size=200))
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a", LONG, LONG])
    before = one.pair.primary.space()
    (name,) = one.copy_structure(kilobytes=400)
    assert name.startswith("MSGQ#")
    assert 2 * before.elements_total - 2 <= one.pair.primary.space().elements_total
    ims2.put(TRANX, [b"b"])
    assert ["a", "b"] == texts(ims1, TRANX) == texts(ims2, TRANX)
    third = group.start("CQS3").register("IMS3")
    assert ["a", "b"] == texts(third, TRANX)


def test_a_copy_that_fails_leaves_the_old_structure():
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    refused(Why.NO_FACILITY, lambda: one.copy_structure("CF09"))
    ims2.put(TRANX, [b"b"])
    assert ["a", "b"] == texts(ims1, TRANX)


def test_alter_within_the_policy_and_above_what_is_held():
    group = Group(Policy(size=400, initsize=200))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    for _ in range(10):
        ims.put(TRANX, [LONG])
    server.alter_structure(300)
    refused(Why.TOO_LARGE, lambda: server.alter_structure(401))
    refused(Why.TOO_SMALL, lambda: server.alter_structure(20))
    assert 10 == ims.count(TRANX)


def test_a_structure_that_is_forced_comes_back_unless_both_data_sets_are_scratched():
    group = Group()
    ims = group.start("CQS1").register("IMS1")
    ims.put(TRANX, [b"a"])
    group.stop()
    group.lose()
    server = group.start("CQS1")
    assert ["a"] == texts(server.register("IMS1"), TRANX)
    server.delete_structure()
    group.servers.clear()
    assert [] == group.disk.names("MSGQ.SRDS")
    assert 0 == group.start("CQS1").register("IMS1").count(TRANX)


def test_structures_outlive_their_servers():
    group = Group()
    group.start("CQS1").register("IMS1").put(TRANX, [b"a"])
    group.stop()
    assert ["a"] == texts(group.start("CQS9").register("IMS9"), TRANX)


def test_a_facility_that_is_gone_for_good_is_said():
    group = Group()
    ims = group.start("CQS1").register("IMS1")

    class Nothing:
        def connect(self, shape, connector, told):
            raise StructureLostError("no coupling facility")

    group._engines["CF01"] = Nothing
    group.lose()
    for _ in range(3):
        with pytest.raises(StructureLostError, match="no coupling facility"):
            ims.put(TRANX, [b"a"])
    group._engines["CF01"] = MemoryFacility
    group.lose()
    ims.put(TRANX, [b"a"])
    assert ["a"] == texts(ims, TRANX)


# -- members and clients


def test_a_server_has_32_clients_that_may_register():
    server = Group().start("CQS1", may_register=lambda name: name != "BAD")
    for number in range(32):
        server.register(f"I{number}")
    refused(Why.TOO_MANY_CLIENTS, lambda: server.register("MORE"))
    server.deregister("I7")
    server.register("MORE")
    refused(Why.NOT_AUTHORIZED, lambda: server.register("BAD"))
    refused(Why.CLIENT_REGISTERED, lambda: server.register("I8"))
    with pytest.raises(ValueError, match="one to four"):
        server.register("TOOLONG")


def test_a_client_that_has_gone_can_ask_nothing():
    server = Group().start("CQS1")
    ims = server.register("IMS1")
    ims.register_interest(TRANX)
    server.deregister("IMS1")
    refused(Why.NOT_REGISTERED, lambda: ims.put(TRANX, [b"a"]))
    refused(Why.NOT_REGISTERED, lambda: server.deregister("IMS1"))
    assert [] == ims.interests


def test_a_unit_that_has_ended_does_nothing_more():
    ims = Group().start("CQS1").register("IMS1")
    unit = ims.begin()
    unit.commit()
    for call in (unit.commit, unit.backout, lambda: unit.read(TRANX), lambda: unit.insert(TRANX, [b"a"])):
        refused(Why.UNIT_ENDED, call)


def test_a_message_that_was_not_read_is_not_moved():
    ims = Group().start("CQS1").register("IMS1")
    unit = ims.begin()
    stray = Message.made(TRANX, bytes(15), [b"a"])
    refused(Why.NOT_LOCKED, lambda: unit.move(stray, LTRMZ))


def test_a_cold_start_leaves_messages_on_the_cold_queue():
    group = Group()
    server = group.start("CQS1")
    ims = server.register("IMS1")
    ims.put(TRANX, [b"a"])
    ims.begin().read(TRANX)
    assert 1 == server.client_failed("IMS1", cold=True)
    assert [Private.COLD] == [placed.header for placed in on_structure(server).of(0)]
    assert 0 == server.register("IMS1").count(TRANX)
    assert agrees_with_log(server)


def test_the_newer_server_of_a_name_wins():
    group = Group()
    older = group.start("CQS1").register("IMS1")
    newer = group.start("CQS1").register("IMS2")
    refused(Why.FENCED, lambda: older.put(TRANX, [b"late"]))
    newer.put(TRANX, [b"a"])
    assert ["a"] == texts(newer, TRANX)


def test_a_fenced_server_does_not_read_either():
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    for cable in group._cables:
        if cable.connector == "CQS2":
            cable._inner.fail()
    assert ["CQS2"] == one.step()
    refused(Why.FENCED, lambda: ims2.begin().read(TRANX))
    assert ["a"] == texts(ims1, TRANX)


def test_who_does_not_come_back_to_a_recovered_structure_has_failed():
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    ims2.begin().read(TRANX)
    group.lose()
    assert [] == one.step()
    assert 0 == ims1.count(TRANX), "it has ten seconds"
    group.clock.advance(seconds=11)
    assert ["CQS2"] == one.step()
    assert ["a"] == texts(ims1, TRANX)


def test_the_local_shortcut_saves_the_ready_queue_and_false_alarms():
    group = Group()
    program_of = {"TRANX": lambda segments: [(lterm(segments[0].decode()), [b"done"])]}
    ims1 = TransactionManager("IMS1", group.start("CQS1"), program_of)
    ims2 = TransactionManager("IMS2", group.start("CQS2"), program_of)
    ims1.log_on("LTRMZ")
    running = ims1.enter("LTRMZ", "TRANX", "quick")
    assert [Private.LOCK] == [placed.header for placed in on_structure(group.servers["CQS1"]).of(0)]
    assert (0, 0, 1) == (ims1.counts.informed, ims2.counts.informed, ims1.counts.shortcuts)
    assert ims1.enter("LTRMZ", "TRANX", "no region is free") is None
    assert (1, 1) == (ims1.counts.informed, ims2.counts.informed)
    assert ims1.complete(running) == ""
    assert ims1.complete(ims1.schedule()) == ""
    assert ims2.schedule() is None
    assert (1, 2) == (ims2.counts.false_alarms, ims1.deliver())
    assert ims1.enter("LTRMZ", "TRANX", "x" * 3000, "y" * 3000) is None, "it needs two records"
    assert agrees_with_log(group.servers["CQS1"])


def test_a_serial_transaction_goes_the_long_way_and_a_failed_one_comes_first():
    group = Group()
    ims = TransactionManager("IMS1", group.start("CQS1"), {"TRANS": lambda _s: []}, regions=2, serial=["TRANS"])
    ims.log_on("LTRMZ")
    assert [None, None] == [ims.enter("LTRMZ", "TRANS", text) for text in ("1", "2")]
    running = ims.schedule()
    assert ims.schedule() is None, "one at a time"
    ims.fail(running)
    running = ims.schedule()
    assert b"1" == running.message.segments[1]
    ims.fail(running, suspend=True)
    assert QueueType.TRANSACTION_SUSPEND in {p.message.queue.type for p in on_structure(group.servers["CQS1"]).of(0)}
    assert b"2" == ims.schedule().message.segments[1]
    ims.stop_transaction("TRANS")
    ims.start_transaction("TRANS")
    assert 1 == ims.client.count(ims.queue_of("TRANS"))
    ims.log_off("LTRMZ")
    assert {} == ims.terminals


def test_an_insert_that_is_rejected_has_status_qf():
    group = Group(Policy(size=40, overflow_threshold_percent=1000))
    server = group.start("CQS1")
    ims = TransactionManager("IMS1", server, {"TRANX": lambda _s: [(LTRMZ, [b"x" * 3000])]})
    ims.log_on("LTRMZ")
    running = ims.enter("LTRMZ", "TRANX", "first")
    fill(server.register("FILL"), GREEDY)
    assert "QF" == ims.complete(running)
