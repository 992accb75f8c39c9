"""Numbers for the paper's words, written down before the first full run; the same for every claim."""

from __future__ import annotations

MOST = 50.0
"""Per cent of what is sent: "UDP loses most of it"."""
FEW = 5.0
"""Per cent of what is sent: "a small amount of data"."""
FAIR = 2.0
"""Largest ratio of two throughputs that share "in a fair way"; of the printed ones it is 1.8."""
SAME = 0.10
"""Largest relative change that is not "considerable", not "significant", or "did not affect"."""
DENT = 0.05
"""Least relative drop of a throughput that "decreased", in the second after a hand-off."""
BRIEF_S = 5.0
"""Time after which a throughput has recovered from a hand-off."""
SOURCE = 90.0
"""Per cent of the lost packets: "data contention in the source"."""
LEAST = 0.01
"""Least relative difference of throughputs or loads one of which is "better" or "lowest".

A fifth of the error of 5 % that Section 3.6 allows each of them: no test of the authors could show less.
"""
