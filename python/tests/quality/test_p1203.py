"""Video up to 1080p against the scores of the program of P.1203.1's authors, and by its own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import UsageError
from whimbrel.quality import frame_schedule, p1203
from whimbrel.quality.p1203 import Picture

HD, FULL_HD = (1280, 720), (1920, 1080)


# Scores of the program itu-p1203 (commit 38c5d55) for a segment of these values in mode 0.
@pytest.mark.parametrize(
    ("coded", "shown", "bit_rate", "frame_rate", "handheld", "mos"),
    [
        (HD, HD, 2e6, 30, False, 4.28637),
        (HD, FULL_HD, 1.5e6, 30, False, 3.71117),
        (FULL_HD, FULL_HD, 4e6, 30, False, 4.37252),
        ((640, 360), FULL_HD, 6e5, 25, False, 1.96105),
        (HD, HD, 1e6, 15, False, 3.62310),
        (FULL_HD, FULL_HD, 2.5e6, 60, True, 4.38302),
        ((426, 240), HD, 1e5, 10, True, 1.67793),
        (FULL_HD, FULL_HD, 3e5, 30, False, 3.91361),
    ],
)
def test_scores_are_those_of_the_authors_program(
    coded: tuple[int, int],
    shown: tuple[int, int],
    bit_rate: float,
    frame_rate: float,
    handheld: bool,
    mos: float,
) -> None:
    # The reference interpolates R of MOS between steps of a quarter: that much may differ.
    actual = p1203.rate(Picture(coded, shown, handheld), bit_rate, frame_rate)
    assert actual.mos == pytest.approx(mos, abs=5e-5)


def test_a_quality_by_hand() -> None:
    # 720p at 2 Mbit/s, 30 frames/s: 2000^2 / (921600 x 30) = 0.144676; ln 2000 = 7.600902,
    # ln(0.144676 + 0.131832) = -1.285517; ln(41.247507 + 7.600902 - 1.285517) = ln 47.562893 = 3.862053;
    # 11.998352 - 2.999918 x 3.862053 = 0.412509; 4.66 - 0.07 e^(4.06 x 0.412509) = 4.66 - 0.07 x 5.338.
    actual = p1203.rate(Picture(HD, HD), 2e6, 30)
    assert actual.mos == pytest.approx(4.2863, abs=2e-4)
    assert (actual.scaling, actual.frame_rate) == (0, 0)
    # Twice the pixels and a quarter: 72.61 log10(0.32 x 1.25 + 1) = 10.6104.
    assert p1203.rate(Picture(HD, FULL_HD), 2e6, 30).scaling == pytest.approx(10.6104, abs=1e-4)
    # 12 shown: the remainder after coding, times (30.98 - 1.29 x 12) / (64.65 + 12) = 0.202218.
    some = p1203.rate(Picture(HD, HD), 2e6, 30, 12)
    assert some.frame_rate == pytest.approx((100 - some.coding) * 0.202218, rel=1e-5)


@given(st.floats(4, 100))
def test_quality_of_a_mos_is_the_inverse_of_mos(quality: float) -> None:
    assert p1203.quality_of(p1203.mos_of(quality)) == pytest.approx(quality, abs=0.01)


RATES = st.floats(1e5, 1.5e7)


@given(RATES, RATES, st.floats(5, 60), st.floats(0, 1), st.floats(0, 1))
def test_more_bits_more_frames_and_a_smaller_screen_are_no_worse(
    one: float, other: float, frame_rate: float, shown: float, also: float
) -> None:
    picture = Picture(HD, FULL_HD)
    few, many = sorted((one, other))
    worse, better = (p1203.rate(picture, each, frame_rate).mos for each in (few, many))
    assert 1 <= worse <= better + 1e-9 <= 5
    some, most = (
        p1203.rate(picture, one, frame_rate, frame_rate * each).mos for each in sorted((shown, also))
    )
    assert some <= most + 0.01
    assert p1203.rate(Picture(HD, HD), one, frame_rate).mos >= p1203.rate(picture, one, frame_rate).mos


def test_a_frame_is_shown_if_all_of_it_arrived() -> None:
    # 3 s of 30 frames/s in two datagrams each; in the second second every other frame lacks one, then all do.
    times = np.repeat(np.arange(91) / 30, 2)
    arrived = np.ones(182, dtype=np.bool_)
    arrived[60:120:4] = False
    arrived[120:180:2] = False
    actual = p1203.of_frames(Picture(HD, HD), times, np.full(182, 3000.0), arrived)
    assert actual.frames == (91, 91 - 15 - 30)
    assert actual.frame_rate == pytest.approx(30)
    assert actual.bit_rate == pytest.approx(30 * 2 * 3000 * 8)
    rate = actual.bit_rate
    first, second, third = actual.seconds
    assert first == pytest.approx(p1203.rate(Picture(HD, HD), rate, 30).mos)
    assert second == pytest.approx(p1203.rate(Picture(HD, HD), rate, 30, 15).mos)
    # The frame that closes the third second is in it: one of 31 is shown.
    assert third == pytest.approx(p1203.rate(Picture(HD, HD), rate, 30, 30 / 31).mos)
    assert actual.mos == pytest.approx(np.mean(actual.seconds))


def test_nothing_shown_is_bad_and_invalid_input_is_refused() -> None:
    assert p1203.rate(Picture(HD, HD), 2e6, 30, 0).mos == 1
    with pytest.raises(UsageError, match="bit_rate is 0"):
        p1203.rate(Picture(HD, HD), 0, 30)
    with pytest.raises(UsageError, match="expected 0 to the frame rate, 30"):
        p1203.rate(Picture(HD, HD), 1e6, 30, 31)
    with pytest.raises(UsageError, match="expected at least a second"):
        p1203.of_frames(Picture(HD, HD), np.zeros(3), np.ones(3), np.ones(3, dtype=np.bool_))


def test_equal_frames_have_the_requested_rate() -> None:
    made = frame_schedule.equal_frames(1e6, 30, 11, begin_s=1, most_bytes=1000)
    # 4166.67 bytes a frame: five datagrams of one size but for the last.
    assert len(made) == 300 * 5
    assert sum(size for _, size in made) == 1_250_000
    assert {time for time, _ in made[:5]} == {1.0}
    assert made[5][0] == pytest.approx(1 + 1 / 30)
    assert max(size for _, size in made) <= 1000
    with pytest.raises(UsageError, match="expected all above 0"):
        frame_schedule.equal_frames(1e6, 0, 10)
