#!/usr/bin/env python3
"""Draws docs/images/choose-NETWORK.svg, the figures of docs/choose.md.

Usage: whimbrel reproduce matrix --out OUT && scripts/choose_figures.py OUT

Each figure is a network of the paper `matrix`: the 95th percentile of the delay over the goodput, a mark per
scheme, alone and next to TCP CUBIC.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whimbrel.figures import schemes, svg_of
from whimbrel.papers.matrix.schemes import SCHEMES

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = {
    "droptail": "6 Mbit/s, a drop-tail queue of 300 ms",
    "dualpi2": "6 Mbit/s, DualPI2",
    "fq-codel": "6 Mbit/s, FQ-CoDel",
    "pie": "6 Mbit/s, PIE",
    "radio-half": "6 Mbit/s, 0.5 % random losses",
    "radio-two": "6 Mbit/s, 2 % random losses",
    "cell": "a cell of 802.11g",
}
"""The items that are drawn, and their titles."""
PANELS = {"nothing": "alone", "tcp-cubic": "next to TCP CUBIC"}
"""The columns of an item, in the order of the panels."""
KEYS = {scheme.title: key for key, scheme in SCHEMES.items()}
"""The rows of an item, and the key by which a scheme has its colour and marker in all figures."""


def points(path: Path) -> Iterator[dict[str, Any]]:
    """A point per scheme and panel: the item's means of goodput and delay."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if line["metric"] in ("rate", "delay") and line["column"] in PANELS:
                found.setdefault((line["row"], line["column"]), {})[line["metric"]] = float(line["ours"])
    for (row, column), numbers in found.items():
        if row in KEYS:
            yield {"scheme": row, "panel": PANELS[column], **numbers}


def spread(values: list[dict[str, Any]], low: float, high: float) -> None:
    """Gives each point of a panel the place of its label: the order of the delays, without overlap.

    Args:
        values: of one panel.
        low: least delay of the logarithmic axis.
        high: greatest one.
    """
    if not values:
        return
    step = math.log(high / low) / len(values)
    ordered = sorted(values, key=lambda point: (point["delay"], -point["rate"]))
    place = math.log(low)
    for number, point in enumerate(ordered):
        # As low as the labels below permit, and low enough for those above.
        place = max(place, math.log(point["delay"]) - step / 2)
        place = min(place, math.log(high) - step * (len(ordered) - number))
        point["label_delay"] = math.exp(place + step / 2)
        place += step


def chart(title: str, values: list[dict[str, Any]]) -> dict[str, Any]:
    """The panels of a network as Vega-Lite."""
    styles = dict(zip(KEYS, schemes(list(KEYS.values())), strict=True))
    best = max(values, key=lambda point: point["rate"] / point["delay"])
    text = (
        f"Delay over goodput of {len(styles)} congestion controls: {title}. Alone, {best['scheme']} has the "
        f"greatest quotient of both: {best['rate']:.1f} Mbit/s at {best['delay']:.0f} ms."
    )
    most = math.ceil(max(point["rate"] for point in values))
    low, high = 18, 1.15 * max(point["delay"] for point in values)
    for panel in PANELS.values():
        spread([point for point in values if point["panel"] == panel], low, high)
    domain = list(styles)
    delay = {"type": "quantitative", "scale": {"type": "log", "nice": False, "domain": [low, high]}}
    colour = {
        "field": "scheme",
        "type": "nominal",
        "scale": {"domain": domain, "range": [styles[name].colour for name in domain]},
        "legend": None,
    }
    shape = {
        "field": "scheme",
        "type": "nominal",
        "scale": {"domain": domain, "range": [styles[name].marker for name in domain]},
        "legend": None,
    }
    x = {
        "field": "rate",
        "type": "quantitative",
        "scale": {"domain": [0, 1.6 * most], "nice": False},
        "axis": {"values": list(range(most + 1)), "grid": True},
        "title": "goodput, Mbit/s",
    }
    y = {
        "field": "delay",
        **delay,
        "axis": {"values": [20, 30, 50, 100, 200, 300], "grid": True},
        "title": "delay, 95th percentile, ms",
    }
    label_y = {"field": "label_delay", **delay}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": text,
        "title": f"Delay over goodput: {title}",
        "data": {"values": values},
        "facet": {"column": {"field": "panel", "sort": list(PANELS.values()), "title": None}},
        "spec": {
            "width": 380,
            "height": 270,
            "layer": [
                {
                    "mark": {"type": "rule", "strokeWidth": 0.6, "opacity": 0.5},
                    "encoding": {"x": x, "y": y, "x2": {"datum": 1.1 * most}, "y2": label_y, "color": colour},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9},
                    "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
                },
                {
                    "mark": {"type": "text", "align": "left", "dx": 3, "fontSize": 10},
                    "encoding": {
                        "x": {"datum": 1.1 * most},
                        "y": label_y,
                        "text": {"field": "scheme"},
                        "color": colour,
                    },
                },
            ],
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the results of `whimbrel reproduce matrix`")
    given = parser.parse_args()
    for key, title in NETWORKS.items():
        values = list(points(given.out / "matrix" / f"{key}.csv"))
        if missing := set(KEYS) - {point["scheme"] for point in values}:
            parser.error(f"{key}.csv lacks {', '.join(sorted(missing))}: a quick pass has not all schemes")
        name = f"choose-{key}"
        (ROOT / "docs" / "images" / f"{name}.svg").write_text(
            svg_of(chart(title, values), name), encoding="utf-8"
        )
    print(f"figures of {len(NETWORKS)} networks: docs/images/choose-*.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
