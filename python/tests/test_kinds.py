"""Kinds of claims: by their verdicts under the sets of a paper's open choices."""

from pathlib import Path

import pytest

from whimbrel import kinds, sets
from whimbrel._reproduce import paper, reasons

ROOT = Path(__file__).parents[2]
WITH_SETS = [key for key in paper.known() if (ROOT / "papers" / key / kinds.FILE).is_file()]

VERDICTS = {
    "always": {"tools": "holds", "listed": "holds"},
    "first": {"tools": "holds", "listed": "undecided"},
    "other": {"tools": "does not hold", "listed": "holds"},
    "open": {"tools": "undecided", "listed": "does not hold"},
    "never": {"tools": "does not hold", "listed": "undecided"},
}


def test_the_first_set_and_the_others_decide_the_kind() -> None:
    assert [kinds.kind(found) for found in VERDICTS.values()] == list(kinds.KINDS)


def test_a_record_fills_the_page_and_is_read_again(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- sets -->\nold\n<!-- end of sets -->\nafter\n")
    kinds.write(tmp_path, VERDICTS)
    assert kinds.read(tmp_path) == VERDICTS
    text = page.read_text()
    assert "| `tools` | 2 | 2 | 1 |\n| `listed` | 2 | 1 | 2 |" in text
    assert "| 1 hold under no set | `never` |" in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end of sets -->\nafter\n")
    assert kinds.read(tmp_path / "none") == {}


def test_verdicts_are_grouped_by_the_name_before_the_claim() -> None:
    checked: list[dict[str, object]] = [
        {"id": "a", "holds": True},
        {"id": "ns2:a", "holds": None},
        {"id": "b", "holds": False},
    ]
    found = sets.by_set(checked, ["ns2"], "rfc")
    assert found == {"a": {"rfc": "holds", "ns2": "undecided"}}
    assert kinds.side_by_side(found).splitlines()[-1] == "a  rfc: holds, ns2: undecided"


@pytest.mark.parametrize("key", WITH_SETS)
def test_the_readme_has_the_recorded_verdicts_and_every_failure_has_a_reason(key: str) -> None:
    folder = ROOT / "papers" / key
    verdicts = kinds.read(folder)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert page.count("<!-- sets -->") == 1
    assert kinds.filled(page, verdicts) == page
    claims = {claim.id for claim in paper.load(key).claims}
    assert set(verdicts) <= claims
    explained = set(reasons.read(folder))
    for claim, found in verdicts.items():
        verdict = next(iter(found.values()))
        # A claim that some runs leave undecided may hold in others, and then a reason would be out of date.
        assert claim in explained or verdict != "does not hold", claim
        assert claim not in explained or verdict != "holds", claim
