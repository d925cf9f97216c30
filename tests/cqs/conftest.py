"""A group of one common queue server, for the tests that begin with one."""

import pytest

from cqs.group import Group


@pytest.fixture
def group():
    made = Group()
    made.start("CQS1")
    return made


@pytest.fixture
def server(group):
    return group.servers["CQS1"]
