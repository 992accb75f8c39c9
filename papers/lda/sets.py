"""The paper's claims under each consistent set of the open choices.

What the paper leaves open about TFRC and TCP is decided by the RFCs everywhere else. Here all of it is
decided as ns had it, at once (`topology.SETS`), and every claim that needs nothing but Tables 2 and 3 and
Figures 9, 10, 12 and 13 is judged again. These claims count as ours, as the paper does not say which set it
is. Side by side, from the claims of a reproduction:

    whimbrel reproduce lda --out out
    python -m whimbrel.papers.lda.sets out/lda/claims.json
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whimbrel.claims import Claim, Verdict
from whimbrel.papers.lda import topology
from whimbrel.sheet import Sheet

USUAL = "rfc"
"""The set of all other items."""


def again(claims: Sequence[Claim], items: Sequence[str]) -> list[Claim]:
    """The claims that need only `items`, once more for each set of `topology.SETS`."""
    return [
        _under(claim, name) for name in topology.SETS for claim in claims if set(claim.items) <= set(items)
    ]


def _under(claim: Claim, name: str) -> Claim:
    def judge(sheets: Mapping[str, Sheet]) -> Verdict:
        return claim.judge({item: sheets[f"{item}-{name}"] for item in claim.items})

    return replace(
        claim,
        id=f"{name}:{claim.id}",
        claim=f"As {name}: {claim.claim}",
        items=tuple(f"{item}-{name}" for item in claim.items),
        judge=judge,
        where="",
    )


def side_by_side(claims: Sequence[Mapping[str, object]]) -> str:
    """How many claims hold under each set, and which have not the same verdict under all.

    Args:
        claims: as in `claims.json`.
    """
    verdicts: dict[str, dict[str, str]] = {}
    for claim in claims:
        name, _, key = str(claim["id"]).rpartition(":")
        verdicts.setdefault(key, {})[name or USUAL] = _word(claim["holds"])
    names = [USUAL, *topology.SETS]
    both = {key: found for key, found in verdicts.items() if set(names) <= set(found)}
    lines = [f"{len(both)} claims under {len(names)} sets of the open choices"]
    for name in names:
        count = Counter(found[name] for found in both.values())
        lines.append(f"{name:>12}: " + ", ".join(f"{count[word]} {word}" for word in sorted(count)))
    different = {key: found for key, found in both.items() if len(set(found.values())) > 1}
    width = max(map(len, different), default=0)
    lines += [f"{key:<{width}}  " + ", ".join(f"{n}: {f[n]}" for n in names) for key, f in different.items()]
    return "\n".join(lines)


def _word(holds: object) -> str:
    return "undecided" if holds is None else "holds" if holds else "fails"


if __name__ == "__main__":
    print(side_by_side(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
