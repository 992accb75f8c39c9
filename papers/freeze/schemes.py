"""The senders in a handover: TFRC, Freeze as in the paper, and rivals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.papers.freeze import networks

PAPERS = ("tfrc", "freeze")
"""The schemes of the paper."""

RIVALS = ("authors", "following", "capped", "careful", "faster")
"""Freeze by the rule of the authors' Linux code; Freeze that probes until the receive rate no longer follows;
the same, with a quarter of the rate restored; Freeze that restarts as Careful Resume does; TFRC with Faster
Restart, without notice."""

ALL = (*PAPERS, *RIVALS)

TIMER = "timer"
"""TFRC whose receiver has a feedback timer, as in RFC 5348 and not in ns-2's DCCP."""

RESTART: Mapping[str, Mapping[str, str]] = {
    "freeze": {"restart": "loss-rate"},
    "authors": {"restart": "authors-code"},
    "following": {"restart": "following"},
    "capped": {"restart": "following", "restore_share": "25 %"},
    "careful": {"restart": "careful-resume"},
}
"""Restart rules of the schemes with notice."""

UNFREEZE_AFTER = "0.1 ms"
"""Section 5.1."""


def flow(scheme: str, name: str = "flow") -> dict[str, Any]:
    """A flow of that scheme."""
    made = networks.flow(name)
    if scheme == TIMER:
        made["dccp"]["feedback_timer"] = True
    elif scheme == "faster":
        made["dccp"]["faster_restart"] = True
    elif scheme in RESTART:
        made["dccp"]["freeze"] = dict(RESTART[scheme])
    return made


def warned(scheme: str, old: str) -> dict[str, Any]:
    """Further keys of a handover from a network: frozen one R before, unfrozen just after (Section 5.1)."""
    if scheme not in RESTART:
        return {}
    lead = f"{1e3 * networks.SEEN[old].rtt:g} ms"
    return {"freeze": {"flows": ["flow"], "lead": lead, "lag": UNFREEZE_AFTER}}
