"""Coded character sets of message bodies."""

import pytest

from quaestor.mqi.messages import decoded, encoded


@pytest.mark.parametrize("ccsid", [0, 1208, 819, 1252, 37, 500, 1047, 1140])
def test_text_in_every_coded_character_set_comes_back(ccsid):
    assert "[Größe] = 5" == decoded(encoded("[Größe] = 5", ccsid), ccsid)


def test_brackets_stand_where_1047_has_them():
    assert b"\xad\xbd" == encoded("[]", 1047)


def test_a_coded_character_set_nobody_knows_is_named():
    with pytest.raises(LookupError, match="set 931 is not known"):
        decoded(b"", 931)
