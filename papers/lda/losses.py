"""The wireless losses of paper `lda` (Section 5.2): three models of one radio, and their losses.

The paper's recorded error patterns are not published. A run here corresponds to their recording: packets of
381 bytes in a row over a radio of 150 kbit/s, without congestion control. README.md states what is known
about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from whimbrel.claims import Claim, Verdict, at_most, between, ordered, total
from whimbrel.paper import Item, Quick
from whimbrel.papers.lda import topology
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet, Value
from whimbrel.statistics import Precision

FRAME = 381
"""Bytes of a frame on the radio (Section 5.2)."""

NORMALISED_DOPPLER = 2.62e-4
"""Doppler shift times the duration of a code symbol (Section 5.2)."""

RADIOS: Mapping[str, Mapping[str, int]] = {
    "high": {"spreading_gain": 16, "interleaved": 2},
    "medium": {"spreading_gain": 16, "interleaved": 3},
    "low": {"spreading_gain": 32, "interleaved": 2},
}
"""Parameters that differ between the levels of loss (Table 1)."""

COLUMNS = ["run-length", "gilbert-elliott", "rayleigh", "rayleigh-762"]

TRIAL_S = 60
TRIALS = 20
"""Together the 1200 s of the paper's 100 trials of 12 s, in parts long enough for a histogram each."""

LENGTHS = 6
"""Runs of that many packets and more are counted together."""


def rayleigh(level: str, kilobits: float = topology.LAST_HOP, carried: int = FRAME) -> dict[str, Any]:
    """The fading radio of Section 5.2 on a link of that rate.

    Args:
        level: a key of `RADIOS`.
        kilobits: rate of the link in kbit/s. The channel changes with the frames, as in the paper, where the
            same pattern served links of all rates.
        carried: bytes of a link's packets represented by one frame. With the paper's 381 a packet of 762
            bytes takes two frames; with 762 a packet has the outcome recorded for one frame.
    """
    symbols = 16 * FRAME
    frame_s = 8 * carried / (1000 * kilobits)
    return {
        "model": "rayleigh",
        "doppler": f"{NORMALISED_DOPPLER * symbols / frame_s:.6g} Hz",
        "frame": f"{round(frame_s * 1e9)} ns",
        "frame_size": f"{carried} B",
        "symbols": symbols,
        **RADIOS[level],
    }


_DOPPLER_HZ = NORMALISED_DOPPLER * 16 * FRAME / (8 * FRAME / (1000 * topology.LAST_HOP))
"""Of frames of 381 bytes in a row on the last hop."""

_MODELS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "run-length": topology.runs,
    "gilbert-elliott": topology.gilbert_elliott,
    "rayleigh": rayleigh,
    "rayleigh-762": rayleigh,
}


def scenario(level: str, column: str) -> Scenario:
    """Packets in a row over one radio."""
    packet = topology.PACKET if column == "rayleigh-762" else FRAME
    rate = f"{topology.LAST_HOP} kbit/s"
    return Scenario(
        {
            "title": f"{level} loss, {column}",
            # The last packet needs a moment to arrive.
            "simulation": {"duration": f"{TRIAL_S + 1} s"},
            "record": {"packets": True},
            "node": [{"name": "base"}, {"name": "mobile"}],
            "link": [
                {
                    "name": "radio",
                    "between": ["base", "mobile"],
                    "rate": rate,
                    "delay": "10 ms",
                    "loss": _MODELS[column](level),
                }
            ],
            "flow": [
                {
                    "name": "pattern",
                    "from": "base",
                    "to": "mobile",
                    "transport": "udp",
                    "packet_size": f"{packet} B",
                    "traffic": {"kind": "cbr", "rate": rate},
                    "stop": f"{TRIAL_S} s",
                }
            ],
        }
    )


def pattern(result: Result) -> list[bool]:
    """Marks the lost packets, in the order of sending."""
    packets = result.packets
    order = np.argsort(packets["sent_s"], kind="stable")
    return [bool(lost) for lost in np.isnan(packets["received_s"])[order]]


def run_lengths(losses: list[bool], *, lost: bool) -> list[int]:
    """Lengths of the runs of lost (or of delivered) packets; a run that the trial's end cuts off counts."""
    return [len(list(run)) for verdict, run in groupby(losses) if verdict is lost]


