"""The SMF headers: SM115/SM116 and the common, correlation and extension headers QWHS, QWHC, QWHX."""

from quaestor.layout import (
    Record,
    at,
    block_length,
    code,
    flags,
    internal,
    local_stamp,
    number,
    record,
    reserved,
    stamp,
    text,
    token,
)
from quaestor.smf.codes import CONNTYPE


@record("SM115", size=28)
class Smf115Header(Record):
    """SM115: the 28 bytes every SMF 115 record begins with."""

    record_length: number = at(0, "SM115LEN", "Record length with RDW; of the first segment when spanned", wire="i2")
    segment: internal = at(2, "SM115SGD", "Segment: 0 whole, 1 first, 2 last, 3 middle", wire="i2")
    system_flags: flags = at(4, "SM115FLG", "System indicator; bit x40 = subtype valid", wire="u1")
    record_type: number = at(5, "SM115RTY", "Record type (115)", wire="u1")
    time_hundredths: number = at(6, "SM115TME", "Time SMF buffered the record, 1/100 s since local midnight")
    date_packed: number = at(10, "SM115DTE", "Local date, packed 0cyydddF")
    system: text = at(14, "SM115SID", "z/OS system (SMF) id", size=4)
    queue_manager: text = at(18, "SM115SSI", "Queue manager (subsystem) name", size=4)
    subtype: number = at(22, "SM115STF", "Record subtype", wire="u2")
    release: text = at(24, "SM115REL", "MQ release VRM as 3 digits; stuck at 946 from MQ 10.0 (then see QWHX)", size=3)
    reserved_27: reserved = at(27, "FILLER_001", "reserved", size=1)


@record("SM116", size=28)
class Smf116Header(Record):
    """SM116: the 28 bytes every SMF 116 record begins with."""

    record_length: number = at(0, "SM116LEN", "Record length with RDW; of the first segment when spanned", wire="i2")
    segment: internal = at(2, "SM116SGD", "Segment: 0 whole, 1 first, 2 last, 3 middle", wire="i2")
    system_flags: flags = at(4, "SM116FLG", "System indicator; bit x40 = subtype valid", wire="u1")
    record_type: number = at(5, "SM116RTY", "Record type (116)", wire="u1")
    time_hundredths: number = at(6, "SM116TME", "Time SMF buffered the record, 1/100 s since local midnight")
    date_packed: number = at(10, "SM116DTE", "Local date, packed 0cyydddF")
    system: text = at(14, "SM116SID", "z/OS system (SMF) id", size=4)
    queue_manager: text = at(18, "SM116SSI", "Queue manager (subsystem) name", size=4)
    subtype: number = at(22, "SM116STF", "Record subtype", wire="u2")
    release: text = at(24, "SM116REL", "MQ release VRM as 3 digits; stuck at 946 from MQ 10.0 (then see QWHX)", size=3)
    reserved_27: reserved = at(27, "FILLER_001", "reserved", size=1)


@record("QWHS", size=52, lengths={"5.2": 36, "7.1": 52})
class CommonHeader(Record):
    """QWHS: who built the record and when; 36 bytes before a QWHC, 52 otherwise."""

    length: block_length = at(0, "QWHSLEN", "Length of this header: 36 (116 sub 0/1/2) or 52 (115 and 116-10)")
    header_type: internal = at(2, "QWHSTYP", "Header type", wire="u1")
    resource_manager_id: internal = at(3, "QWHSRMID", "Resource manager id", wire="u1")
    ifcid: internal = at(4, "QWHSIID", "Instrumentation id (IFCID)", wire="i2")
    sections: internal = at(6, "QWHSNSDA", "Number of self-defining sections; one too low in V8 115-231", wire="u1")
    release_code: internal = at(7, "QWHSRN", "Internal release code", wire="u1")
    agent_control_element: internal = at(8, "QWHSACE", "Agent control element address")
    queue_manager: text = at(12, "QWHSSSID", "Queue manager name", size=4)
    built_at: stamp = at(16, "QWHSSTCK", "Record build time, TOD clock in UTC")
    reserved_24: reserved = at(24, "QWHSISEQ", "Sequence number within IFCID", size=4)
    reserved_28: reserved = at(28, "QWHSWSEQ", "Sequence number within destination", size=4)
    flag_bits: flags = at(
        32,
        "QWHSFLAG1",
        "Flag bits, numbered from the high end",
        wire="u1",
        bits={0x80: "Internal SMF flag bit", 0x40: "QWHX follows the header(s)"},
    )
    reserved_33: reserved = at(33, "QWHSFLAG2", "reserved", size=1)
    reserved_34: reserved = at(34, "QWHSFLAG3", "reserved", size=1)
    reserved_35: reserved = at(35, "QWHSFLAG4", "reserved", size=1)
    interval_start_local: local_stamp = at(36, "QWHSTIME", "Interval start, local time")
    interval_length: internal = at(44, "QWHSDURN", "Interval length; see header.interval_us", wire="u8")


@record("QWHC", size=92)
class CorrelationHeader(Record):
    """QWHC: which task caused the record."""

    length: block_length = at(0, "QWHCLEN", "Length of correlation header")
    header_type: internal = at(2, "QWHCTYP", "Header type", wire="u1")
    reserved_3: reserved = at(3, "FILLER__001", "reserved", size=1)
    user_id: text = at(4, "QWHCAID", "User id of the address space / job", size=8)
    correlation: token = at(12, "QWHCCV", "Thread cross-reference: CICS thread,tran,task no. or IMS PST,PSB", size=12)
    connection_name: text = at(24, "QWHCCN", "Connection name: job, CICS applid, IMS id or CHIN job", size=8)
    reserved_32: reserved = at(32, "FILLER__002", "reserved", size=8)
    operator_id: text = at(40, "QWHCOPID", "User id of the transaction", size=8)
    connection_type: code = at(48, "QWHCATYP", "Type of connecting system", wire="u4", codes=CONNTYPE)
    accounting_token: token = at(52, "QWHCTOKN", "z/OS accounting token", size=22)
    network_id: token = at(74, "QWHCNID", "Network id (unit of recovery)", size=16)
    reserved_90: reserved = at(90, "FILLER__003", "reserved", size=2)


@record("QWHX", size=16, lengths={"10.0.0": 16})
class ExtensionHeader(Record):
    """QWHX: queue-sharing group and true release, from V10."""

    length: block_length = at(0, "QWHXLEN", "Length (16)")
    header_type: internal = at(2, "QWHXTYP", "Header type (x10)", wire="u1")
    reserved_3: reserved = at(3, "RES1", "reserved", size=1)
    queue_sharing_group: text = at(4, "QWHXQSG", "Queue-sharing group, blank if none", size=4)
    release: text = at(8, "QWHXREL", "MQ version as VVRRMM, e.g. 100000", size=6)
    reserved_14: reserved = at(14, "RES2", "reserved", size=2)
