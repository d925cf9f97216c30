"""Somebody else who acts in the middle of a call, at whichever moment another thread could."""

import sys

from quaestor.mqi.reasons import MQError


class At:
    """Somebody else who acts at the n-th moment at which another thread may run and take the latch.

    He acts in the same thread: in a function that has a lock he needs, he would wait for ever (`but`).
    """

    def __init__(self, latch, moment, act, but=""):
        self._latch, self._left, self._act, self._but = latch, moment, act, but

    def __call__(self, frame, event, _):
        if event in ("call", "c_return") and not self._latch.locked() and frame.f_code.co_name != self._but:
            self._left -= 1
            if not self._left:
                self._act()

    def during(self, call):
        """How the call ended, and whether somebody had acted before it did."""
        sys.setprofile(self)
        try:
            call()
            reason = None
        except MQError as error:
            reason = error.reason
        finally:
            sys.setprofile(None)
        return reason, self._left <= 0
