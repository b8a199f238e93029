"""``triptych dashboard``: the W&B workspace and report of a study, as a file or published."""

from __future__ import annotations

import argparse
import shlex

from triptych.commands.arguments import overrides_of
from triptych.errors import UserError
from triptych.runs.folder import write_json

FILE = "dashboard.json"


def main(arguments: list[str]) -> int:
    """Write the specification of a study's dashboard, or publish it.

    Raises:
        UserError: whatever training would refuse, or W&B does not take it.
    """
    parser = argparse.ArgumentParser(
        prog="triptych dashboard",
        usage="triptych dashboard experiment=STUDY [key=value …]\n       [x=step|tokens|flops|hours] [publish=true]",
        description="Describe a study's W&B workspace and report: the overrides are those of triptych train.",
    )
    rest = parser.parse_known_args(arguments)[1]
    own = dict(one.split("=", 1) for one in rest if one.startswith(("x=", "publish=")))
    if (publish := own.get("publish", "false")) not in ("true", "false"):
        raise UserError(f"publish={publish} must be true or false.")
    with overrides_of("dashboard", [one for one in rest if not one.startswith(("x=", "publish="))]) as overrides:
        from triptych.reports.dashboard import require_workspaces  # imported late: --help does not wait for it
        from triptych.reports.dashboard_plan import plan_dashboard

        require_workspaces()
        dashboard, output = plan_dashboard(overrides, own.get("x", "step"))
        if publish == "true":
            print("\n".join(dashboard.publish(output)))
            return 0
        output.mkdir(parents=True, exist_ok=True)
        write_json(output / FILE, dashboard.specification())
        is_logged = dashboard.log_report(output, offline=True)
        print(f"{len(dashboard.series)} series: {output / FILE}")
        if not is_logged:
            print(f"no report yet: {shlex.join(['triptych', 'report', str(output)])}, then this command again adds it")
        print("to publish:")
        print(f"  wandb sync {shlex.quote(str(output))}/*/wandb/offline-run-*")
        print(f"  {shlex.join(['triptych', 'dashboard', *arguments, 'publish=true'])}")
    return 0
