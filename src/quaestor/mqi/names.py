"""Names: what an object may be called, and how a generic name picks objects.

Rules
  N1  A name has 1 to 48 characters of A-Z, a-z, 0-9 and . / _ %, with no blank inside; case counts.
      Blanks at the end are padding and not part of it.
  N2  A storage class has 1 to 8 characters, A-Z and 0-9, and does not begin with a digit.
  N3  A generic name ends in `*` and picks every name that begins with what stands before it; `*` picks all.
  N4  A dynamic queue name is a name, or up to 33 characters of which the last is a `*` that the queue manager replaces.

Called by objects, mqsc, resolution, the message manager.  Calls reasons.
"""

import re

from quaestor.mqi.reasons import MQError, Reason

NAME_MAX = 48
NAME_RULE = "1 to 48 characters of A-Z a-z 0-9 . / _ %"
DYNAMIC_PREFIX_MAX = 33
_NAME = re.compile(r"[A-Za-z0-9./_%]{1,48}")
_STORAGE_CLASS = re.compile(r"[A-Z][A-Z0-9]{0,7}")


def is_name(text: str) -> bool:
    """Whether `text` is the name of an object (N1)."""
    return _NAME.fullmatch(text) is not None


def is_storage_class(text: str) -> bool:
    """Whether `text` is the name of a storage class (N2)."""
    return _STORAGE_CLASS.fullmatch(text) is not None


def checked(name: str, reason: Reason = Reason.OBJECT_NAME_ERROR) -> str:
    """The name without its padding, or `reason` (N1)."""
    bare = name.rstrip(" ")
    if not is_name(bare):
        raise MQError(reason, name=name)
    return bare


def picks(generic: str, name: str) -> bool:
    """Whether `generic` (or a plain name) picks `name` (N3)."""
    if generic.endswith("*"):
        return name.startswith(generic[:-1])
    return generic == name


def dynamic_name(pattern: str, unique: str) -> str:
    """The name of a dynamic queue made from its pattern; `unique` replaces the `*` (N4)."""
    bare = pattern.rstrip(" ")
    if not bare.endswith("*"):
        return checked(bare, Reason.DYNAMIC_Q_NAME_ERROR)
    prefix = bare[:-1]
    if len(prefix) >= DYNAMIC_PREFIX_MAX or (prefix and not is_name(prefix)):
        raise MQError(Reason.DYNAMIC_Q_NAME_ERROR, name=pattern)
    return checked(prefix + unique, Reason.DYNAMIC_Q_NAME_ERROR)
