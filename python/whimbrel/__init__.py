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
    from whimbrel._simulate.repairers import Repairer, RepairFeedback
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
    "RepairFeedback",
    "Repairer",
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
    "Campaign": "whimbrel._campaigns.campaign",
    "Case": "whimbrel._campaigns.campaign",
    "Comparison": "whimbrel._campaigns.outcomes",
    "Controller": "whimbrel._simulate.controllers",
    "Environment": "whimbrel._simulate.environment",
    "Feedback": "whimbrel._simulate.controllers",
    "HandoverPrediction": "whimbrel._simulate.handover",
    "Interval": "whimbrel._values.statistics",
    "Losses": "whimbrel._simulate.classification",
    "Outcome": "whimbrel._campaigns.outcomes",
    "Outcomes": "whimbrel._campaigns.outcomes",
    "Plot": "whimbrel._show.display",
    "Precision": "whimbrel._values.statistics",
    "RepairFeedback": "whimbrel._simulate.repairers",
    "Repairer": "whimbrel._simulate.repairers",
    "Reproduction": "whimbrel._reproduce.reproduction",
    "Result": "whimbrel._simulate.result",
    "Scenario": "whimbrel._simulate.scenario",
    "Table": "whimbrel._values.table",
    "WhimbrelError": "whimbrel.errors",
    "classify_losses": "whimbrel._simulate.classification",
    "drive": "whimbrel._simulate.controllers",
    "handover_model": "whimbrel._simulate.handover",
    "read_reproduction": "whimbrel._reproduce.reproduction",
    "reproduce_paper": "whimbrel._reproduce.reproduction",
    "run": "whimbrel._simulate.simulation",
}

__version__: str


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("whimbrel._base.compiled").version()
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
