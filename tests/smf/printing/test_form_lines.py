"""Every line of every form, with a figure of its own in each place: no label, width or field can change unseen (P2)."""

import pytest

from quaestor.layout import CODE_PAGES
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.printing import media, mover, mq1150, objects
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.forms import Block, Form, figure, longest_ms, mean_us, percent, row, two_digits, words
from quaestor.smf.printing.identity import cross_reference, dotted, dotted_token, thread_type
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics, StructureFigures
from quaestor.smf.sections.lock import LockStatistics
from smf.printing.given import GOLDEN, ms, us

FORMS = {**mq1150.FORMS, **media.FORMS, **mover.FORMS, **objects.FORMS}
SEPARATOR = "-- "


def counted(section):
    """A section in which every figure is another: 10, 20, 30 ... and names are those of their fields."""
    values, number = {}, 0
    for each in section.LAYOUT.fields:
        if each.of is not None or each.shape or each.kind.name in ("token", "reserved", "stamp", "local_stamp"):
            continue
        number += 1
        if each.kind.name == "text":
            values[each.name] = each.name[: each.size].upper()
        elif each.kind.name not in ("code", "flags"):
            small = number % 100 if each.element_size == 1 else 10 * number
            values[each.name] = us(small) if each.is_tod_interval else small
    return section(**values)


def printed(structure):
    form = FORMS[structure]
    return [f"{SEPARATOR}{form.title}", *form.lines(counted(SECTIONS[structure]), View())]


