"""Where messages and control blocks are kept: page sets, shared message data sets, storage. MP1B did not know them.

The rows follow the manner of MQ1150 (P2); what is not in a row prints from its declaration.

Called by programs.  Calls forms.
"""

from quaestor.smf.printing.forms import Form, Row, figure, mean_us, percent, row, two_digits, words


def _ios(label: str, group: str) -> Row:
    ios = f"{group}_ios"
    return row(
        figure("I/Os", ios),
        figure("pages", f"{group}_pages"),
        mean_us("avg I/O uS", f"{group}_elapsed", ios),
        lead=f"{label:<10}",
        sparse=True,
    )


PAGE_SET = Form(
    "Page sets : QIS1",
    (
        row(
            two_digits("BP", "buffer_pool"),
            figure("#pages", "pages"),
            figure("#unused", "pages_unused"),
            percent("%unused", "pages_unused", "pages", 3),
            figure("#pers", "pages_persistent"),
            figure("#nonpers", "pages_nonpersistent"),
            figure("#full", "full", 6),
        ),
        _ios("DWP write", "deferred_write"),
        _ios("IMW write", "immediate_write"),
        _ios("Read", "read"),
    ),
    lead=two_digits("", "page_set"),
)


def _smds_ios(label: str, group: str) -> Row:
    ios = f"{group}_ios"
    return row(
        figure("I/Os", ios),
        figure("pages", f"{group}_pages"),
        mean_us("avg I/O uS", f"{group}_io_elapsed", ios),
        mean_us("avg wait uS", f"{group}_wait_elapsed", ios),
        lead=f"{label:<12}",
        sparse=True,
    )


SHARED_MESSAGE_DATA_SET = Form(
    "SMDS manager : QESD",
    (
        row(figure("Structure #:", "structure_number"), words("Name", "structure"), joint=", "),
        row(
            figure("Blocks: total", "blocks_total"),
            figure("data", "blocks_data"),
            figure("used", "blocks_used"),
            figure("free", "blocks_free"),
            percent("%used", "blocks_used", "blocks_data", 3),
            figure("messages", "messages"),
        ),
        row(
            figure("Buffers: size", "buffer_size"),
            figure("total", "buffers_total"),
            figure("shared", "buffers_shared"),
            figure("private", "buffers_private"),
            figure("saved", "buffers_saved"),
            figure("empty", "buffers_empty"),
        ),
        row(
            figure("Pool waits  ", "pool_waits"),
            mean_us("avg wait uS", "pool_wait_elapsed", "pool_waits"),
            sparse=True,
        ),
        row(
            figure("Buffer waits", "buffer_waits"),
            mean_us("avg wait uS", "buffer_wait_elapsed", "buffer_waits"),
            sparse=True,
        ),
        row(
            figure("Read requests", "read_requests"),
            figure("saved", "reads_saved"),
            figure("partly saved", "reads_partly_saved"),
            percent("%saved", "reads_saved", "read_requests", 3),
        ),
        _smds_ios("Format", "format"),
        _smds_ios("Write", "write"),
        _smds_ios("Read own", "read"),
        _smds_ios("Read other", "other_read"),
    ),
)

STORAGE_POOL = Form(
    "Storage pools : QSPH",
    (
        row(
            words("Pool", "pool"),
            figure("size", "pool_size"),
            figure("before", "pool_size_before"),
            figure("pools", "pools", 5),
        ),
    ),
)
STORAGE_GETMAIN = Form(
    "Getmains : QSGM",
    (
        row(
            words("CSECT", "csect"),
            figure("held", "held"),
            figure("obtained", "obtained"),
            figure("requests", "requests", 6),
            figure("longest", "request_high"),
            figure("shortest", "request_low"),
        ),
    ),
)
STORAGE_SUMMARY = Form(
    "Storage summary : QSRS",
    (
        row(
            figure("24-bit: user", "region_24_user_allocated"),
            figure("system", "region_24_system_allocated"),
            figure("limit", "region_24_limit"),
        ),
        row(
            figure("31-bit: user", "region_31_user_allocated"),
            figure("system", "region_31_system_allocated"),
            figure("limit", "region_31_limit"),
            figure("available", "region_31_available"),
            figure("cushion", "region_31_cushion"),
        ),
        row(
            figure("64-bit: objects", "objects_64"),
            figure("size", "objects_64_size", 14),
            figure("high", "usable_64_high", 14),
            figure("available", "available_64", 14),
            figure("MEMLIMIT", "memlimit", 14),
        ),
    ),
)

FORMS = {
    "QIS1": PAGE_SET,
    "QESD": SHARED_MESSAGE_DATA_SET,
    "QSPH": STORAGE_POOL,
    "QSGM": STORAGE_GETMAIN,
    "QSRS": STORAGE_SUMMARY,
}
