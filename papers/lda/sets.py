"""The paper's claims under each consistent set of the open choices.

The RFCs decide the paper's open choices on TFRC and TCP everywhere else. Here all of them are decided as in
ns, at once (`topology.SETS`), and every claim that needs only Tables 2 and 3 and Figures 9, 10, 12 and 13 is
checked again. These claims count as ours, because the paper does not state its set. Side by side, from the
claims of a reproduction:

    whimbrel reproduce lda --out out
    python -m whimbrel.papers.lda.sets out/lda/claims.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from whimbrel import kinds, sets
from whimbrel.claims import Claim
from whimbrel.papers.lda import topology

USUAL = "rfc"
"""The set of all other items."""


def again(claims: Sequence[Claim], items: Sequence[str]) -> list[Claim]:
    """The claims that need only `items`, once more for each set of `topology.SETS`."""
    return [claim for name in topology.SETS for claim in sets.again(claims, name, items)]


if __name__ == "__main__":
    checked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    verdicts = sets.by_set(checked, list(topology.SETS), USUAL)
    kinds.show(Path(__file__).parent, verdicts, record="--record" in sys.argv)
