"""Numbers of the MQI that we write down are those that IBM's package has under the same name."""

import pytest

from ibmmqc import asked, attributes, calls, consumers, descriptors, events, properties
from quaestor.mqi import descriptors as mqi_descriptors
from quaestor.mqi import messages, objects, options, pcf, reasons, reports

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC, CMQCFC = mq.CMQC, mq.CMQCFC


@pytest.mark.parametrize("reason", list(reasons.Reason), ids=lambda reason: reason.name)
def test_a_reason_has_ibms_number_under_ibms_name(reason):
    known = {"DATA_SET_NOT_AVAILABLE": "MQRC_DATA_SET_NOT_AVAILABLE"}
    assert int(reason) == getattr(CMQC, known.get(reason.name, f"MQRC_{reason.name}"))


@pytest.mark.parametrize(
    ("flags", "prefix"),
    [
        (options.OpenOptions, "MQOO"),
        (options.CloseOptions, "MQCO"),
        (options.PutOptions, "MQPMO"),
        (options.GetOptions, "MQGMO"),
        (options.MatchOptions, "MQMO"),
        (reports.Report, "MQRO"),
    ],
)
def test_an_option_has_ibms_number_under_ibms_name(flags, prefix):
    theirs = {"MATCH_MSG_ID": "MSG_ID"}
    for name, flag in flags.__members__.items():
        if (flags, name) == (options.OpenOptions, "INPUT"):  # ours, short for the usual one
            continue
        full = f"MQMO_MATCH_{name}" if prefix == "MQMO" and flag else f"{prefix}_{theirs.get(name, name)}"
        assert int(flag) == getattr(CMQC, full), full


