"""The report's page as HTML: pure functions from data to text.

The page is complete without a network and can be read without scripts: these add filters, charts that answer,
and the choice of light or dark.
"""

from whimbrel._show.page.document import render
from whimbrel._show.page.sections import Section, ShownTable

__all__ = ["Section", "ShownTable", "render"]
