"""The Spark session: one place that decides how Spark runs.

Rules
  N1  An existing session is used as it is (notebooks, Connect, clusters); ours is made only when there is none.
  N2  Days are UTC days: the session's time zone is UTC, whatever the machine's.
  N3  Workers run the Python that runs us.
  N4  Spark's own noise is silent unless asked for; what it says of work that is cut off, by an interrupt, too.
  N5  Ingest tasks write their Parquet themselves; the JVM only schedules, so a small heap is enough.
  N6  What costs more than it gives is off: the call site of every expression (ten calls to the JVM each), a job of its
      own to look at files that the manifest names anyway.
  N7  Workers find this package where the driver found it.
  N8  On one machine queries are short and many: the quick compiler of the JVM alone, no replanning between stages, few
      shuffle partitions. That compiler alone gets a small cache for its code, which forty reports fill; it gets more.
      Its classes come from an archive where there is one. An archive wants a class path without folders that hold
      anything, so log settings are named to the JVM, and Spark's folder of settings is empty.
  N9  Where scratch files and the program that stands in for Java are, nobody else may write: a folder of that name
      that is another's, or open to others, is refused.

Called by the doors and by flow.  Calls java, class_archive.
"""

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from quaestor.pipeline.class_archive import options
from quaestor.pipeline.errors import NoSparkError
from quaestor.pipeline.java import java_home
from quaestor.pipeline.jobs import importable, package_folder

DEFAULTS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",  # N2
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",  # N5
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # N6
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",  # N6
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.enable.dictionary": "false",
}
_MASTER = re.compile(r"local(\[(\*|\d+)( *, *\d+)?\])?|local-cluster\[.*\]|yarn|[a-z0-9]+://.+")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOCAL: Mapping[str, str] = {  # N8
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.openCostInBytes": "262144",
    _JAVA_OPTIONS: ("-XX:TieredStopAtLevel=1 -XX:-DontCompileHugeMethods -XX:ReservedCodeCacheSize=160m"),
}
_QUIET = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
"""


def session(
    master: str = "local[*]", conf: Mapping[str, str] | None = None, *, verbose: bool = False, app: str = "quaestor"
) -> SparkSession:
    """The active session, or a new one on `master` with our defaults, overridden by `conf` (N1)."""
    active = _running()
    if active is not None:
        return active
    if not _MASTER.fullmatch(master):
        raise NoSparkError(f"{master} is no master of Spark: local[*], local[2], yarn, spark://HOST:PORT or k8s://...")
    private = _private()
    java = java_home(private)
    quiet = _environment(private, java, verbose=verbose)
    builder = SparkSession.builder.appName(app).master(master)
    folders = {
        "spark.local.dir": str(private / "local"),
        "spark.sql.warehouse.dir": str(private / "warehouse"),
    }
    local = dict(LOCAL) if master.startswith("local") else {}
    if local:
        local[_JAVA_OPTIONS] += f" {options(private, java)}"
    settings = {**DEFAULTS, **local, **folders, **(conf or {})}
    settings[_JAVA_OPTIONS] = f"{settings.get(_JAVA_OPTIONS, '')} {quiet}".strip()
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        made: SparkSession = builder.getOrCreate()
    except (PySparkRuntimeError, Py4JError) as error:
        raise NoSparkError(f"Spark did not start with the master {master}; --verbose shows what it said") from error
    return made


@contextmanager
def opened(
    master: str = "local[*]", conf: Mapping[str, str] | None = None, *, verbose: bool = False
) -> Iterator[SparkSession]:
    """A session for a while: one that was there is left running (N1)."""
    ours = _running() is None
    made = session(master, conf, verbose=verbose)
    try:
        yield made
    except BaseException:
        if ours and not verbose:
            _silence(made)  # N4
        raise
    finally:
        if ours:
            made.stop()


def _silence(made: SparkSession) -> None:
    """Nothing more of Spark's is shown. The first question after an interrupted one may be answered by nothing."""
    for _ in range(2):
        with suppress(Py4JError):
            made.sparkContext.setLogLevel("OFF")
            return


def _running() -> SparkSession | None:
    """The session there is, whichever thread made it."""
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _private() -> Path:
    """A folder of ours that outlives the session: wrapper, log settings, Spark's scratch space."""
    private = Path(tempfile.gettempdir()) / f"quaestor-spark-{os.getuid()}"
    with suppress(FileExistsError):
        private.mkdir(mode=0o700)
    found = private.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _OTHERS_WRITE:
        raise NoSparkError(f"{private} may be written by others (N9): remove it, or set TMPDIR to another folder")
    return private


def _environment(private: Path, java: Path, *, verbose: bool) -> str:
    """Set what Spark's launcher reads; what the JVM is to be told so that it is quiet (N4)."""
    os.environ["JAVA_HOME"] = str(java)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # N3
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if not importable():  # N7
        paths = [str(package_folder()), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(each for each in paths if each)
    if verbose:
        return ""
    nothing, log_settings = private / "no-settings", private / "log4j2.properties"
    nothing.mkdir(exist_ok=True)
    log_settings.write_text(_QUIET, encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(nothing)  # N8
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True  # its errors are raised as well
    return f"-Dlog4j2.configurationFile=file:{log_settings}"


__all__ = ["SparkSession", "opened", "session"]
