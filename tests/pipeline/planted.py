"""Lakes of synthetic dumps, and what the synthesiser says is in them."""

from datetime import datetime, timedelta

from pipeline.lakes import load_raw
from quaestor.smf.dump import DumpWriter
from quaestor.smf.synth.accounting import account_day
from quaestor.smf.synth.generate import generate, identity_of, midnight_us
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile_file import load_profile
from quaestor.smf.synth.sheet import Templates

GROWING = """
start = 2026-01-05
days = {days}
interval_minutes = 60
seed = 11
growth_percent_per_week = {growth}

[rhythm.online]
hours = [0, 0, 0, 0, 0, 0, 0, 0, 0.5, 1.0, 0.9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
week = [1.0, 0.9, 0.9, 0.95, 0.8, 0.5, 0.4]

[sizes]
order = [[1000, 0.5], [5000, 0.5]]

[[queue_manager]]
name = "QM1"
system = "{system}"
level = "9.4.5"

[[queue]]
name = "ORDERS"
page_set = 1

[[application]]
name = "ORDERSRV"
kind = "cics"
connection = "CICS1"
transactions = ["ORDS"]
users = ["U"]
rhythm = "online"
instances = 1
units_per_hour = 200000
uses = [{{ queue = "ORDERS", get = 1, put = 1, sizes = "order", persistent = 1.0 }}]
"""


def growing(folder, days, growth, system="SYSA"):
    """A profile whose messages grow by so many percent a week."""
    path = folder / f"growing-{days}-{growth}-{system}.toml"
    path.write_text(GROWING.format(days=days, growth=growth, system=system), encoding="utf-8")
    return load_profile(str(path))


def lake_of(folder, *profiles):
    """A lake with the dumps of profiles in it, made without Spark."""
    dumps = [folder / f"{profile.name}.smf" for profile in profiles]
    for profile, dump in zip(profiles, dumps, strict=True):
        with dump.open("wb") as stream, DumpWriter(stream) as writer:
            generate(profile, writer)
    root = folder / "-".join(["lake", *(profile.name for profile in profiles)])
    return load_raw(root, dumps)[0], root


class Truth:
    """What tasks did on one day of one queue manager: the ledger that accounting and statistics were written from."""

    def __init__(self, profile, name, day=0):
        self.profile = profile
        self.manager = next(each for each in profile.queue_managers if each.name == name)
        conditions = Conditions(profile, self.manager, day)
        self.ledger = Ledger(profile.intervals_per_day)
        begin = midnight_us(profile, self.manager, day)
        for application in profile.applications_on(self.manager):
            account_day(application, conditions, begin, identity_of(self.manager), self.ledger, Templates())
        self.begin = datetime.combine(profile.date_of(day), datetime.min.time())

    def hour(self, number):
        return self.begin + timedelta(hours=int(number))

    def of_queue(self, queue, *figures):
        """The sum of some figures of a queue, by interval."""
        return self.ledger.sum("queue", queue, *figures)
