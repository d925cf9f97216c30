"""The self-defining sections: where each structure of a record begins, how long it is, how often it occurs.

Triplet 0 is the header section. The triplets follow the 28-byte SMF header; triplet i begins at 28 + 8 i.
"""

from quaestor.layout import Record, at, block, internal, record


@record("TRIPLET", size=8)
class Triplet(Record):
    """Eight bytes that point to a section; the length is that of one occurrence."""

    offset: internal = at(0, "O", "Offset from the start of the record")
    length: internal = at(4, "L", "Length of one occurrence", wire="u2")
    count: internal = at(6, "N", "Number of occurrences", wire="u2")


@record("QWS0", size=96)
class LogTriplets(Record):
    """QWS0: SMF 115 subtype 1."""

    header: block = at(0, "QWS00PS", "QWHS", of=Triplet)
    unused_1: block = at(8, "QWS00R1", "unused", of=Triplet)
    unused_2: block = at(16, "QWS00R2", "unused", of=Triplet)
    unused_3: block = at(24, "QWS00R3", "unused", of=Triplet)
    internal_4: block = at(32, "QWS00R4", "internal block of 64 bytes", of=Triplet)
    internal_5: block = at(40, "QWS00R5", "internal block of 96 bytes", of=Triplet)
    unused_6: block = at(48, "QWS00R6", "unused", of=Triplet)
    unused_7: block = at(56, "QWS00R7", "unused", of=Triplet)
    unused_8: block = at(64, "QWS00R8", "unused", of=Triplet)
    storage: block = at(72, "QWS00R9", "QSST", of=Triplet)
    unused_10: block = at(80, "QWS00RA", "unused", of=Triplet)
    log: block = at(88, "QWS00RB", "QJST", of=Triplet)


@record("QWS1", size=72)
class MessageTriplets(Record):
    """QWS1: SMF 115 subtype 2."""

    header: block = at(0, "QWS10PS", "QWHS", of=Triplet)
    message: block = at(8, "QWS10R1", "QMST", of=Triplet)
    data: block = at(16, "QWS10R2", "QIST", of=Triplet)
    buffer: block = at(24, "QWS10R3", "QPST before V8, then zero", of=Triplet)
    lock: block = at(32, "QWS10R4", "QLST", of=Triplet)
    db2: block = at(40, "QWS10R5", "Q5ST", of=Triplet)
    coupling_facility: block = at(48, "QWS10R6", "QEST", of=Triplet)
    topic: block = at(56, "QWS10R7", "QTST", of=Triplet)
    shared_message_data_sets: block = at(64, "QWS10R8", "QESD", of=Triplet)


@record("QWS3", size=16)
class StorageTriplets(Record):
    """QWS3: SMF 115 subtypes 5, 6, 7 and 216."""

    header: block = at(0, "QWS30PS", "stub or QWHS", of=Triplet)
    sections: block = at(8, "QWS30R1", "QSPH, QSGM, QSRS or QQST", of=Triplet)


@record("QWS5", size=16)
class ChannelTriplets(Record):
    """QWS5: SMF 116 subtype 10."""

    header: block = at(0, "QWS50PS", "QWHS", of=Triplet)
    channels: block = at(8, "QWS50R1", "QCST", of=Triplet)


@record("QWS8", size=16)
class BufferTriplets(Record):
    """QWS8: SMF 115 subtype 215."""

    header: block = at(0, "QWS80PS", "QWHS", of=Triplet)
    buffer_pools: block = at(8, "QWS80R1", "QPST", of=Triplet)


@record("QWS9", size=16)
class PageSetTriplets(Record):
    """QWS9: SMF 115 subtype 201."""

    header: block = at(0, "QWS90PS", "QWHS", of=Triplet)
    page_sets: block = at(8, "QWS90R1", "QIS1", of=Triplet)


@record("QWSX", size=48)
class ChannelInitiatorTriplets(Record):
    """QWSX: SMF 115 subtype 231."""

    header: block = at(0, "QWSX0PS", "QWHS", of=Triplet)
    channel_initiator: block = at(8, "QWSX0R1", "QCCT", of=Triplet)
    dispatchers: block = at(16, "QWSX0R2", "QCT_DSP", of=Triplet)
    adapters: block = at(24, "QWSX0R3", "QCT_ADP", of=Triplet)
    ssl_tasks: block = at(32, "QWSX0R4", "QCT_SSL", of=Triplet)
    dns_task: block = at(40, "QWSX0R5", "QCT_DNS", of=Triplet)


@record("QWA0", size=56)
class AccountingTriplets(Record):
    """QWA0: SMF 116 subtypes 0, 1 and 2."""

    header: block = at(0, "QWA01PS", "QWHS, QWHC and from V10 QWHX", of=Triplet)
    first: block = at(8, "QWA01R1", "QWAC (subtype 0) or WTID", of=Triplet)
    second: block = at(16, "QWA01R2", "QMAC (0), WTAS (1) or WQST (2)", of=Triplet)
    third: block = at(24, "QWA01R3", "WQST (1)", of=Triplet)
    unused_4: block = at(32, "QWA01R4", "unused", of=Triplet)
    unused_5: block = at(40, "QWA01R5", "unused", of=Triplet)
    unused_6: block = at(48, "QWA01R6", "unused", of=Triplet)
