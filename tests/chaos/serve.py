"""A member of the chaos test: the queue manager in a directory as a server, until it is killed.

It ends with 3 when it cannot start, because something that it needs is away. On SIGUSR1 it writes how many pages of its
shared message data sets are in use to the file `pages`.
"""

import json
import logging
import signal
import sys
from pathlib import Path

from quaestor.mqi.reasons import MQError
from quaestor.server.home import Home
from quaestor.server.process import Server

CANNOT_START = 3


def main(directory):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        server = Server(Home(directory), sys.stderr, signals=True)
    except MQError as error:
        sys.stderr.write(f"{error}\n")
        return CANNOT_START

    def pages(*_):
        connections = server.manager.shared.data_sets.connections
        used = {name: each.own.space.used for name, each in connections.items() if each.own is not None}
        (directory / "pages.new").write_text(json.dumps(used))
        (directory / "pages.new").rename(directory / "pages")

    signal.signal(signal.SIGUSR1, pages)
    return server.run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
