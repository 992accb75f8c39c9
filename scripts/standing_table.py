#!/usr/bin/env python3
"""Makes the table of docs/losses.md, "A standing queue": bulk data over CCID 3 with classifiers, next to TCP.

Usage: scripts/standing_table.py [--write]

Without `--write` the table is printed. Each cell has the means of two simulated runs.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import whimbrel

PAGE = Path(__file__).resolve().parent.parent / "docs/losses.md"
BEGIN, END = "<!-- standing -->\n", "<!-- end of standing -->"
CLASSIFIERS = {"no classifier": "none", "`spike`": "spike", "`standing`": "standing"}
SEEDS = (1, 2)
SHORT, LONG = {"queue": "4 packets"}, {"queue": "50 packets"}


def _random(share: str) -> dict[str, Any]:
    return {**LONG, "loss": {"model": "bernoulli", "rate": share}}


ROWS: dict[str, tuple[dict[str, Any], int]] = {
    "CoDel, 1 TCP": ({"discipline": {"kind": "codel"}}, 1),
    "RED, 1 TCP": ({"discipline": {"kind": "red"}}, 1),
    "PIE, 1 TCP": ({"discipline": {"kind": "pie"}}, 1),
    "CoDel, 4 TCPs": ({"discipline": {"kind": "codel"}}, 4),
    "drop-tail, 4 packets, 1 TCP": (SHORT, 1),
    "drop-tail, 50 packets, 3 % lost at random, 1 TCP": (_random("3 %"), 1),
    "the same alone": (_random("3 %"), 0),
    "the same alone, 8 % lost": (_random("8 %"), 0),
}
"""The link's queue and losses, and the number of TCPs, by the title of a row."""


def scenario(link: dict[str, Any], classifier: str, others: int) -> dict[str, Any]:
    """The flow, and TCPs that begin within the first second."""
    ends = {"from": "a", "to": "b", "start_jitter": "1 s"}
    tcp = {**ends, "transport": "tcp", "tcp": {"preset": "linux", "congestion": "cubic"}}
    return {
        "simulation": {"duration": "70 s", "warm_up": "10 s"},
        "node": [{"name": "a"}, {"name": "b"}],
        "link": [{"name": "link", "between": ["a", "b"], "rate": "4 Mbit/s", "delay": "20 ms", **link}],
        "flow": [
            {**ends, "name": "bulk", "transport": "dccp", "ccid": 3, "classifier": classifier},
            *({**tcp, "name": f"tcp{n}"} for n in range(others)),
        ],
    }


def cell(link: dict[str, Any], classifier: str, others: int) -> str:
    """Goodput of the flow, and of all TCPs, in Mbit/s."""
    results = [whimbrel.run(scenario(link, classifier, others), seed=seed) for seed in SEEDS]

    def goodput(names: list[str]) -> str:
        sums = [sum(float(each.flows.one("goodput_bps", flow=name)) for name in names) for each in results]
        return f"{mean(sums) / 1e6:.2f}"

    own = goodput(["bulk"])
    return f"{own}, {goodput([f'tcp{n}' for n in range(others)])}" if others else own


def table() -> str:
    """The table as text."""
    lines = ["| | " + " | ".join(CLASSIFIERS) + " |", "|---" * (len(CLASSIFIERS) + 1) + "|"]
    with ThreadPoolExecutor(2) as pool:
        for title, (link, others) in ROWS.items():
            keys = CLASSIFIERS.values()
            cells = pool.map(lambda key, link=link, others=others: cell(link, key, others), keys)
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, or writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write it into docs/losses.md")
    given = parser.parse_args(arguments)
    made = table()
    if not given.write:
        print(made, end="")
        return 0
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + made + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
