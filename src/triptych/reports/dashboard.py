"""The W&B workspace and report of a study, as code: which charts of which series, by arm, along which axis."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from triptych.errors import UserError
from triptych.training.loggers import ATTENTION, wandb_settings
from triptych.training.spending import FLOPS, FLOPS_PER_SECOND, HOURS, SHARE_OF_PEAK, TOKENS, TOKENS_PER_SECOND

AXES = {"step": "trainer/global_step", "tokens": TOKENS, "flops": FLOPS, "hours": HOURS}
"""Series that charts are drawn along, by the name of the axis."""
SECTIONS: dict[str, dict[str, str]] = {
    "Loss": {
        "train/loss": "training loss",
        "train/L_MT": "L_MT, translation loss",
        "train/L_AE": "L_AE, source loss",
        "train/lambda": "lambda, weight of L_AE",
        "validation/loss": "validation loss, nats a token",
        "validation/perplexity": "validation perplexity",
    },
    "Quality": {"validation/bleu": "validation BLEU", "validation/chrf": "validation chrF"},
    "Optimization": {"train/lr": "learning rate", "train/gradient_norm": "norm of the gradient before clipping"},
    "Speed": {
        TOKENS_PER_SECOND: "source and target tokens a second",
        FLOPS_PER_SECOND: "FLOP/s, of forward and backward passes",
        SHARE_OF_PEAK: "share of the device's peak",
    },
}
"""Series of the line charts with their titles, by section."""
OF_SOURCE = ("train/L_AE",)
"""Series that only models have that predict source tokens."""
SAMPLES = "validation/samples"
"""The table of validation sentences with their translations."""
MOST_RUNS = 100
"""Runs that a chart shows at most."""
RUN_OF_REPORT = "dashboard-report"
"""Folder, among those of the runs, for the files of the run that has the report."""
TITLE_LETTERS = 128
"""Longest title of a report, and longest name of an artifact and of a run, that W&B takes."""


@dataclass(frozen=True)
class StudyDashboard:
    """What the dashboard of a study shows.

    Attributes:
        study: name of the study, to find its runs.
        scale: name of the scale of these runs.
        entity: W&B account or team; empty for the user's own.
        project: W&B project of the runs.
        axis: a key of ``AXES``.
        predicts_source: whether some arm's loss has source tokens.
        has_attention: whether some arm's model has attention.
        test_scores: the scores of test sets, such as ``test/bleu``.
        text: Markdown that introduces the report.
    """

    study: str
    scale: str
    entity: str
    project: str
    axis: str
    predicts_source: bool
    has_attention: bool
    test_scores: Sequence[str]
    text: str = field(default="", repr=False)

    @property
    def title(self) -> str:
        return f"{self.study}, scale {self.scale}"[:TITLE_LETTERS]

    @property
    def series(self) -> list[str]:
        """Every series that a panel shows."""
        media = [SAMPLES, ATTENTION] if self.has_attention else [SAMPLES]
        return [*(name for panels in self._lines().values() for name in panels), *self.test_scores, *media]

    def sections(self) -> dict[str, list[Any]]:
        """Return the panels by section: a line chart for each series, a bar chart for each score, and translations."""
        import wandb_workspaces.reports.v2 as wr

        by_arm: dict[str, Any] = {"groupby": wr.Config("arm"), "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}

        def line(name: str, title: str, axis: str) -> Any:
            x, label = AXES[axis], axis if axis != "flops" else "FLOPs"
            return wr.LinePlot(title=title, x=x, y=[name], title_x=label, max_runs_to_show=MOST_RUNS, **by_arm)

        found = {
            section: [line(name, title, self.axis) for name, title in series.items()]
            for section, series in self._lines().items()
        }
        found["Equal steps, tokens, FLOPs and hours"] = [
            line(name, f"{title}, by {axis}", axis)
            for name, title in (("validation/loss", "validation loss"), ("validation/bleu", "validation BLEU"))
            for axis in AXES
        ]
        if self.test_scores:
            found["Test sets"] = [wr.BarPlot(title=name, metrics=[name], **by_arm) for name in self.test_scores]
        found["Translations"] = [wr.WeavePanelSummaryTable(table_name=SAMPLES, layout=wr.Layout(w=24, h=12))]
        if self.has_attention:
            layout = wr.Layout(w=24, h=20)
            found["Attention"] = [wr.MediaBrowser(media_keys=[ATTENTION], num_columns=1, layout=layout)]
        return found

    def workspace(self) -> Any:
        """Return the study's ``wandb_workspaces.workspaces.Workspace``."""
        import wandb_workspaces.workspaces as ws
        from wandb_workspaces import expr

        runs = ws.RunsetSettings(
            filters=[expr.Metric("Group") == self.study, expr.Config("scale_name") == self.scale],
            groupby=[expr.Config("arm")],
        )
        sections = [ws.Section(name=name, panels=panels, is_open=True) for name, panels in self.sections().items()]
        settings = ws.WorkspaceSettings(x_axis=AXES[self.axis], max_runs=MOST_RUNS)
        return ws.Workspace(
            entity=self.entity,
            project=self.project,
            name=self.title,
            sections=sections,
            settings=settings,
            runset_settings=runs,
        )

    def report(self) -> Any:
        """Return the study's ``wandb_workspaces.reports.v2.Report``."""
        import wandb_workspaces.reports.v2 as wr
        from wandb_workspaces import expr

        filters = [expr.Metric("Group") == self.study, expr.Config("scale_name") == self.scale]
        blocks: list[Any] = [wr.MarkdownBlock(text=self.text)] if self.text else []
        for name, panels in self.sections().items():
            runs = wr.Runset(name=self.title, filters=filters, groupby=["config.arm"])  # of the report's own project
            blocks += [wr.H2(name), wr.PanelGrid(runsets=[runs], panels=panels)]
        return wr.Report(project=self.project, entity=self.entity, title=self.title, blocks=blocks, width="fluid")

    def specification(self) -> dict[str, Any]:
        """Return workspace and report as W&B stores them, and the series that they show."""
        parts = {"workspace": self.workspace(), "report": self.report()}
        stored = {
            name: part._to_model().model_dump(mode="json", by_alias=True, exclude_none=True)
            for name, part in parts.items()
        }
        return {"series": self.series, **stored}

    def publish(self, output: Path) -> list[str]:
        """Create report and workspace at W&B, log the report that ``output`` has, and return the two addresses.

        Raises:
            UserError: no key is known, or W&B refuses.
        """
        import wandb

        if not wandb.login(prompt=False, verify=False):
            raise UserError("publish=true needs a W&B account; run `wandb login`, or set WANDB_API_KEY.")
        try:
            there = self if self.entity else replace(self, entity=str(wandb.Api().default_entity))
            urls = [there.report().save().url, there.workspace().save().url]  # the report creates the project
            there.log_report(output, offline=False)
            return urls
        except Exception as error:  # whatever W&B's client and its network raise
            reason = " ".join(str(error).split()).rstrip(".")
            raise UserError(f"W&B did not take the dashboard ({reason}); sync the runs first by wandb sync.") from error

    def log_report(self, output: Path, offline: bool) -> bool:
        """Log the page and tables of ``triptych report`` as an artifact, in a run of the study's group.

        Offline, its files are in ``output/dashboard-report``, where ``wandb sync`` finds them beside those of the runs.
        Those of an earlier call are replaced.

        Args:
            output: folder of the runs.
            offline: whether to keep it for ``wandb sync``.

        Returns:
            Whether there is a report.
        """
        files = [output / f"report.{kind}" for kind in ("html", "md", "csv", "tex")]
        files = [path for path in files if path.is_file()]
        if not files:
            return False
        import wandb

        folder = output / RUN_OF_REPORT
        shutil.rmtree(folder / "wandb", ignore_errors=True)
        folder.mkdir(exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", f"report-{self.study}-{self.scale}")[:TITLE_LETTERS]
        with wandb.init(
            dir=folder,
            project=self.project,
            entity=self.entity or None,
            id=name,
            name=f"report of {self.title}",
            group=self.study,
            job_type="report",
            resume="allow",
            settings=wandb_settings(offline),
        ) as run:
            artifact = wandb.Artifact(name, type="report")
            for path in files:
                artifact.add_file(str(path))
            run.log_artifact(artifact)
        return True

    def _lines(self) -> dict[str, dict[str, str]]:
        """Return the series of the line charts with their titles, by section."""
        return {
            section: {name: title for name, title in series.items() if self.predicts_source or name not in OF_SOURCE}
            for section, series in SECTIONS.items()
        }


def require_workspaces() -> None:
    """Raise ``UserError`` if the package that describes dashboards is not installed."""
    try:
        import wandb_workspaces.workspaces  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError("triptych dashboard needs wandb-workspaces: pip install -e '.[dashboard]'.") from error


def introduction(claims: Sequence[Any], output: Path) -> str:
    """Return the text above a report's panels: the claims that the study tests, and the table of ``triptych report``.

    Args:
        claims: of the study's configuration.
        output: folder of its runs.
    """
    lines = [f"- {claim.claim}" for claim in claims]
    text = "\n".join(["Claims that the study tests:", "", *lines]) if lines else ""
    table = output / "report.md"
    written = table.read_text(encoding="utf-8") if table.is_file() else ""
    return "\n\n".join(filter(None, [text, written]))
