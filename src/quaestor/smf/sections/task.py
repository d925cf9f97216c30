"""What is accounted per task: WTID and WTAS (SMF 116 subtypes 1 and 2), QWAC (subtype 0)."""

from quaestor.layout import (
    Record,
    at,
    block,
    block_id,
    block_length,
    code,
    count,
    elapsed,
    eye_catcher,
    flags,
    high,
    internal,
    longest,
    octets,
    record,
    reserved,
    stamp,
    text,
    token,
)
from quaestor.smf.codes import CONNTYPE
from quaestor.smf.sections.coupling_facility import CouplingFacilityCalls


@record("WTID", size=208, lengths={"5.2": 208})
class TaskIdentification(Record):
    """WTID: who the task was."""

    id: block_id = at(0, "WTIDSHEX", "Block identifier xF700", default=0xF700)
    length: block_length = at(2, "WTIDLEN", "Length")
    eye: eye_catcher = at(4, "WTIDEYEC", "Eye-catcher WTID", size=4, default="WTID")
    connection_type: code = at(8, "WTIDATYP", "Type of connecting system", codes=CONNTYPE)
    connection_name: text = at(12, "WTIDCCN", "Connection name (job, applid, IMS id, CHIN job)", size=8)
    operator_id: text = at(20, "WTIDOPID", "Operator / user id", size=8)
    network_id: token = at(28, "WTIDNID", "Network id", size=16)
    correlation: token = at(
        44, "WTIDCORI", "Thread cross-reference (CICS thread, transaction, task; IMS PST, PSB)", size=12
    )
    unit_of_work_id: token = at(56, "WTIDUOWI", "Unit of work id (LUWID)", size=24)
    accounting_token: token = at(80, "WTIDACCT", "Accounting token", size=22)
    channel: text = at(102, "WTIDCHL", "Channel name", size=20)
    channel_connection: text = at(122, "WTIDCHLC", "Channel connection name", size=48)
    context_token: token = at(170, "WTIDCTXT", "Context token", size=16)
    user_id: text = at(186, "WTIDTRAN", "z/OS user id (the name suggests a transaction, it is not)", size=8)
    reserved_194: reserved = at(194, "FILLER__001", "reserved", size=2)
    chain_forward: internal = at(196, "WTIDCFWD", "Chain")
    chain_backward: internal = at(200, "WTIDCBWD", "Chain")
    task_block: internal = at(204, "WTIDWTAS", "Owning WTAS")


