"""Files of the system: write-through past the page cache where that is possible, errors by name (K1, K6, K10)."""

import errno
import mmap
import os

import pytest

from quaestor.storage import real_file
from quaestor.storage.real_disk import RealDisk
from quaestor.storage.real_file import BLOCK


@pytest.fixture
def file(tmp_path):
    made = RealDisk(tmp_path).create("log1-01", 4 * BLOCK)
    yield made
    made.close()


def aligned(contents):
    memory = mmap.mmap(-1, len(contents))
    memory[:] = contents
    return memoryview(memory)


@pytest.mark.parametrize("offset", [0, BLOCK])
@pytest.mark.parametrize("blocks", [1, 2])
def test_whole_blocks_are_read_back_as_they_were_written(file, offset, blocks):
    contents = os.urandom(blocks * BLOCK)
    file.write_through(offset, aligned(contents))
    assert contents == file.read(offset, len(contents))


@pytest.mark.parametrize(("offset", "length"), [(0, 100), (7, BLOCK), (BLOCK - 1, 2)])
def test_a_part_of_a_block_is_written_too(file, offset, length):
    contents = os.urandom(length)
    file.write_through(offset, contents)
    assert contents == file.read(offset, length)
    assert file.size() == 4 * BLOCK


def test_a_volatile_write_is_not_lost_under_a_write_past_the_cache(file):
    file.write(100, b"volatile")
    file.write_through(BLOCK, aligned(bytes(BLOCK)))
    file.write_through(0, aligned(b"\1" * BLOCK))
    file.write(0, b"later")
    assert b"later" + b"\1" * (BLOCK - 5) == file.read(0, BLOCK)


def test_where_it_is_not_possible_the_page_cache_is_used_for_good(file, monkeypatch):
    """A file system without direct writes, or memory that is not aligned: EINVAL."""
    tried = []

    def refuse(fd, parts, offset, flags):
        tried.append(fd)
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(real_file.os, "pwritev", refuse)
    file.write_through(0, aligned(b"\2" * BLOCK))
    assert b"\2" * BLOCK == file.read(0, BLOCK)
    monkeypatch.undo()
    file.write_through(BLOCK, aligned(b"\3" * BLOCK))
    assert (1, b"\3" * BLOCK) == (len(tried), file.read(BLOCK, BLOCK))


def test_an_input_output_error_is_not_taken_for_impossible(file, monkeypatch):
    def fail(fd, parts, offset, flags):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(real_file.os, "pwritev", fail)
    with pytest.raises(OSError, match="broken"):
        file.write_through(0, aligned(bytes(BLOCK)))


def failing(*_args):
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize(
    ("call", "request_"),
    [
        ("pread", lambda file: file.read(0, 10)),
        ("pwrite", lambda file: file.write(0, b"x")),
        ("pwritev", lambda file: file.write_many(0, [b"x", b"y"])),
        ("pwritev", lambda file: file.write_through(0, aligned(bytes(BLOCK)))),
        ("pwritev", lambda file: file.write_through(7, b"x")),
        ("posix_fallocate", lambda file: file.extend(8 * BLOCK)),
        ("fdatasync", lambda file: file.sync()),
    ],
    ids=["read", "write", "write_many", "aligned", "part of a block", "extend", "sync"],
)
def test_an_error_names_the_file(file, call, request_, monkeypatch):
    monkeypatch.setattr(real_file.os, call, failing)
    with pytest.raises(OSError, match=r"\[Errno 5\] Input/output error: 'log1-01'"):
        request_(file)
