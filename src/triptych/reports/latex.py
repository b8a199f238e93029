"""Write a table as LaTeX with booktabs. A character that LaTeX may not have becomes its Unicode number."""

from __future__ import annotations

import unicodedata

from triptych.reports.formats import spans
from triptych.reports.table import Table

SPECIAL_CHARACTERS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "|": "\\textbar{}"},
    **{"<": "\\textless{}", ">": "\\textgreater{}"},
    # Bare, these would be options of the end of the line before them.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
    **{"–": "--", "—": "---", "’": "'", "‘": "`", "“": "``", "”": "''", "…": "\\dots{}"},
    **{"−": "$-$", "±": "$\\pm$", "×": "$\\times$", "·": "$\\cdot$", "≤": "$\\leq$", "≥": "$\\geq$", "≈": "$\\approx$"},
    **{"→": "$\\to$", "∞": "$\\infty$", "²": "$^2$", "³": "$^3$", "°": "$^\\circ$"},
    **{"α": "$\\alpha$", "β": "$\\beta$", "γ": "$\\gamma$", "δ": "$\\delta$", "ε": "$\\epsilon$", "θ": "$\\theta$"},
    **{"λ": "$\\lambda$", "μ": "$\\mu$", "\u00b5": "$\\mu$", "π": "$\\pi$", "σ": "$\\sigma$", "τ": "$\\tau$"},
    **{"φ": "$\\phi$", "Δ": "$\\Delta$", "Σ": "$\\Sigma$", "Ω": "$\\Omega$"},
    **{sign: sign for sign in "øØłŁßæÆœŒı"},
}
ACCENTS = {
    **{"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": "."},
    **{"\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c"},
}
"""LaTeX commands of the combining characters of Unicode."""


def to_latex(table: Table) -> str:
    """Return a table as a bare ``tabular`` for ``\\input``, which needs the package booktabs.

    The title and the notes are LaTeX comments above it.
    """
    columns = table.cells.columns
    upper, rules, first = [], "", 1
    for name, width in spans(columns):
        upper.append(f"\\multicolumn{{{width}}}{{c}}{{{_escaped(name)}}}")
        rules += f"\\cmidrule(lr){{{first}-{first + width - 1}}}" if name else ""
        first += width
    head = f"{' & '.join(upper)} \\\\\n{rules}\n" if rules else ""
    lines = [[_escaped(header) for _, header in columns]]
    for i, line in enumerate(table.cells.itertuples(index=False)):
        cells = [_escaped(cell) for cell in line]
        lines.append([f"\\textbf{{{cell}}}" if (i, j) in table.best else cell for j, cell in enumerate(cells)])
    names, *body = [f"{' & '.join(line)} \\\\\n" for line in lines]
    comments = "".join(f"% {_escaped(text)}\n" for text in (table.title, *table.lead, *table.all_notes))
    return (
        f"{comments}\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}\n\\toprule\n{head}{names}\\midrule\n"
        f"{''.join(body)}\\bottomrule\n\\end{{tabular}}\n"
    )


def _escaped(text: str) -> str:
    return "".join(map(_escaped_character, " ".join(text.split())))


def _escaped_character(character: str) -> str:
    """Return a character in LaTeX, or its Unicode number if LaTeX may not have it."""
    if character in SPECIAL_CHARACTERS:
        return SPECIAL_CHARACTERS[character]
    if character.isascii() and character.isprintable():
        return character
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in ACCENTS:
        return f"\\{ACCENTS[parts[1]]}{{{parts[0]}}}"
    return f"U+{ord(character):04X}"
