"""Label arms by the overrides in which they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

MOST_NAMED = 3
"""Largest number of arms that a sentence names."""


def label_arms(overrides: Sequence[Sequence[str]], reference: str | None) -> list[str]:
    """Return a label for each list of overrides: those that the lists do not share.

    Of ``model=lm4mt`` and ``arm=base`` a label has the value alone. If a reference is given, the keys that it is named
    by come first in every label and in its order, even where all lists share them.

    Args:
        overrides: of each arm, without the seed.
        reference: the name of the arm that a study compares the others with.
    """
    keys = _reference_keys(reference, {_key(one) for each in overrides for one in each})
    shared = set.intersection(*map(set, overrides)) if overrides and (keys or len(overrides) > 1) else set()
    labels = []
    for each in overrides:
        first = sorted((one for one in each if _key(one) in keys), key=lambda one: keys.index(_key(one)))
        others = [one for one in each if _key(one) not in keys and one not in shared]
        labels.append(" ".join(one.removeprefix("model=").removeprefix("arm=") for one in (*first, *others)))
    return labels


def leave_out_sections(overrides: Sequence[str], sections: Collection[str]) -> list[str]:
    """Return the overrides of other sections than these."""
    return [one for one in overrides if section(one) not in sections]


def section(override: str) -> str:
    """Return the section of the configuration that an override changes: ``strategy`` of ``strategy.workers=2``."""
    return re.split(r"[.=]", override, maxsplit=1)[0]


def enumerate_labels(labels: Sequence[str]) -> str:
    """Return labels as a sentence names them: all of a few, ``MOST_NAMED`` of many and the number of the others."""
    if len(labels) > MOST_NAMED:
        return f"{', '.join(labels[:MOST_NAMED])} and {len(labels) - MOST_NAMED} more"
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last


def shorten_keys(labels: Sequence[str]) -> list[str]:
    """Return labels whose keys have only their last part, ``beam_size=4`` for ``search.beam_size=4``.

    Where two keys of the labels end alike, both stay whole.
    """
    keys = {_key(part) for label in labels for part in label.split() if "=" in part}
    ends = Counter(key.rpartition(".")[2] for key in keys)
    short = {key: end for key in keys if ends[end := key.rpartition(".")[2]] == 1}
    return [" ".join(_with_key(part, short) for part in label.split(" ")) for label in labels]


def _with_key(part: str, short: Mapping[str, str]) -> str:
    key, sign, value = part.partition("=")
    return f"{short.get(key, key)}{sign}{value}"


def _reference_keys(reference: str | None, given: Collection[str]) -> list[str]:
    """Return the keys of a reference. A name without a key, such as ``base``, is an ``arm`` or a ``model``.

    Args:
        reference: for example ``loss.autoencode.alpha=0.1``.
        given: the keys of all overrides.
    """
    option = "arm" if "arm" in given else "model"
    return [_key(part) if "=" in part else option for part in (reference or "").split()]


def _key(override: str) -> str:
    return override.partition("=")[0]
