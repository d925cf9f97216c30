"""`quaestor demo cqs`: a transaction runs through front-end and back-end systems that share their queues.

Rules
  DQ1 Everything happens: servers, structures in memory, log and recovery data sets in a folder of their own; what is
      said is what was done, as each system tells it.
  DQ2 Four acts: a message through two systems; a system that fails with a message; the loss of the coupling facility;
      a queue that grows until it goes to the overflow structure.

Called by the command line.  Calls cqs.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from quaestor.cqs.queue_names import QueueName


@click.command("cqs")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: what happened, and what each system counted.")
def cqs_command(*, as_json: bool) -> None:
    """Run a transaction through IMS systems that share queues; let one fail, and lose the structure.

    \b
    Example:
      quaestor demo cqs
    """
    with tempfile.TemporaryDirectory() as folder:
        story = Story(Path(folder))
        story.first_act()
        story.second_act()
        story.third_act()
        story.fourth_act()
    if as_json:
        click.echo(json.dumps({"acts": story.acts, "counts": story.counts()}))
        return
    for act in story.acts:
        click.secho(f"\n== {act['title']}", bold=True)
        for line in act["lines"]:
            click.echo(f"  {line}")
    click.secho("\n== What each system counted", bold=True)
    for name, counts in story.counts().items():
        click.echo(f"  {name}: " + ", ".join(f"{what.replace('_', ' ')} {count}" for what, count in counts.items()))


class Story:
    """The systems of the demo, and what they tell (DQ1, DQ2)."""

    def __init__(self, folder: Path) -> None:
        from quaestor.clock import SystemClock
        from quaestor.cqs.linked_pair import Surroundings
        from quaestor.cqs.policy import Policy
        from quaestor.cqs.server import CommonQueueServer
        from quaestor.cqs.transaction_manager import TransactionManager
        from quaestor.storage.real_disk import RealDisk

        self.acts: list[dict[str, Any]] = []
        self.facility = LosableFacility()
        policy = Policy(size=160, overflow_size=160)
        around = Surroundings({"CF01": self.facility.connect}, RealDisk(folder), SystemClock())
        self.servers = [CommonQueueServer(f"CQS{number}", policy, around).start() for number in (1, 2, 3)]
        self.ims1, self.ims2, self.ims3 = (
            TransactionManager(f"IMS{at}", server, {"TRANX": reply}, regions=0 if at == 1 else 1, tell=self.say)
            for at, server in enumerate(self.servers, 1)
        )

    def first_act(self) -> None:
        self._act("A message runs through two systems")
        self.ims1.log_on("LTRMZ")
        self.ims1.enter("LTRMZ", "TRANX", "I-MSG1")
        running = self.ims2.schedule()
        if running is None:
            raise click.ClickException("no system had work")
        self.ims2.complete(running)
        self.ims1.deliver()
        self.say(f"LTRMZ has received {self.ims1.terminals['LTRMZ'].received}")

    def second_act(self) -> None:
        self._act("A system fails with a message in its region; another one runs it")
        self.ims1.enter("LTRMZ", "TRANX", "I-MSG2")
        self.ims2.schedule()
        self.say("IMS2 and its server CQS2 are gone")
        self.facility.fail("CQS2")
        self.say(f"CQS1 completes the work of {', '.join(self.servers[0].step())}: the message is ready again")
        self._answer()

    def third_act(self) -> None:
        self._act("The coupling facility is lost; the structure comes back from recovery data set and log")
        taken = self.servers[0].structure_checkpoint()
        self.say(f"CQS1 takes structure checkpoint {taken.sequence} of {taken.messages} messages")
        self.ims1.enter("LTRMZ", "TRANX", "I-MSG3")
        self.facility.lose()
        self.say("the coupling facility is gone with everything in it")
        for server in (self.servers[0], self.servers[2]):
            server.step()
        self.say("CQS1 has recovered the structure")
        self._answer()

    def fourth_act(self) -> None:
        from quaestor.cqs.queue_names import transaction

        self._act("A queue that nobody reads grows until it goes to the overflow structure")
        pair, number = self.servers[0].pair, 0
        while not pair.overflow:
            self.ims1.client.put(transaction("GREEDY"), [b"x" * 3000])
            number += 1
        space = pair.primary.space()
        percent = 100 * space.elements // space.elements_total
        self.say(f"after {number} messages GREEDY is in overflow status; the primary structure is {percent} % full")
        self.ims1.enter("LTRMZ", "TRANX", "I-MSG4")
        self._answer()

    def _answer(self) -> None:
        running = self.ims3.schedule()
        if running is None:
            raise click.ClickException("no system had work")
        self.ims3.complete(running)
        self.ims1.deliver()
        self.say(f"LTRMZ has received {self.ims1.terminals['LTRMZ'].received[-1:]}")

    def counts(self) -> dict[str, dict[str, int]]:
        from dataclasses import asdict

        return {ims.name: asdict(ims.counts) for ims in (self.ims1, self.ims2, self.ims3)}

    def say(self, what: str) -> None:
        self.acts[-1]["lines"].append(what)

    def _act(self, title: str) -> None:
        self.acts.append({"title": title, "lines": []})


def reply(segments: Sequence[bytes]) -> "list[tuple[QueueName, list[bytes]]]":
    """The program of TRANX: it answers the terminal that its input came from."""
    from quaestor.cqs.queue_names import lterm

    return [(lterm(segments[0].decode()), [b"O" + segments[1][1:]])]


class LosableFacility:
    """A coupling facility in this process whose connectors can fail, and that can be lost."""

    def __init__(self) -> None:
        from quaestor.storage.lists.facility import MemoryFacility

        self._new = MemoryFacility
        self._facility = MemoryFacility()
        self._connections: list[Any] = []

    def connect(self, shape: Any, connector: str, told: Any) -> Any:
        from quaestor.storage.lists.structure import StructureLostError

        home = self._facility
        made = home.connect(shape, connector, told)
        request = made.request

        def reachable(*operations: Any) -> Any:
            if self._facility is not home:
                raise StructureLostError(f"{shape.name}: the coupling facility is gone")
            return request(*operations)

        made.request = reachable  # type: ignore[method-assign] # the cable that the demo cuts
        self._connections.append(made)
        return made

    def fail(self, connector: str) -> None:
        for connection in self._connections:
            if connection.connector == connector:
                connection.fail()

    def lose(self) -> None:
        self._facility = self._new()
