"""Agreement of printed numbers with ours, counted by hand."""

import numpy as np

from whimbrel._show.page import Section, claims, tables
from whimbrel._values import printed
from whimbrel.sheet import Metric, Sheet, StoredSheet, Value


def sheet() -> Sheet:
    """10 -+ 2.484 against 12, the same against 40, and a number that is not random against another."""
    made = Sheet("t", "T", ["1"], ["a", "b", "c", "d"], [Metric("x", "%", "Share")])
    ten = np.array([9.0, 10.0, 11.0])
    for column, paper in (("a", 12.0), ("b", 40.0), ("d", None)):
        made.values["1", column, "x"] = Value(ten, paper=paper, name=column)
    made.values["1", "c", "x"] = Value(np.array([3.0]), paper=2.0, name="c", is_exact=True)
    return made


def test_numbers_inside_and_outside_and_their_differences() -> None:
    found = printed.agreement(sheet())
    assert (found.numbers, found.inside) == (3, 1)
    np.testing.assert_allclose(found.differences, [1 / 6, 0.75, 0.5])
    assert (found.median, found.largest, found.farthest) == (0.5, 0.75, "b, Share")
    assert found.sentence() == (
        "1 of 3 printed numbers lie within our 95 % intervals; the median difference is 50 %, "
        "the largest 75 % (b, Share)."
    )


def test_written_agreement_reads_back() -> None:
    about = printed.about(sheet())
    assert printed.stored(about["all"]) == printed.agreement(sheet())
    assert set(about["metrics"]) == {"x"}


def test_without_printed_numbers_there_is_no_text() -> None:
    empty = Sheet("t", "T", ["1"], ["d"], [Metric("x", "%", "Share")])
    assert printed.agreement(empty).sentence() == ""
    assert printed.conclusion(empty, []) == ""


def test_several_sheets_together() -> None:
    both = printed.together([printed.agreement(sheet()), printed.agreement(sheet())])
    assert (both.numbers, both.inside, both.largest, both.farthest) == (6, 2, 0.75, "b, Share")


def test_percentages_have_no_exponent() -> None:
    actual = [printed.percent(part) for part in (0.0123, 0.099, 0.5, 1.99, 123.4)]
    assert actual == ["1.2 %", "9.9 %", "50 %", "199 %", "12340 %"]


def test_the_report_has_large_differences_in_plain_digits_and_code_as_code() -> None:
    claim: dict[str, object] = {
        "id": "a",
        "claim": "A.",
        "holds": None,
        "evidence": "",
        "where": "",
        "source": "ours",
        "items": [],
    }
    section = Section("f", "T", "", "", "", [], [])
    shown = claims.claim_entry(section, {**claim, "quick": True, "reason": "See `x` <b>."})
    assert '<p class="reason">Reason, in the full form: See <code>x</code> &lt;b&gt;.</p>' in shown
    assert "Why: " in claims.claim_entry(section, {**claim, "quick": False, "reason": "So."})
    about = {"printed": {"metrics": {"x": {"inside": 0, "numbers": 1, "median": 1.99}}}}
    stored = StoredSheet(sheet(), {}, about)
    assert "median difference 199 %" in tables.agreed(stored, Metric("x", "%", "Share"))
