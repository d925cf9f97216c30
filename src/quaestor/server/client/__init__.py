"""Client: the native API over a socket, for applications outside the queue manager's process.

    requests      calls as frames and back, without any I/O    handle_requests  puts and gets likewise
    link          a blocking socket with its frames            connection       Connection and Handle, blocking
    reconnecting  going on after the link was lost             asynchronous     the same for asyncio

`asynchronous_link` and `asynchronous_reconnecting` are link and reconnecting for asyncio.

Called by the package door and cli.  Calls protocol, wire, values; nothing of the queue manager itself.
"""
