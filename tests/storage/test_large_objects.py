"""Bodies of long messages in the shared repository, on each database alike."""

import threading

import pytest

from quaestor.storage.shared_tables import Body, ChangedError, RepositoryAwayError, open_tables
from quaestor.storage.shared_tables.large_objects import PIECE
from servers import postgres_server

LONG = bytes(range(256)) * 6000  # three pieces


def stored(tables, serial=1, data=LONG, structure="APPL1", member=1):
    body = Body(member, tables.life(structure, member) or tables.begin_life(structure, member), serial)
    tables.store(structure, body, data)
    return body


@pytest.mark.oracle("mp16-ch2-3/31", kind="identity", lines="2883, 2947-2949")
@pytest.mark.parametrize(("length", "pieces"), [(523_264, 1), (524_000, 2), (1_048_576, 3)])
def test_a_body_is_stored_in_pieces_of_511_kb(tables, length, pieces):
    body = stored(tables, data=bytes(length))
    rows = tables._asked("SELECT COUNT(*) FROM quaestor_object WHERE grp = ?", tables.group)
    assert (pieces, bytes(length)) == (rows[0][0], tables.fetch("APPL1", body))


@pytest.mark.parametrize("length", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_every_member_reads_what_was_stored(member, length):
    data = LONG[:1] * length
    body = stored(member(), data=data)
    assert data == member().fetch("APPL1", body)


def test_a_body_is_of_its_structure_and_its_group(tables, address):
    body = stored(tables)
    other = open_tables(address, "OTHER")
    assert (None, None) == (tables.fetch("APPL2", body), other.fetch("APPL1", body))
    other.remove("APPL1", [body])
    other.remove_all("APPL1")
    other.close()
    assert LONG == tables.fetch("APPL1", body)


def test_names_are_listed_and_bodies_removed(tables):
    """Removing what is gone is no error (LB4)."""
    one, two, peers = stored(tables, 1), stored(tables, 2), stored(tables, 3, member=2)
    assert ([one, two, peers], [one, two]) == (tables.bodies("APPL1"), tables.bodies("APPL1", 1))
    tables.remove("APPL1", [one, peers, one])
    assert ([two], None, LONG) == (tables.bodies("APPL1"), tables.fetch("APPL1", one), tables.fetch("APPL1", two))
    tables.remove_all("APPL1")
    assert [] == tables.bodies("APPL1")


def test_bodies_are_no_change_that_members_follow(tables):
    before = tables.newest()
    tables.remove("APPL1", [stored(tables)])
    assert before == tables.newest()


# -- lives, rule LB2


def test_a_body_of_a_life_that_is_over_is_refused(member):
    one, peer = member(), member()
    body = stored(one)
    assert 2 == peer.begin_life("APPL1", 1, after=1)
    with pytest.raises(ChangedError):
        one.store("APPL1", body._replace(serial=2), LONG)
    assert ([body], None) == (one.bodies("APPL1"), peer.begin_life("APPL1", 1, after=1))
    one.store("APPL1", Body(1, one.begin_life("APPL1", 1), 1), LONG)


def test_a_body_without_a_life_is_refused(tables):
    with pytest.raises(ChangedError):
        tables.store("APPL1", Body(1, 1, 1), LONG)
    assert (0, None) == (tables.life("APPL1", 1), tables.begin_life("APPL1", 1, after=0))


def test_who_ends_a_life_waits_for_a_body_that_is_being_stored(member):
    """So that a list of what there is, made after it, misses nothing that comes late."""
    one, peer = member(), member()
    life = one.begin_life("APPL1", 1)
    half, go_on = threading.Event(), threading.Event()
    execute = one._execute

    def slowly(text, *parameters):
        if text == "COMMIT":
            half.set()
            go_on.wait(5)
        return execute(text, *parameters)

    one._execute = slowly
    storing = threading.Thread(target=lambda: one.store("APPL1", Body(1, life, 1), LONG))
    storing.start()
    assert half.wait(5)
    found = []

    def ends():
        peer.begin_life("APPL1", 1, after=life)
        found.extend(peer.bodies("APPL1"))

    ending = threading.Thread(target=ends)
    ending.start()
    ending.join(0.2)
    assert (True, []) == (ending.is_alive(), found)
    go_on.set()
    for thread in (storing, ending):
        thread.join()
    assert [Body(1, life, 1)] == found


# -- a database that goes away


@pytest.mark.parametrize("statement", ["INSERT", "COMMIT"])
def test_a_body_is_there_whole_or_not_at_all(tables, statement):
    """Whatever statement the way is lost at; one whose end was not answered may be there (LB4)."""
    life = tables.begin_life("APPL1", 1)
    execute, seen = tables._execute, []

    def cut(text, *parameters):
        seen.append(text)
        if text.startswith(statement) and len(seen) > 4:
            raise OSError("the way is cut")
        return execute(text, *parameters)

    tables._execute = cut
    with pytest.raises(RepositoryAwayError):
        tables.store("APPL1", Body(1, life, 1), LONG)
    tables._execute = execute
    assert tables.fetch("APPL1", Body(1, life, 1)) is None


def test_a_body_outlives_its_server():
    with postgres_server() as server:
        tables = open_tables(server.url, "QSG1")
        body = stored(tables)
        server.kill()
        with pytest.raises(RepositoryAwayError):
            tables.fetch("APPL1", body)
        server.start()
        assert LONG == tables.fetch("APPL1", body)
        tables.close()


def test_a_repository_of_before_gets_what_it_lacks(tmp_path):
    tables = open_tables(str(tmp_path / "old.db"), "QSG1")
    tables.newest()
    tables._execute("DROP TABLE quaestor_object")
    tables.close()
    assert LONG == tables.fetch("APPL1", stored(tables))
    tables.close()
