"""The E-model against published numbers and manual arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.errors import UsageError
from whimbrel.quality import emodel, simplified
from whimbrel.quality.emodel import Coding, Connection, Noise, Path, Rating, Telephones


def _delayed(delay_s: float) -> Rating:
    return emodel.rate(Connection(path=Path.with_delay(delay_s)))


def test_the_defaults_have_the_rating_printed_in_the_recommendation() -> None:
    # G.107, Section 7.7: R = 93.2; its programs print 93.206208, and MOS 4.41.
    rated = emodel.rate()
    assert rated.r == pytest.approx(93.206208, abs=5e-7)
    assert round(rated.mos, 2) == 4.41


def test_the_basic_signal_to_noise_ratio_by_hand() -> None:
    # OLR = 10; room at the sender: 35 - 8 - 3 - 100 + 0.004 (35 - 10 - 3 - 14)^2 = -75.744.
    # LSTR = 18; Pre = 35 + 10 lg(1 + 10^-0.8) = 35.63889; room at the receiver: 2 - 121 + 35.63889
    # + 0.008 x 0.63889^2 = -83.35784. Floor: -64 + 2 = -62. Circuit: -70.
    # No = 10 lg(1e-7 + 2.66441e-8 + 4.61548e-9 + 6.30957e-7) = 10 lg 7.62217e-7 = -61.17921.
    # Ro = 15 - 1.5 (8 - 61.17921).
    assert emodel.rate().ro == pytest.approx(94.76882, abs=2e-5)


def test_noise_lowers_the_rating() -> None:
    # The circuit alone, far above everything else: No = Nc = -40, Ro = 15 - 1.5 (8 - 40) = 63.
    loud = emodel.rate(Connection(noise=Noise(nc=-40)))
    assert loud.ro == pytest.approx(63, abs=0.05)
    # (64 - 40 - 2) / 5 = 4.4 is added to the OLR of 10: x = 14.4 / 8 = 1.8; 1.8^8 = 110.19961;
    # 20 (111.19961^(1/8) - 1.8) = 20 x 0.0020337.
    assert loud.i_olr == pytest.approx(0.0407, abs=2e-3)


def test_a_quantizing_distortion_by_hand() -> None:
    # qdu = 10: Q = 22, G = 1.07 + 5.676 + 29.1368 = 35.8828; Z = 1.533333 - 0.89707 = 0.636263;
    # Y = (94.76882 - 100) / 15 + 5.476190 - 3.986978 = 1.140467; 15 lg(1 + 13.81871 + 4.32776).
    assert emodel.rate(Connection(coding=Coding(qdu=10))).i_q == pytest.approx(19.2313, abs=2e-4)


def test_delay_alone_by_hand() -> None:
    # 200 ms: X = 1, 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) = 25 (1.1224620 - 3.0006855 + 2).
    assert emodel.delay_impairment(0.2) == pytest.approx(3.0444, abs=1e-4)
    # 400 ms: X = 2, 25 (65^(1/6) - 3 (1 + (2/3)^6)^(1/6) + 2) = 25 (2.0051842 - 3.0424... + 2).
    assert emodel.delay_impairment(0.4) == pytest.approx(
        25 * (65 ** (1 / 6) - 3 * (793 / 729) ** (1 / 6) + 2)
    )
    assert emodel.delay_impairment(0.1) == 0


def test_loss_by_hand() -> None:
    # 11 + 84 x 2 / (2 + 19) = 19; in bursts twice as long: 11 + 84 x 2 / (1 + 19) = 19.4.
    assert emodel.effective_impairment(11, 19, 0.02) == pytest.approx(19)
    assert emodel.effective_impairment(11, 19, 0.02, 2) == pytest.approx(19.4)
    lossy = emodel.rate(Connection(coding=Coding(ie=11, bpl=19, loss_rate=0.02)))
    assert lossy.r == pytest.approx(93.206208 - 19, abs=1e-6)


@pytest.mark.parametrize("ms", [50, 100, 150, 200, 250, 300])
def test_delay_impairment_agrees_with_the_fit_of_cole_and_rosenbluth(ms: int) -> None:
    # Their line is a fit of Id with the default echo losses, good up to 300 ms but for its corner.
    line = simplified.delay_impairment(ms / 1000)
    assert _delayed(ms / 1000).i_d == pytest.approx(line, abs=0.4)


def test_an_audible_echo_counts_more_with_more_delay() -> None:
    # TELR 45 without delay is no echo; at 100 ms: TERV = 45 - 40 lg(11 / (5/3)) = 12.218,
    # Re = 80 + 2.5 (12.218 - 14) = 75.545, Roe = 1.5 (61.179 + 2) = 94.769;
    # Idte = 9.612 + sqrt(9.612^2 + 100) - 1.
    echo = emodel.rate(Connection(path=Path(t_s=0.1, telr=45)))
    assert echo.i_dte == pytest.approx(22.483, abs=2e-3)
    assert emodel.rate(Connection(path=Path(telr=45))).i_dte == 0


def test_below_a_millisecond_an_echo_is_sidetone() -> None:
    # G.107, Section 7.4: Idte = 0 for T < 1 ms. By the equation alone a loud echo would reduce R there.
    for ms in (0.0, 0.1, 0.5, 0.999):
        assert emodel.rate(Connection(path=Path(t_s=ms / 1000, telr=5))).i_dte == 0
    assert emodel.rate(Connection(path=Path(t_s=0.001, telr=5))).i_dte > 10
    # With an almost inaudible sidetone (STMR above 20 dB) Ist remains, as Idtes = sqrt(Idte^2 + Ist^2).
    quiet = emodel.rate(Connection(Telephones(stmr=30), path=Path(t_s=0.0005, telr=65)))
    assert quiet.i_dte == pytest.approx(abs(quiet.i_st))


def test_the_earliest_echo_by_hand() -> None:
    # 2 ms: TERV = 45 - 40 lg(1.2 / 1.013333) + 6 e^-1.2 = 45 - 2.93716 + 1.80717 = 43.87000,
    # Re = 80 + 2.5 x 29.87 = 154.675, Roe = 94.76882: half is -29.9531;
    # Idte = (-29.9531 + sqrt(897.188 + 100) - 1) (1 - e^-2) = 0.625248 x 0.864665.
    echo = emodel.rate(Connection(path=Path(t_s=0.002, telr=45)))
    assert echo.i_dte == pytest.approx(0.5406, abs=1e-3)


def test_an_echo_without_delay_is_sidetone_by_hand() -> None:
    # TELR 5: STMRo = -10 lg(10^-1.5 + 10^-0.5) = 4.58607; ((4.58607 - 13) / 6)^8 = 14.9546;
    # Ist = 12 x 15.9546^(1/8) - 28 - 13 + 29, as 0.288^35 and 0.048^13 are nothing.
    assert emodel.rate(Connection(path=Path(telr=5))).i_st == pytest.approx(4.9646, abs=1e-3)
    # 4 ms later e^-1 of it is left: STMRo = -10 lg(0.031623 + 0.116334) = 8.2986; (-4.7014 / 6)^8 = 0.14212;
    # 12 x 1.14212^(1/8) - 12.
    assert emodel.rate(Connection(path=Path(t_s=0.004, telr=5))).i_st == pytest.approx(0.2010, abs=1e-3)


def test_sidetone_joins_the_echo_at_both_ends_of_its_range() -> None:
    path = Path(t_s=0.05, telr=45)
    weak = emodel.rate(Connection(telephones=Telephones(stmr=25), path=path))
    at_20 = emodel.rate(Connection(telephones=Telephones(stmr=20), path=path))
    assert weak.i_dte == pytest.approx(math.hypot(weak.i_st, at_20.i_dte), abs=0.05)
    # Below 9 dB, TERV grows by Ist / 2, as if the echo had that much more loss: the sidetone masks it.
    strong = emodel.rate(Connection(telephones=Telephones(stmr=5), path=path))
    hidden = Connection(telephones=Telephones(stmr=9), path=Path(t_s=0.05, telr=45 + strong.i_st / 2))
    assert strong.i_st > 1
    assert strong.i_dte == pytest.approx(emodel.rate(hidden).i_dte, abs=0.05)


def test_the_listener_hears_a_loop_with_little_loss() -> None:
    # Rle = 10.5 (20 + 7) 201^-0.25 = 283.5 / 3.76530 = 75.293; Ro = 94.76882: half is 9.738;
    # Idle = 9.738 + sqrt(94.83 + 169).
    assert emodel.rate(Connection(path=Path(tr_s=0.2, wepl=20))).i_dle == pytest.approx(25.981, abs=2e-3)


@given(st.floats(0, 2), st.floats(0, 2))
def test_more_delay_is_never_better(delay_s: float, more_s: float) -> None:
    # Between the sidetone's end and the echo's beginning, below 2 ms, the model itself is not monotonic.
    assert _delayed(0.002 + delay_s + more_s).r <= _delayed(0.002 + delay_s).r + 1e-9


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 40), st.floats(1, 50), st.floats(1, 4))
def test_more_loss_is_never_better_and_never_exceeds_its_limit(
    loss: float, other: float, ie: float, bpl: float, burst: float
) -> None:
    low, high = sorted((loss, other))
    assert emodel.effective_impairment(ie, bpl, low) <= emodel.effective_impairment(ie, bpl, high) + 1e-9
    assert ie <= emodel.effective_impairment(ie, bpl, high) < 95
    assert emodel.effective_impairment(ie, bpl, high, burst) >= emodel.effective_impairment(ie, bpl, high)


def test_the_advantage_factor_is_added() -> None:
    assert emodel.rate(Connection(advantage=10)).r == pytest.approx(103.206208, abs=1e-6)


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (Connection(coding=Coding(loss_rate=1.5)), "loss_rate is 1.5; expected 0 to 1"),
        (Connection(path=Path(ta_s=-0.1)), "ta_s is -0.1; expected 0 to 100"),
        (Connection(coding=Coding(bpl=0)), "bpl is 0"),
        (Connection(noise=Noise(ps=math.nan)), "ps is nan; expected a number"),
        (Connection(advantage=math.inf), "advantage is inf"),
    ],
)
def test_invalid_values_are_refused(connection: Connection, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        emodel.rate(connection)


def test_the_papers_line_by_hand() -> None:
    # 94.2 - 0.024 x 200 - 0.11 x 22.7 - 11 = 94.2 - 4.8 - 2.497 - 11.
    assert simplified.rating(0.2, 11) == pytest.approx(75.903)
    assert simplified.rating(0.1773, 0) == pytest.approx(94.2 - 4.2552)
    with pytest.raises(UsageError, match="delay_s is -1"):
        simplified.rating(-1, 0)
