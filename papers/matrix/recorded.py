"""Recorded rates that are not part of this repository: their licences or terms do not allow it.

Their folder is the value of the environment variable `WHIMBREL_TRACES`; a network whose file is not
there is left out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "WHIMBREL_TRACES"


@dataclass(frozen=True)
class RecordedFile:
    """A file.

    Attributes:
        name: in the folder.
        form: the format, as scenarios name it.
        source: where it comes from.
    """

    name: str
    form: str
    source: str


FILES: Mapping[str, RecordedFile] = {
    "lte": RecordedFile(
        "ATT-LTE-driving-2016.down",
        "mahimahi",
        "github.com/ravinet/mahimahi at ae477d4, `traces/` (Winstein, Sivaraman and Balakrishnan, NSDI 2013)",
    ),
    "5g": RecordedFile(
        "5g-driving.tsv",
        "rate",
        "github.com/uccmisl/5Gdataset at 306d92e, `Download/Driving/B_2020.02.13_15.02.01.csv` (Raca, Leahy, "
        "Sreenan and Quinlan, MMSys 2020): `DL_bitrate` of 70 rows in state D from row 1140 on, as lines of "
        "seconds, tab, Mbit/s; 0.001 for 0",
    ),
}


def path(file: str) -> Path:
    """The file of that name."""
    return Path(os.environ.get(VARIABLE, ".")) / FILES[file].name


def is_there(file: str | None) -> bool:
    """True if the file is there, or none is needed."""
    return file is None or (VARIABLE in os.environ and path(file).is_file())
