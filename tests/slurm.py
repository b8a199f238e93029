"""A real Slurm of two nodes on this machine, for tests: neither systemd, cgroups nor a database are needed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
NODES = ("n1", "n2")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=15
NodeName={nodes} NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=patient Nodes={nodes} Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=10
PartitionName=hasty Nodes={nodes} MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=0
PartitionName=urgent Nodes={nodes} MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
"""


def missing() -> list[str]:
    """Return the programs of Slurm that are not installed; with them, whatever else stands against a cluster here."""
    found = [program for program in PROGRAMS if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    return found if os.geteuid() == 0 else [*found, "the rights of root"]


@contextmanager
def cluster(folder: Path, port: int = 26817) -> Iterator[dict[str, str]]:
    """Start a cluster, and end it. Give the environment in which its commands work.

    Partitions: in ``patient`` and ``hasty`` jobs are preempted by those of ``urgent``, with 10 and 0 seconds of grace.
    """
    (folder / "state").mkdir(parents=True)
    for node in NODES:
        (folder / f"spool-{node}").mkdir()
    key, settings = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    nodes, host = ",".join(NODES), socket.gethostname().split(".")[0]
    settings.write_text(
        CONFIGURATION.format(folder=folder, host=host, nodes=nodes, port=port, first=port + 3, last=port + 4)
    )
    folder.chmod(0o755)
    path = f"{os.environ['PATH']}:/usr/sbin"
    environment = {**os.environ, "PATH": path, "SLURM_CONF": str(settings), "MASTER_ADDR": "127.0.0.1"}
    munge = [f"--{kind}={folder}/munge.{kind}" for kind in ("socket", "pid-file", "log-file", "seed-file")]
    daemons = [
        ["munged", "--foreground", "--force", f"--key-file={key}", *munge],
        ["slurmctld", "-D"],
        *(["slurmd", "-D", "-N", node] for node in NODES),
    ]
    started = []
    try:
        for words in daemons:
            started.append(
                subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            time.sleep(0.5)
        _wait_for_nodes(environment)
        yield environment
    finally:
        subprocess.run(["scancel", "--user=root"], env=environment, check=False, capture_output=True)
        for daemon in reversed(started):
            daemon.terminate()
            daemon.wait(30)


def _wait_for_nodes(environment: dict[str, str]) -> None:
    for _ in range(100):
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%t", "-p", "urgent"], env=environment, capture_output=True, text=True, check=False
        )
        if done.stdout.split() == ["idle"]:
            return
        time.sleep(0.2)
    raise TimeoutError(f"the nodes of the cluster are not ready: {done.stdout}{done.stderr}")
