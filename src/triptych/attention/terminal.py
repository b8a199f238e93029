"""What the terminal says of attention, and of heads that are switched off."""

from __future__ import annotations

from triptych.attention.explorer import Attention

WORDS_NAMED = 3
"""Number of words whose log-probability changed most that are named."""


def describe(attention: Attention) -> list[str]:
    """Return lines: each pair's target with its log-probability and, with heads off, what that has changed."""
    whole = attention.whole or attention
    lines = []
    for index, target in enumerate(attention.target_texts):
        lines.append(f"{attention.name}: {target}")
        lines.append(f"  log p {_number(whole.scores[index])} nats")
        if attention.whole is None:
            continue
        content = attention.ablation(index)
        largest = sorted(content["words"], key=lambda word: -abs(word[1]))[:WORDS_NAMED]
        after, change = _number(content["after"]), _number(content["after"] - content["before"], "+")
        lines += [
            f"  without {', '.join(attention.off)}: {after} nats ({change})",
            "  changed most: " + ", ".join(f"{word} {_number(difference, '+')}" for word, difference in largest),
            f"  translates: {attention.translations[index]}",
            f"  with all heads: {whole.translations[index]}",
        ]
    return lines


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.2f}".replace("-", "−")
