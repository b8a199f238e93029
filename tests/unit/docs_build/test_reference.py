"""The configuration reference has every key of conf/ with an explanation, and says what the code allows."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

from docs_build import allowed, constructors, reference, reference_pages
from docs_build.conf_files import conf_file
from triptych.commands.cli import COMMANDS
from triptych.config import schema

CONF = ROOT / "conf"
FILES = sorted(path.relative_to(CONF) for path in CONF.rglob("*.yaml"))


def keys(node: Any, prefix: str) -> Iterator[str]:
    """Dotted keys of everything in a file that is no mapping."""
    for name, value in node.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict) and value:
            yield from keys(value, key)
        else:
            yield key


def keys_of_file(path: Path) -> list[str]:
    text = (CONF / path).read_text(encoding="utf-8")
    prefix = "" if "@package _global_" in text else path.parent.as_posix().replace("/", ".").strip(".")
    content = yaml.safe_load(text) or {}
    return list(keys({name: value for name, value in content.items() if name != "defaults"}, prefix))


def page_of(path: Path) -> str:
    group = "arm" if path.parts[0] == "arm" else "_".join(path.parent.parts) or path.stem
    return reference_pages.pages()[f"reference/{group}.md"]


def text_of(cell: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", cell)).strip()


def wrong_in_group(path: Path) -> Iterator[str]:
    """Yield what is wrong with the page of a file that is no arm."""
    page = page_of(path)
    for key in keys_of_file(path):
        found = re.search(rf'<tr id="{re.escape(f"{path.stem}.{key}")}">(.*?)</tr>', page)
        if not found:
            yield f"{path}: {key} is not on its page"
            continue
        name, value, meaning = re.findall(r"<td.*?>(.*?)</td>", found[1])
        explanation = text_of(meaning.partition("<small>")[0])
        if text_of(name.partition("<small>")[0]) != key or not text_of(value):
            yield f"{path}: {key} has another name there, or no value"
        if len(explanation.split()) < 2 and not key.startswith("strategy."):
            yield f"{path}: {key} needs a comment"
        if re.fullmatch(r"\S+( \| \S+)*", explanation):
            yield f"{path}: {key} has choices and no explanation"


def wrong_in_arm(path: Path) -> Iterator[str]:
    """Yield what is wrong with the line of an arm."""
    page, arm = page_of(path), path.relative_to("arm").with_suffix("").as_posix()
    (line,) = [line for line in page.splitlines() if line.startswith(f"| `{arm}` |")]
    if not line.split(" | ")[1].strip():
        yield f"{path}: no comment says what it is"
    section = page.partition(f"## {arm.partition('/')[0]}\n")[2].partition("\n## ")[0]
    for key in keys_of_file(path):
        if f"`{key}=" not in line or not re.search(rf"^- `{re.escape(key)}`: \S+ \S+", section, re.MULTILINE):
            yield f"{path}: {key} is not there, or needs an explanation"


def test_every_key_and_every_arm_is_there_with_an_explanation() -> None:
    wrong = [wrong_in_arm if path.parts[0] == "arm" else wrong_in_group for path in FILES]
    assert not [one for check, path in zip(wrong, FILES, strict=True) for one in check(path)]


def test_keys_that_only_a_schema_has_are_there() -> None:
    page = reference_pages.pages()["reference/train.md"]
    shown = {text_of(cell) for cell in re.findall(r"<td><code>(.*?)</code>", page)}
    assert {"budget.epochs", "study.claims[].expect", "study.dose.mean_of", "study.untested[].reason"} <= shown
    assert all(meaning for *_, meaning in constructors.schema_fields(schema.Study))


def test_every_group_and_every_option_is_in_the_overview() -> None:
    overview = reference_pages.pages()["reference/README.md"]
    for path in FILES:
        if path.parent.parts and path.parts[0] != "arm":
            assert f"[`{path.parent.as_posix()}`]" in overview
            assert f"`{path.stem}`" in overview


@pytest.mark.parametrize(
    ("path", "key", "kind", "limits"),
    [
        ("model/transformer", "model.positions", "text", "sinusoidal, sinusoidal_concatenated, learned, rope, none"),
        ("model/transformer_big", "model.dropout", "a number", "0 to below 1"),
        ("model/transformer", "model.d_k", "an integer or null", "at least 1"),
        ("model/rnn", "model.score", "text or null", "dot, general, concat, scaled_dot"),
        ("model/rnn", "model.tying", "text", "none, decoder, three_way"),
        ("search/beam", "search.stop", "text", "exact or first"),
        ("loss/decayed", "loss.mean", "text", "terms, sequence"),
        ("optimizer/cosine", "optimizer.schedule.warmup", "an integer", "at least 0"),
        ("train", "checkpoint.monitor", "text", "loss, bleu"),
        ("train", "batch.tokens", "an integer", "at least 1"),
        ("strategy/cpu", "strategy.kernels", "text", "fast, reference"),
        ("data/toy", "data.join", "a list or null", ""),
    ],
)
def test_types_and_allowed_values_are_those_of_the_code(path: str, key: str, kind: str, limits: str) -> None:
    (row,) = [row for row in reference.rows(conf_file(path)) if row.key == key]
    assert (row.type, row.allowed) == (kind, limits)


def test_a_docstring_entry_for_several_arguments_describes_each() -> None:
    docstring = """Read.

    Args:
        a: number of pairs; ``b`` and ``c`` likewise.
        d, e (int): sizes, said in
            two lines.

    Raises:
        UserError: not an argument.
    """
    assert constructors.described(constructors.inspect.cleandoc(docstring)) == {
        "a": "number of pairs; ``b`` and ``c`` likewise.",
        "b": "number of pairs.",
        "c": "number of pairs.",
        "d": "sizes, said in two lines.",
        "e": "sizes, said in two lines.",
    }


def test_checks_of_parts_that_a_constructor_builds_count_as_its_own() -> None:
    assert allowed.of_arguments("triptych.models.rnn.RNN")["attention"] == "none, bahdanau, luong"


def test_the_page_of_the_command_line_has_every_command() -> None:
    page = reference_pages.pages()["reference/commands.md"]
    parts = dict(re.findall(r"^## triptych (\w+)\n\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(parts) == list(COMMANDS)
    assert "--keep ARCHIVE" in parts["report"]
    assert "--measure N" in parts["forecast"]
    assert "[Its keys](train.md)" in parts["train"]
