"""Collector: how Python's cyclic collector looks at the objects of a server.

Rules
  CO1 Everything is looked at once. What is there when serving begins, and what is still there at the first look after
      it was made (`NEW_MAX` objects later), is put aside and never looked at again. So a look takes a fraction of a
      millisecond, however deep the queues are.
  CO2 Therefore whatever lives longer than that must be gone when the last one lets go of it, without a look: messages,
      units, waits, handles, connections, links, queues and accounts hold nothing that holds them once they have ended.
      What goes in circles for a short time (an error and the frames it came through) is found by the look.

Called by process and coupling_facility, in processes that do nothing else.  Calls gc.
Why not off: errors hold frames and frames hold errors, and what libraries do nobody has looked at.
"""

import gc

NEW_MAX = 1000


def look_once() -> None:
    """From now on (CO1)."""
    gc.collect()
    gc.freeze()
    gc.callbacks.append(_put_aside)
    gc.set_threshold(NEW_MAX)


def _put_aside(phase: str, _: dict[str, int]) -> None:
    """What a look has left is not looked at again (CO1)."""
    if phase == "stop":
        gc.freeze()
