"""MQSC, the command language: text to commands and back.

    syntax      lines, quotes, the grammar (mqsc.lark)
    words       verbs, nouns, keywords and their abbreviations
    commands    statements written out, typed and checked

Called by the command manager, the command line.  Calls objects and attributes.
"""

from quaestor.mqi.mqsc.commands import Command, Where, definition, parse
from quaestor.mqi.mqsc.syntax import MQSCError

__all__ = ["Command", "MQSCError", "Where", "definition", "parse"]
