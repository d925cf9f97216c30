"""List structures: shared storage of a coupling facility, in which several queue managers keep the same queues.

    operations     what can be asked of a structure, as values with one encoding
    structure      the protocol both engines answer, and its refusals
    memory         the engine of the coupling facility: a structure in the memory of one process
    facility       structures of one process and their connectors
    redis_engine   the same in a Redis or Valkey server, one call of a function for every request
    redis_wire     how those requests are written, sent and answered

Called by the coupling facility manager and the common queue server.  Calls nothing of the house.
"""
