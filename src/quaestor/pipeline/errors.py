"""What can go wrong with a lake, each with one line that a person can act on.

Called by every module of the pipeline; the doors print the text and leave with exit code 2.
"""


class LakeError(Exception):
    """Something about the lake; the text is one clear line."""


class NoLakeError(LakeError):
    """There is no lake at the given place."""


class NewerLakeError(LakeError):
    """The lake was written by a newer version of this product."""


class BusyLakeError(LakeError):
    """Another process is changing the lake."""


class NoSpaceError(LakeError):
    """The disk is full; the tables are as they were."""


class UnknownTableError(LakeError):
    """The lake has no table of that name."""


class NoSparkError(LakeError):
    """Spark did not start with the master and settings it was given."""


class LoadError(LakeError):
    """The load was given up; the tables are as they were."""