@record("WTAS", size=2344, lengths={"5.2": 712, "8.0": 2344})
class TaskAccounting(Record):
    """WTAS: commits, log, Db2, coupling facility and latches of one task."""

    id: block_id = at(0, "WTASSHEX", "Block identifier xF701", default=0xF701)
    length: block_length = at(2, "WTASLEN", "Length")
    eye: eye_catcher = at(4, "WTASEYEC", "Eye-catcher WTAS", size=4, default="WTAS")
    allocated_at: stamp = at(8, "WTASSTRT", "Task block allocated (with next 8 bytes = 16-byte correlator)")
    correlator_2: internal = at(16, "WTASMTHR", "Correlator part 2", wire="i4")
    correlator_3: internal = at(20, "WTASWTAS", "Correlator part 3", wire="i4")
    latch_internal: internal = at(24, "WTASLATC", "Internal latch", wire="u8")
    hash_index: internal = at(32, "WTASHSHI", "Internal", wire="i4")
    next_block: internal = at(36, "WTASNEXT", "Chain")
    flag_bits: flags = at(40, "WTASFLAG", "Flag bits", bits={0x20000000: "cut at end of task"})
    queue_blocks: count = at(44, "WTASWQCT", "Queue blocks owned")
    latch_elapsed: elapsed = at(48, "WTASLWET", "Latch wait time per class 1-32", shape=(32,))
    latch_waits: count = at(304, "WTASLWN", "Latch waits per class 1-32", wire="i4", shape=(32,))
    other_elapsed: elapsed = at(432, "WTASOTET", "Other calls elapsed")
    other_cpu: elapsed = at(440, "WTASOTCT", "Other calls CPU")
    others: count = at(448, "WTASOTN", "Other calls", wire="i4")
    latch_longest: longest = at(452, "WTASMLW", "Longest latch wait")
    latch_longest_number: internal = at(460, "WTASMLWN", "Latch of the longest wait", wire="i4")
    latch_longest_owner: token = at(464, "WTASLOWN", "Owner of the longest latch", size=8)
    commit_elapsed: elapsed = at(472, "WTASCMET", "Commit elapsed")
    commit_cpu: elapsed = at(480, "WTASCMCT", "Commit CPU")
    commits: count = at(488, "WTASCMN", "Commits", wire="i4")
    backout_elapsed: elapsed = at(492, "WTASBAET", "Backout elapsed")
    backout_cpu: elapsed = at(500, "WTASBACT", "Backout CPU")
    backouts: count = at(508, "WTASBAN", "Backouts", wire="i4")
    reserved_512: reserved = at(512, "FILLER__007", "reserved", size=4)
    log_write_elapsed: elapsed = at(516, "WTASJWET", "Log write time")
    log_writes: count = at(524, "WTASJWN", "Log writes")
    log_bytes: octets = at(528, "WTASJWB", "Log bytes", wire="u4")
    log_force_elapsed: elapsed = at(532, "WTASJCET", "Log force wait time")
    log_forces: count = at(540, "WTASJCN", "Log forces")
    suspends: count = at(544, "WTASSUSN", "Suspends")
    suspend_elapsed: elapsed = at(548, "WTASSUSE", "Suspend time")
    page_set_0_elapsed: elapsed = at(556, "WTASPSE0", "Page set 0 logging time")
    page_set_0_requests: count = at(564, "WTASPSN0", "Page set 0 logging requests")
    db2_thread_elapsed: elapsed = at(568, "WTASDBET", "Db2 time, thread")
    db2_server_elapsed: elapsed = at(576, "WTASDBES", "Db2 time, server")
    db2_thread_longest: longest = at(584, "WTASDBMT", "Db2 longest, thread")
    db2_server_longest: longest = at(592, "WTASDBMS", "Db2 longest, server")
    db2_requests: count = at(600, "WTASDBCT", "Db2 requests")
    cf_single_calls: count = at(604, "WTASCSEC", "CF IXLLSTE calls")
    cf_multiple_calls: count = at(608, "WTASCMEC", "CF IXLLSTM calls")
    cf_single_redrives: count = at(612, "WTASRSEC", "CF IXLLSTE redrives")
    cf_multiple_redrives: count = at(616, "WTASRMEC", "CF IXLLSTM redrives")
    cf_single_elapsed: elapsed = at(620, "WTASSSTC", "CF IXLLSTE time")
    cf_multiple_elapsed: elapsed = at(628, "WTASMSTC", "CF IXLLSTM time")
    smds_reads_saved: count = at(636, "WTASSMRS", "SMDS reads saved")
    smds_read_blocks: count = at(640, "WTASSMRB", "SMDS read blocks")
    smds_write_blocks: count = at(644, "WTASSMWB", "SMDS write blocks")
    smds_read_pages: count = at(648, "WTASSMRP", "SMDS read pages")
    smds_write_pages: count = at(652, "WTASSMWP", "SMDS write pages")
    smds_wait_elapsed: elapsed = at(656, "WTASSMWT", "SMDS I/O wait")
    interval_start: stamp = at(664, "WTASINTS", "Interval start")
    interval_end: stamp = at(672, "WTASINTE", "Interval end")
    pages_got_old: count = at(680, "WTASGPO", "Get page, old", wire="i4")
    pages_got_new: count = at(684, "WTASGPN", "Get page, new", wire="i4")
    chain_forward: internal = at(688, "WTASCQF", "Chain")
    chain_backward: internal = at(692, "WTASCQB", "Chain")
    version: internal = at(696, "WTASVER", "Block version")
    reserved_700: reserved = at(700, "FILLER__002", "reserved", size=4)
    db2_bytes_written: octets = at(704, "WTASDBPT", "Db2 bytes written")
    db2_bytes_read: octets = at(712, "WTASDBGT", "Db2 bytes read")
    pool_latch_wait_elapsed: elapsed = at(720, "WTASPBHW", "Buffer pool latch wait (field reused)")
    pool_latch_held_elapsed: elapsed = at(728, "WTASPBTT", "Buffer pool latch held (field reused)")
    topic_elapsed: elapsed = at(736, "WTASTPET", "Topic elapsed")
    topic_cpu: elapsed = at(744, "WTASTPCT", "Topic CPU")
    topic_unused: internal = at(752, "WTASTPN", "Unused")
    subscribe_elapsed: elapsed = at(756, "WTASSUET", "MQSUB elapsed")
    subscribe_cpu: elapsed = at(764, "WTASSUCT", "MQSUB CPU")
    subscribes: count = at(772, "WTASSUN", "MQSUBs")
    subscribes_selector: count = at(776, "WTASSUSC", "MQSUBs with selector")
    selector_length_high: high = at(780, "WTASSUSL", "Longest selector")
    subscription_request_elapsed: elapsed = at(784, "WTASSQET", "MQSUBRQ elapsed")
    subscription_request_cpu: elapsed = at(792, "WTASSQCT", "MQSUBRQ CPU")
    subscription_requests: count = at(800, "WTASSQN", "MQSUBRQs")
    control_elapsed: elapsed = at(804, "WTASCTET", "MQCTL elapsed")
    control_cpu: elapsed = at(812, "WTASCTCT", "MQCTL CPU")
    controls: count = at(820, "WTASCTN", "MQCTLs")
    stat_elapsed: elapsed = at(824, "WTASSTET", "MQSTAT elapsed")
    stat_cpu: elapsed = at(832, "WTASSTCT", "MQSTAT CPU")
    stats: count = at(840, "WTASSTN", "MQSTATs")
    reserved_844: reserved = at(844, "FILLER__009", "reserved", size=4)
    control_srb: elapsed = at(848, "WTASCTSR", "MQCTL SRB CPU")
    reserved_856: reserved = at(856, "FILLER__010", "reserved", size=8)
    commit_cf_calls: block = at(864, "COMMITCF", "CF request figures at commit", of=CouplingFacilityCalls)
    prepare_cf_calls: block = at(1264, "PREPCF", "CF request figures at prepare", of=CouplingFacilityCalls)
    reserved_1664: reserved = at(1664, "FILLER__012", "400 bytes unused", size=400)
    prepare_elapsed: elapsed = at(2064, "WTASPRET", "Prepare elapsed")
    prepare_cpu: elapsed = at(2072, "WTASPRCT", "Prepare CPU")
    prepares: count = at(2080, "WTASPRN", "Prepares")
    reserved_2084: reserved = at(2084, "FILLER__013", "reserved", size=4)
    latch_class_longest: longest = at(2088, "WTASLMAX", "Longest wait per latch class 1-32", shape=(32,))