def measure_loss(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """Table 1: the share of packets lost."""
    return {"loss": 100 * float(np.mean(pattern(result)))}


def measure_runs(result: Result, row: str, _column: str) -> Mapping[str, float]:
    """Figure 8: the share of runs with this length, among the runs of lost packets and of good ones."""
    losses, length = pattern(result), int(row)
    bad, good = run_lengths(losses, lost=True), run_lengths(losses, lost=False)
    capped = [min(run, LENGTHS) for run in bad]
    # A good run falls into the class of the largest length that does not exceed it.
    classes = [max(_GOOD[row] for row in _GOOD if _GOOD[row] <= run) for run in good]
    return {"bad": _share(capped, length), "good": _share(classes, _GOOD[row])}


_GOOD = {str(row): start for row, start in enumerate((1, 2, 5, 10, 20, 50), start=1)}
"""By row of Figure 8, the first length of its class of good runs."""


def _share(runs: list[int], length: int) -> float:
    return 100 * runs.count(length) / len(runs) if runs else math.nan


def _loss(sheets: Mapping[str, Sheet], level: str) -> Value:
    return replace(sheets["table1"].value("rayleigh", "loss", level), name=f"{level} loss")


def _longer_than_two(sheets: Mapping[str, Sheet]) -> Verdict:
    rows = [sheets["fig8"].value("rayleigh", "bad", str(row)) for row in range(3, LENGTHS + 1)]
    return at_most(total(rows, "3 and more"), 5.0)


CHOICES: Mapping[str, tuple[str, ...]] = {
    "as elsewhere": (),
    "interleaver of six": ("link.0.loss.interleaved=6",),
    "three times the Doppler shift": (f"link.0.loss.doppler={3 * _DOPPLER_HZ:.6g} Hz",),
    "two users": ("link.0.loss.users=2",),
}
"""One parameter of the radio changed in all levels."""


def _choice_scenario(level: str, column: str) -> Scenario:
    plain = scenario(level, "rayleigh")
    return plain.changed(*CHOICES[column]) if CHOICES[column] else plain


ITEMS = [
    Item(
        key="table1",
        title="Packets lost on the radio",
        source="Table 1",
        rows=list(RADIOS),
        columns=COLUMNS,
        metrics=[Metric("loss", "%", "Packet loss rate", 2, title="Packet loss rate of the radio")],
        scenario=scenario,
        measure=measure_loss,
        precision=Precision.exactly(TRIALS),
        quick=Quick(precision=Precision.exactly(8)),
        row_label="Loss",
        column_label="Model",
        note="Packets of 381 bytes in a row at 150 kbit/s; in the last column of 762 bytes, which take two "
        "frames each. The loss of the first two models is set; the Rayleigh channel is calibrated on high "
        "loss.",
    ),
    Item(
        key="table1-choices",
        title="Packets lost on the radio, one parameter changed in all levels",
        source="not in the paper",
        rows=list(RADIOS),
        columns=list(CHOICES),
        metrics=[Metric("loss", "%", "Packet loss rate", 2, title="Packet loss rate of the radio")],
        scenario=_choice_scenario,
        measure=lambda result, level, _column: measure_loss(result, level, "rayleigh"),
        precision=Precision.exactly(TRIALS),
        quick=Quick(precision=Precision.exactly(4), by_name=True),
        is_drawn=False,
        row_label="Loss",
        column_label="Change",
        note="The paper has 7.8, 3.1 and 1.0 %.",
    ),
    Item(
        key="fig8",
        title="Lengths of loss runs and of good runs, high loss",
        source="Figure 8",
        rows=[str(length) for length in range(1, LENGTHS + 1)],
        columns=COLUMNS,
        metrics=[
            Metric("bad", "%", "Loss runs", title="Share of the loss runs"),
            Metric("good", "%", "Good runs", title="Share of the good runs"),
        ],
        scenario=lambda _row, column: scenario("high", column),
        measure=measure_runs,
        precision=Precision.exactly(TRIALS),
        quick=Quick(precision=Precision.exactly(8)),
        row_label="Packets",
        column_label="Model",
        note="Loss runs of 1 to 5 packets and of 6 and more. Good runs in classes: 1; 2 to 4; 5 to 9; 10 to "
        "19; 20 to 49; 50 and more. The paper's text gives one bar of its figure: about a quarter are two "
        "packets long.",
    ),
]

CLAIMS = [
    Claim(
        "loss-levels",
        "The three radios differ in loss: high, medium and low.",
        ("table1",),
        lambda sheets: ordered(*(_loss(sheets, level) for level in ("low", "medium", "high"))),
        "Table 1",
    ),
    Claim(
        "medium-loss",
        "Interleaving three packets instead of two brings the loss down to 3.1 %, give or take a fifth.",
        ("table1",),
        lambda sheets: between(_loss(sheets, "medium"), 0.8 * 3.1, 1.2 * 3.1),
        "Table 1",
    ),
    Claim(
        "low-loss",
        "Doubling the spreading gain brings the loss down to 1.0 %, give or take a fifth.",
        ("table1",),
        lambda sheets: between(_loss(sheets, "low"), 0.8 * 1.0, 1.2 * 1.0),
        "Table 1",
    ),
    Claim(
        "runs-of-two",
        "About one quarter of the wireless loss events involve two packets in a row.",
        ("fig8",),
        lambda sheets: between(sheets["fig8"].value("rayleigh", "bad", "2"), 20.0, 30.0),
        "Figure 8, Section 6.4",
    ),
    Claim(
        "few-long-runs",
        "Very few wireless losses involve more than two packets.",
        ("fig8",),
        _longer_than_two,
        "Section 6.4",
    ),
]
