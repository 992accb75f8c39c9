"""scripts/validation.py notices a page that does not fit the code."""

from pathlib import Path
from types import ModuleType

import pytest
import script_modules

ROOT = Path(__file__).parents[2]

QUICK = """## Durations

| frame | us |
|---|--:|
| ACK | 304 |

## Saturation

| rate, n | S |
|---|--:|
| 11 Mbit/s, 2 | 6.5340 |

## Hidden

| scene | share |
|---|--:|
| short | 0.1200 |
"""
FULL = QUICK.replace(
    "| 11 Mbit/s, 2 | 6.5340 |\n",
    "| 1 Mbit/s, 2 | 0.8948 |\n| 11 Mbit/s, 2 | 6.5340 |\n| 11 Mbit/s, 50 | 5.1635 |\n\n"
    "Largest deviations of the 3 cases: S 0.1 %.\n",
)


@pytest.fixture(scope="module")
def validation() -> ModuleType:
    return script_modules.load("scripts/validation.py")


def test_a_page_with_all_rows_fits_the_quick_form(validation: ModuleType) -> None:
    assert list(validation.differences(FULL, QUICK)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| ACK | 304 |", "| ACK | 305 |"),
        ("| 11 Mbit/s, 2 | 6.5340 |\n", "| 11 Mbit/s, 2 | 6.5341 |\n"),
        ("| 11 Mbit/s, 2 | 6.5340 |\n", ""),
        ("| short | 0.1200 |\n", ""),
        ("| short | 0.1200 |\n", "| short | 0.1200 |\n| long | 0.5 |\n"),
        ("## Hidden\n", "## Hidden\n\nA remark.\n"),
    ],
)
def test_a_page_with_another_line_does_not_fit(validation: ModuleType, old: str, new: str) -> None:
    assert old in FULL
    assert len(list(validation.differences(FULL.replace(old, new), QUICK))) == 1


def test_the_page_of_the_repository_begins_with_facts_whose_tests_exist(validation: ModuleType) -> None:
    page = (ROOT / "tests" / "golden" / "validation-80211.md").read_text(encoding="utf-8")
    assert page.startswith(validation.head())
    assert list(validation.missing_tests(validation.Source(ROOT))) == []


def test_a_fact_without_its_test_is_an_offence(
    validation: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "FACTS", (("DSDV", "no loops", "routing::dsdv::tests::gone"),))
    (offence,) = validation.missing_tests(validation.Source(ROOT))
    assert "routing::dsdv::tests::gone" in offence
