"""The channel initiator, its tasks and its channels: QCCT, QCT_* and QCST. MP1B did not know them.

A task row gives the requests, their average CPU, elapsed and wait time; a channel prints as an account of its own.

Called by programs.  Calls forms.
"""

from quaestor.smf.printing.forms import Form, Row, figure, mean, mean_us, percent, row, words

CHANNEL_INITIATOR = Form(
    "Channel initiator : QCCT",
    (
        row(words("Job", "job_name"), words("QSG", "queue_sharing_group")),
        row(
            figure("Channels: most", "channels_high", 6),
            figure("MAXCHL", "max_channels", 6),
            figure("most active", "active_channels_high", 6),
            figure("ACTCHL", "max_active_channels", 6),
            figure("TCPCHL", "max_tcp_channels", 6),
            figure("LU62CHL", "max_lu62_channels", 6),
        ),
        row(
            figure("Storage: 31-bit MB", "storage_31_mb", 6),
            figure("64-bit", "storage_64", 14),
            figure("limit", "storage_64_limit", 14),
        ),
    ),
)

_REQUESTS = row(
    figure("Requests", "requests"),
    mean_us("avg CPU uS", "cpu", "requests"),
    mean_us("avg elapse uS", "request_elapsed", "requests"),
    figure("wait uS", "wait_elapsed", 14),
)
_LONGEST = row(figure("Longest uS", "longest_request"), words("at", "longest_at"), sparse=True)
DISPATCHER = Form("Dispatchers : QCT_DSP", (_REQUESTS, row(figure("Channels", "channels"))), numbered=True)
ADAPTER = Form("Adapters : QCT_ADP", (_REQUESTS,), numbered=True)
SSL_TASK = Form("SSL tasks : QCT_SSL", (_REQUESTS, _LONGEST), numbered=True)
DNS_TASK = Form("DNS task : QCT_DNS", (_REQUESTS, _LONGEST), numbered=True)


def _times(label: str, group: str) -> Row:
    return row(
        figure("avg", f"{group}_average", 8),
        figure("shortest", f"{group}_shortest", 8),
        figure("longest", f"{group}_longest", 8),
        words("at", f"{group}_longest_at"),
        lead=f"{label} uS: ",
        sparse=True,
    )


CHANNEL = Form(
    "Channel accounting : QCST",
    (
        row(
            words("Channel", "channel"),
            words(",", "channel_type"),
            words(",", "disposition"),
            words(",", "channel_status"),
            words(", STATCHL", "statchl"),
            joint="",
        ),
        row(words("Connection", "connection_name"), words("Remote", "remote_name")),
        row(words("Started", "started_at"), sparse=True),
        row(words("Stopped", "stopped_at"), sparse=True),
        row(words("Last message", "last_message_at"), sparse=True),
        row(words("Collected", "collected_at"), sparse=True),
        row(
            figure("Messages", "messages"),
            figure("bytes", "message_bytes", 14),
            mean("avg bytes", "message_bytes", "messages"),
        ),
        row(
            figure("Persistent", "persistent_messages"),
            figure("bytes", "persistent_bytes", 14),
            percent("%messages", "persistent_messages", "messages", 3),
        ),
        row(
            figure("Batches", "batches"),
            figure("full", "full_batches"),
            mean("avg msgs", "messages", "batches"),
            figure("size limit", "batch_size", 5),
            figure("interval", "batch_interval", 5),
            figure("data limit", "batch_data_limit", 8),
        ),
        row(
            figure("Sent: buffers", "buffers_sent"),
            figure("bytes", "bytes_sent", 14),
            figure("Received: buffers", "buffers_received"),
            figure("bytes", "bytes_received", 14),
        ),
        _times("Network", "network"),
        _times("Exits", "exit"),
        row(
            figure("Put retries", "put_retries", 6),
            figure("XMITQ empty", "transmission_queue_empty", 6),
            figure("Dispatcher", "dispatcher", 4),
        ),
    ),
)

FORMS = {
    "QCCT": CHANNEL_INITIATOR,
    "QCT_DSP": DISPATCHER,
    "QCT_ADP": ADAPTER,
    "QCT_SSL": SSL_TASK,
    "QCT_DNS": DNS_TASK,
    "QCST": CHANNEL,
}
