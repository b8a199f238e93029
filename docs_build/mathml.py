"""LaTeX becomes MathML, which browsers draw."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

NEWLINE = "\n"
BLOCK = re.compile(r"^```math\n(.*?)\n```$|^\$\$(.*?)\$\$$", re.DOTALL | re.MULTILINE)
"""An equation of its own, as GitHub has it or as notebooks do."""
INLINE = re.compile(r"\$([^$\n]+(?:\n[^$\n]+)?)\$")


def with_mathml(markdown: str) -> str:
    """Return text with MathML in the place of LaTeX."""
    parts = re.split(r"(`[^`\n]+`)", BLOCK.sub(_block, markdown))
    parts[::2] = [INLINE.sub(_inline, part) for part in parts[::2]]
    return "".join(parts)


def _block(found: re.Match[str]) -> str:
    return f'<div class="equation">{convert(found[1] or found[2], display="block")}</div>'


def _inline(found: re.Match[str]) -> str:
    return f"<span>{convert(found[1].replace(NEWLINE, ' '))}</span>"  # Markdown takes <math> for a block
