"""All views by name: those over SMF, and one for each kind of setting.

Called by evaluate, catalog and explain.  Calls the view modules.
"""

from collections.abc import Mapping

from quaestor.advisor import accounting_views, shared_views, views
from quaestor.advisor.rows import Rows
from quaestor.advisor.setting_names import SETTINGS
from quaestor.advisor.views import Tables, View

SETTINGS_PREFIX = "settings."
_SUBJECTS = {"system": "queue manager"}


def _no_tables(_: Tables) -> Rows:
    raise ValueError("a view of settings is made from settings, not from tables")


def _of_settings(kind: str) -> View:
    subject = _SUBJECTS.get(kind, f"{kind.replace('_', ' ')} {{{kind}}}")
    grain = f"the settings of one {kind.replace('_', ' ')}" if kind != "system" else "the settings of a queue manager"
    return View(f"{SETTINGS_PREFIX}{kind}", grain, subject, _no_tables, {}, settings_kind=kind)


VIEWS = (
    *views.VIEWS,
    *accounting_views.VIEWS,
    *shared_views.VIEWS,
    *(_of_settings(kind) for kind in SETTINGS),
)
BY_NAME: Mapping[str, View] = {each.name: each for each in VIEWS}
