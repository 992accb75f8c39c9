"""Conversions between ratings and opinions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import UsageError
from whimbrel.quality import opinion


@pytest.mark.parametrize(
    ("r", "mos", "good", "poor"),
    # G.107, Annex B, Table B.1: MOS, and the shares in percent.
    [(90, 4.34, 97, 0), (80, 4.03, 89, 1), (70, 3.60, 73, 6), (60, 3.10, 50, 17), (50, 2.58, 27, 38)],
)
def test_the_table_of_annex_b_is_reproduced(r: float, mos: float, good: int, poor: int) -> None:
    # 4.03 and 2.58 are printed for 4.024 and 2.575.
    assert opinion.mos(r) == pytest.approx(mos, abs=0.0065)
    assert round(100 * opinion.good_or_better(r)) == good
    assert round(100 * opinion.poor_or_worse(r)) == poor


def test_a_score_by_hand() -> None:
    # 1 + 0.035 x 75 + 75 x 15 x 25 x 7e-6 = 1 + 2.625 + 0.196875.
    assert opinion.mos(75) == pytest.approx(3.821875)


def test_no_opinion_is_below_1_or_above_4_5() -> None:
    assert [opinion.mos(r) for r in (-40, 0, 3.2, 6.5, 100, 130)] == [1, 1, 1, 1, 4.5, 4.5]
    assert opinion.mos(6.52) > 1


@given(st.floats(opinion.LOWEST_RATING, 100))
def test_a_score_converts_back_to_its_rating(r: float) -> None:
    assert opinion.rating(opinion.mos(r)) == pytest.approx(r, abs=1e-6)


@given(st.floats(-50, 150), st.floats(0, 50))
def test_a_better_rating_never_has_a_worse_score(r: float, more: float) -> None:
    assert opinion.mos(r + more) >= opinion.mos(r) - 1e-12


@pytest.mark.parametrize("score", [0.99, 4.51, float("nan")])
def test_a_score_without_a_rating_is_refused(score: float) -> None:
    with pytest.raises(UsageError, match=r"expected 1 to 4\.5"):
        opinion.rating(score)


def test_ratings_have_the_names_of_g109() -> None:
    assert opinion.category(90) == "very satisfied"
    assert opinion.category(89.9) == "satisfied"
    assert opinion.category(50) == "nearly all users dissatisfied"
    assert opinion.category(49.9) == "not recommended"
