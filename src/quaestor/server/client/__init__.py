"""Client: the native API over a socket, for applications outside the queue manager's process.

    requests      calls as frames and back, without any I/O    link        a blocking socket with its frames
    connection    Connection and Handle, blocking              asynchronous  the same for asyncio
    reconnecting  going on after the link was lost             late          what cancelled gets have left

`asynchronous_link` and `asynchronous_reconnecting` are link and reconnecting for asyncio.

Called by the package door and cli.  Calls protocol, wire, values; nothing of the queue manager itself.
"""
