"""Server: a queue manager as a process of its own, and the library that talks to it.

    protocol       frames, operations, limits               values         any value as bytes
    wire           messages, descriptors, selections        group_commit   one force for all who wait
    conversation   one application's calls                  calls          the calls that are not put, get or commit
    link           one socket: frames in, answers out       service        the event loop: links, waits, timers
    identity       who is at the other end                  users          passwords, hashed
    listeners      sockets and TLS                          home           where a queue manager lives
    journal        log and audit lines                      process        start to end of a queue manager
    client/        the same calls for applications          certificates   keys and certificates of one's own

Called by cli and the package door.  Calls qmgr; nothing in qmgr knows that there is a network.
"""