def test_message_flags_have_ibms_numbers():
    named = {"SEGMENTATION_ALLOWED", "SEGMENT", "LAST_SEGMENT", "MSG_IN_GROUP", "LAST_MSG_IN_GROUP", "NONE"}
    assert named == set(options.MsgFlags.__members__)
    for name in named:
        assert getattr(CMQC, f"MQMF_{name}") == options.MsgFlags[name]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (reasons.CompCode.OK, "MQCC_OK"),
        (reasons.CompCode.WARNING, "MQCC_WARNING"),
        (reasons.CompCode.FAILED, "MQCC_FAILED"),
        (options.WAIT_UNLIMITED, "MQWI_UNLIMITED"),
        (mqi_descriptors.UNLIMITED, "MQEI_UNLIMITED"),
        (mqi_descriptors.AS_Q_DEF, "MQPRI_PRIORITY_AS_Q_DEF"),
        (mqi_descriptors.PERSISTENCE_AS_Q_DEF, "MQPER_PERSISTENCE_AS_Q_DEF"),
        (mqi_descriptors.CCSID_Q_MGR, "MQCCSI_Q_MGR"),
        (mqi_descriptors.ID_LENGTH, "MQ_MSG_ID_LENGTH"),
        (len(mqi_descriptors.NO_TOKEN), "MQ_ACCOUNTING_TOKEN_LENGTH"),
        (mqi_descriptors.DATAGRAM, "MQMT_DATAGRAM"),
        (mqi_descriptors.REQUEST, "MQMT_REQUEST"),
        (mqi_descriptors.REPLY, "MQMT_REPLY"),
        (mqi_descriptors.REPORT, "MQMT_REPORT"),
        (mqi_descriptors.MSG_TYPE_APPL_FIRST, "MQMT_APPL_FIRST"),
        (mqi_descriptors.MSG_TYPE_APPL_LAST, "MQMT_APPL_LAST"),
        (mqi_descriptors.APPL_TYPE_NO_CONTEXT, "MQAT_NO_CONTEXT"),
        (mqi_descriptors.APPL_TYPE_QMGR, "MQAT_QMGR"),
        (mqi_descriptors.APPL_TYPE_UNIX, "MQAT_UNIX"),
        (mqi_descriptors.APPL_TYPE_MVS, "MQAT_MVS"),
        (reports.Feedback.NONE, "MQFB_NONE"),
        (reports.Feedback.QUIT, "MQFB_QUIT"),
        (reports.Feedback.EXPIRATION, "MQFB_EXPIRATION"),
        (reports.Feedback.COA, "MQFB_COA"),
        (reports.Feedback.COD, "MQFB_COD"),
        (objects.QueueType.LOCAL, "MQQT_LOCAL"),
        (objects.QueueType.MODEL, "MQQT_MODEL"),
        (objects.QueueType.ALIAS, "MQQT_ALIAS"),
        (objects.QueueType.REMOTE, "MQQT_REMOTE"),
        (objects.TriggerType.NONE, "MQTT_NONE"),
        (objects.TriggerType.FIRST, "MQTT_FIRST"),
        (objects.TriggerType.EVERY, "MQTT_EVERY"),
        (objects.TriggerType.DEPTH, "MQTT_DEPTH"),
        (objects.IndexType.NONE, "MQIT_NONE"),
        (objects.IndexType.MSGID, "MQIT_MSG_ID"),
        (objects.IndexType.CORRELID, "MQIT_CORREL_ID"),
        (objects.IndexType.MSGTOKEN, "MQIT_MSG_TOKEN"),
        (objects.IndexType.GROUPID, "MQIT_GROUP_ID"),
        (objects.DefinitionType.PREDEFINED, "MQQDT_PREDEFINED"),
        (objects.DefinitionType.PERMDYN, "MQQDT_PERMANENT_DYNAMIC"),
        (objects.DefinitionType.TEMPDYN, "MQQDT_TEMPORARY_DYNAMIC"),
        (objects.DefinitionType.SHAREDYN, "MQQDT_SHARED_DYNAMIC"),
        (attributes.NAMELIST, "MQOT_NAMELIST"),
        (attributes.PROCESS, "MQOT_PROCESS"),
        (attributes.STORAGE_CLASS, "MQOT_STORAGE_CLASS"),
        (attributes.QUEUE_MANAGER, "MQOT_Q_MGR"),
        (attributes.QUEUE, "MQOT_Q"),
        (attributes.EXCLUSIVE, "MQOO_INPUT_EXCLUSIVE"),
        (attributes.SHARED, "MQOO_INPUT_SHARED"),
        (asked.CONVERT, "MQGMO_CONVERT"),
        (asked.ASYNC_RESPONSE, "MQPMO_ASYNC_RESPONSE"),
        (asked.NO_PROPERTIES, "MQGMO_NO_PROPERTIES"),
        (asked.IN_HANDLE, "MQGMO_PROPERTIES_IN_HANDLE"),
        (asked.FORCE_HEADER, "MQGMO_PROPERTIES_FORCE_MQRFH2"),
        (asked.COMPATIBLE, "MQGMO_PROPERTIES_COMPATIBILITY"),
        (calls.UNUSABLE, "MQHO_UNUSABLE_HOBJ"),
        (calls.UNUSABLE, "MQHC_UNUSABLE_HCONN"),
        (calls.FUNCTION_NOT_SUPPORTED, "MQRC_FUNCTION_NOT_SUPPORTED"),
        (calls.HMSG_ERROR, "MQRC_HMSG_ERROR"),
        (calls.PROPERTY_NOT_AVAILABLE, "MQRC_PROPERTY_NOT_AVAILABLE"),
        (calls.PROPERTY_VALUE_TOO_BIG, "MQRC_PROPERTY_VALUE_TOO_BIG"),
        (calls.STAT_TYPE_ERROR, "MQRC_STAT_TYPE_ERROR"),
        (calls.ASYNC_ERRORS, "MQSTAT_TYPE_ASYNC_ERROR"),
        (calls.RECONNECTION_ERRORS, "MQSTAT_TYPE_RECONNECTION_ERROR"),
        (calls.INQ_NEXT, "MQIMPO_INQ_NEXT"),
        (calls.INQ_UNDER_CURSOR, "MQIMPO_INQ_PROP_UNDER_CURSOR"),
        (calls.DELETE_UNDER_CURSOR, "MQDMPO_DEL_PROP_UNDER_CURSOR"),
        (consumers.OP_START, "MQOP_START"),
        (consumers.OP_START_WAIT, "MQOP_START_WAIT"),
        (consumers.OP_STOP, "MQOP_STOP"),
        (consumers.OP_REGISTER, "MQOP_REGISTER"),
        (consumers.OP_DEREGISTER, "MQOP_DEREGISTER"),
        (consumers.OP_SUSPEND, "MQOP_SUSPEND"),
        (consumers.OP_RESUME, "MQOP_RESUME"),
        (consumers.CALL_START, "MQCBCT_START_CALL"),
        (consumers.CALL_STOP, "MQCBCT_STOP_CALL"),
        (consumers.CALL_REGISTER, "MQCBCT_REGISTER_CALL"),
        (consumers.CALL_DEREGISTER, "MQCBCT_DEREGISTER_CALL"),
        (consumers.CALL_REMOVED, "MQCBCT_MSG_REMOVED"),
        (consumers.CALL_KEPT, "MQCBCT_MSG_NOT_REMOVED"),
        (events.CALL_EVENT, "MQCBCT_EVENT_CALL"),
        (calls.MESSAGE_CONSUMER, "MQCBT_MESSAGE_CONSUMER"),
        (calls.EVENT_HANDLER, "MQCBT_EVENT_HANDLER"),
        (calls.HOBJ_NONE, "MQHO_NONE"),
        (consumers.TOLD[consumers.CALL_START], "MQCBDO_START_CALL"),
        (consumers.TOLD[consumers.CALL_STOP], "MQCBDO_STOP_CALL"),
        (consumers.TOLD[consumers.CALL_REGISTER], "MQCBDO_REGISTER_CALL"),
        (consumers.TOLD[consumers.CALL_DEREGISTER], "MQCBDO_DEREGISTER_CALL"),
        (consumers.LENGTH_ANY, "MQCBD_FULL_MSG_LENGTH"),
        (descriptors.FORMAT_ERROR, "MQRC_FORMAT_ERROR"),
        (descriptors.SOURCE_CCSID_ERROR, "MQRC_SOURCE_CCSID_ERROR"),
        (descriptors.CONVERTED_MSG_TOO_BIG, "MQRC_CONVERTED_MSG_TOO_BIG"),
        (properties.NAME_ERROR, "MQRC_PROPERTY_NAME_ERROR"),
        (properties.TYPE_ERROR, "MQRC_PROPERTY_TYPE_ERROR"),
        (properties.VALUE_ERROR, "MQRC_BUFFER_ERROR"),
        (properties.NULL, "MQTYPE_NULL"),
        (properties.BOOLEAN, "MQTYPE_BOOLEAN"),
        (properties.BYTES, "MQTYPE_BYTE_STRING"),
        (properties.INT8, "MQTYPE_INT8"),
        (properties.INT16, "MQTYPE_INT16"),
        (properties.INT32, "MQTYPE_INT32"),
        (properties.INT64, "MQTYPE_INT64"),
        (properties.FLOAT32, "MQTYPE_FLOAT32"),
        (properties.FLOAT64, "MQTYPE_FLOAT64"),
        (properties.STRING, "MQTYPE_STRING"),
    ],
)
def test_a_constant_has_ibms_number(ours, theirs):
    assert int(ours) == getattr(CMQC, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (mqi_descriptors.FORMAT_NONE, "MQFMT_NONE"),
        (mqi_descriptors.FORMAT_STRING, "MQFMT_STRING"),
        (mqi_descriptors.FORMAT_DEAD_LETTER, "MQFMT_DEAD_LETTER_HEADER"),
        (mqi_descriptors.FORMAT_EVENT, "MQFMT_EVENT"),
        (mqi_descriptors.FORMAT_TRIGGER, "MQFMT_TRIGGER"),
        (mqi_descriptors.FORMAT_XMIT, "MQFMT_XMIT_Q_HEADER"),
        (pcf.FORMAT, "MQFMT_ADMIN"),
        (properties.FORMAT_RFH2, "MQFMT_RF_HEADER_2"),
    ],
)
def test_a_format_has_ibms_name(ours, theirs):
    assert ours.encode().ljust(8) == getattr(CMQC, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (pcf.COMMAND, "MQCFT_COMMAND"),
        (pcf.RESPONSE, "MQCFT_RESPONSE"),
        (pcf.EVENT, "MQCFT_EVENT"),
        (pcf.COMMAND_XR, "MQCFT_COMMAND_XR"),
        (pcf.INTEGER, "MQCFT_INTEGER"),
        (pcf.STRING, "MQCFT_STRING"),
        (pcf.INTEGER_LIST, "MQCFT_INTEGER_LIST"),
        (pcf.STRING_LIST, "MQCFT_STRING_LIST"),
        (pcf.BYTES, "MQCFT_BYTE_STRING"),
        (pcf.INTEGER_FILTER, "MQCFT_INTEGER_FILTER"),
        (pcf.STRING_FILTER, "MQCFT_STRING_FILTER"),
        (pcf.BYTES_FILTER, "MQCFT_BYTE_STRING_FILTER"),
        (pcf.GROUP, "MQCFT_GROUP"),
        (pcf.INTEGER64, "MQCFT_INTEGER64"),
        (pcf.INTEGER64_LIST, "MQCFT_INTEGER64_LIST"),
        (pcf.NOT_LAST, "MQCFC_NOT_LAST"),
        (pcf.LAST, "MQCFC_LAST"),
        (pcf.HEADER_LENGTH, "MQCFH_STRUC_LENGTH"),
        (pcf.TYPE_ERROR, "MQRCCF_CFH_TYPE_ERROR"),
        (pcf.LENGTH_ERROR, "MQRCCF_CFH_LENGTH_ERROR"),
        (pcf.COUNT_ERROR, "MQRCCF_CFH_PARM_COUNT_ERROR"),
        (pcf.STRUCTURE_ERROR, "MQRCCF_STRUCTURE_TYPE_ERROR"),
    ],
)
def test_a_number_of_pcf_is_ibms(ours, theirs):
    assert ours == getattr(CMQCFC, theirs)


