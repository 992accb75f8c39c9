"""Sales and others: TCP, UDP and DCCP of Internet Tablets that change access points."""

from __future__ import annotations

from whimbrel.paper import Paper
from whimbrel.papers.confront import (
    beds,
    claims,
    claims_handoff,
    costs,
    features,
    first_flow,
    over_time,
    precision,
    sets,
    tables,
    voip,
)

PAPER = Paper(
    key="confront",
    title="Measuring DCCP for Linux against TCP and UDP With Wireless Mobile Devices",
    authors="Leandro Melo de Sales, Hyggo Oliveira, Angelo Perkusich and Arnaldo Carvalho de Melo",
    year=2008,
    about="TCP Reno, Cubic and Veno, UDP, and DCCP with CCIDs 2 and 3 against each other, two by two, on "
    "802.11g with hand-offs. The senders are tablets whose processors limit what they send.",
    items=[
        features.ITEM,
        *tables.ITEMS,
        *precision.ITEMS,
        *over_time.ITEMS,
        voip.ITEM,
        *beds.ITEMS,
        *costs.ITEMS,
        *first_flow.ITEMS,
        *sets.ITEMS,
    ],
    claims=[features.CLAIM, *claims.CLAIMS, *claims_handoff.CLAIMS, *beds.CLAIMS],
    headline=["table3"],
)
