"""What the coded fields of SMF 115 and 116 mean."""

from collections.abc import Mapping

CONNTYPE: Mapping[int, str] = {
    1: "CICS",
    2: "Batch/TSO",
    3: "IMS control region",
    4: "IMS MPP/BMP",
    5: "Command server",
    6: "Channel initiator",
    7: "RRS batch",
    8: "Intra-group queuing agent",
}
QTYPE: Mapping[int, str] = {
    1: "Local",
    2: "Model",
    3: "Alias",
    6: "Remote",
    7: "Cluster",
    8: "Topic",
}
INDEXTYPE: Mapping[int, str] = {
    0: "None",
    1: "MsgId",
    2: "CorrelId",
    4: "MsgToken",
    5: "GroupId",
}
QSGDISP: Mapping[int, str] = {
    0: "QMgr",
    1: "Copy",
    2: "Shared",
    3: "Group",
    4: "Private",
    6: "Live",
}
MON: Mapping[int, str] = {
    -3: "QMgr",
    -1: "None",
    0: "Off",
    1: "On",
    17: "Low",
    33: "Medium",
    65: "High",
}
CHLTYPE: Mapping[int, str] = {
    1: "Sender",
    2: "Server",
    3: "Receiver",
    4: "Requester",
    6: "ClntConn",
    7: "SvrConn",
    8: "ClusRcvr",
    9: "ClusSdr",
    10: "MQTT",
    11: "AMQP",
}
CHLSTATUS: Mapping[int, str] = {
    0: "Inactive",
    1: "Binding",
    2: "Starting",
    3: "Running",
    4: "Stopping",
    5: "Retrying",
    6: "Stopped",
    7: "Requesting",
    8: "Paused",
    9: "Disconnected",
    13: "Initializing",
    14: "Switching",
}
CHLDISP: Mapping[int, str] = {
    1: "Default",
    2: "Shared",
    4: "Private",
    5: "Fixshared",
}
CF_REQUEST_KIND: Mapping[int, str] = {
    0: "Lock",
    1: "Unlock",
    2: "WriteLCCtl",
    3: "SigXCF",
    4: "SigCF",
    5: "Read",
    6: "Write",
    7: "StartMon",
    8: "StopMon",
    9: "ReadList",
    10: "New",
    11: "Move",
    12: "MoveEntry",
    13: "Delete",
}
