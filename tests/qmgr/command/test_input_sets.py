"""CSQINP1 and CSQINP2 run at every start; their replies are in CSQOUT1 and CSQOUT2."""

from qmgr.command.console import Console
from quaestor.testing import FaultyDisk

INP1 = """\
* buffer pools and page sets
DEFINE BUFFPOOL(0) BUFFERS(100)
DEFINE BUFFPOOL(1) BUFFERS(100)
DEFINE BUFFPOOL(3) BUFFERS(250)
DEFINE PSID(0) BUFFPOOL(0)
DEFINE PSID(1) BUFFPOOL(1)
DEFINE PSID(3) BUFFPOOL(3) EXPAND(SYSTEM)
DEFINE QLOCAL(TOO.EARLY)
DEFINE PSID(4) DSN('pageset-04')
"""
INP2 = """\
DEFINE STGCLASS(FAST) PSID(3)
DEFINE QLOCAL(ORDERS) STGCLASS(FAST) NOREPLACE
FROB
SET SYSTEM LOGLOAD(500)
"""


def written(disk, name):
    file = disk.open(name)
    return file.read(0, file.size()).decode()


def test_input_sets_are_files_of_the_directory():
    disk = FaultyDisk()
    for name, text in (("CSQINP1", INP1), ("CSQINP2", INP2)):
        disk.create(name, 0).write(0, text.encode())
    console = Console(disk=disk)
    assert [100, 100, 250] == [row["BUFFERS"] for row in console.rows("DIS BUFFPOOL(*) BUFFERS")]
    assert 3 == console.rows("DIS QL(ORDERS) PSID")[0]["PSID"]
    assert ("LOGLOAD", 500) in [(row["PARAMETER"], row["VALUE"]) for row in console.rows("DIS SYSTEM")]
    out1, out2 = written(disk, "CSQOUT1"), written(disk, "CSQOUT2")
    assert "CSQINP1 DEFINE QLOCAL(TOO.EARLY)\nCSQN009I +QM1 DEFINE QLOCAL cannot run before restart" in out1
    assert "DSN is not allowed before restart" in out1
    assert out1.endswith("CSQU056I COMMANDS FAILED: 2\n")
    assert "CSQINP2 FROB\nCSQ9019E" in out2
    assert out2.endswith("CSQU056I COMMANDS FAILED: 1\n")


def test_at_the_next_start_they_run_again_and_what_a_command_changed_stays():
    console = Console(input_sets={"CSQINP1": INP1, "CSQINP2": INP2})
    console.run("ALTER BUFFPOOL(3) BUFFERS(300)")
    console.run("SET SYSTEM LOGLOAD(900)")
    console.restart()
    assert 300 == console.rows("DIS BUFFPOOL(3)")[0]["BUFFERS"]
    assert ("LOGLOAD", 500) in [(row["PARAMETER"], row["VALUE"]) for row in console.rows("DIS SYSTEM")]
    assert "Buffer pool 3 keeps the 300 buffers that a command gave it" in written(console.disk, "CSQOUT1")
    assert "ALREADY EXISTS" in written(console.disk, "CSQOUT2")
    console.input_sets["CSQINP1"] = INP1.replace("BUFFPOOL(3) BUFFERS(250)", "BUFFPOOL(3) BUFFERS(250) REPLACE")
    console.restart()
    assert 250 == console.rows("DIS BUFFPOOL(3)")[0]["BUFFERS"]


def test_a_byte_order_mark_is_read_over():
    console = Console()
    console.qm.stop()
    file = console.disk.create("CSQINP2", 0)
    file.write(0, "DEFINE QLOCAL(FIRST)".encode("utf-8-sig"))
    file.close()
    console.start()
    assert console.rows("DIS QL(FIRST) CURDEPTH")


def test_input_sets_need_no_authority_and_without_them_nothing_is_written():
    console = Console("connect * * read", input_sets={"CSQINP2": "DEFINE QLOCAL(A)"})
    assert console.qm.messages.catalogue.find_queue("A") is not None
    assert 0 == console.qm.commands.refusals
    assert not console.run("DEFINE QLOCAL(B)", "QM1").ok
    assert "CSQOUT2" not in Console().disk.files
