"""Whimbrel: congestion-controlled datagrams for live media, and a laboratory to evaluate them.

    import whimbrel

    result = whimbrel.run("scenario.toml", seed=1, overrides=["link.radio.rate=2Mbit/s"])
    result.flows.to_pandas()

Names are imported on first use, so `import whimbrel` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whimbrel._campaigns.campaign import Campaign, Case
    from whimbrel._campaigns.outcomes import Comparison, Outcome, Outcomes
    from whimbrel._reproduce.reproduction import Reproduction, read_reproduction, reproduce_paper
    from whimbrel._show.display import Plot
    from whimbrel._simulate.classification import Losses, classify_losses
    from whimbrel._simulate.controllers import Controller, Feedback, drive
    from whimbrel._simulate.environment import Environment
    from whimbrel._simulate.handover import HandoverPrediction, handover_model
    from whimbrel._simulate.result import Result
    from whimbrel._simulate.scenario import Scenario
    from whimbrel._simulate.simulation import run
    from whimbrel._values.statistics import Interval, Precision
    from whimbrel._values.table import Table
    from whimbrel.errors import WhimbrelError

__all__ = [
    "Campaign",
    "Case",
    "Comparison",
    "Controller",
    "Environment",
    "Feedback",
    "HandoverPrediction",
    "Interval",
    "Losses",
    "Outcome",
    "Outcomes",
    "Plot",
    "Precision",
    "Reproduction",
    "Result",
    "Scenario",
    "Table",
    "WhimbrelError",
    "__version__",
    "classify_losses",
    "drive",
    "handover_model",
    "read_reproduction",
    "reproduce_paper",
    "run",
]

_HOMES = {
    "Campaign": "_campaigns.campaign",
    "Case": "_campaigns.campaign",
    "Comparison": "_campaigns.outcomes",
    "Controller": "_simulate.controllers",
    "Environment": "_simulate.environment",
    "Feedback": "_simulate.controllers",
    "HandoverPrediction": "_simulate.handover",
    "Interval": "_values.statistics",
    "Losses": "_simulate.classification",
    "Outcome": "_campaigns.outcomes",
    "Outcomes": "_campaigns.outcomes",
    "Plot": "_show.display",
    "Precision": "_values.statistics",
    "Reproduction": "_reproduce.reproduction",
    "Result": "_simulate.result",
    "Scenario": "_simulate.scenario",
    "Table": "_values.table",
    "WhimbrelError": "errors",
    "classify_losses": "_simulate.classification",
    "drive": "_simulate.controllers",
    "handover_model": "_simulate.handover",
    "read_reproduction": "_reproduce.reproduction",
    "reproduce_paper": "_reproduce.reproduction",
    "run": "_simulate.simulation",
}

__version__: str


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("whimbrel._base.compiled").version()
    if name in _HOMES:
        return getattr(importlib.import_module(f"whimbrel.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
