"""Run the notebooks and store them with their outputs: ``python notebooks/store.py [NAME …]``.

What differs from run to run is left out, so that a stored notebook changes only with what it shows. Figures are stored
as data and, where there is a Chromium, as pictures too, for viewers that run no script.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import plotly.offline
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
FIGURE, PICTURE = "application/vnd.plotly.v1+json", "image/png"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> Any:
    """Run a notebook in a new kernel, in its own folder, and return it with the outputs."""
    environment = {**os.environ, "PLOTLY_RENDERER": "plotly_mimetype"}  # figures without 4 MB of Plotly's code each
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": path.parent}}
    client = NotebookClient(notebook, timeout=900, kernel_name="python3", resources=place, coalesce_streams=True)
    client.execute(env=environment)  # lines that a cell prints come together, however slowly it prints them
    return notebook


def clean(notebook: Any) -> None:
    """Remove times and the version of the kernel, and number the cells in order."""
    notebook.metadata = METADATA
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, f"cell-{number}"


def add_pictures(notebook: Any, page: Any) -> None:
    """Put a picture beside each figure, drawn by a browser's page that has loaded Plotly."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if figure := output.get("data", {}).get(FIGURE):
                size = {"width": figure["layout"].get("width", 800), "height": figure["layout"].get("height", 450)}
                draw = "([figure, size]) => Plotly.toImage(figure, {format: 'png', ...size})"
                address = page.evaluate(draw, [figure, size])
                output["data"][PICTURE] = address.partition(",")[2] + "\n"


@contextmanager
def browser_page() -> Iterator[Any]:
    """Open an empty page of Chromium with Plotly; None where there is no Chromium."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        print("no Chromium is installed: the figures are stored without pictures")
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=path, args=["--no-sandbox"]).new_page()
        page.add_script_tag(content=plotly.offline.get_plotlyjs())
        yield page


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the notebooks and store them with their outputs.")
    parser.add_argument("names", nargs="*", help="such as attention; by default all")
    names = parser.parse_args().names or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    with browser_page() as page:
        for name in names:
            path = FOLDER / f"{name}.ipynb"
            notebook = execute(path)
            clean(notebook)
            if page is not None:
                add_pictures(notebook, page)
            path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
