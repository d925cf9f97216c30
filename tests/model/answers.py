"""How tests of the MQI ask: a call answers with an exact reason; a queue is read to its end."""

from contextlib import contextmanager

import pytest

from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import CompCode, MQError, Reason


@contextmanager
def fails(reason, comp_code=None):
    """The call inside answers with this reason, and no other."""
    with pytest.raises(MQError) as caught:
        yield caught
    assert caught.value.reason is reason
    if comp_code is not None:
        assert caught.value.comp_code is comp_code


def warns(app, reason):
    """The last call succeeded with this warning."""
    return app.warning is not None and app.warning.reason is reason and app.warning.comp_code is CompCode.WARNING


def drain(handle, options=GetOptions.NO_SYNCPOINT, **selecting):
    """Every message that can be got now, in order."""
    messages = []
    while True:
        try:
            messages.append(handle.get(options, **selecting))
        except MQError as error:
            if error.reason is not Reason.NO_MSG_AVAILABLE:
                raise
            return messages


def bodies(messages):
    return [message.body.decode() for message in messages]
