"""Introduction: how a client says who it is, and begins its conversations.

Rules
  IN1 A client says which versions it speaks, who it is and whom it wants to talk to. What cannot be read ends the link;
      another version, another queue manager and who is not believed (ID4) are answered first.
  IN2 Whose password is being checked is not looked at meanwhile; what it has sent is looked at when it is let in.
  IN3 Who comes back under a client's name takes its older link over (protocol W10), and has that link's place: the
      number of clients is looked at afterwards (SV8).
  IN4 The first call of a conversation connects it. One that is refused leaves the link and its other conversations.

Called by link.  Calls identity, arrivals, service.
"""

from typing import TYPE_CHECKING, Any

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.recovery.outcomes import owned
from quaestor.server import values
from quaestor.server.conversation import Conversation
from quaestor.server.identity import MadeRoom, Refused
from quaestor.server.protocol import CLIENT_MAX, MAGIC, VERSION, Op, ProtocolError, frame

if TYPE_CHECKING:
    from quaestor.server.link import Link

_HELLO = int(Op.HELLO)


def hello(link: "Link", op: int, number: int, payload: bytes) -> None:
    """The first frame of a link (IN1)."""
    if op != _HELLO or not payload.startswith(MAGIC):
        raise ProtocolError("no HELLO")
    said = values.unpack(payload[len(MAGIC) :], values.REQUEST_VALUES)
    versions = said.get("versions") if isinstance(said, dict) else None
    if not isinstance(versions, list | tuple) or VERSION not in versions:
        _refuse(link, number, MQError(Reason.ENVIRONMENT_ERROR, versions=[VERSION]), "another version")
        return
    user, password = said.get("user", ""), said.get("password")
    if not isinstance(user, str) or not isinstance(password, str | None):
        raise ProtocolError("HELLO with a user that is no text")
    ask = link.service.ask
    try:
        _check_names(link, said)
        found = link.service.identity.find(
            link, user, password, lambda result: ask(lambda: _proved(link, number, user, result))
        )
    except Refused as refused:
        _not_believed(link, number, user, refused)
        return
    except MQError as error:
        _refuse(link, number, error, str(error))
        return
    if found is None:
        link.identifying = True  # IN2
    else:
        welcome(link, number, found)


def _check_names(link: "Link", said: dict[str, Any]) -> None:
    client, name, application = said.get("client", b""), said.get("qmgr", ""), said.get("application", "")
    if not isinstance(name, str) or not isinstance(application, str):
        raise ProtocolError("HELLO with a name that is no text")
    if not isinstance(client, bytes) or len(client) > CLIENT_MAX:
        raise ProtocolError(f"a client's name has at most {CLIENT_MAX} bytes")
    link.client = client
    link.application = application[:28]
    if name and name != link.service.name:
        raise MQError(Reason.Q_MGR_NAME_ERROR, asked_for=name, found=link.service.name)


def _proved(link: "Link", number: int, user: str, result: str | Refused) -> None:
    """The password was checked (IN2)."""
    if not link.open:
        return
    link.identifying = False
    if isinstance(result, Refused):
        _not_believed(link, number, user, result)
    else:
        welcome(link, number, result)


def welcome(link: "Link", number: int, user: str) -> None:
    """The client is who it says it is: go on with what it sent meanwhile (IN2, IN3)."""
    link.user, service = user, link.service
    unit = take_over(link)
    try:
        service.arrivals.admit(link)
    except MQError as full:
        _refuse(link, number, full, None)
        return
    link.let_in()
    told = {
        "unit": unit,
        "version": VERSION,
        "qmgr": service.name,
        "user": user,
        "heartbeat_s": service.limits.heartbeat_s,
        "frame_bytes": service.limits.frame_bytes,
    }
    link.send(frame(Op.REPLY, 0, 0, number, values.pack(told)))
    link.want(reading=True)
    link.go_on()


def take_over(link: "Link") -> int:
    """A client that comes back: its older link is gone, whether we have heard of that or not (IN3).

    Gives the number of the last unit that it has committed.
    """
    if not link.client:
        return 0
    service = link.service
    for other in tuple(service.links):
        if other is not link and other.client == link.client and other.user == link.user and other.open:
            other.end("its client has come back on another link")
            service.commits.harden()
            service.let_go()
    return service.commits.outcomes.last_of(owned(link.client, link.user))


def _not_believed(link: "Link", number: int, user: str, why: Refused) -> None:
    """ID4."""
    if isinstance(why, MadeRoom):
        link.service.arrivals.made_room(str(why))
        _refuse(link, number, MQError(Reason.MAX_CONNS_LIMIT_REACHED, user=user), None)
    else:
        link.service.journal.audit("QSV020W", peer=link.peer, user=user, why=str(why))
        _refuse(link, number, MQError(Reason.NOT_AUTHORIZED, user=user), None)


def _refuse(link: "Link", number: int, error: MQError, why: str | None) -> None:
    """Answer and end the link."""
    link.send(frame(Op.ERROR, 0, 0, number, values.pack_error(error)))
    link.flush()
    link.end(why)


def connect(link: "Link", conversation: int, number: int, asked: Any) -> None:
    """The first call of a conversation: MQCONN (IN4)."""
    if not isinstance(asked, list) or asked[:1] != ["connect"]:
        raise ProtocolError("a call on a conversation that is not there")
    try:
        if link.applications >= link.service.limits.conversations:
            raise MQError(Reason.MAX_CONNS_LIMIT_REACHED, links=link.applications)  # noqa: TRY301
        connection = link.service.connect(link)
    except MQError as error:
        link.send(frame(Op.ERROR, 0, conversation, number, values.pack_error(error)))
        return
    link.shared = bool(link.conversations)
    link.conversations[conversation] = Conversation(link, conversation, connection)
    link.send(frame(Op.REPLY, 0, conversation, number, values.pack(None)))
