"""Claims checked under other readings of a paper's open choices, and comparison of the verdicts.

An item `KEY-NAME` is the item `KEY` under the reading `NAME`; a claim `NAME:ID` is the claim `ID` checked by
such items. It counts as ours, because the paper does not state its reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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


def side_by_side(both: Verdicts) -> str:
    """Count of claims that hold under each reading, and the claims whose verdicts differ."""
    every = list(next(iter(both.values()), {}))
    lines = [f"{len(both)} claims under {len(every)} sets of the open choices"]
    for name in every:
        count = Counter(found[name] for found in both.values())
        lines.append(f"{name:>25}: " + ", ".join(f"{count[word]} {word}" for word in sorted(count)))
    different = {key: found for key, found in both.items() if len(set(found.values())) > 1}
    width = max(map(len, different), default=0)
    lines += [f"{key:<{width}}  " + ", ".join(f"{n}: {f[n]}" for n in every) for key, f in different.items()]
    return "\n".join(lines)


def _word(holds: object) -> str:
    return UNDECIDED if holds is None else HOLDS if holds else FAILS
