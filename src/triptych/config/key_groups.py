"""Keys of the configuration that several modules treat alike. Imports nothing, so that completion stays quick."""

from __future__ import annotations

PATHS = (
    "run",
    "init",
    "input",
    "reference",
    "hypothesis",
    "output",
    "cache",
    "data.dir",
    "data.path",
    "tokenizer.model_file",
    "tokenizer.tgt_model_file",
)
"""Keys whose values are paths, whatever characters are in them."""
LISTS = ("metric", "callbacks", "logger")
"""Groups that can have several options at a time, each under its name."""
