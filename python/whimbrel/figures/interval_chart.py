"""A chart of intervals that come without samples, such as ratios of two means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from whimbrel._values.sheet import UNBOUNDED
from whimbrel._values.statistics import Interval
from whimbrel.figures import axes, chart_text
from whimbrel.figures.charts import Chart
from whimbrel.figures.schemes import schemes

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def intervals(
    title: str,
    data: Mapping[str, Interval],
    x_title: str,
    *,
    subtitle: Sequence[str] = (),
    reference: float | None = None,
) -> Chart:
    """A line per interval: the mean as a dot on it; an unbounded interval ends at the edges of the chart.

    Args:
        title: above the chart.
        data: key of the scheme or any name to its interval.
        x_title: with its unit.
        subtitle: below the title.
        reference: position of a vertical line, such as the ratio of equals.
    """
    listed = schemes(list(data))
    finite = [
        bound for each in data.values() for bound in (each.mean, each.low, each.high) if math.isfinite(bound)
    ]
    scale = axes.value_scale([*finite, *([] if reference is None else [reference])], UNBOUNDED)
    low, high = scale.get("domain", (0.0, 1.0))
    values = [
        {
            "name": scheme.name,
            "mean": each.mean,
            "low": max(each.low, low) if not math.isnan(each.low) else each.mean,
            "high": min(each.high, high) if not math.isnan(each.high) else each.mean,
        }
        for scheme, each in zip(listed, data.values(), strict=True)
    ]
    x: dict[str, Any] = {"type": "quantitative", "title": x_title, "scale": scale}
    colour = {
        "field": "name",
        "type": "nominal",
        "legend": None,
        "scale": {
            "domain": [scheme.name for scheme in listed],
            "range": [scheme.colour for scheme in listed],
        },
    }
    y = {"field": "name", "type": "nominal", "sort": [scheme.name for scheme in listed], "title": None}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"y": y, "x": {"field": "mean", **x}, "color": colour},
        },
    ]
    if reference is not None:
        rule = {"type": "rule", "style": "event", "strokeDash": [4, 3], "strokeWidth": 1.25}
        layers.insert(0, {"mark": rule, "encoding": {"x": {"datum": reference, "type": "quantitative"}}})
    described = "; ".join(
        f"{value['name']}: {value['mean']:.3g} ({value['low']:.3g} to {value['high']:.3g})"
        for value in values
    )
    return {
        "$schema": _SCHEMA,
        "title": chart_text.titled(title, subtitle),
        "description": f"Dot chart. {title}. {described}.",
        "width": 560,
        "height": max(70, 24 * len(values)),
        "data": {"values": values},
        "layer": layers,
    }
