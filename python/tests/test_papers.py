"""A quick pass of every paper: only claims with an explanation may be refuted."""

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from whimbrel._reproduce import paper, reasons
from whimbrel._reproduce.evaluation import measured
from whimbrel._simulate import simulation

ROOT = Path(__file__).parents[2]

# Claims that the smaller form of an experiment refutes though the full one does not, with the reason.
ONLY_QUICK: dict[str, dict[str, str]] = {
    "confront": {},
    "freeze": {},
    "lda": {},
    "matrix": {},
    "reorder": {},
    "repair": {},
    # With 4 and 16 flows in 20 s their largest window limits XCP and XCP-Winf alike: the runs are identical.
    "winf": {
        f"fig12-{metric}-xcp-winf-xcp": "identical runs"
        for metric in ("received", "lost", "throughput", "goodput")
    },
}

# A quick pass decides at least this share of a paper's claims; otherwise it would test nothing.
DECIDED = 0.5


def test_every_paper_is_checked() -> None:
    assert {path.parent.name for path in ROOT.glob("papers/*/scenarios.py")} == set(ONLY_QUICK)


# The items of the other papers take minutes.
@pytest.mark.parametrize("key", ["freeze", "lda", "matrix", "reorder"])
def test_items_that_a_quick_pass_leaves_out_measure_what_they_declare(key: str) -> None:
    for item in paper.load(key).items:
        if item.quick.by_name and item.run is None:
            row, column = next(cell for cell in product(*item.axes(quick=True)) if item.has(*cell))
            result = simulation.run(item.scenario_of(row, column, quick=True))
            measured(item, result, row, column)


@pytest.mark.parametrize("key", ONLY_QUICK)
def test_no_claim_is_refuted_without_a_reason(key: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "whimbrel", "reproduce", key, "--quick", "--out", str(tmp_path)]
    subprocess.run(command, check=True, timeout=1200, cwd=ROOT)
    claims = json.loads((tmp_path / key / "claims.json").read_text())
    assert all(claim["quick"] and claim["evidence"] for claim in claims)
    explained = {claim.id for claim in paper.load(key).claims if claim.reason}
    refuted = {claim["id"] for claim in claims if claim["holds"] is False}
    held = {claim["id"] for claim in claims if claim["holds"]}
    assert refuted - explained == set(ONLY_QUICK[key])
    # A reason for a claim that holds is out of date.
    assert held & explained == set()
    counts = Counter(claim["verdict"] for claim in claims)
    print(
        f"{key}, quick pass: {dict(counts)}; undecided: "
        f"{[claim['id'] for claim in claims if claim['holds'] is None]}"
    )
    assert counts["undecided"] <= (1 - DECIDED) * len(claims)


@pytest.mark.parametrize("key", ONLY_QUICK)
def test_the_readme_counts_the_claims_and_has_the_place_of_the_reasons(key: str) -> None:
    loaded = paper.load(key)
    text = (ROOT / "papers" / key / "README.md").read_text(encoding="utf-8")
    assert text.count(reasons.MARK) == 1
    sources = Counter(claim.source for claim in loaded.claims)
    counted = re.search(
        r"Of (?:(\d+) claims of the paper and )?(\d+) (?:claims )?of ours, (\d+) do not hold",
        text,
    )
    assert counted is not None
    found = [int(number or 0) for number in counted.groups()]
    explained = sum(1 for claim in loaded.claims if claim.reason)
    assert found == [sources["paper"], sources["ours"], explained]


@pytest.mark.parametrize("key", [key for key in ONLY_QUICK if key != "repair"])
def test_the_verdicts_of_the_readme_are_those_of_the_reasons(key: str) -> None:
    text = (ROOT / "papers" / key / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+): .* \| (holds|not confirmed) \|$", text, re.MULTILINE)
    shown = {claim: verdict for claims, verdict in rows for claim in re.findall(r"`([\w-]+)`", claims)}
    assert len(rows) >= 4
    reasons_of = {claim.id: claim.reason for claim in paper.load(key).claims}
    assert shown == {claim: "not confirmed" if reasons_of[claim] else "holds" for claim in shown}


def test_claims_with_the_same_reason_share_a_row() -> None:
    shown = reasons.table({"a": "Chance.", "b": "As `a`.", "c": "Chance."})
    assert shown.splitlines()[2:] == ["| `a`, `c` | Chance. |", "| `b` | As `a`. |"]


COMMAND = re.compile(r"`(whimbrel |python -m )[^`]+`")
NO_CAUSE = ("guess", "chance", "The bound is ours", "which is ours")
"""Words of a reason that claims no cause: a guess, an interval, or a bound of the project's own."""


def explained(reason: str, others: dict[str, str]) -> bool:
    """True if a reason, or one that it refers to, names the command of its experiment or claims no cause."""
    referred = [others[name] for name in re.findall(r"`([\w-]+)`", reason) if name in others]
    return any(COMMAND.search(each) or any(word in each for word in NO_CAUSE) for each in (reason, *referred))


@pytest.mark.parametrize("key", ONLY_QUICK)
def test_a_reason_names_the_command_of_its_experiment_or_is_called_a_guess(key: str) -> None:
    reasons_of = {claim.id: claim.reason for claim in paper.load(key).claims if claim.reason}
    assert [name for name, reason in reasons_of.items() if not explained(reason, reasons_of)] == []
    assert not explained("Repair costs what it sends.", reasons_of)


@pytest.mark.parametrize("key", ONLY_QUICK)
def test_reasons_name_items_that_exist(key: str) -> None:
    items = {item.key for item in paper.load(key).items}
    asked = {
        word
        for claim in paper.load(key).claims
        for words in re.findall(rf"`whimbrel reproduce {key} ([^`]*)`", claim.reason or "")
        for word in re.sub(r"--\S+( \d+)?", "", words).split()
    }
    assert asked - items == set()
