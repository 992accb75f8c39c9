"""A quick pass of every paper: its claims come out as its README says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Paper to the items judged here (none: all of a quick pass) and the claims that are known not to hold;
# papers/KEY/README.md says why.
KNOWN: dict[str, tuple[list[str], set[str]]] = {
    "freeze": (
        [],
        {
            "walk-capacity",
            "walk-adapts-faster",
            "walk-tfrc-minimum",
            "walk-no-oscillation",
            "adjacent-restored",
            "losses-upper-bound",
            "waste-lower-bound",
            "larger-wastes-more",
            "freeze-wastes-less",
            "two-cells-waste-more",
            "underuse-greatly-reduced",
            "not-too-greedy",
            "even-too-fair",
            "tfrc-too-fair-as-well",
            "no-greedier-than-tfrc",
        },
    ),
    "lda": (
        [],
        {
            "omniscient-gain",
            "medium-loss",
            "low-loss",
            "biaz-congests",
            "biaz-twice-omniscient",
            "biaz-congests-most",
            "others-congest-less",
            "wlh-biaz-m-c",
            "wlh-mbiaz-m-w",
            "wlh-spike-errs",
            "wlh-zigzag-second",
            "wb-unaware-ten",
            "narr-misleads-zbs",
            "two-hybrids-m-c-wlh",
            "two-hybrids-congestion-wlh",
        },
    ),
    "reorder": (
        [],
        {
            "ler-rises-delayed",
            "reordering-costs",
            "rates-printed",
            "ler-printed",
            "small-at-two",
            "seven-substantial",
            "rtt-amplifies",
            "jitter-alike",
            "gaps-alike",
            "table3-rates",
            "beyond-order-first-tcp",
        },
    ),
}


def test_every_paper_is_checked() -> None:
    assert {path.parent.name for path in ROOT.glob("papers/*/scenarios.py")} == set(KNOWN)


@pytest.mark.parametrize("paper", KNOWN)
def test_claims_come_out_as_documented(paper: str, tmp_path: Path) -> None:
    items, failing = KNOWN[paper]
    command = [
        sys.executable,
        "-m",
        "whimbrel",
        "reproduce",
        paper,
        *items,
        "--quick",
        "--out",
        str(tmp_path),
    ]
    subprocess.run(command, check=True, timeout=1200, cwd=ROOT)
    claims = json.loads((tmp_path / paper / "claims.json").read_text())
    assert claims
    assert {claim["id"] for claim in claims if not claim["holds"]} == failing
    assert all(claim["evidence"] for claim in claims)
    text = (ROOT / "papers" / paper / "README.md").read_text()
    for claim in failing:
        assert claim in text, f"papers/{paper}/README.md does not explain why {claim} fails"
