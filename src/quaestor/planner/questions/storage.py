"""Questions about storage in memory: indexes, connections, handles, users, very large messages and long units.

Called by plan through the catalog.  Calls indexing, storage_use, security_costs, utilities.
"""

from quaestor.planner import indexing, security_costs, storage_use, utilities
from quaestor.planner.answer import Figures, Unit, figure
from quaestor.planner.quantity import MIB
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, flows_of_queues, needed


@question("ch1-40", "How much storage do indexes take?")
def index_storage(load: Load) -> Figures:
    indexed = [flow for flow in load.private if flow.indexed]
    needed(indexed or None, "a private [[flow]] that is indexed")
    queues = len(flows_of_queues(indexed))
    yield figure(indexing.index_bytes, Unit.BYTES, messages=sum(flow.backlog for flow in indexed), queues=queues)


@question("ch1-41", "How much common storage do connections take?")
def common_storage(load: Load) -> Figures:
    connections = {0: needed(load.workload.queue_manager.connections, "[queue_manager] connections")}
    for channel in load.workload.channels:
        key = channel.sharecnv if channel.kind == "svrconn" else 0
        connections[key] = connections.get(key, 0) + channel.channels
    yield figure(storage_use.csa_bytes, Unit.BYTES, connections_by_sharecnv=connections)


@question("ch1-42", "How much storage do handles, users, the group and the cluster take?")
def other_storage(load: Load) -> Figures:
    qmgr = load.workload.queue_manager
    opened = qmgr.queues_open_each
    if qmgr.users is not None:
        yield figure(security_costs.security_bytes, Unit.BYTES, what="users", users=qmgr.users, queues_per_user=opened)
    if load.workload.shared:
        structures = max(1, len(load.workload.structures))
        yield figure(
            storage_use.group_private_bytes,
            Unit.BYTES,
            what="membership in the group",
            structures=structures,
            backs_up_structures=True,
        )
    if qmgr.cluster_bytes is not None:
        yield figure(
            storage_use.cluster_cache_bytes, Unit.BYTES, what="cluster cache", configuration_bytes=qmgr.cluster_bytes
        )
    applications = needed(qmgr.connections, "[queue_manager] connections")
    yield figure(
        storage_use.handle_bytes, Unit.BYTES, what="handles", applications=applications, queues_open_each=opened
    )


@question("ch1-43", "When is an idle user's entry discarded?")
def idle_users(load: Load) -> Figures:  # noqa: ARG001  the defaults answer it
    yield figure(security_costs.discarded_at_min, Unit.MINUTES, what="after the last use")


@question("ch1-45", "How many channels can move very large messages at once?")
def large_at_once(load: Load) -> Figures:
    sizes = [channel.message_bytes for channel in load.channels if channel.message_bytes >= MIB]
    if sizes:
        yield figure(storage_use.channels_at_once, Unit.COUNT, message_bytes=max(sizes))


@question("ch1-46", "Is the unit of work small enough, and which MAXUMSGS do utilities need?")
def units_of_work(load: Load) -> Figures:
    for flow in load.workload.flows:
        yield figure(
            utilities.is_small_unit_of_work,
            Unit.FLAG,
            about=flow.queue,
            what="small enough",
            puts_per_commit=flow.messages_per_commit,
        )
    yield figure(
        utilities.maxumsgs_for_one_unit_of_work,
        Unit.MESSAGES,
        what="MAXUMSGS to move the deepest queue in one unit",
        queue_depths=tuple(
            max(1, sum(flow.backlog for flow in flows)) for flows in flows_of_queues(load.workload.flows).values()
        ),
    )
