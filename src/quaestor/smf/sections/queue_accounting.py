"""What is accounted per task and queue: WQST (SMF 116 subtypes 1 and 2).

Versions 2 to 6 of the block are not tied to releases by any source; the levels here are chosen in order.
"""

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
    gauge,
    high,
    internal,
    longest,
    low,
    number,
    octets,
    record,
    reserved,
    shortest,
    stamp,
    text,
    token,
)
from quaestor.smf.codes import INDEXTYPE, QSGDISP, QTYPE
from quaestor.smf.sections.coupling_facility import CouplingFacilityCalls


@record(
    "WQST",
    size=2800,
    lengths={"5.2": 576, "5.3": 592, "5.3.1": 608, "6.0": 672, "7.0": 704, "7.1": 2752, "8.0": 2792, "9.3.2": 2800},
)
class QueueAccounting(Record):
    """WQST: every MQI verb of one task on one queue."""

    id: block_id = at(0, "WQID", "Block identifier xF702", default=0xF702)
    length: block_length = at(2, "WQLL", "Length")
    eye: eye_catcher = at(4, "WQEYE", "Eye-catcher WQST", size=4, default="WQST")
    version: internal = at(8, "WQVER", "Block version 1-9", wire="i4")
    next_block: internal = at(12, "WQNEXT", "Chain")
    correlator: token = at(16, "CORREL", "Joins to WTAS offset 8 (16 bytes)", size=16)
    object_name: text = at(32, "OBJNAME", "Name as opened", size=48)
    base_name: text = at(80, "BASENAME", "Resolved / base name", size=48)
    opened_at: stamp = at(128, "OPENTIME", "First open")
    closed_at: stamp = at(136, "CLOSTIME", "Last close")
    queue_type: code = at(144, "QTYPE", "Queue type", codes=QTYPE)
    index_type: code = at(148, "INDXTYPE", "Index type", codes=INDEXTYPE)
    disposition: code = at(152, "QSGDISP", "Disposition", codes=QSGDISP)
    eye_156: eye_catcher = at(156, "OPENEYE", "Marker MQOPEN", size=4, default="OPEN")
    open_elapsed: elapsed = at(160, "OPENET", "MQOPEN elapsed")
    open_cpu: elapsed = at(168, "OPENCT", "MQOPEN CPU")
    opens: count = at(176, "OPENN", "MQOPEN calls")
    eye_180: eye_catcher = at(180, "CLOSEEYE", "Marker MQCLOSE", size=4, default="CLOS")
    close_elapsed: elapsed = at(184, "CLOSEET", "MQCLOSE elapsed")
    close_cpu: elapsed = at(192, "CLOSECT", "MQCLOSE CPU")
    closes: count = at(200, "CLOSEN", "MQCLOSE calls")
    eye_204: eye_catcher = at(204, "GETEYE", "Marker MQGET", size=4, default="GET")
    get_elapsed: elapsed = at(208, "GETET", "MQGET elapsed")
    get_cpu: elapsed = at(216, "GETCT", "MQGET CPU")
    gets: count = at(224, "GETN", "MQGET calls")
    browses_any: count = at(228, "GETBRWA", "Browse, any")
    browses_specific: count = at(232, "GETBRWS", "Browse, specific")
    gets_any: count = at(236, "GETA", "Get, any")
    gets_specific: count = at(240, "GETS", "Get, specific")
    gets_other: count = at(244, "GETERR", "Gets not counted elsewhere")
    get_log_write_elapsed: elapsed = at(248, "GETJWET", "MQGET time waiting for unforced log writes")
    get_log_writes: count = at(256, "GETJWN", "MQGET unforced log writes")
    get_page_set_elapsed: elapsed = at(260, "GETPSET", "MQGET page set read time")
    get_page_set_reads: count = at(268, "GETPSN", "MQGET page set reads")
    get_suspend_elapsed: elapsed = at(272, "GETSUSET", "MQGET suspend time")
    get_suspends: count = at(280, "GETSUSN", "MQGET suspends")
    empty_pages_skipped: count = at(284, "GETEPAGE", "Empty pages skipped")
    messages_skipped: count = at(288, "GETSMSG", "Messages skipped")
    messages_expired: count = at(292, "GETEXMSG", "Expired messages met")
    eye_296: eye_catcher = at(296, "PUTEYE", "Marker MQPUT", size=4, default="PUT")
    put_elapsed: elapsed = at(300, "PUTET", "MQPUT elapsed")
    put_cpu: elapsed = at(308, "PUTCT", "MQPUT CPU")
    puts: count = at(316, "PUTN", "MQPUT calls")
    put_log_write_elapsed: elapsed = at(320, "PUTJWET", "MQPUT time waiting for unforced log writes")
    put_log_writes: count = at(328, "PUTJWN", "MQPUT unforced log writes")
    put_suspend_elapsed: elapsed = at(332, "PUTSUSET", "MQPUT suspend time")
    put_suspends: count = at(340, "PUTSUSN", "MQPUT suspends")
    put_page_set_elapsed: elapsed = at(344, "PUTPSET", "MQPUT page set read time")
    put_page_set_reads: count = at(352, "PUTPSN", "MQPUT page set reads", wire="i4")
    eye_356: eye_catcher = at(356, "PUT1EYE", "Marker MQPUT1", size=4, default="PUT1")
    put1_elapsed: elapsed = at(360, "PUT1ET", "MQPUT1 elapsed")
    put1_cpu: elapsed = at(368, "PUT1CT", "MQPUT1 CPU")
    put1s: count = at(376, "PUT1N", "MQPUT1 calls")
    put1_log_write_elapsed: elapsed = at(380, "PUT1JWET", "MQPUT1 time waiting for unforced log writes")
    put1_log_writes: count = at(388, "PUT1JWN", "MQPUT1 unforced log writes")
    put1_suspend_elapsed: elapsed = at(392, "PUT1SUSET", "MQPUT1 suspend time")
    put1_suspends: count = at(400, "PUT1SUSN", "MQPUT1 suspends")
    put1_page_set_elapsed: elapsed = at(404, "PUT1PSET", "MQPUT1 page set read time")
    put1_page_set_reads: count = at(412, "PUT1PSN", "MQPUT1 page set reads", wire="i4")
    eye_416: eye_catcher = at(416, "INQEYE", "Marker MQINQ", size=4, default="INQ")
    inq_elapsed: elapsed = at(420, "INQET", "MQINQ elapsed")
    inq_cpu: elapsed = at(428, "INQCT", "MQINQ CPU")
    inquires: count = at(436, "INQN", "MQINQ calls")
    eye_440: eye_catcher = at(440, "SETEYE", "Marker MQSET", size=4, default="SET")
    set_elapsed: elapsed = at(444, "SETET", "MQSET elapsed")
    set_cpu: elapsed = at(452, "SETCT", "MQSET CPU")
    sets: count = at(460, "SETN", "MQSET calls")
    set_log_write_elapsed: elapsed = at(464, "SETJWET", "MQSET time waiting for unforced log writes")
    set_log_writes: count = at(472, "SETJWN", "MQSET unforced log writes")
    page_set: number = at(476, "NPS", "Page set")
    structure: text = at(480, "CFSTRUCNAME", "CF structure", size=12)
    buffer_pool: number = at(492, "NBUFFPOOL", "Buffer pool")
    put_bytes: octets = at(496, "PUTBYTES", "Bytes put")
    get_bytes: octets = at(504, "GETBYTES", "Bytes got")
    valid_puts: count = at(512, "VALIDPUT", "Puts with data")
    valid_gets: count = at(516, "VALIDGET", "Gets with data")
    generated_messages: count = at(520, "NGEN", "Generated messages (reports, events)")
    get_size_high: high = at(524, "GETMAXMS", "Longest message got", wire="i4")
    get_size_low: low = at(528, "GETMINMS", "Shortest message got", wire="i4", unset=0x0FFFFFFF)
    put_size_high: high = at(532, "PUTMAXMS", "Longest message put", wire="i4")
    put_size_low: low = at(536, "PUTMINMS", "Shortest message put", wire="i4", unset=0x0FFFFFFF)
    on_queue_longest: longest = at(540, "MAXLATNT", "Longest time on queue")
    on_queue_shortest: shortest = at(548, "MINLATNT", "Shortest time on queue")
    on_queue_elapsed: elapsed = at(556, "TOTLATNT", "Total time on queue")
    previous_block: internal = at(564, "WQBACK", "Chain")
    open_now: gauge = at(568, "USE_COUNT", "Open count now", wire="i4")
    calls: count = at(572, "TOTAL_USE", "Calls that used the queue", wire="i4")
    gets_persistent: count = at(576, "GETPMSG", "MQGET of persistent messages", wire="i4")
    puts_persistent: count = at(580, "PUTPMSG", "MQPUT of persistent messages", wire="i4")
    put1s_persistent: count = at(584, "PUT1PMSG", "MQPUT1 of persistent messages", wire="i4")
    depth_high: high = at(588, "MAXQDPTH", "Highest depth seen", wire="i4")
    flag_bits: flags = at(
        592,
        "FLAGS",
        "Flag bits, numbered from the high end",
        wire="u2",
        bits={0x8000: "Accounting off for this object", 0x4000: "Object is a topic", 0x2000: "ACCTQ changed"},
    )
    reserved_594: reserved = at(594, "Z__001", "reserved", size=2)
    valid_destructive_gets: count = at(596, "GETDVAL", "Destructive gets that worked")
    get_log_force_elapsed: elapsed = at(600, "GETJCET", "MQGET time waiting for log force")
    get_log_forces: count = at(608, "GETJCN", "MQGET log forces")
    puts_to_waiter: count = at(612, "PUTPWG", "MQPUT with a waiting getter")
    put_log_force_elapsed: elapsed = at(616, "PUTJCET", "MQPUT time waiting for log force")
    put_log_forces: count = at(624, "PUTJCN", "MQPUT log forces")
    put1s_to_waiter: count = at(628, "PUT1PWG", "MQPUT1 with a waiting getter")
    put1_log_force_elapsed: elapsed = at(632, "PUT1JCET", "MQPUT1 time waiting for log force")
    put1_log_forces: count = at(640, "PUT1JCN", "MQPUT1 log forces")
    set_log_force_elapsed: elapsed = at(644, "SETJCET", "MQSET time waiting for log force")
    set_log_forces: count = at(652, "SETJCN", "MQSET log forces")
    puts_direct_shared: count = at(656, "PUTDSQ", "Puts straight to a shared queue")
    puts_intra_group: count = at(660, "PUTIGQ", "MQPUT through intra-group queuing")
    put1s_intra_group: count = at(664, "PUT1IGQ", "MQPUT1 through intra-group queuing")
    reserved_668: reserved = at(668, "Z__002", "reserved", size=4)
    selector_gets: count = at(672, "SELCOUNT", "Gets that used a selector")
    selector_length_high: high = at(676, "SELMAXLN", "Longest selector")
    eye_680: eye_catcher = at(680, "CBEYE", "Marker MQCB", size=4, default="CB")
    cb_elapsed: elapsed = at(684, "CBET", "MQCB elapsed")
    cb_cpu: elapsed = at(692, "CBCT", "MQCB CPU")
    callbacks: count = at(700, "CBN", "MQCB calls")
    open_suspend_elapsed: elapsed = at(704, "OPENSUET", "MQOPEN suspend time")
    open_suspends: count = at(712, "OPENSUN", "MQOPEN suspends")
    close_suspend_elapsed: elapsed = at(716, "CLOSESUET", "MQCLOSE suspend time")
    close_suspends: count = at(724, "CLOSESUN", "MQCLOSE suspends")
    opens_no_cf: count = at(728, "OPENCF0", "MQOPEN that needed no CF access")
    closes_no_cf: count = at(732, "CLOSECF0", "MQCLOSE that needed no CF access")
    cf_calls: block = at(
        736, "MQCFREQ", "CF requests of open, close, get, put, put1", of=CouplingFacilityCalls, shape=(5,)
    )
    messages_published: count = at(2736, "PUBLISHEDN", "Messages published")
    reserved_2740: reserved = at(2740, "Z__003", "reserved", size=12)
    topic_open_srb: elapsed = at(2752, "TOPICOPENSRB", "SRB CPU, topic open")
    topic_put_srb: elapsed = at(2760, "TOPICPUTSRB", "SRB CPU, topic put")
    topic_put1_srb: elapsed = at(2768, "TOPICPUT1SRB", "SRB CPU, topic put1")
    topic_close_srb: elapsed = at(2776, "TOPICCLOSESRB", "SRB CPU, topic close")
    puts_delayed_delivery: count = at(2784, "PUTDDLY", "Puts with delivery delay")
    reserved_2788: reserved = at(2788, "Z__004", "reserved", size=4)
    messages_streamed: count = at(2792, "STREAMEDN", "Messages streamed")
    reserved_2796: reserved = at(2796, "Z__005", "reserved", size=4)
