"""A scenario: a TOML file or the same as a dict, with changes."""

from whimbrel._simulate.scenario import Scenario

__all__ = ["Scenario"]
