"""Video quality against the paper's printed numbers and manual arithmetic."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import UsageError
from whimbrel.quality import g1070

SCREENS = st.sampled_from(sorted(g1070.SCREENS.values(), key=lambda each: each.name))


@pytest.mark.parametrize(("kbps", "mos"), [(898, 4.19), (314, 2.76)])
def test_table_3_of_the_paper_is_reproduced(kbps: int, mos: float) -> None:
    # Paper `reorder`, Table III, 4.2 inch. It prints neither frame rate nor loss: 30 per second, and none.
    assert round(g1070.rate(g1070.screen("4.2in"), 1000 * kbps, 30, 0).mos, 2) == mos


def test_its_third_line_is_nearly_the_minimum() -> None:
    # "Too low to calculate": 1 Mbit/s where 314 kbit/s pass loses 69 %, and exp(-68.6 / 3.2) is nothing.
    assert g1070.rate(g1070.screen("4.2in"), 1e6, 30, 1 - 0.314).mos == pytest.approx(1, abs=1e-3)


def test_a_quality_by_hand() -> None:
    # 4.2 inch at 898 kbit/s and 15 frames/s, 2 % lost. Ofr = 1.431 + 0.02228 x 898 = 21.43844;
    # (898 / 184.1)^1.161 = e^(1.161 x 1.584692) = 6.29637, IOfr = 3.759 (1 - 1 / 7.29637) = 3.24382;
    # D = 1.446 + 0.34851 = 1.79451; ln(15 / 21.43844) = -0.357110, its square / (2 D^2) = 0.0198009;
    # Icoding = 3.24382 x 0.980394 = 3.18022. DPpl = 2.736 + 15.28 e^(-15 / 2.116) + 4.17 e^(-898 / 467.4)
    # = 2.736 + 0.012751 + 0.610575 = 3.359326; e^(-2 / 3.359326) = 0.551366.
    actual = g1070.rate(g1070.screen("4.2in"), 898_000, 15, 0.02)
    assert actual.best_frame_rate == pytest.approx(21.43844)
    assert actual.coding == pytest.approx(3.1802, abs=3e-4)
    assert actual.loss_robustness == pytest.approx(3.359326, abs=2e-6)
    assert actual.mos == pytest.approx(1 + 3.1802 * 0.551366, abs=3e-4)


def test_other_screens_agree_with_their_source_programs() -> None:
    # rl-mpquic's own check: 1 Mbit/s, 30 frames/s on 6 inch has an MOS of about 3.87.
    assert g1070.rate(g1070.screen("6in"), 1e6, 30, 0).mos == pytest.approx(3.87, abs=0.05)


@given(SCREENS, st.floats(1e4, 2e7), st.floats(1, 60), st.floats(0, 1), st.floats(0, 1))
def test_quality_is_a_mos_and_loss_never_helps(
    shown: g1070.Screen, rate: float, frames: float, loss: float, other: float
) -> None:
    low, high = sorted((loss, other))
    better, worse = (g1070.rate(shown, rate, frames, each).mos for each in (low, high))
    assert 1 <= worse <= better <= 5


@given(SCREENS, st.floats(1e5, 2e6), st.floats(1, 60))
def test_no_frame_rate_is_better_than_the_best(shown: g1070.Screen, rate: float, frames: float) -> None:
    actual = g1070.rate(shown, rate, frames, 0)
    best = g1070.rate(shown, rate, actual.best_frame_rate, 0)
    assert actual.mos <= best.mos == pytest.approx(1 + best.best_coding)


@given(st.floats(0.1, 30))
def test_a_loss_equal_to_the_robustness_leaves_one_in_e(percent: float) -> None:
    actual = g1070.rate(g1070.screen("4.2in"), 5e5, 25, percent / 100)
    assert math.log((actual.mos - 1) / actual.coding) == pytest.approx(-percent / actual.loss_robustness)


def test_the_limits_of_the_recommendation_hold() -> None:
    # 1.431 + 0.02228 x 5000 would be 113 frames/s, and a v3 of 6 an Icoding above 4.
    small = g1070.screen("4.2in")
    assert g1070.rate(small, 5e6, 30, 0).best_frame_rate == 30
    generous = dataclasses.replace(small, v=(*small.v[:2], 6.0, *small.v[3:]))
    assert g1070.rate(generous, 5e6, 30, 0).mos == pytest.approx(5)


def test_invalid_values_are_refused() -> None:
    small = g1070.screen("4.2in")
    with pytest.raises(UsageError, match="bit_rate is 0"):
        g1070.rate(small, 0, 30, 0)
    with pytest.raises(UsageError, match="frame_rate is nan"):
        g1070.rate(small, 1e6, math.nan, 0)
    with pytest.raises(UsageError, match="loss_rate is 5"):
        g1070.rate(small, 1e6, 30, 5)
    with pytest.raises(UsageError, match=r"no screen '5in'; expected one of 4\.2in"):
        g1070.screen("5in")
