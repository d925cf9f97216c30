"""Queues and topics of one interval: QQST and QTST. MP1B did not know them.

The rows follow the manner of MQ1150 (P2); what is not in a row prints from its declaration.

Called by programs.  Calls forms.
"""

from quaestor.smf.printing.forms import Form, Row, figure, mean, row, words


def _by_persistence(label: str, total: str, bytes_total: str, per: str, bytes_per: str) -> tuple[Row, Row]:
    """Messages and bytes, then the same split into nonpersistent and persistent ones."""
    return (
        row(figure("#", total), figure("bytes", bytes_total, 14), mean("avg bytes", bytes_total, total), lead=label),
        row(
            figure("nonpers #", f"{per}_nonpersistent"),
            figure("bytes", f"{bytes_per}_nonpersistent", 14),
            figure("pers #", f"{per}_persistent"),
            figure("bytes", f"{bytes_per}_persistent", 14),
            lead=label,
            sparse=True,
        ),
    )


QUEUE = Form(
    "Queues : QQST",
    (
        row(words("Queue", "queue")),
        row(figure("Page set", "page_set", 3), figure("Buffer pool", "buffer_pool", 3), words("Flags", "flag_bits")),
        row(words("QSG", "queue_sharing_group"), words("Structure", "structure"), sparse=True),
        row(
            figure("Depth: now", "depth", 8),
            figure("high", "depth_high", 8),
            figure("low", "depth_low", 8),
            figure("oldest s", "oldest_message_age_s", 8),
            figure("queue time uS: short", "queue_time_short_us", 8),
            figure("long", "queue_time_long_us", 8),
        ),
        row(
            figure("Handles: input now", "input_handles", 5),
            figure("high", "input_handles_high", 5),
            figure("low", "input_handles_low", 5),
            figure("output now", "output_handles", 5),
            figure("high", "output_handles_high", 5),
            figure("low", "output_handles_low", 5),
        ),
        row(words("Last put", "last_put_at"), sparse=True),
        row(words("Last get", "last_get_at"), sparse=True),
        *_by_persistence("Put     ", "puts", "put_bytes", "puts", "put_bytes"),
        *_by_persistence("Put1    ", "put1s", "put1_bytes", "put1s", "put1_bytes"),
        *_by_persistence("Get     ", "gets", "get_bytes", "gets", "get_bytes"),
        *_by_persistence("Browse  ", "browses", "browse_bytes", "browses", "browse_bytes"),
        row(
            figure("Sizes: longest", "message_size_high"),
            figure("shortest", "message_size_low"),
            figure("average", "message_size_average"),
            sparse=True,
        ),
        row(
            figure("#MQOPEN", "opens"),
            figure("#MQCLOSE", "closes"),
            figure("#MQINQ", "inquires"),
            figure("#MQSET", "sets"),
        ),
    ),
)

TOPIC = Form(
    "Topic manager : QTST",
    (
        row(
            figure("#MQSUB", "subscribes"),
            figure("durable", "subscribes_durable"),
            figure("expired", "subscriptions_expired"),
        ),
        row(
            figure("Messages put", "messages_put"),
            figure("most subscribers", "subscribers_high"),
            figure("no subscriber", "publishes_no_subscriber"),
        ),
        row(figure("Publish: longest uS", "publish_longest"), figure("total uS", "publish_elapsed")),
    ),
)

FORMS = {"QQST": QUEUE, "QTST": TOPIC}