def golden():
    """The printouts by structure."""
    found = {}
    for line in (GOLDEN / "forms.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(SEPARATOR):
            found[line.split(" : ")[-1]] = lines = []
        lines.append(line)
    return found


@pytest.mark.parametrize("structure", FORMS)
def test_a_form_prints_every_figure_in_its_place(structure):
    assert golden()[FORMS[structure].title.split(" : ")[-1]] == printed(structure)


def test_no_printout_is_left_over():
    assert len(golden()) == len(FORMS)


# --- rows and cells --------------------------------------------------------------------------------------------------

LOCKS = row(figure("gets", "lock_gets", 6), figure("held", "already_held", 4), lead="L ", joint=" | ")


def test_a_row_is_its_cells_side_by_side():
    """A figure stands to the right of its width, a longer one takes what it needs."""
    assert "L gets     12 | held    3" == LOCKS.line(LockStatistics(lock_gets=12, already_held=3), View())
    assert "L gets 1234567 | held    0" == LOCKS.line(LockStatistics(lock_gets=1_234_567, already_held=0), View())


@pytest.mark.parametrize(
    ("gets", "held", "dense", "sparse"),
    [
        (None, None, False, False),
        (0, 0, True, False),
        (None, 0, True, False),
        (0, 7, True, True),
        (5, None, True, True),
    ],
)
def test_a_row_of_absent_fields_is_left_out_and_a_sparse_one_of_zeros_too(gets, held, dense, sparse):
    """P3, P4."""
    section = LockStatistics(lock_gets=gets, already_held=held)
    assert dense == LOCKS.shows(section)
    assert sparse == row(*LOCKS.cells, sparse=True).shows(section)


def test_numbers_of_pools_have_two_digits():
    assert ["BP 03", "BP 12", "BP 0-"] == [
        two_digits("BP", "buffer_pool").line(BufferStatistics(buffer_pool=number), View()) for number in (3, 12, None)
    ]


def test_words_are_not_aligned_and_figures_are():
    section = BufferStatistics(buffer_pool=3)
    assert "n 3" == words("n", "buffer_pool").line(section, View())
    assert "n          3" == figure("n", "buffer_pool").line(section, View())


def test_cells_of_two_fields():
    """22 of 88 are 25 %; nothing of nothing is 0, something of nothing has no share."""
    share = percent("%", "stealable_low", "buffers", 3)
    texts = [
        share.line(BufferStatistics(stealable_low=part, buffers=whole), View())
        for part, whole in ((22, 88), (0, 0), (5, 0), (5, None), (None, 5))
    ]
    assert ["%  25", "%   0", "%   -", "%   -", "%   -"] == texts
    assert ("stealable_low", "buffers") == share.reads


def test_times_are_averages_in_whole_microseconds_and_milliseconds():
    """MP1B cuts and does not round."""
    section = SECTIONS["QIS1"](read_ios=3, read_elapsed=us(2000) - 1)
    assert "avg      666" == mean_us("avg", "read_elapsed", "read_ios").line(section, View())
    longest = longest_ms("longest", "read_elapsed")
    assert "longest        1" == longest.line(section, View())
    assert "longest        2" == longest.line(SECTIONS["QIS1"](read_elapsed=ms(2)), View())


# --- forms -----------------------------------------------------------------------------------------------------------


def test_a_form_prints_what_no_row_names_from_its_declaration():
    """P2: what is zero there says nothing (P4)."""
    form = Form("Locks", (row(figure("gets", "lock_gets", 4)),))
    lines = list(form.lines(LockStatistics(lock_gets=1, already_held=2, lock_releases=0), View()))
    declared = LockStatistics.LAYOUT["already_held"].meaning
    assert ["  gets    1", f"  {declared} ".ljust(54, ".") + " 2"] == lines


def test_a_form_may_leave_fields_to_its_caller():
    form = Form("Locks", (), elsewhere=frozenset({"lock_gets", "already_held", "lock_releases"}))
    assert [] == list(form.lines(LockStatistics(lock_gets=1, already_held=2, lock_releases=3), View()))


def test_rows_of_a_repeated_structure_are_led_by_its_number_or_its_place():
    led = Form("Pools", (row(figure("n", "buffers", 3)),), lead=two_digits("", "buffer_pool"))
    assert ["  07 n  50"] == list(led.lines(BufferStatistics(buffer_pool=7, buffers=50), View()))
    numbered = Form("Pools", (row(figure("n", "buffers", 3)),), numbered=True, indent="")
    pool = BufferStatistics(buffers=50)
    assert ["01 n  50", "12 n  50"] == [next(numbered.lines(pool, View(), place)) for place in (1, 12)]


def test_elements_of_an_array_are_led_by_their_place_and_empty_ones_left_out():
    structures = [StructureFigures() for _ in range(64)]
    structures[3] = StructureFigures(structure="APP1")
    section = CouplingFacilityStatistics(structures=structures)
    block = Block(Form("", (row(words("is", "structure")),)), "#{:02d} ".format)
    assert ["  #03 is APP1"] == list(Form("CF", blocks={"structures": block}).lines(section, View()))
    bare = list(Form("CF").lines(section, View()))
    assert all("[3]" in line for line in bare)
    assert any(line.endswith(" APP1") for line in bare)


# --- who a task was --------------------------------------------------------------------------------------------------

ORDER = View(page=CODE_PAGES["1047"])


def ebcdic(text):
    return ORDER.page.encode(text, len(text))


@pytest.mark.parametrize(
    ("connection_type", "words_"),
    [
        (1, "CICS"),
        (2, "MVS/TSO"),
        (3, "IMS control region"),
        (4, "IMS MPP/BMP"),
        (6, "Channel initiator"),
        (7, "RRS batch"),
        (99, "unknown (99)"),
        (None, "-"),
    ],
)
def test_a_thread_has_the_word_that_mq116s_has_for_it(connection_type, words_):
    assert words_ == thread_type(connection_type)


@pytest.mark.parametrize(
    ("connection_type", "correlation", "says"),
    [
        (1, bytes([0, 0, 1, 2]) + ebcdic("ORD1") + b"\0\x12\x34\x5c", "thread 258, transaction ORD1, task 12345"),
        (1, bytes(4) + ebcdic("ORD1") + b"\0\0\0\x0c", "thread 0, transaction ORD1, task 0"),
        (3, ebcdic("0012PSBORDER"), "PST 0012, PSB PSBORDER"),
        (4, ebcdic("0012PSBORDER"), "PST 0012, PSB PSBORDER"),
        (4, b"\0\0\0\x01" + ebcdic("PSBORDER"), "PST 00000001, PSB PSBORDER"),
        (2, ebcdic("BATCHJOB") + bytes(4), "BATCHJOB"),
        (None, ebcdic("WHO ARE YOU?"), "WHO ARE YOU?"),
        (1, bytes(12), ""),
        (4, b"\x40" * 12, ""),
    ],
    ids=["CICS", "CICS task 0", "IMS control", "IMS", "IMS without a region", "batch", "nobody", "zeros", "blanks"],
)
def test_what_a_cross_reference_says(connection_type, correlation, says):
    assert says == cross_reference(connection_type, correlation, ORDER)


def test_lines_of_identification_are_dotted_to_one_column():
    assert "== Thread type................> CICS" == dotted("Thread type", "CICS")
    assert "== Connection name............> -" == dotted("Connection name", None)
    assert "== Token.................(HEX)> C1" == dotted("Token", "C1", "(HEX)")
    assert {30} == {dotted(label, "x", note).index(">") for label, note in (("A", ""), ("A label", "(HEX)"))}


def test_a_token_is_shown_in_words_and_in_hexadecimal_unless_it_is_blank():
    assert ["== Token......................> ABC", "== Token.................(HEX)> C1C2C3"] == list(
        dotted_token("Token", ebcdic("ABC"), "ABC")
    )
    assert ["== Token......................>"] == list(dotted_token("Token", b"\0\x40\0"))
    assert ["== Token......................>", "== Token.................(HEX)> 0000"] == list(
        dotted_token("Token", b"\0\0", always=True)
    )
    assert ["== Token......................> -"] == list(dotted_token("Token", None, always=True))
