"""Initialisation input sets: commands that run whenever the queue manager starts.

Rules
  IS1 CSQINP1 runs before restart (buffer pools, page sets, security, traces), CSQINP2 after it (objects and the rest).
      They are files of the queue manager's directory; a text that is given takes the place of a file.
  IS2 The queue manager itself gives these commands: no authority is asked for.
  IS3 A command that fails does not keep the queue manager from starting. All replies go to CSQOUT1 and CSQOUT2, written
      anew at each start; without an input set there is no output.

Called by queue_manager.  Calls the processor and the disk.
"""

from collections.abc import Mapping

from quaestor.qmgr.command.processor import CommandProcessor
from quaestor.qmgr.security import Itself
from quaestor.storage.disk import Disk

BEFORE_RESTART, AFTER_RESTART = "CSQINP1", "CSQINP2"
OUTPUT = {BEFORE_RESTART: "CSQOUT1", AFTER_RESTART: "CSQOUT2"}


class InputSets:
    """The input sets of one queue manager (IS1-IS3)."""

    def __init__(self, processor: CommandProcessor, disk: Disk, given: Mapping[str, str] | None = None) -> None:
        self._processor, self._disk, self._given = processor, disk, dict(given or {})

    def run(self, name: str) -> int:
        """Run one input set; how many of its commands failed."""
        text = self._given.get(name)
        if text is None:
            text = self._text(name)
        if text is None:
            return 0
        lines, failed = list[str](), 0
        for command, reply in self._processor.script(text, Itself(self._processor.qmgr)):
            lines += [f"{name} {command}", *reply.lines, ""]
            failed += not reply.ok
        lines.append(f"CSQU056I COMMANDS FAILED: {failed}")
        self._write(OUTPUT[name], "\n".join(lines) + "\n")
        return failed

    def _text(self, name: str) -> str | None:
        if not self._disk.exists(name):
            return None
        file = self._disk.open(name)
        try:
            return file.read(0, file.size()).decode("utf-8-sig", "replace")
        finally:
            file.close()

    def _write(self, name: str, text: str) -> None:
        if self._disk.exists(name):
            self._disk.delete(name)
        file = self._disk.create(name, 0)
        try:
            file.write(0, text.encode())
        finally:
            file.close()
