"""Which files of the repository are pages of the site, and where links between them lead."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
FIRST_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "experiments/**/README.md")
"""Pages of the site as patterns; what they link to inside the repository becomes a page as well."""
LANGUAGES = {".py": "python", ".yaml": "yaml", ".cff": "yaml", ".json": "json", ".toml": "toml", ".sh": "sh"}
IMAGES = (".svg", ".png")
DATA = (".jsonl",)
"""Suffixes of files that are no pages: links to them become plain text."""
SOURCE = "src/"
"""Folder whose files are no pages either. On the page of equations, links to it become lines of code."""
LINK = re.compile(r"(!?\[((?:[^\[\]\\]|\\.)*)\])\(([^)\s]+)\)")
FENCED = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.DOTALL | re.MULTILINE)


def map_links(text: str, function: Callable[[str], str | None]) -> str:
    """Replace the target of every Markdown link outside fenced code blocks; None leaves its text alone."""

    def replaced(found: re.Match[str]) -> str:
        target = function(found[3])
        return found[2] if target is None else f"{found[1]}({target})"

    parts = FENCED.split(text)
    parts[::2] = [LINK.sub(replaced, part) for part in parts[::2]]
    return "".join(parts)


def with_bars(text: str) -> str:
    """Write bars inside the code of table cells as HTML: only GitHub takes the backslash before them away."""

    def as_html(code: re.Match[str]) -> str:
        return f"<code>{html.escape(code[1], quote=False)}</code>".replace("\\|", "&#124;")

    return re.sub(r"^\|.*$", lambda row: re.sub(r"`([^`]*\\\|[^`]*)`", as_html, row[0]), text, flags=re.MULTILINE)


def links(text: str) -> list[str]:
    """Return the targets of all Markdown links outside fenced code blocks."""
    return [link for part in FENCED.split(text)[::2] for *_, link in LINK.findall(part)]


def linked_file(page: str, link: str) -> str | None:
    """Return the path of the file or folder of the repository that a link of a page leads to.

    Args:
        page: path of the page in the repository.
        link: target of the link.

    Returns:
        A path such as ``experiments/positions``; None for a link to the web or within the page.
    """
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return None
    path = os.path.normpath(str(PurePosixPath(page).parent / unquote(link.partition("#")[0])))
    return None if path.startswith("..") else path


def site_path(path: str) -> str:
    """Return where a file or folder of the repository stands in the site, such as ``examples/own_parts/README.md``."""
    path = path.removeprefix("docs/")
    suffix = PurePosixPath(path).suffix
    if (ROOT / path).is_dir():
        return f"{path}/README.md"
    return path if suffix in (".md", *IMAGES) else f"{path}.md"


def site_link(page: str, link: str) -> str | None:
    """Return a link of a page as it is in the site, relative to the page; None for one to data or to
    the source."""
    target = linked_file(page, link)
    if target is None:
        return link
    if target.startswith(SOURCE) or PurePosixPath(target).suffix in DATA:
        return None
    anchor = link.partition("#")[2]
    relative = os.path.relpath(site_path(target), PurePosixPath(site_path(page)).parent)
    return relative + (f"#{anchor}" if anchor else "")


def pages() -> dict[str, str]:
    """Return the Markdown text of every page by its path in the repository: the first pages, and what these link to."""
    found: dict[str, str] = {}
    waiting = [path.relative_to(ROOT).as_posix() for pattern in FIRST_PAGES for path in sorted(ROOT.glob(pattern))]
    while waiting:
        name = waiting.pop(0)
        name = f"{name}/README.md" if (ROOT / name / "README.md").exists() else name
        is_page = not name.startswith(SOURCE) and PurePosixPath(name).suffix not in (*IMAGES, *DATA)
        if is_page and name not in found:
            found[name] = as_markdown(ROOT / name)
            waiting += filter(None, (linked_file(name, link) for link in links(found[name])))
    return found


def as_markdown(path: Path) -> str:
    """Return a file as a page: Markdown as it is, a folder with its files, any other file as a code block."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix in LANGUAGES)
        blocks = (f"## {file.relative_to(path)}\n\n{code_block(file)}" for file in files)
        return f"# {path.relative_to(ROOT)}\n\n" + "\n".join(blocks)
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        from docs_build.notebook_pages import page  # needs the extra docs

        return page(path)
    return f"# {path.relative_to(ROOT)}\n\n{code_block(path)}"


def code_block(path: Path) -> str:
    """Return a text file as a fenced code block."""
    return f"````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"
