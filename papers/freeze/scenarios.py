"""Mehani, Boreli, Jourjon and Ernst: TFRC over heterogeneous handovers, and Freeze-DCCP/TFRC."""

from __future__ import annotations

from whimbrel.paper import Paper
from whimbrel.papers.freeze import (
    causes,
    cell,
    claims_cell,
    claims_freeze,
    claims_model,
    claims_walk,
    fairness,
    gap,
    handovers,
    model,
    moving,
    moving_air,
    others,
    restart_rules,
    rtt_option,
    schemes,
    stationary,
    walk,
    walk_recorded,
    wider,
)

_FIG3 = moving.item(
    "fig3",
    "Between adjacent Wi-Fi networks",
    "Figure 3",
    moving.ADJACENT,
    (*schemes.PAPERS, schemes.TIMER),
)

PAPER = Paper(
    key="freeze",
    title="Rate control adaptation for heterogeneous handovers",
    authors="Olivier Mehani, Roksana Boreli, Guillaume Jourjon and Thierry Ernst",
    year=2011,
    about="A handover interrupts a TFRC flow, which then needs long to find its rate on the new network. "
    "The paper models the cost, and lets the sender freeze before the interruption, restore its rate "
    "after it and probe for more.",
    items=[
        _FIG3,
        moving.item(
            "fig4",
            "Between Wi-Fi networks that are apart",
            "Figure 4",
            moving.APART,
            (*schemes.PAPERS, schemes.TIMER),
        ),
        moving.curve(
            "fig3-curve",
            "The rate on the way through adjacent Wi-Fi networks",
            "Figure 3",
            schemes.PAPERS,
            is_adjacent=True,
        ),
        moving.curve(
            "fig4-curve",
            "The rate on the way between Wi-Fi networks that are apart",
            "Figure 4",
            schemes.PAPERS,
            is_adjacent=False,
        ),
        moving_air.FIG3,
        moving_air.FIG4,
        *moving_air.CURVES,
        stationary.ITEM,
        gap.ITEM,
        model.ITEM,
        handovers.TABLE,
        handovers.RIVALS,
        handovers.PHASES,
        handovers.SLOW,
        rtt_option.again(_FIG3, 10),
        rtt_option.again(handovers.TABLE, 8),
        *(handovers.curve(pair, schemes.PAPERS) for pair in handovers.EXAMPLES),
        fairness.table(schemes.PAPERS),
        fairness.SETTLING,
        *walk.ITEMS,
        *walk_recorded.ITEMS,
        others.ITEM,
        restart_rules.ITEM,
        wider.ITEM,
        cell.ITEM,
        causes.ITEM,
    ],
    claims=[*claims_model.CLAIMS, *claims_freeze.CLAIMS, *claims_walk.CLAIMS, *claims_cell.CLAIMS],
    headline=["table3", "table4"],
)
