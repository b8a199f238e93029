"""Plan one epoch of a large corpus: ``python -m triptych.data.epoch_plan_process FOLDER TOKENS SEED EPOCH``.

The folder of the plan gets ``rows.npy``, the pairs of all batches one after the other, and ``ends.npy``, where each
batch ends. Beside the folder lies ``lengths.npy``. A process that finds another one planning the epoch waits for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from triptych.data.epoch_plan import plan_epoch
from triptych.data.planned_epochs import REFUSED
from triptych.errors import UserError
from triptych.files import made_once, replacing


def main(folder: Path, tokens: int, seed: int, epoch: int) -> int:
    with made_once(folder) as missing:
        if not missing:
            return 0
        try:
            batches = plan_epoch(np.load(folder.with_name("lengths.npy"), mmap_mode="r"), tokens, seed, epoch)
        except UserError as error:
            sys.stderr.write(str(error))
            return REFUSED
        with replacing(folder, keep_folder=True) as beside:
            beside.mkdir()
            np.save(beside / "rows.npy", np.concatenate(batches))
            np.save(beside / "ends.npy", np.cumsum([len(rows) for rows in batches]))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
