"""Data manager: private queues and objects as records in pages."""

from quaestor.qmgr.data.load import load
from quaestor.qmgr.data.manager import DataManager
from quaestor.qmgr.data.objects import ObjectManager
from quaestor.qmgr.data.queue import PrivateQueue

__all__ = ["DataManager", "ObjectManager", "PrivateQueue", "load"]
