"""Message data set: where a member keeps the data of shared messages that are too long for their structure (SMDS).

Rules
  MD1 Each member has one data set for each structure. Only its owner writes it and gives out its space; every member
      reads it.
  MD2 Data is written before the entry that says where it is, and forced first when the message is persistent. So an
      entry never points at what is not there.
  MD3 The space map is only in memory: after a restart it is rebuilt from the entries of the structure. What was written
      and never entered in the structure is free again by that.
  MD4 The place of a message has a serial number that is never used again, its length and a check over its data. Data
      that does not fit has been freed and used again, or was not forced before the power went: DataGoneError, never
      wrong data.
  MD5 Space is given out in pages, together where that is possible and in few pieces where it is not. A data set that is
      full expands by a tenth if it may; else the message is refused (DataSetFullError).
  MD6 The last messages written or read stay in buffers of one block each; a get by the same member seldom reads.
  MD7 The file can be closed for a while and opened again, as it was or as it was brought back: what is in use of it is
      known meanwhile. Whoever reads or writes has asked before whether it is open.

    place      where the data of a message is               buffers   the last messages
    space_map  which pages are in use                       figures   what is counted
    data_set   a member's own, and those of the others

Called by the coupling facility manager.  Calls disk (through the file it is given).
"""

from quaestor.storage.message_data_set.data_set import SIZE_MAX, DataSetFullError, DataSetReader, MessageDataSet
from quaestor.storage.message_data_set.place import PAGE, DataGoneError, Place, read_place

__all__ = [
    "PAGE",
    "SIZE_MAX",
    "DataGoneError",
    "DataSetFullError",
    "DataSetReader",
    "MessageDataSet",
    "Place",
    "read_place",
]