@record("QWAC", size=176, lengths={"5.2": 176, "10.0.0": 96})
class ThreadAccounting(Record):
    """QWAC: thread times of one task; only the part up to the backouts is ever filled."""

    started_at: stamp = at(0, "QWACBSC", "Thread start TOD")
    ended_at: stamp = at(8, "QWACESC", "Thread end TOD")
    tcb_at_start: elapsed = at(16, "QWACBJST", "TCB time at start")
    tcb_at_end: elapsed = at(24, "QWACEJST", "TCB time at end")
    srb_at_start: elapsed = at(32, "QWACBSRB", "SRB time at start")
    srb_at_end: elapsed = at(40, "QWACESRB", "SRB time at end")
    reason: code = at(48, "QWACRINV", "Reason the accounting record was cut", wire="u4")
    network_id: token = at(52, "QWACNID", "Network id", size=16)
    commits: count = at(68, "QWACCOMM", "Commit requests")
    backouts: count = at(72, "QWACBACK", "Backouts")
    in_mq_elapsed: elapsed = at(76, "QWACASC", "Elapsed time in MQ")
    in_mq_tcb: elapsed = at(84, "QWACAJST", "TCB time in MQ")
    in_mq_srb: elapsed = at(92, "QWACASRB", "SRB time in MQ")
    wait_io_elapsed: elapsed = at(100, "QWACAWTI", "Wait time, I/O")
    wait_latch_elapsed: elapsed = at(108, "QWACAWTL", "Wait time, lock/latch")
    events: count = at(116, "QWACARNA", "Entry/exit events a")
    io_waits: count = at(120, "QWACARNE", "I/O wait events")
    wait_read_elapsed: elapsed = at(124, "QWACAWTR", "Wait, other read I/O")
    wait_write_elapsed: elapsed = at(132, "QWACAWTW", "Wait, other write I/O")
    wait_service_elapsed: elapsed = at(140, "QWACAWTE", "Wait, service task")
    wait_archive_elapsed: elapsed = at(148, "QWACALOG", "Wait, archive log")
    latch_waits: count = at(156, "QWACARNL", "Lock/latch wait events")
    read_waits: count = at(160, "QWACARNR", "Read wait events")
    write_waits: count = at(164, "QWACARNW", "Write wait events")
    service_waits: count = at(168, "QWACARNS", "Service wait events")
    archive_waits: count = at(172, "QWACALCT", "Archive log wait events")
