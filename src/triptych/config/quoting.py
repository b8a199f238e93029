"""Quotes around values of overrides, without which Hydra would read some characters in them as its own."""

from __future__ import annotations

import re

from hydra.core.override_parser.types import Quote, QuotedString

from triptych.config.key_groups import PATHS


def quoted(override: str) -> str:
    """Put each path of ``PATHS`` into quotes, without which Hydra refuses ``=``, quotes and letters such as é in it.

    Commas separate paths, and ``${…}`` is Hydra's.
    """
    key, equals, value = override.partition("=")
    if not equals or key not in PATHS or value in ("", "null") or {value[0], value[-1]} & {"'", '"'} or "'," in value:
        return override
    if value[0] == "[":
        return f"{key}=[{','.join(in_quotes(path.strip()) for path in value.strip('[]').split(','))}]"
    return f"{key}={','.join(map(in_quotes, value.split(',')))}"


def quoted_text(key: str, text: str) -> str:
    """Return the override that sets a key to any text, with what Hydra and OmegaConf would take for their own."""
    escaped = re.sub(r"(\\*)\$\{", lambda found: 2 * found[1] + r"\${", text)
    return f"{key}={in_quotes(escaped)}"


def in_quotes(text: str) -> str:
    """Return a text as Hydra reads it back, whatever characters are in it."""
    return str(QuotedString(text, Quote.single).with_quotes())
