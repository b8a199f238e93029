"""Sweeps and trainings as jobs of a real Slurm: preempted, at the end of their wall time, and over two nodes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slurm import cluster, missing

pytestmark = [pytest.mark.slow, pytest.mark.slurm]
SMALL = ["scale=smoke", "test=false", "data.train=2000", "strategy.workers=0", "strategy.precision=32-true"]
ARMS = ["-m", "seed=1,2", "budget.steps=2700", "validation.every=300"]
"""Long enough that a job is still training when Slurm sends its signal, some 20 seconds after its start."""
JOB = ["hydra/launcher=slurm", "hydra.launcher.cpus_per_task=1", "hydra.launcher.mem_gb=1"]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    pytest.importorskip("submitit", reason="the extra 'cluster' is not installed")
    if lacking := missing():
        pytest.skip(f"Slurm needs {', '.join(lacking)}: apt-get install --no-install-recommends slurm-wlm munge")
    with cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield {**environment, "OMP_NUM_THREADS": "1"}


def start(slurm: dict[str, str], folder: Path, *overrides: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "triptych", "train", *SMALL, *overrides],
        cwd=folder,
        env=slurm,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def finish(driver: subprocess.Popen[str], seconds: float = 400) -> str:
    """Wait for the process that has started the jobs, which must end well."""
    said, _ = driver.communicate(timeout=seconds)
    assert driver.returncode == 0, said
    return said


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of the runs in a folder, by name."""
    return {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/result.json")}


def legs(folder: Path) -> list[list[str]]:
    """Return the steps at which each job stopped and went on, in turn."""
    logs = sorted(folder.glob(".submitit/*/*_log.out"))
    return [re.findall(r"(?:stopped; .*|going on) from step ([\d,]+)", log.read_text()) for log in logs]


def same_training(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two runs saw the same tokens and have the same weights, as far as the validation set says."""
    return (one["data"]["token_stream"], one["validation"]) == (other["data"]["token_stream"], other["validation"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Runs of the same arms that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, "-m", "triptych", "train", *SMALL, *ARMS], cwd=folder, check=True)
    return results(folder / "runs")


def test_a_sweep_of_four_arms(slurm: dict[str, str], tmp_path: Path) -> None:
    arms = ["-m", "model=rnn,transformer,lm4mt,convs2s", "budget.steps=20", "validation.every=10"]
    said = finish(start(slurm, tmp_path, *arms, *JOB))
    assert "4 of 4 arms are finished" in said
    assert len(results(tmp_path / "runs")) == 4


@pytest.mark.parametrize(("partition", "grace"), [("patient", True), ("hasty", False)])
def test_preempted_jobs_go_on(
    partition: str, grace: bool, slurm: dict[str, str], tmp_path: Path, alone: dict[str, dict[str, Any]]
) -> None:
    driver = start(slurm, tmp_path, *ARMS, *JOB, f"hydra.launcher.partition={partition}")
    while len([*tmp_path.glob("runs/*/metrics/*/metrics.csv")]) < 2 and driver.poll() is None:
        time.sleep(0.2)
    time.sleep(4)
    urgent = ["sbatch", "-p", "urgent", "-N2", "--exclusive", "--mem=100", "-o", "/dev/null", "--wrap", "sleep 1"]
    subprocess.run(urgent, env=slurm, check=True, capture_output=True)
    assert "2 of 2 arms are finished" in finish(driver)
    found = results(tmp_path / "runs")
    assert all(same_training(found[name], alone[name]) for name in alone)
    for steps in legs(tmp_path / "runs") if grace else ():
        assert len(steps) == 2, "it has not stopped and gone on"
        assert steps[0] == steps[1], "what it had done is lost"


def test_the_end_of_the_wall_time_is_no_end(
    slurm: dict[str, str], tmp_path: Path, alone: dict[str, dict[str, Any]]
) -> None:
    driver = start(slurm, tmp_path, *ARMS, *JOB, "hydra.launcher.timeout_min=1", "hydra.launcher.signal_delay_s=40")
    assert "2 of 2 arms are finished" in finish(driver)
    found = results(tmp_path / "runs")
    assert all(same_training(found[name], alone[name]) for name in alone)
    assert any(legs(tmp_path / "runs")), "no job came to its end"


def test_two_nodes_train_as_two_tasks_do(slurm: dict[str, str], tmp_path: Path) -> None:
    found = {}
    for name, nodes, tasks in (("nodes", 2, 1), ("tasks", 1, 2)):
        strategy = ["strategy=ddp", f"strategy.devices={tasks}", f"strategy.num_nodes={nodes}"]
        launcher = [f"hydra.launcher.nodes={nodes}", f"hydra.launcher.tasks_per_node={tasks}"]
        arm = ["-m", "strategy.accelerator=cpu", "budget.steps=40", "validation.every=20", f"output={name}"]
        finish(start(slurm, tmp_path, *arm, *JOB, *strategy, *launcher))
        (found[name],) = results(tmp_path / name).values()
    assert same_training(found["nodes"], found["tasks"])
