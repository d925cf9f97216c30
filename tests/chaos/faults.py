"""Faults of the chaos test: what can befall a group, for how long, and in which combinations.

A fault harms the world and heals it again after a while; two of them may overlap. What loses the contents of structures
is said in the history, because only then may messages that are not persistent be missing.
"""

import threading
import time

from chaos.world import MEMBERS


def wait(world, seconds):
    time.sleep(seconds)  # noqa: TID251 - a fault lasts


class Fault:
    """One thing that happens to a world."""

    def __init__(self, name, harm, heal, lasts=(0.3, 2.5)):
        self.name, self._harm, self._heal, self._lasts = name, harm, heal, lasts

    def run(self, world, choose):
        victims = choose.sample(MEMBERS, 3)
        lasts_s = choose.uniform(*self._lasts)
        world.history.note("fault", why=f"{self.name} {victims} {lasts_s:.1f} s")
        self._harm(world, victims, choose)
        wait(world, lasts_s)
        world.history.note("fault", why=f"{self.name} ends")
        self._heal(world, victims, choose)


def kill_members(count):
    def harm(world, victims, _choose):
        for name in victims[:count]:
            world.members[name].kill()

    def heal(world, victims, _choose):
        for name in victims[:count]:
            world.members[name].start()

    return harm, heal


def pause_member(world, victims, _choose):
    world.members[victims[0]].pause()


def resume_member(world, victims, _choose):
    world.members[victims[0]].resume()


def kill_paused_member(world, victims, _choose):
    """A member that stood still is killed without having gone on."""
    world.members[victims[0]].kill()
    world.members[victims[0]].start()


def kill_store(world, _victims, _choose):
    world.store.kill()
    if world.engine != "redis":
        world.history.note("lost")


def start_store(world, _victims, _choose):
    world.store.start()


def pause_store(world, _victims, _choose):
    world.store.pause()


def resume_store(world, _victims, _choose):
    world.store.resume()


def kill_repository(world, _victims, _choose):
    world.kill_repository()


def start_repository(world, _victims, _choose):
    world.start_repository()


def becoming(ways, mode, count=1):
    def change(world, victims, _choose):
        for name in victims[:count]:
            getattr(world, ways)[name].become(mode)

    return change


def kill_client(world, _victims, choose):
    world.clients[choose.choice([name for name, each in world.clients.items() if each.up])].kill()


def start_client(world, _victims, choose):
    world.start_client(choose.choice(world.kinds))


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("member", *kill_members(1)),
        Fault("two members", *kill_members(2)),
        Fault("all members", *kill_members(3)),
        Fault("pause", pause_member, resume_member, (0.5, 8.0)),
        Fault("pause and kill", pause_member, kill_paused_member, (0.5, 3.0)),
        Fault("store", kill_store, start_store),
        Fault("store pause", pause_store, resume_store, (0.5, 4.0)),
        Fault("repository", kill_repository, start_repository, (0.3, 5.0)),
        Fault("cut", becoming("store_ways", "cut"), becoming("store_ways", "pass"), (0.1, 4.0)),
        Fault("cut two", becoming("store_ways", "cut", 2), becoming("store_ways", "pass", 2), (0.1, 4.0)),
        Fault("late", becoming("store_ways", "hold"), becoming("store_ways", "pass"), (1.0, 5.0)),
        Fault("repository cut", becoming("repository_ways", "cut"), becoming("repository_ways", "pass"), (0.5, 6.0)),
        Fault("client", kill_client, start_client, (0.1, 0.5)),
    )
}
WITHOUT_REPOSITORY = [name for name in FAULTS if "repository" not in name]


def possible(engine):
    """The faults that an engine can meet: SQLite is a file, and nobody holds up what goes through a local socket."""
    return [name for name in WITHOUT_REPOSITORY if name != "late"] if engine == "facility" else list(FAULTS)


def combination(world, names, choose):
    """Faults one over the other: each begins while the one before may still last."""
    threads = []
    for name in names:
        threads.append(threading.Thread(target=FAULTS[name].run, args=(world, choose)))
        threads[-1].start()
        wait(world, choose.uniform(0.0, 1.0))
    for thread in threads:
        thread.join()