def test_options_that_are_dropped_have_no_meaning_here():
    """BO3: read ahead, binding in clusters, names and responses; whatever we know is passed on."""
    opened = "BIND_ON_OPEN BIND_NOT_FIXED CO_OP READ_AHEAD NO_READ_AHEAD BIND_ON_GROUP RESOLVE_NAMES RESOLVE_LOCAL_Q"
    named = ("MQOO", opened), ("MQPMO", "ASYNC_RESPONSE SYNC_RESPONSE RESOLVE_LOCAL_Q MD_FOR_OUTPUT_ONLY"), (
        "MQGMO", "ALL_SEGMENTS_AVAILABLE COMPLETE_MSG"
    )  # fmt: skip
    dropped = [sum(getattr(CMQC, f"{prefix}_{name}") for name in names.split()) for prefix, names in named]
    assert [asked.OPEN_DROPPED, asked.PUT_DROPPED, asked.GET_DROPPED] == dropped


@pytest.mark.parametrize("flag", list(options.GetOptions), ids=lambda flag: flag.name)
def test_get_options_we_know_are_passed_on(flag):
    assert asked.get_options(int(flag)) & flag


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (0, options.GetOptions.NO_SYNCPOINT),
        (options.GetOptions.WAIT, options.GetOptions.WAIT | options.GetOptions.NO_SYNCPOINT),
        (options.GetOptions.SYNCPOINT, options.GetOptions.SYNCPOINT),
        (options.GetOptions.SYNCPOINT_IF_PERSISTENT, options.GetOptions.SYNCPOINT_IF_PERSISTENT),
        (options.GetOptions.BROWSE_FIRST, options.GetOptions.BROWSE_FIRST),
        (options.GetOptions.BROWSE_NEXT, options.GetOptions.BROWSE_NEXT),
        (options.GetOptions.BROWSE_MSG_UNDER_CURSOR, options.GetOptions.BROWSE_MSG_UNDER_CURSOR),
        (options.GetOptions.UNLOCK, options.GetOptions.UNLOCK),
        (asked.CONVERT | asked.IN_HANDLE | asked.GET_DROPPED, options.GetOptions.NO_SYNCPOINT),
        (asked.NO_PROPERTIES | asked.FORCE_HEADER | asked.COMPATIBLE, options.GetOptions.NO_SYNCPOINT),
    ],
)
def test_a_get_without_a_syncpoint_option_is_outside(given, passed):
    """BO2."""
    assert passed == asked.get_options(int(given))


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (0, options.PutOptions.NO_SYNCPOINT),
        (options.PutOptions.SYNCPOINT, options.PutOptions.SYNCPOINT),
        (options.PutOptions.NO_SYNCPOINT, options.PutOptions.NO_SYNCPOINT),
        (options.PutOptions.NEW_MSG_ID, options.PutOptions.NEW_MSG_ID | options.PutOptions.NO_SYNCPOINT),
        (asked.PUT_DROPPED, options.PutOptions.NO_SYNCPOINT),
    ],
)
def test_a_put_without_a_syncpoint_option_is_outside(given, passed):
    assert passed == asked.put_options(int(given))


def test_coded_character_sets_are_those_ibm_numbers():
    assert CMQC.MQCCSI_Q_MGR in messages._CODECS
    assert (CMQC.MQCCSI_Q_MGR, CMQC.MQCCSI_APPL) == descriptors._OURS
