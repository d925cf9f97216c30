"""A server with one client as a process of its own: it puts, or replies, until it is killed; it says what is done."""

import sys
from itertools import count
from pathlib import Path

from quaestor.cqs.group_directory import server
from quaestor.cqs.queue_names import lterm, transaction

TRANX, LTRMZ = transaction("TRANX"), lterm("LTRMZ")


def say(what):
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def put(client):
    for number in count():
        text = f"{client.name}-{number}"
        client.put(TRANX, [text.encode(), *[b"." * 3000] * (number % 3)])
        say(text)


def reply(client):
    while True:
        unit = client.begin()
        message = unit.read(TRANX)
        if message is None:
            continue
        text = message.segments[0].decode()
        unit.insert(LTRMZ, [f"re {text}".encode()])
        unit.commit()
        say(f"re {text}")


if __name__ == "__main__":
    name, directory, what = sys.argv[1:]
    joined = server(name, Path(directory)).start()
    say("started")
    {"put": put, "reply": reply}[what](joined.register(f"I{name[-2:]}"))
