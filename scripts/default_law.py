#!/usr/bin/env python3
"""Makes the table of docs/losses.md, "The default law": which law of DCCP suits video, by network.

Usage: scripts/default_law.py [--write] [--only WORD]

The networks come from the papers `matrix`, `lda` and `freeze`, and from RFC 8867 and RFC 8869. Without
`--write` all rows are printed; the page has the rows of `SHOWN`. `--only` selects the rows that have the word
in their titles.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import whimbrel
from whimbrel import statistics
from whimbrel.papers.freeze import networks as freeze
from whimbrel.papers.lda import topology as lda
from whimbrel.papers.matrix import networks as matrix

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/losses.md"
BEGIN, END = "<!-- default law -->\n", "<!-- end of default law -->"
SEEDS = range(1, 6)
LAWS: Mapping[str, dict[str, Any]] = {
    "CCID 3": {"ccid": 3},
    "CCID 3, `standing`": {"ccid": 3, "classifier": "standing"},
    "delay-aware": {"ccid": 252},
    "delay-aware, `standing`": {"ccid": 252, "classifier": "standing"},
}
"""Keys of a flow, by the title of a column."""
DOWNLOAD = {"transport": "tcp", "tcp": {"preset": "linux", "congestion": "cubic"}}

Document = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """A row.

    Attributes:
        title: displayed.
        document: makes the scenario for the keys of a law.
        rivals: the cell has the share of the law's goodput instead of the delay.
        base: of the paths in the scenario.
    """

    title: str
    document: Callable[[Document], Document]
    rivals: bool = False
    base: Path = ROOT


def _law(flow: Document, keys: Document) -> Document:
    """The flow with a law that has the defaults of a connection: no choices of a paper."""
    own = {key: value for key, value in flow.items() if key not in ("media", "ccid", "classifier", "dccp")}
    return {**own, **keys, "transport": "dccp"}


def _of_papers(document: Mapping[str, Any], law: Document) -> Document:
    flows = [_law(flow, law) if flow["transport"] in ("dccp", "media") else flow for flow in document["flow"]]
    return {**document, "flow": flows}


def _of_matrix(key: str, rivals: bool, law: Document) -> Document:
    document = matrix.scenario(key, "ccid3", None).document
    first, *others = document["flow"]
    download = {key: first[key] for key in ("from", "to", "start", "start_jitter")}
    more = [{**download, **DOWNLOAD, "name": "download"}] if rivals else []
    return {**document, "flow": [_law(first, law), *more, *others]}


def _of_example(file: str, law: Document) -> Document:
    document = tomllib.loads((ROOT / "examples" / file).read_text(encoding="utf-8"))
    del document["variables"]["law"]
    return _of_papers(document, law)


def _of_lda(topology: str, law: Document) -> Document:
    return _of_papers(lda.scenario(topology, "tfrc").document, law)


def _of_freeze(network: str, law: Document) -> Document:
    timing = {"duration": "300 s", "warm_up": "150 s"}
    return _of_papers({"simulation": timing, **freeze.path(network), "flow": [freeze.flow()]}, law)


def _examples(folder: str, pattern: str) -> list[Network]:
    files = sorted((ROOT / "examples" / folder).glob(pattern))
    return [
        Network(f"`{folder}/{file.stem}`", partial(_of_example, f"{folder}/{file.name}"), base=file.parent)
        for file in files
    ]


WIRED = [key for key, network in matrix.NETWORKS.items() if network.file is None]
NETWORKS = [
    *(Network(f"{matrix.NETWORKS[key].title}, alone", partial(_of_matrix, key, False)) for key in WIRED),
    *(
        Network(f"{matrix.NETWORKS[key].title}, a download", partial(_of_matrix, key, True), True)
        for key in WIRED
    ),
    *_examples("rfc8867", "5_*.toml"),
    *_examples("rfc8869", "2_*.toml"),
    *(Network(f"`lda`, {name}, 7.8 % lost", partial(_of_lda, name)) for name in ("WLH", "WB")),
    *(Network(f"`freeze`, {name}", partial(_of_freeze, name)) for name in freeze.NETWORKS),
]
"""The rows."""
SHOWN = (
    "drop-tail queue",
    "CoDel with ECN",
    "radio with 2 % loss",
    "802.11g cell",
    "`rfc8867/5_1",
    "`rfc8867/5_6",
    "`rfc8869/2_1_load_downlink`",
    "`rfc8869/2_2_coverage_uplink",
    "`lda`, WB",
    "`freeze`, umts",
)
"""Beginnings of the titles of the rows on the page."""


def cell(network: Network, law: Document) -> str:
    """Goodput in Mbit/s, and the greatest 95th percentile of the delays in ms or the share of the goodput."""
    document = network.document(law)
    names = re.compile(
        "|".join(
            re.escape(flow["name"]).replace(r"\{i\}", r"\d*")
            for flow in document["flow"]
            if flow["transport"] == "dccp"
        )
    )
    goodput, delay, share = [], [], []
    for seed in SEEDS:
        flows = whimbrel.run(whimbrel.Scenario(document, base=network.base), seed=seed).flows
        own = np.array([bool(names.fullmatch(str(name))) for name in flows["flow"]])
        rates = np.asarray(flows["goodput_bps"], dtype=float)
        goodput.append(rates[own].sum() / 1e6)
        delay.append(1e3 * np.nanmax(np.asarray(flows["delay_p95_s"], dtype=float)[own]))
        share.append(100 * rates[own].sum() / rates.sum())
    if network.rivals:
        return f"{mean(goodput, 2)}, {mean(share, 0)} %"
    return f"{mean(goodput, 2)}, {np.mean(delay):,.0f} ms"


def mean(values: list[float], digits: int) -> str:
    """The mean, and half of its interval (95 %) behind `±` unless that rounds to zero."""
    interval = statistics.student_interval(values)
    half = f"{interval.half_width:.{digits}f}"
    shown = f"{interval.mean:.{digits}f}"
    return f"{shown} ± {half}" if float(half) > 0 else shown


def table(networks: list[Network]) -> str:
    """The table as text."""
    lines = [
        "| Mbit/s, 95 % of the delays below | " + " | ".join(LAWS) + " |",
        "|---" * (len(LAWS) + 1) + "|",
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [[pool.submit(cell, network, law) for law in LAWS.values()] for network in networks]
        for network, cells in zip(networks, rows, strict=True):
            lines.append(f"| {network.title} | " + " | ".join(each.result() for each in cells) + " |")
            print(lines[-1], file=sys.stderr)
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, or writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write it into docs/losses.md")
    parser.add_argument("--only", metavar="WORD", default="", help="rows whose title has the word")
    given = parser.parse_args(arguments)
    rows = [network for network in NETWORKS if network.title.startswith(SHOWN) or not given.write]
    made = table([network for network in rows if given.only in network.title])
    if not given.write:
        print(made, end="")
        return 0
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + made + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
