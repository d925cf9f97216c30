"""Queues of the chaos test: plain ones, and ones that trigger, each on one of two structures."""

from quaestor.mqi.objects import LocalQueue, Process, TriggerType

QUEUES = ("CHAOS.A", "CHAOS.B")
INITIATION = "CHAOS.INIT"
TRIGGERED = {"CHAOS.FIRST": TriggerType.FIRST, "CHAOS.DEPTH": TriggerType.DEPTH, "CHAOS.EVERY": TriggerType.EVERY}
DEPTH = 3
STRUCTURE_OF = {
    "CHAOS.A": "APPL1",
    "CHAOS.B": "APPL2",
    "CHAOS.INIT": "APPL2",
    "CHAOS.FIRST": "APPL1",
    "CHAOS.DEPTH": "APPL2",
    "CHAOS.EVERY": "APPL1",
}
EVERYWHERE = (*QUEUES, *TRIGGERED)
"""Where applications put."""

PROCESS = Process("CHAOS.SERVER", appl_id="serve")


def definitions():
    """Every queue, as it is defined once for the group."""
    for name, structure in STRUCTURE_OF.items():
        triggers = {}
        if name in TRIGGERED:
            triggers = {"trigger": True, "trigger_type": TRIGGERED[name], "trigger_depth": DEPTH}
            triggers |= {"initiation_queue": INITIATION, "process": PROCESS.name}
        yield LocalQueue(name, structure=structure, share=True, def_exclusive=False, max_depth=100_000, **triggers)
