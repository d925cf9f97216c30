"""The process that is killed: a queue manager of its own, threads that put and get, and a pipe that is told about it.

    python kill_load.py DIRECTORY ROUND SETTINGS       threads and queue manager in one process
    python kill_load.py DIRECTORY serve                the queue manager as a server
    python kill_load.py DIRECTORY ROUND put|get NUMBER one client of that server, over its local socket

Every line on standard output is one write, so a kill leaves whole lines: `put ID...` and `get ID...` before a commit
is asked for, `done put ID...` and `done get ID...` after it was answered.
"""

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

from quaestor import connect
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import local_place
from quaestor.server.home import Home
from quaestor.server.process import Server
from quaestor.testing import SMALL

BASE = replace(SMALL, logs=3, log_bytes=512 << 10, logload=400, buffer_pools={0: 64, 1: 200}, pages=64)
SETTINGS = {
    "single": BASE,
    "dual": replace(BASE, dual_logs=True),
    "packing": replace(BASE, packing=True),
    "archive": replace(BASE, archive=True, log_bytes=256 << 10),
}
QUEUE = "ORDERS"
SIZES = (20, 200, 1500, 3900, 9000)
PUTTERS, GETTERS = 3, 2
GONE = (Reason.CONNECTION_BROKEN, Reason.HCONN_ERROR, Reason.Q_MGR_NOT_AVAILABLE)
OPEN = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT


def body_of(name, size):
    """A body that proves itself: its name, repeated."""
    return (name.encode() + b"/") * (size // (len(name) + 1) + 1)


def name_of(body):
    """The name a body carries; the whole of it must agree."""
    name = body.split(b"/")[0]
    assert body == (name + b"/") * (len(body) // (len(name) + 1))
    return name.decode()


def say(*words):
    os.write(1, (" ".join(words) + "\n").encode())


def putting(app, number, thread):
    choose = Random(1000 * number + thread)
    orders = app.open(QUEUE, OPEN)
    count = 0
    while True:
        names = [f"{number}.{thread}.{count + n}" for n in range(choose.randint(1, 3))]
        count += len(names)
        for name in names:
            orders.put(body_of(name, choose.choice(SIZES)), MQMD(persistence=1, priority=choose.randint(0, 9)))
        if choose.random() < 0.1:
            app.backout()
            continue
        say("put", *names)
        app.commit()
        say("done put", *names)


def getting(app, number, thread):
    choose = Random(1000 * number + 500 + thread)
    orders = app.open(QUEUE, OPEN)
    while True:
        names = []
        try:
            while len(names) < choose.randint(1, 3):
                names.append(name_of(orders.get(wait_ms=50).body))
        except MQError as error:
            if error.reason is not Reason.NO_MSG_AVAILABLE:
                raise
        if choose.random() < 0.2:
            app.backout()
        elif names:
            say("get", *names)
            app.commit()
            say("done get", *names)


def main(directory, number, settings):
    say("starting")
    first = connect("QM1", directory, settings=settings)
    try:
        first.define(LocalQueue(QUEUE, share=True, def_exclusive=False, max_depth=10**6))
    except MQError as error:
        if error.reason is not Reason.OBJECT_ALREADY_EXISTS:
            raise
    say("started")
    work = [(putting, n) for n in range(PUTTERS)] + [(getting, n) for n in range(GETTERS)]
    apps = [connect("QM1", directory, settings=settings) for _ in work]
    threads = [threading.Thread(target=run, args=(app, number, n)) for app, (run, n) in zip(apps, work, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def serve(directory):
    """The queue manager as a server, until it is killed."""
    server = Server(Home(Path(directory)), sys.stderr)
    say("serving")
    server.run()


def client(directory, number, verb, thread):
    """One application in a process of its own; it ends when its queue manager is gone."""
    app = LINKS.connect(local_place("QM1", directory), hello_of("QM1", None, None, "kill", b""))
    say("started")
    try:
        (putting if verb == "put" else getting)(app, number, thread)
    except MQError as error:
        if error.reason not in GONE:
            raise


if __name__ == "__main__":
    place, *rest = sys.argv[1:]
    if rest == ["serve"]:
        serve(place)
    elif len(rest) > 2:
        client(place, int(rest[0]), rest[1], int(rest[2]))
    else:
        main(place, int(rest[0]), SETTINGS[rest[1]])
