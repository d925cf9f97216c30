"""Pages are written past the system's cache, where the system has a way (K13)."""

import errno
import os

import pytest

from quaestor.storage import real_file
from quaestor.storage.real_disk import RealDisk
from quaestor.storage.real_file import BLOCK, PAST_CACHE

PAGES = [bytes([number]) * BLOCK for number in range(1, 65)]


@pytest.fixture
def disk(tmp_path):
    return RealDisk(tmp_path)


@pytest.fixture
def file(disk):
    """Made as page sets are: with space that nothing was written to."""
    made = disk.create("pageset-01", 0)
    made.extend(len(PAGES) * BLOCK)
    yield made
    made.close()


def asked(monkeypatch, refuse=None):
    """The flags of every write of pages; those with any fail as told."""
    flags_seen, pwritev = [], os.pwritev

    def watched(fd, parts, offset, flags=0):
        flags_seen.append(flags)
        if flags and refuse:
            raise OSError(refuse, os.strerror(refuse))
        return pwritev(fd, parts, offset)

    monkeypatch.setattr(real_file.os, "pwritev", watched)
    return flags_seen


def is_cached(fd, block):
    """Whether a block can be read without the disk; if not, it is brought."""
    try:
        return os.preadv(fd, [bytearray(BLOCK)], block * BLOCK, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False


def test_pages_are_read_back_as_they_were_written(file):
    file.write_many(0, PAGES)
    assert b"".join(PAGES) == file.read(0, len(PAGES) * BLOCK)


def test_what_is_on_the_disk_is_in_no_cache(disk, file):
    """Some of the last may be on their way out."""
    file.write_many(0, PAGES)
    if not disk._kernel.past_cache:
        pytest.skip("this system or file system has no writes past its cache")
    file.sync()
    os.posix_fadvise(file._fd, 0, 0, os.POSIX_FADV_RANDOM)  # each look brings one block at most
    cached = [block for block in range(len(PAGES)) if is_cached(file._fd, block)]
    assert len(cached) < len(PAGES) // 2


@pytest.mark.skipif(not PAST_CACHE, reason="not Linux")
@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_a_system_that_refuses_is_not_asked_again(disk, file, monkeypatch, code):
    seen = asked(monkeypatch, refuse=code)
    other = disk.create("pageset-02", BLOCK)
    file.write_many(0, PAGES)
    file.write_many(0, PAGES[::-1])
    other.write_many(0, PAGES[:1])
    other.close()
    assert [PAST_CACHE, 0, 0, 0] == seen
    assert b"".join(PAGES[::-1]) == file.read(0, len(PAGES) * BLOCK)


@pytest.mark.skipif(not PAST_CACHE, reason="not Linux")
def test_an_error_of_the_disk_is_not_taken_for_a_refusal(file, monkeypatch):
    seen = asked(monkeypatch, refuse=errno.ENOSPC)
    for _ in range(2):
        with pytest.raises(OSError, match="pageset-01"):
            file.write_many(0, PAGES)
    assert [PAST_CACHE, PAST_CACHE] == seen
