"""The common queue server: queues of several transaction managers on list structures that they share.

    queue_names          list headers, queue types, keys
    messages             logical records of a message, and what stands beside them on the structure
    changes, merged_log  what happened, in the log that all servers of a group share
    structure            a structure as the servers use it
    linked_pair, pair    primary and overflow structure with their log: connections and gates; changes
    image                the messages of a pair, taken from a structure or from the log
    recovery_data_sets   SRDS1 and SRDS2
    checkpoint, rebuild, overflow, restart   structure operations
    server, client, unit_of_work, interest   what a transaction manager sees
    emh, full, transaction_manager           a small transaction manager on top

Called by cli.  Calls storage.
"""
