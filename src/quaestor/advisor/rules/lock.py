"""Rules of the lock manager: none. The papers leave QLST to IBM service, and what locks cost in storage is not in it.

That units of recovery hold many locks shows in accounting: rule mp16-ch4-11/APP-1 names the applications.
"""

from quaestor.advisor.rule import Rule

RULES: tuple[Rule, ...] = ()
