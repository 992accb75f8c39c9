"""Comparison of two results: what changed beyond chance.

`samples` reads results of any kind as samples by place and metric, `decide` compares them, `shown` prints
them and makes a page, `command` is `whimbrel compare`.
"""

from whimbrel.comparing.decide import Change, Comparison, Rules, compare
from whimbrel.comparing.samples import Samples, read

__all__ = ["Change", "Comparison", "Rules", "Samples", "compare", "read"]
