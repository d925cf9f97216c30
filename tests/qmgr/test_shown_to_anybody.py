"""What is said to anybody has no password in it (OL4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.qmgr.operator_log import without_passwords

PASSWORDS = ["geheim", "ge:heim", "ge@heim", "ge/heim", "@", ":@/", "a@b:c@d", "p%40w", "ü'\"&="]
SAID = ["{}", "no answer from {}", "({}, 6)", "{}: refused", "first {} then redis://h:6379/0"]


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("user", ["", "quaestor"])
def test_an_address_is_shown_with_its_user_and_host(password, said, user):
    for scheme in ("redis", "rediss", "postgresql"):
        shown = without_passwords(said.format(f"{scheme}://{user}:{password}@host:6379/0"))
        assert said.format(f"{scheme}://{user}:***@host:6379/0") == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("host=h user=u password=geheim dbname=d", "host=h user=u password=*** dbname=d"),
        ("host=h password='ge heim' dbname=d", "host=h password=*** dbname=d"),
        (r"host=h password='ge\'heim' dbname=d", "host=h password=*** dbname=d"),
        ("host=h password='ge heim", "host=h password=***"),
        ('PASSWORD = "ge heim", host = h', "PASSWORD = ***, host = h"),
        ("postgresql://h/d?password=geheim&user=u", "postgresql://h/d?password=***&user=u"),
        ("connect('host=h password=geheim')", "connect('host=h password=***')"),
        ("user:geheim@host", "user:***@host"),
    ],
)
def test_so_are_settings_without_the_password(text, shown):
    assert shown == without_passwords(text)


@pytest.mark.parametrize("text", ["redis://h:6379/0", "unix:///run/redis.sock", "('redis://h:1', 'u')", "12:30", "a@b"])
def test_what_has_no_password_is_shown_as_it_is(text):
    assert text == without_passwords(text)


@given(st.text(st.characters(exclude_categories=("Z", "C")), min_size=8), st.sampled_from(SAID))
def test_nothing_of_a_password_is_left_whatever_it_is(password, said):
    assert said.format("redis://u:***@host") == without_passwords(said.format(f"redis://u:{password}@host"))
