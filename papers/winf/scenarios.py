"""Barreto: XCP and RCP with the capacity and the bandwidth that rt-Winf infers from RTS, CTS and ACK."""

from __future__ import annotations

from whimbrel.paper import Paper
from whimbrel.papers.winf import adhoc, building, handover, inference, mesh, repetitions, sets, signals

PAPER = Paper(
    key="winf",
    title="Advanced Wireless Congestion Control Techniques: XCP-Winf and RCP-Winf",
    authors="Luís Barreto",
    year=None,
    about="XCP and RCP need the capacity of a link, which a wireless medium does not have. The paper "
    "infers it at the MAC, from the times and the reservations of RTS, CTS and acknowledgements, "
    "and feeds it to both.",
    items=[
        *inference.ITEMS,
        *mesh.ITEMS,
        *adhoc.ITEMS,
        *building.ITEMS,
        repetitions.ITEM,
        *signals.ITEMS,
        *handover.ITEMS,
        *sets.ITEMS,
    ],
    claims=[
        *inference.CLAIMS,
        *mesh.CLAIMS,
        *adhoc.CLAIMS,
        *building.CLAIMS,
        *repetitions.CLAIMS,
        *signals.CLAIMS,
        *handover.CLAIMS,
    ],
    headline=["fig10"],
)
