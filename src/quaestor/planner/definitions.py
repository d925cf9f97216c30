"""Definitions that follow from a plan, ready to use: MQSC, system parameters and the CFRM policy.

Rules
  D1  Only what the plan computed is written; what it could not compute has no line, and a note says why.
  D2  A line that needs a name or a data set the workload does not give has a name made from what is known.
  D3  Sizes grow in steps that the parameter takes: logs in whole cylinders, page sets in whole megabytes.
  D4  What is already as large as the plan wants stays as it is defined.
  D5  A value stays within what its parameter takes; a note says what would be wanted beyond.
  D6  A queue has one line: the flow of its persistent messages and that of the others, which a measurement tells
      apart, are one queue.

Called by the command and the page.  Calls answers' load, cfrm, geometry and the questions' sizes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from quaestor.planner.answer import MissingError
from quaestor.planner.batches import recommended_settings
from quaestor.planner.buffer_flow import buffers_that_keep_messages
from quaestor.planner.buffer_pools import FREE_PERCENT_MIN, Usage, queue_object_pages, start_pages
from quaestor.planner.cfrm import (
    GROUP_NAME_CHARACTERS,
    GROUP_NAME_FILL,
    admin_init_size_kb,
    recommended_sizes,
    structure_name,
)
from quaestor.planner.channels import MAXCHL_LIMIT, recommended_sharecnv
from quaestor.planner.geometry import CYLINDER_BYTES, PAGE_BYTES
from quaestor.planner.log_flow import outbuff_kb_for
from quaestor.planner.logload import LOGLOAD_MAX, LOGLOAD_MIN, logload_for_restart
from quaestor.planner.logs import LOG_BYTES_MAX, largest_active_log_bytes
from quaestor.planner.page_sets import EXPANSION_PERCENT, page_set_bytes_max
from quaestor.planner.quantity import MIB, show_bytes
from quaestor.planner.questions import channels as channel_questions
from quaestor.planner.questions import structures as structure_questions
from quaestor.planner.questions.buffer_pools import pages_of_pool
from quaestor.planner.questions.load import Load, flows_of_queues
from quaestor.planner.questions.page_sets import backlog_pages
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.structures import is_small
from quaestor.planner.tracing import Accounting
from quaestor.planner.workload import ACTIVE_LOGS_MAX, OUTBUFF_BYTES_MAX, STRUCTURE_BYTES_MAX, Channel, Flow, Workload

SUPPLIED_OBJECT_BUFFERS = 50_000
WIDEST_MACRO = 71
ATTRIBUTES = {name: name for name in ("MAXCHL", "ACTCHL", "CHIADAPS", "CHIDISPS", "SSLTASKS")}
V5_3_KEYWORDS = {"MAXCHL": "CURRCHL", "ACTCHL": "ACTCHL", "CHIADAPS": "ADAPS", "CHIDISPS": "DISPS"}
SPARE_CHANNELS = 1.25
MAXDEPTH_MAX = 999_999_999


@dataclass(frozen=True, slots=True)
class Definitions:
    """Lines to use, by where they go, and what cannot be defined as the workload wants it."""

    mqsc: tuple[str, ...]
    parameters: tuple[str, ...]
    cfrm: tuple[str, ...]
    notes: tuple[str, ...]

    def as_text(self) -> str:
        parts = (
            ("MQSC (CSQINP1 for pools and page sets, CSQINP2 for the rest)", self.mqsc),
            ("System parameters", self.parameters),
            ("CFRM policy", self.cfrm),
        )
        made = [f"* {title}\n" + "\n".join(lines) for title, lines in parts if lines]
        return "\n\n".join([*made, *(f"* {note}" for note in self.notes)]) + "\n"


def definitions(workload: Workload) -> Definitions:
    """Recommended definitions for a workload (D1)."""
    load = Load(workload)
    notes: list[str] = []
    pools, page_sets = list(_pools(load, notes)), list(_page_sets(load, notes))
    mqsc = (*pools, *page_sets, *_storage_classes(load), *_structures(load), *_channels(load))
    return Definitions(mqsc, tuple(_parameters(load, notes)), tuple(_policy(load, notes)), tuple(notes))


# --- pools and page sets ----------------------------------------------------------------------------------------------


def _pools(load: Load, notes: list[str]) -> Iterator[str]:
    above = " LOCATION(ABOVE)" if load.workload.queue_manager.version >= Release.V8_0 else ""
    for number, buffers in sorted(buffers_of_pools(load, notes).items()):
        yield f"DEFINE BUFFPOOL({number}) BUFFERS({buffers}){above} REPLACE"


def buffers_of_pools(load: Load, notes: list[str]) -> dict[int, int]:
    """Buffers of each pool: what is defined, or where the papers begin, or what the peak needs (D1, D4)."""
    wanted = {pool.number: pool.buffers for pool in load.workload.buffer_pools}
    for page_set in load.workload.page_sets:
        flows = [flow for flow in load.workload.private if flow.page_set == page_set.number]
        if not flows:
            continue
        usage = Usage.SHORT_LIVED if all(load.lives_short(flow) for flow in flows) else Usage.LONG_LIVED
        begins = wanted.get(page_set.buffer_pool, start_pages(usage, load.workload.queue_manager.version))
        peak = _peak_pages(load, page_set.buffer_pool, notes) if usage is Usage.SHORT_LIVED else 0
        wanted[page_set.buffer_pool] = max(begins, buffers_that_keep_messages(peak) if peak else 0)
    queues = load.workload.queue_manager.queues
    if queues is not None and 0 not in wanted:
        pages = ceil(queue_object_pages(queues) / (1 - FREE_PERCENT_MIN / 100))
        wanted[0] = max(SUPPLIED_OBJECT_BUFFERS, pages)
    return wanted


def _peak_pages(load: Load, number: int, notes: list[str]) -> int:
    """Pages of a pool at the peak; 0 and a note where a queue may lie in it or not (D1)."""
    try:
        return pages_of_pool(load, number)
    except MissingError as error:
        notes.append(f"buffer pool {number}: {error}, so what the peak needs is not known")
        return 0


def _page_sets(load: Load, notes: list[str]) -> Iterator[str]:
    largest = page_set_bytes_max(load.workload.queue_manager.version)
    for page_set in load.workload.page_sets:
        yield f"DEFINE PSID({page_set.number:02d}) BUFFPOOL({page_set.buffer_pool}) EXPAND(USER)"
        needs = page_set_bytes_needed(load, page_set.number)
        if needs > page_set.data_bytes:
            notes.append(
                f"page set {page_set.number}: allocate {show_bytes(min(needs, largest))} or more "
                f"(today {show_bytes(page_set.data_bytes)})"
            )
        if needs > largest:
            notes.append(
                f"page set {page_set.number}: its backlog needs {show_bytes(needs)}, above the largest of "
                f"{show_bytes(largest)}: put its queues on {ceil(needs / largest)} page sets"
            )


def page_set_bytes_needed(load: Load, number: int) -> int:
    """Bytes that hold the backlogs of all queues of a page set below the point where it expands (D3)."""
    flows = (flow for flow in load.workload.private if flow.page_set == number)
    pages = sum(backlog_pages(load, flow) for flow in flows) * 100 / EXPANSION_PERCENT
    return ceil(pages * PAGE_BYTES / MIB) * MIB


def _storage_classes(load: Load) -> Iterator[str]:
    used = {flow.page_set for flow in load.workload.private if flow.page_set is not None}
    for page_set in load.workload.page_sets:
        if page_set.number in used:
            yield f"DEFINE STGCLASS({_class_name(page_set.number)}) PSID({page_set.number:02d}) REPLACE"
    for name, flows in flows_of_queues(flow for flow in load.workload.private if flow.page_set is not None).items():
        yield f"DEFINE QLOCAL('{name}') STGCLASS({_class_name(flows[0].page_set)}) {_attributes(flows)}"


def _attributes(flows: list[Flow]) -> str:
    """What the messages of a queue ask of it."""
    longest = max(4 * MIB, *(flow.message_bytes for flow in flows))
    index = " INDXTYPE(MSGID)" if any(flow.indexed for flow in flows) else ""
    return f"MAXDEPTH({_depth(flows)}) MAXMSGL({longest}){index} REPLACE"


def _depth(flows: list[Flow]) -> int:
    return min(MAXDEPTH_MAX, max(1, sum(flow.backlog for flow in flows)))


def _class_name(number: int | None) -> str:
    return f"PSID{number:02d}"


# --- shared queues and channels ---------------------------------------------------------------------------------------


def _structures(load: Load) -> Iterator[str]:
    if not load.workload.shared or load.workload.coupling_facility is None:
        return
    for name, flows in structure_questions.flows_of_structures(load).items():
        recover = "YES" if any(flow.persistent for flow in flows) else "NO"
        level = structure_questions.cflevel_of(load, flows)
        offload = " OFFLOAD(SMDS)" if structure_questions.has_data_sets(load) else ""
        yield f"DEFINE CFSTRUCT({name}) CFLEVEL({level}) RECOVER({recover}){offload} REPLACE"
        for queue, of_queue in flows_of_queues(flows).items():
            yield f"DEFINE QLOCAL('{queue}') QSGDISP(SHARED) CFSTRUCT({name}) {_attributes(of_queue)}"


def _policy(load: Load, notes: list[str]) -> Iterator[str]:
    if not load.workload.shared or load.workload.coupling_facility is None:
        return
    group = (load.workload.queue_manager.group or "QSG1").ljust(GROUP_NAME_CHARACTERS, GROUP_NAME_FILL)
    sizes = {"CSQ_ADMIN": admin_init_size_kb(load.workload.queue_manager.members)}
    for name, flows in structure_questions.flows_of_structures(load).items():
        sizes[name] = structure_questions.needed_kb(load, flows)
    alter, largest_kb = load.workload.coupling_facility.auto_alter, STRUCTURE_BYTES_MAX // 1024
    for name, init_kb in sizes.items():
        try:
            full_name, found = structure_name(group, name), recommended_sizes(init_kb)
        except OutOfRangeError as error:
            notes.append(f"structure {name}: {error if init_kb else 'without life or outage no message stays in it'}")
            continue
        if found.init_kb > largest_kb:
            notes.append(
                f"structure {name}: its messages need {show_bytes(1024 * found.init_kb)}, above the largest of "
                f"{show_bytes(STRUCTURE_BYTES_MAX)}"
            )
            continue
        if is_small(found.init_kb):
            notes.append(f"structure {name}: below 16 MB the facility needs more for itself than INITSIZE allows for")
        allow = "YES" if alter and name != "CSQ_ADMIN" else "NO"
        yield (
            f"STRUCTURE NAME({full_name}) INITSIZE({found.init_kb}) SIZE({min(found.size_kb, largest_kb)}) "
            f"MINSIZE({found.min_kb}) ALLOWAUTOALT({allow}) FULLTHRESHOLD(80)"
        )


def _initiator(load: Load, keywords: dict[str, str]) -> dict[str, object]:
    """Attributes of the channel initiator, under the keywords of the release."""
    if not load.workload.channels or load.workload.machine is None:
        return {}
    most = min(MAXCHL_LIMIT, max(200, ceil(channel_questions.channel_count(load) * SPARE_CHANNELS)))
    values = {
        "MAXCHL": most,
        "ACTCHL": most,
        "CHIADAPS": channel_questions.adapters(load),
        "CHIDISPS": channel_questions.dispatchers(load),
        "SSLTASKS": channel_questions.ssl_tasks(load),
    }
    return {keywords[name]: value for name, value in values.items() if value and name in keywords}


def _channels(load: Load) -> Iterator[str]:
    if load.workload.queue_manager.version >= Release.V6_0:
        attributes = _initiator(load, ATTRIBUTES)
        if attributes:
            yield "ALTER QMGR " + " ".join(f"{name}({value})" for name, value in attributes.items())
    shares = channel_questions.shares_conversations(load)
    for channel in load.workload.channels:
        if shares or channel.cipher or channel.kind != "svrconn":
            yield _channel(channel, shares=shares)


def _channel(channel: Channel, *, shares: bool) -> str:
    cipher = f" SSLCIPH({channel.cipher})" if channel.cipher else ""
    if channel.kind == "svrconn":
        share = recommended_sharecnv(channel.sharecnv > 0, channel.threads, channel.persistent)
        sharing = f" SHARECNV({share})" if shares else ""
        return f"ALTER CHANNEL('{channel.name}') CHLTYPE(SVRCONN){sharing}{cipher}"
    to = recommended_settings(channel_questions.traffic_of(channel), channel.message_bytes)
    kind, interval = ("SDR", f" BATCHINT({to.batchint_ms})") if channel.kind == "sender" else ("RCVR", "")
    return (
        f"ALTER CHANNEL('{channel.name}') CHLTYPE({kind}) BATCHSZ({to.batchsz}){interval}"
        f" NPMSPEED({to.npmspeed.value}){cipher}"
    )


# --- system parameters ------------------------------------------------------------------------------------------------


def _parameters(load: Load, notes: list[str]) -> Iterator[str]:
    log = load.workload.log
    yield from _macro("CSQ6LOGP", TWOACTV="YES" if log.copies == 2 else "NO", **_output_buffer(load, notes))
    yield from _macro("CSQ6SYSP", **_checkpoints(load, notes), **_accounting(load))
    if load.workload.queue_manager.version < Release.V6_0:
        yield from _macro("CSQ6CHIP", **_initiator(load, V5_3_KEYWORDS))
    if load.workload.persistent:
        _active_logs(load, notes)


def _output_buffer(load: Load, notes: list[str]) -> dict[str, object]:
    outbuff_kb = load.workload.log.outbuff_bytes // 1024
    if not load.workload.persistent:
        return {"OUTBUFF": outbuff_kb}
    longest = max(load.put_log_bytes(flow) * flow.messages_per_commit for flow in load.persistent)
    wanted_kb, largest_kb = outbuff_kb_for(int(longest // PAGE_BYTES) + 1), OUTBUFF_BYTES_MAX // 1024
    if wanted_kb > largest_kb:
        notes.append(
            f"OUTBUFF: the longest unit of work fills {wanted_kb:,} KB, above the largest of {largest_kb:,} KB"
        )
    return {"OUTBUFF": max(outbuff_kb, min(wanted_kb, largest_kb))}


def _checkpoints(load: Load, notes: list[str]) -> dict[str, object]:
    try:
        highest = logload_for_restart(load.workload.targets.restart_s, load.writes_per_message)
    except OutOfRangeError as error:
        notes.append(f"LOGLOAD: {error}")
        return {}
    return {"LOGLOAD": max(LOGLOAD_MIN, min(LOGLOAD_MAX, highest))}


def _accounting(load: Load) -> dict[str, object]:
    trace = load.workload.accounting
    return {} if trace is None else {"SMFACCT": "(1,3)" if trace.accounting is Accounting.CLASS_3 else "(1)"}


def _active_logs(load: Load, notes: list[str]) -> None:
    """The logs to allocate (D3)."""
    log, version = load.workload.log, load.workload.queue_manager.version
    largest = min(largest_active_log_bytes(version, log.archive), LOG_BYTES_MAX)
    cylinders = min(ceil(load.recommended_log.log_bytes / CYLINDER_BYTES), largest // CYLINDER_BYTES)
    try:
        count = load.logs_of(cylinders * CYLINDER_BYTES)
    except (MissingError, OutOfRangeError) as error:
        notes.append(f"active logs: {error}")
        return
    if count > ACTIVE_LOGS_MAX:
        notes.append(f"active logs: {count:,} would be needed and {ACTIVE_LOGS_MAX} are the most: spread the work")
        return
    copies = "two copies" if log.copies == 2 else "one copy"
    notes.append(f"active logs: allocate {count} of {cylinders} cylinders each, {copies}")
    if not load.recommended_log.lasts_30_minutes:
        minutes = load.recommended_log.fill_time_s / 60
        notes.append(f"active logs: the largest lasts {minutes:.3g} minutes at the peak, not 30; their number makes up")


def _macro(name: str, **values: object) -> Iterator[str]:
    """An assembler macro with one keyword on a line, continued in column 72."""
    lines = [f"{key}={value}" for key, value in values.items()]
    for place, line in enumerate(lines):
        head = f"         {name} " if place == 0 else " " * 15
        text = f"{head}{line}," if place < len(lines) - 1 else f"{head}{line}"
        yield f"{text:<{WIDEST_MACRO}}X" if place < len(lines) - 1 else text
