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
    from whimbrel.campaign import Campaign, Case, Outcome
    from whimbrel.classification import Losses, classify_losses
    from whimbrel.controllers import Controller, Feedback, drive
    from whimbrel.display import Plot
    from whimbrel.environment import Environment
    from whimbrel.errors import WhimbrelError
    from whimbrel.handover import HandoverPrediction, handover_model
    from whimbrel.outcomes import Comparison, Outcomes
    from whimbrel.reproduction import Reproduction, read_reproduction, reproduce_paper
    from whimbrel.result import Result, Table
    from whimbrel.scenario import Scenario
    from whimbrel.simulation import run
    from whimbrel.statistics import Interval, Precision

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
    "Campaign": "campaign",
    "Case": "campaign",
    "Comparison": "outcomes",
    "Controller": "controllers",
    "Environment": "environment",
    "Feedback": "controllers",
    "HandoverPrediction": "handover",
    "Interval": "statistics",
    "Losses": "classification",
    "Outcome": "campaign",
    "Outcomes": "outcomes",
    "Plot": "display",
    "Precision": "statistics",
    "Reproduction": "reproduction",
    "Result": "result",
    "Scenario": "scenario",
    "Table": "result",
    "WhimbrelError": "errors",
    "classify_losses": "classification",
    "drive": "controllers",
    "handover_model": "handover",
    "read_reproduction": "reproduction",
    "reproduce_paper": "reproduction",
    "run": "simulation",
}

__version__: str


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("whimbrel.simulation").version()
    if name in _HOMES:
        return getattr(importlib.import_module(f"whimbrel.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
