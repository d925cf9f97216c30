"""What the topic manager counts: QTST, SMF 115 subtype 2."""

from quaestor.layout import (
    Record,
    at,
    block_id,
    block_length,
    count,
    elapsed,
    eye_catcher,
    high,
    longest,
    low,
    record,
    reserved,
)


@record("QTST", size=96, lengths={"7.0": 96, "8.0": 100})
class TopicStatistics(Record):
    """QTST: subscriptions and publications; arrays are API, admin, proxy."""

    id: block_id = at(0, "QTSTID", "Block identifier", default=0xA302)
    length: block_length = at(2, "QTSTLL", "Length (observed 100, header struct 96)")
    eye: eye_catcher = at(4, "QTSTDESC", "Eye-catcher QTST", size=4, default="QTST")
    subscribes: count = at(8, "QTSTSTOT", "Subscribe requests")
    subscribes_durable: count = at(12, "QTSTSDUR", "Durable subscribe requests")
    subscriptions_high: high = at(16, "QTSTSHIG", "Subscription high water: API, admin, proxy", shape=(3,))
    subscriptions_low: low = at(28, "QTSTSLOW", "Subscription low water: API, admin, proxy", shape=(3,))
    subscriptions_expired: count = at(40, "QTSTSEXP", "Subscriptions expired")
    messages_put: count = at(44, "QTSTTMSG", "Messages put to subscriber queues")
    subscribers_high: high = at(48, "QTSTSPHW", "Most subscribers for one publish")
    publishes: count = at(52, "QTSTPTOT", "Publish requests: API, admin, proxy", shape=(3,))
    publish_high: high = at(64, "QTSTPHIG", "Publish high water")
    publish_low: low = at(68, "QTSTPLOW", "Publish low water")
    publishes_no_subscriber: count = at(72, "QTSTPNOS", "Publishes without subscriber")
    reserved_76: reserved = at(76, "FILLER_001", "reserved", size=4)
    publish_longest: longest = at(80, "QTSTETHW", "Longest publish elapsed time")
    publish_elapsed: elapsed = at(88, "QTSTETTO", "Total publish elapsed time")
