"""The pages of the configuration reference: one for each command and each group of options."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from docs_build import command_pages
from docs_build.conf_files import Choice, ConfFile, conf_file, conf_files, options
from docs_build.reference import Row, rows, schemas
from docs_build.repository import ROOT

INTRODUCTION = """# Configuration reference

Every key of every command, made from the comments of the files in `conf/`, and from the classes that take the values.
[Change a setting](../configuration.md) explains how keys are written on a command line.

A value such as `${scale.d_model}` is that of another key. `???` must be given.
"""


@cache
def pages() -> dict[str, str]:
    """Return the Markdown text of each page by its path in the site."""
    groups = list(dict.fromkeys(file.group for file in conf_files() if file.group))
    made = {f"reference/{name}.md": _command_page(conf_file(name)) for name in schemas()}
    made |= {_path(group): _group_page(group) for group in groups if group not in ("experiment", "arm")}
    made |= {_path("experiment"): _studies(), _path("arm"): _arms()}
    return {"reference/README.md": _overview(groups), "reference/commands.md": command_pages.page(), **made}


def _path(group: str) -> str:
    return f"reference/{group.replace('/', '_')}.md"


def _link(group: str) -> str:
    """Return a link from one page of the reference to a group's, with the options of the group behind it."""
    return f"[`{group}`]({_path(group).removeprefix('reference/')})"


def _overview(groups: list[str]) -> str:
    lines = [INTRODUCTION, "## Commands\n"]
    lines += [f"- [`triptych {name}`]({name}.md): {conf_file(name).summary}" for name in schemas()]
    lines += ["\n[The other commands](commands.md) have no file in `conf/`.\n", "## Groups\n"]
    lines += [
        "`GROUP=OPTION` on a command line chooses a file of `conf/GROUP/`.\n",
        "| group | options |",
        "| --- | --- |",
    ]
    for group in groups:
        names = [file.option for file in options(group)]
        shown = ", ".join(f"`{name}`" for name in names) if group != "arm" else f"{len(names)} arms of studies"
        lines.append(f"| {_link(group)} | {shown} |")
    return "\n".join(lines) + "\n"


def _command_page(file: ConfFile) -> str:
    lines = [f"# triptych {file.path}", "", _escaped(file.summary), ""]
    if file.choices:
        lines += ["## Options of groups", "", _choices(file.choices), ""]
    lines += ["## Keys", "", table(rows(file), file)]
    return "\n".join(lines) + "\n"


def _group_page(group: str) -> str:
    default = next((choice for choice in conf_file("train").choices if choice.group == group), None)
    lines = [f"# {group}", ""]
    if default is not None:
        chosen = f"; by default `{group}={default.option}`" if default.option else "; by default none"
        lines += [f"`{group}=OPTION`: {_escaped(default.comment)}{chosen}.", ""]
    for file in options(group):
        lines += [f"## {file.option} {{ #{file.option} }}", "", _escaped(file.summary), ""]
        if file.parents:
            starts = " and ".join(
                f"[`{group}={conf_file(one).option}`](#{conf_file(one).option})" for one in file.parents
            )
            lines += [f"It has the keys of {starts}, and sets:", ""]
        if file.choices:
            lines += [_choices(file.choices), ""]
        lines += [table(rows(file), file) if file.keys else "It has no keys.", ""]
    return "\n".join(lines)


def _studies() -> str:
    lines = ["# experiment", "", "`experiment=STUDY` trains the arms of a [study](../studies.md)."]
    for file in options("experiment"):
        study = ROOT / "experiments" / file.option / "README.md"
        results = f" [Claims and results](../experiments/{file.option}/README.md)." if study.exists() else ""
        lines += ["", f"## {file.option}", "", _escaped(file.summary) + results, ""]
        if file.choices:
            lines += [_choices(file.choices), ""]
        lines.append(table(rows(file), file))
    return "\n".join(lines) + "\n"


def _arms() -> str:
    """Arms by study: what each sets, and what it is."""
    by_study = defaultdict(list)
    for file in options("arm"):
        by_study[file.option.partition("/")[0]].append(file)
    lines = [
        "# arm",
        "",
        "`arm=STUDY/NAME` trains one arm of a [study](experiment.md) that is no plain product of keys.",
    ]
    for study, files in by_study.items():
        lines += ["", f"## {study}", "", "| arm | what it is | what it sets |", "| --- | --- | --- |"]
        for file in files:
            sets = [f"what `{conf_file(parent).option}` sets" for parent in file.parents]
            sets += [f"`{choice.group}={choice.option}`" for choice in file.choices]
            sets += [f"`{row.key}={row.value.strip(QUOTES)}`" for row in rows(file)]
            lines.append(f"| `{file.option}` | {_cell(file.summary)} | {', '.join(sets) or 'nothing'} |")
        lines += ["", _meanings(row for file in files for row in rows(file))]
    return "\n".join(lines) + "\n"


QUOTES = "'\""


def _meanings(found: Iterable[Row]) -> str:
    """Say once what the keys of several arms mean."""
    by_key = {row.key: row.meaning for row in found}
    return "\n".join(f"- `{key}`: {_escaped(meaning)}" for key, meaning in by_key.items())


def _choices(choices: Iterable[Choice]) -> str:
    lines = ["| group | option | meaning |", "| --- | --- | --- |"]
    for choice in choices:
        source = (
            f"{_link(choice.source)}"
            if choice.group == choice.source
            else f"`{choice.group}`, of {_link(choice.source)}"
        )
        comment = choice.comment or next(
            (one.comment for one in conf_file("train").choices if one.group == choice.group), ""
        )
        lines.append(f"| {source} | {f'`{choice.option}`' if choice.option else 'none'} | {_cell(comment)} |")
    return "\n".join(lines)


def table(found: Iterable[Row], file: ConfFile) -> str:
    """Return keys as an HTML table, whose rows become cards on a narrow screen."""
    value = "value" if file.parents or file.group in ("experiment", "scale") else "default"
    body = []
    for row in found:
        kind = f"<small>{html.escape(row.type)}</small>" if row.type else ""
        limits = f"<small>Allowed: {html.escape(row.allowed)}</small>" if row.allowed else ""
        key = f"<td><code>{_broken(row.key)}</code>{kind}</td>"
        cells = f'{key}<td data-label="{value}">{_value(row)}</td><td>{in_html(row.meaning)}{limits}</td>'
        body.append(f'<tr id="{html.escape(f"{file.option}.{row.key}")}">{cells}</tr>')
    head = f"<thead><tr><th>key</th><th>{value}</th><th>meaning</th></tr></thead>"
    return f'<table class="keys">{head}<tbody>\n' + "\n".join(body) + "\n</tbody></table>"


def _value(row: Row) -> str:
    """Show a value; a long list by its length."""
    if row.value.startswith("- "):
        count = len(re.findall(r"^ *- ", row.value, re.MULTILINE))
        return f"a list of {count}"
    value = row.value.strip(QUOTES) or "null"
    return value if value == "must be given" else f"<code>{_broken(value)}</code>"


def _broken(text: str) -> str:
    """Escape a key or a list of values, and let lines break after its dots, commas and underscores."""
    return re.sub(r"([._,/])(?=\w)", r"\1<wbr>", html.escape(text))


def in_html(text: str) -> str:
    """Return text with code between backticks as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _escaped(text: str) -> str:
    """Return a comment as Markdown: what looks like markup outside backticks shows as it is."""
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [re.sub(r"([<>*_\[\]{}])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|")
