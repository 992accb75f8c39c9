"""Sarwar, Lochin and Boreli 2011: a buffer that puts packets back in order before losses are counted."""

from __future__ import annotations

from whimbrel.paper import Paper
from whimbrel.papers.reorder import (
    beyond,
    claims_beyond,
    claims_buffer,
    claims_table1,
    efficiency,
    table1,
    video,
    voice,
)

PAPER = Paper(
    key="reorder",
    title="Mitigating the impact of packet reordering to maximize performance of multimedia applications",
    authors="Golam Sarwar, Emmanuel Lochin and Roksana Boreli",
    year=2011,
    about="A DCCP receiver declares overtaken packets lost, and the sender slows down. The paper puts a "
    "buffer before the receiver's loss detection, which restores the order within a delay that the "
    "application tolerates.",
    items=[*table1.ITEMS, *efficiency.ITEMS, voice.ITEM, video.ITEM, *beyond.ITEMS],
    claims=[*claims_table1.CLAIMS, *claims_buffer.CLAIMS, *claims_beyond.CLAIMS],
    headline=["table1", "table3"],
)
