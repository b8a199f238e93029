"""A data set in the format of the Hugging Face Hub: Parquet files, and a README.md that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet


def write_data_set(
    folder: Path,
    subset: str,
    languages: tuple[str, str],
    splits: Mapping[str, Sequence[tuple[str, str]]],
    shards: int = 1,
) -> None:
    """Write pairs as the Hub keeps ``wmt/wmt14``: a column ``translation`` with a field for each language."""
    (folder / subset).mkdir(parents=True)
    files, names = "", ", ".join(f"'{language}'" for language in languages)
    for split, pairs in splits.items():
        number = shards if split == "train" else 1
        for shard in range(number):
            part = pairs[len(pairs) * shard // number : len(pairs) * (shard + 1) // number]
            rows = [dict(zip(languages, pair, strict=True)) for pair in part]
            table = pa.table({"translation": pa.array(rows, pa.struct([(one, pa.string()) for one in languages]))})
            parquet.write_table(table, folder / subset / f"{split}-{shard:05d}-of-{number:05d}.parquet")
        files += f"  - split: {split}\n    path: {subset}/{split}-*\n"
    features = f"  features:\n  - name: translation\n    dtype:\n      translation:\n        languages: [{names}]\n"
    info = f"dataset_info:\n- config_name: {subset}\n{features}"
    data_files = f"configs:\n- config_name: {subset}\n  data_files:\n{files}"
    (folder / "README.md").write_text(f"---\n{info}{data_files}---\n")
