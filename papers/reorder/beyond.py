"""Experiments beyond the paper: other paths, other sizes, other ways to distinguish reordering from loss."""

from __future__ import annotations

from whimbrel.papers.reorder import (
    beyond_layer2,
    beyond_loss,
    beyond_mechanisms,
    beyond_order,
    beyond_playout,
    beyond_rack,
    beyond_recorded,
    beyond_size,
    beyond_tcp,
    beyond_wireless,
)

ITEMS = [
    beyond_order.ITEM,
    beyond_mechanisms.ITEM,
    beyond_size.ITEM,
    *beyond_rack.ITEMS,
    beyond_tcp.ITEM,
    *beyond_wireless.ITEMS,
    beyond_playout.ITEM,
    beyond_loss.ITEM,
    beyond_layer2.ITEM,
    *beyond_recorded.ITEMS,
]
