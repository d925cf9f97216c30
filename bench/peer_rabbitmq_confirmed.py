"""RabbitMQ whose acknowledgements are confirmed: what a get and its commit is, measured on equal terms.

The harness's RabbitMQ acknowledges without waiting: when its get returns, nobody has said that the message is gone, and
nothing of it need be on disk. AMQP 0-9-1 confirms an acknowledgement only within a channel transaction, so here a get
is basic.get, basic.ack and tx.commit. Everything else is the harness's own.
"""

from typing import Any

from peer_rabbitmq import RabbitClassicV2, RabbitClient


class RabbitConfirmed(RabbitClassicV2):
    """Classic queues, a transaction for each get."""

    name = "rabbitmq-tx"
    durable = "tx.commit-ok after the acknowledgement"
    skip = dict.fromkeys("sabdepfgh", "as rabbitmq-classic-v2")

    def connect(self) -> "ConfirmedClient":
        return ConfirmedClient(self)


class ConfirmedClient(RabbitClient):
    """Gets on a channel with transactions."""

    def __init__(self, peer: RabbitConfirmed) -> None:
        super().__init__(peer)
        self.getting: Any = self.conn.channel()
        self.getting.tx_select()

    def get(self, q: str, timeout: float = 0.0) -> bytes | None:
        if timeout:
            return super().get(q, timeout)
        method, _, raw = self.getting.basic_get(q)
        if method is None:
            return None
        self.getting.basic_ack(method.delivery_tag)
        self.getting.tx_commit()
        return raw


PEERS = [RabbitConfirmed]
