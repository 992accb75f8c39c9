"""Claims checked under other readings of a paper's open choices, and comparison of the verdicts.

An item `KEY-NAME` is the item `KEY` under the reading `NAME`; a claim `NAME:ID` is the claim `ID` checked by
such items. It counts as ours, because the paper does not state its reading.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from whimbrel._reproduce.claims import FAILS, HOLDS, UNDECIDED, Claim, Verdict, Verdicts
from whimbrel._show.sheet import Sheet


def again(
    claims: Sequence[Claim], name: str, items: Collection[str], shared: Collection[str] = ()
) -> list[Claim]:
    """The claims that can be checked under a reading, with its items.

    Args:
        claims: of the paper.
        name: of the reading.
        items: keys of the items that exist under it, without its name.
        shared: keys of items that do not change under it.
    """
    return [
        _under(claim, name, items)
        for claim in claims
        if set(claim.items) <= {*items, *shared} and not set(claim.items) <= set(shared)
    ]


def _under(claim: Claim, name: str, items: Collection[str]) -> Claim:
    keys = {item: f"{item}-{name}" if item in items else item for item in claim.items}

    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        return claim.check({item: sheets[key] for item, key in keys.items()})

    return replace(
        claim,
        id=f"{name}:{claim.id}",
        claim=f"As {name}: {claim.claim}",
        items=tuple(keys.values()),
        check=check,
        where="",
    )


def by_set(claims: Sequence[Mapping[str, object]], names: Sequence[str], usual: str) -> Verdicts:
    """The verdicts of the claims that were checked under every reading.

    Args:
        claims: as in `claims.json`.
        names: of the other readings.
        usual: name of the reading of all other items.
    """
    verdicts: dict[str, dict[str, str]] = {}
    for claim in claims:
        name, _, key = str(claim["id"]).rpartition(":")
        verdicts.setdefault(key, {})[name or usual] = _word(claim["holds"])
    return {key: found for key, found in verdicts.items() if {usual, *names} <= set(found)}


def under_each(
    claims: Sequence[Claim],
    items: Collection[str],
    names: Sequence[str],
    sheets: Callable[[str], Mapping[str, Sheet]],
) -> Verdicts:
    """The verdicts of the paper's claims that need these items alone, under each set.

    Args:
        claims: of the paper.
        items: that were reproduced under each set.
        names: of the sets.
        sheets: gives the sheets of a set by item.
    """
    chosen = [claim for claim in claims if claim.where and set(claim.items) <= set(items)]
    made = {name: sheets(name) for name in names}
    return {claim.id: {name: claim.check(made[name]).word for name in names} for claim in chosen}


def _word(holds: object) -> str:
    return UNDECIDED if holds is None else HOLDS if holds else FAILS
