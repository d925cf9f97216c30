"""What tests of programs written for IBM's API share."""

import pytest


def reason_of(call, *args, **named):
    """The reason why a call fails or warns."""
    from ibmmq import MQMIError

    with pytest.raises(MQMIError) as refused:
        call(*args, **named)
    return refused.value.reason
