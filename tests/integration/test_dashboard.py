"""``triptych dashboard``: what workspace and report of a study show is in the files that its runs have logged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import triptych, triptych_process
from offline_wandb import Record, configured, environment, history, lines, read_back

from triptych.errors import UserError
from triptych.reports.dashboard import ATTENTION, AXES, SAMPLES, StudyDashboard

ws = pytest.importorskip("wandb_workspaces.workspaces", reason="the extra 'dashboard' is not installed")
wr = pytest.importorskip("wandb_workspaces.reports.v2")
STUDY = ["experiment=lm4mt_loss", "arm=lm4mt_loss/decayed,lm4mt_loss/encoder_decoder", "scale=smoke", "cache=cache"]
SHORT = ["budget.steps=6", "validation.every=2", "log_every=3", "data.test=20", "data.test_long=9"]
SHORT += ["metric=[bleu,chrf]", "validation.search.max_length_ratio=0"]


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dashboard")


@pytest.fixture(scope="module")
def logged(folder: Path) -> dict[str, list[Record]]:
    """The offline records of two arms of a study, by the last part of their name."""
    variables = environment(folder)
    given = [*STUDY, *SHORT, "output=runs", "logger=[wandb,tensorboard]", "logger.wandb.log_checkpoint=true", "jobs=1"]
    done = triptych_process("train", *given, cwd=folder, env=variables)
    assert done.returncode == 0, done.stderr
    paths = sorted((folder / "runs").glob("*/wandb/offline-run-*/*.wandb"))
    return {path.parents[2].name: read_back(path, variables) for path in paths}


@pytest.fixture(scope="module")
def specification(folder: Path, logged: dict[str, list[Record]]) -> dict[str, Any]:
    command = ["dashboard", *STUDY, *SHORT, "output=runs", "x=tokens"]
    done = triptych(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "no report yet: triptych report runs, then this command again adds it" in done.stdout
    assert triptych("report", "runs", cwd=folder).returncode == 0
    earlier = folder / "runs" / "dashboard-report" / "wandb" / "offline-run-1" / "run-1.wandb"
    earlier.parent.mkdir(parents=True)
    earlier.touch()
    done = triptych_process(*command, cwd=folder, env=environment(folder))
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[0] == "19 series: runs/dashboard.json"
    assert shown[2].split() == ["wandb", "sync", "runs/*/wandb/offline-run-*"]
    assert shown[3].split()[:2] == ["triptych", "dashboard"]
    assert shown[3].endswith("publish=true")
    return json.loads((folder / "runs" / "dashboard.json").read_text())


def panels(node: Any) -> list[dict[str, Any]]:
    """Every panel of a specification."""
    if isinstance(node, list):
        return [panel for one in node for panel in panels(one)]
    if not isinstance(node, dict):
        return []
    return [node] if "viewType" in node else [panel for one in node.values() for panel in panels(one)]


def series_of(panel: dict[str, Any]) -> set[str]:
    config = panel["config"]
    axis = {config["xAxis"]} if "xAxis" in config else set()
    return axis | {*config.get("metrics", ()), *config.get("mediaKeys", ())}


@pytest.mark.parametrize("part", ["workspace", "report"])
def test_every_series_of_every_panel_was_logged(
    specification: dict[str, Any], logged: dict[str, list[Record]], part: str
) -> None:
    shown = panels(specification[part])
    drawn = set().union(*map(series_of, shown))
    assert len(shown) > 20
    assert drawn | {SAMPLES} == {*specification["series"], *AXES.values()}
    keys = {name: {*history(records)} for name, records in logged.items()}
    assert len(keys) == 2
    for name, found in keys.items():
        assert drawn - found <= {ATTENTION, *(["train/L_AE"] if "encoder_decoder" in name else [])}, name
        assert {f"{SAMPLES}.path", f"{ATTENTION}.path"} <= found
    assert SAMPLES in json.dumps(specification[part])


def test_every_line_has_every_axis(logged: dict[str, list[Record]]) -> None:
    """A chart draws a series along an axis only where one line has both."""
    for records in logged.values():
        for line in lines(records):
            if any(key.startswith(("train/", "validation/")) and key.count("/") == 1 for key in line):
                assert {*AXES.values()} <= {*line} or {key.split(".")[0] for key in line if "/" in key} <= {
                    SAMPLES,
                    "trainer/global_step",
                }
        for axis in AXES.values():
            values = [line[axis] for line in lines(records) if axis in line]
            assert values == sorted(values)
            assert values[-1] > 0
        trained = {line["trainer/global_step"]: line["train/tokens"] for line in lines(records) if "train/loss" in line}
        losses, scores = (
            {line["trainer/global_step"]: line["train/tokens"] for line in lines(records) if name in line}
            for name in ("validation/loss", "validation/bleu")
        )
        assert ([*trained], [*losses]) == ([3, 6], [2, 4, 6])
        assert scores == losses, "also between two logged steps"
        assert losses[2] < trained[3] < losses[4] < trained[6] == losses[6]


def test_rates_and_costs_are_those_of_the_result(folder: Path, logged: dict[str, list[Record]]) -> None:
    for name, records in logged.items():
        result = json.loads((folder / "runs" / name / "result.json").read_text())["train"]
        values = history(records)
        assert values["train/flops"][-1] == result["flops"]
        assert values["train/tokens"][-1] == result["tokens_src"] + result["tokens_tgt"]
        assert values["train/hours"][-1] == pytest.approx(result["seconds"] / 3600, rel=0.05)
        for rate, share in zip(values["train/flops_per_second"], values["train/share_of_peak"], strict=True):
            assert share == pytest.approx(rate / result["peak_flops"], rel=1e-6)
        assert all(norm > 0 for norm in values["train/gradient_norm"])


def test_runs_are_found_by_study_and_grouped_by_arm(logged: dict[str, list[Record]]) -> None:
    runs = [record["run"] for records in logged.values() for record in records if "run" in record]
    assert {run["run_group"] for run in runs} == {"lm4mt_loss"}
    assert {run["job_type"] for run in runs} == {configured(records)["arm"][:128] for records in logged.values()}
    assert {(configured(records)["scale_name"], configured(records)["seed"]) for records in logged.values()} == {
        ("smoke", 1)
    }


def test_tensorboard_gets_the_same_series(folder: Path, logged: dict[str, list[Record]]) -> None:
    pytest.importorskip("tensorboard", reason="the extra 'tensorboard' is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for name, records in logged.items():
        events = EventAccumulator(str(folder / "runs" / name / "tensorboard")).Reload()
        written = {key for key in history(records) if key.count("/") == 1 and "." not in key}
        assert written - {*events.Tags()["scalars"]} == {"trainer/global_step"}
        losses = [(event.step, event.value) for event in events.Scalars("validation/loss")]
        expected = history(records)["validation/loss"]
        assert losses == [(step, pytest.approx(loss)) for step, loss in zip([2, 4, 6], expected, strict=True)]


def test_result_and_best_weights_are_artifacts(logged: dict[str, list[Record]]) -> None:
    for records in logged.values():
        artifacts = [record["artifact"] for record in records if "artifact" in record]
        found = {one["type"]: {entry["path"] for entry in one["manifest"]["contents"]} for one in artifacts}
        assert {"result.json", "config.yaml", "metrics.csv", "translations/test.txt"} <= found["result"]
        assert {"checkpoints/best.ckpt", "tokenizer/joint.model"} <= found["model"]


def test_attention_is_a_page_and_an_artifact(folder: Path, logged: dict[str, list[Record]]) -> None:
    for name, records in logged.items():
        (path,) = history(records)[f"{ATTENTION}.path"]
        (stored,) = (folder / "runs" / name).glob(f"wandb/offline-run-*/files/{path}")
        page = stored.read_text(encoding="utf-8")
        assert json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])["columns"][0]["name"] == name
        assert "wandb.ai" not in page, "W&B's own style sheet would be loaded from its site"
        (artifact,) = (one["artifact"] for one in records if one.get("artifact", {}).get("type") == ATTENTION)
        (entry,) = artifact["manifest"]["contents"]
        assert (entry["path"], entry["size"]) == ("attention.html", str(len(page.encode())))
        assert artifact["name"].startswith("attention-")


def test_the_report_is_an_artifact_of_the_study(folder: Path, specification: dict[str, Any]) -> None:
    (path,) = (folder / "runs" / "dashboard-report").glob("wandb/offline-run-*/*.wandb")  # an earlier one is gone
    records = read_back(path, environment(folder))
    (run,) = (record["run"] for record in records if "run" in record)
    assert (run["run_group"], run["job_type"], run["run_id"]) == ("lm4mt_loss", "report", "report-lm4mt_loss-smoke")
    (artifact,) = (record["artifact"] for record in records if "artifact" in record)
    assert (artifact["type"], artifact["name"]) == ("report", "report-lm4mt_loss-smoke")
    sizes = {entry["path"]: int(entry["size"]) for entry in artifact["manifest"]["contents"]}
    assert sizes == {path.name: path.stat().st_size for path in (folder / "runs").glob("report.*")}
    assert "report.html" in sizes


def test_the_specification_is_what_the_package_reads(specification: dict[str, Any]) -> None:
    """Its models read the specification as it is; its classes read these and write them again.

    On the way it forgets how large a table is and how wide a report, adds an empty list of comments, and nothing else.
    """
    readers = (
        ("workspace", ws.interface.internal.View, ws.Workspace),
        ("report", wr.interface.internal.ReportViewspec, wr.Report),
    )
    for part, model, written in readers:
        read = model.model_validate(specification[part])
        assert essence(dump(read)) == essence(specification[part])
        again = dump(written._from_model(read)._to_model())
        assert essence(again) == essence(specification[part])
    (runs,) = specification["workspace"]["spec"]["section"]["runSets"]
    assert [(one["key"]["name"], one["value"]) for one in runs["filters"]["filters"]] == [
        ("group", "lm4mt_loss"),
        ("scale_name", "smoke"),
    ]
    assert runs["grouping"] == [{"section": "config", "name": "arm.value"}]
    assert specification["workspace"]["spec"]["section"]["settings"]["xAxis"] == "train/tokens"
    assert "LM4MT with the decayed loss" in json.dumps(specification["report"])


def essence(node: Any) -> Any:
    if isinstance(node, list):
        return [essence(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {key: essence(value) for key, value in node.items() if key not in ("layout", "width", "inlineComments")}


def dump(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def test_publishing_saves_both_in_the_users_own_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dashboard = StudyDashboard(
        "s", "toy", "", "p", "step", predicts_source=False, has_attention=False, test_scores=["test/bleu"]
    )
    assert not {"train/L_AE", ATTENTION} & {*dashboard.series}
    monkeypatch.setattr("wandb.login", lambda **_: False)
    with pytest.raises(UserError, match="needs a W&B account; run `wandb login`"):
        dashboard.publish(tmp_path)
    saved: list[Any] = []

    def save(self: Any) -> Any:
        saved.append(self)
        return type("Saved", (), {"url": f"https://example.org/{self.entity}/{self.project}"})

    monkeypatch.setattr("wandb.login", lambda **_: True)
    monkeypatch.setattr("wandb.Api", lambda: type("Api", (), {"default_entity": "me"}))
    monkeypatch.setattr(ws.Workspace, "save", save)
    monkeypatch.setattr(wr.Report, "save", save)
    reports: list[Any] = []
    monkeypatch.setattr(StudyDashboard, "log_report", lambda *given, **named: reports.append((*given, named)))
    assert dashboard.publish(tmp_path) == ["https://example.org/me/p"] * 2
    ((by, folder, named),) = reports
    assert (by.entity, folder, named) == ("me", tmp_path, {"offline": False})
    assert [type(one).__name__ for one in saved] == ["Report", "Workspace"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["scale=smoke"], "a dashboard shows the arms of a study"),
        ([*STUDY, "x=miles"], "x=miles is unknown; choose one of step, tokens, flops, hours"),
        ([*STUDY, "publish=yes"], "publish=yes must be true or false"),
        ([*STUDY, "logger=tensorboard"], "add logger=wandb"),
        (["-m", "scale=smoke", "seed=1,2", "output=new"], "has no arms yet; train the sweep first"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, given: list[str], words: str) -> None:
    done = triptych("dashboard", *given, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
