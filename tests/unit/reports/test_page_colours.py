"""Text on the pages has the contrast that WCAG 2.2 asks for (level AA, 4.5 to 1)."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

STYLE = (ROOT / "src/triptych/reports/web/colours.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
)
ON = {
    "ink": ("ground", "raised", "mark", "followed"),
    "faint": ("ground", "raised"),
    "accent": ("ground", "raised"),
    "ground": ("accent",),
}
"""Colours of text, each with the grounds that it stands on."""


def luminance(colour: str) -> float:
    """Relative luminance of ``#rgb`` or ``#rrggbb``, as WCAG defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), [(text, ground) for text, grounds in ON.items() for ground in grounds])
def test_text_is_readable(colours: dict[str, str], text: str, ground: str) -> None:
    darker, lighter = sorted(luminance(colours[name]) for name in (text, ground))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
