"""A real cluster: a standalone master and two worker processes on loopback, the package sent to the executors."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pipeline.lakes import MONDAY_US, SECOND_US, dump, load_raw, raw_rows, task
from quaestor.pipeline.lake import Lake

SRC = Path(__file__).parents[2] / "src"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Six JVMs for two hundred records: none lives long enough for the better compiler."""

DRIVER = """
import sys
sys.path[:0] = [{src!r}, {tests!r}]
from quaestor.pipeline.session import session
from quaestor.pipeline import dump_orders, ingest
from quaestor.pipeline.lake import Lake

dump_orders.LARGEST_TASK = dump_orders.SMALLEST_TASK = 60_000
settings = {{"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2"}}
settings |= dict.fromkeys(("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"), {quick!r})
spark = session({master!r}, settings)
lake = Lake.made_at({lake!r})
with lake.change() as change:
    ingest.ingest(spark, change, [{dump!r}])
    change.commit()
print("executors", spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos().__len__())
spark.stop()
"""


def start(kind, *arguments, folder, environment):
    """A daemon of Spark, and the log in which it tells its address."""
    program = Path(environment["SPARK_HOME"]) / "bin" / "spark-class"
    command = [str(program), f"org.apache.spark.deploy.{kind}", "--webui-port", "0", *arguments]
    log = folder / f"{kind}-{len(list(folder.glob('*.log')))}.log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env=environment, cwd=folder)
    return process, log


def wait_for(process, log, pattern):
    for _ in range(600):
        found = re.search(pattern, log.read_text())
        if found:
            return found.group(1)
        if process.poll() is not None:
            break
        subprocess.run(["sleep", "0.2"], check=True)
    raise AssertionError(f"{log} never said {pattern}: {log.read_text()[-2000:]}")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_load_on_a_standalone_cluster_gives_the_same_tables(tmp_path):
    import pyspark

    from quaestor.pipeline.java import java_home

    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "JAVA_HOME": str(java_home(tmp_path)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "PYTHONPATH": "",
    }
    path = dump(tmp_path / "dump", [task(n, MONDAY_US + n * SECOND_US) for n in range(200)])
    processes = []
    try:
        here = {"folder": tmp_path, "environment": environment}
        master, log = start("master.Master", "--host", "127.0.0.1", "--port", "0", **here)
        processes.append(master)
        address = wait_for(master, log, r"Starting Spark master at (spark://\S+)")
        room = ("--cores", "1", "--memory", "600m", "--work-dir", str(tmp_path / "work"))
        workers = [start("worker.Worker", *room, address, **here) for _ in range(2)]
        processes += [worker for worker, _ in workers]
        for worker, log in workers:
            wait_for(worker, log, r"(Successfully registered)")
        script = tmp_path / "driver.py"
        given = {"src": str(SRC), "tests": str(Path(__file__).parents[1]), "master": address, "quick": QUICK}
        script.write_text(textwrap.dedent(DRIVER).format(**given, lake=str(tmp_path / "lake"), dump=path))
        ended = subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, check=False, timeout=200
        )
        assert 0 == ended.returncode, ended.stderr[-3000:]
        assert "executors 3" in ended.stdout  # two, and the driver
    finally:
        for each in reversed(processes):
            each.terminate()
            each.wait(30)
    lake, _ = load_raw(tmp_path / "here", [path])
    assert raw_rows(lake) == raw_rows(Lake.at(tmp_path / "lake"))
    assert 2 == len(
        list((tmp_path / "work").rglob("quaestor.zip"))
    )  # both executors got the package, which they could not import otherwise
