"""A paper as its folder's `scenarios.py` declares it: its items, and their quick form."""

from whimbrel._reproduce.paper import Derived, Expected, Item, Paper, Quick

__all__ = ["Derived", "Expected", "Item", "Paper", "Quick"]
