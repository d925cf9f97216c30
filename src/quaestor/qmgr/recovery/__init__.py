"""Recovery manager: units of recovery, syncpoint, checkpoint and restart."""

from quaestor.qmgr.recovery.manager import RecoveryManager
from quaestor.qmgr.recovery.restart import Restart, restart
from quaestor.qmgr.recovery.unit import NEXT, State, UnitOfRecovery

__all__ = ["NEXT", "RecoveryManager", "Restart", "State", "UnitOfRecovery", "restart"]
