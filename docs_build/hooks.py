"""What MkDocs calls while it builds the site: pages from outside docs/, and links that lead to them."""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[1]))  # `mkdocs` does not put the working folder there

from docs_build import equations, reference_pages, repository

ASSETS = Path(__file__).parent / "assets"
PAGES = Path(__file__).parent / "pages"
"""Pages of the reference that only the site can show: mkdocstrings puts docstrings in the place of their names."""
_sources: dict[str, str] = {}
"""Path in the repository of each page of the site that is written by hand, by its path in the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Find the pages, and put them in the place of the patterns of the navigation, such as ``experiments/*.md``."""
    _sources.clear()
    _sources.update({repository.site_path(name): name for name in repository.pages()})
    config.nav = _expanded(config.nav or [], [*sorted(_sources), *reference_pages.pages()])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no Markdown in docs/ or are made here, and the site's style sheet and scripts."""
    for path, name in _sources.items():
        if name != f"docs/{path}":  # else MkDocs finds it itself
            files.append(File.generated(config, path, content=repository.as_markdown(repository.ROOT / name)))
    for path, text in reference_pages.pages().items():
        files.append(File.generated(config, path, content=text))
    for page in PAGES.iterdir():
        files.append(File.generated(config, f"reference/{page.name}", abs_src_path=str(page)))
    for asset in ASSETS.iterdir():
        files.append(File.generated(config, f"assets/{asset.name}", abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links between files of the repository lead to their pages."""
    if (name := _sources.get(page.file.src_uri)) is None:
        return markdown
    if "/results/" in name:
        page.meta["search"] = {"exclude": True}  # tables of figures would crowd out the pages that explain
    if name == equations.PAGE:
        markdown = equations.in_site(markdown)
    markdown = repository.with_bars(markdown)
    return repository.map_links(markdown, lambda link: repository.site_link(name, link))


def _expanded(nav: list[Any], paths: list[str]) -> list[Any]:
    """Return a navigation with the matching paths in the place of each pattern."""
    expanded: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, to),) = entry.items()
            expanded.append({title: _expanded(to, paths) if isinstance(to, list) else to})
        else:
            expanded += [path for path in paths if fnmatch(path, entry) and path not in expanded]
    return expanded
