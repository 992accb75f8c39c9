"""Published values of codecs."""

import math

import pytest

from whimbrel.errors import UsageError
from whimbrel.quality.codecs import CODECS, codec


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        # G.113 (02/2001), Appendix I, Table I.2: Ie under random loss, in percent.
        ("g729a", {0: 11, 0.5: 13, 1: 15, 1.5: 17, 2: 19, 3: 23, 4: 26, 8: 36, 16: 49}),
        ("g723.1", {0: 15, 0.5: 17, 1: 19, 1.5: 22, 2: 24, 3: 27, 4: 32, 8: 41, 16: 55}),
        ("g711-plc", {0: 0, 2: 7, 3: 10, 5: 15, 7: 20}),
    ],
)
def test_bpl_reproduces_the_measured_tables_that_it_was_fitted_to(
    name: str, losses: dict[float, int]
) -> None:
    for percent, ie in losses.items():
        assert codec(name).impairment(percent / 100) == pytest.approx(ie, abs=1.1)


def test_g729a_under_loss_is_near_the_fit_of_cole_and_rosenbluth() -> None:
    # 11 + 40 ln(1 + 10 e), fitted to the same measurements.
    for e in (0.01, 0.02, 0.04, 0.08, 0.16):
        assert codec("g729a").impairment(e) == pytest.approx(11 + 40 * math.log(1 + 10 * e), abs=1.5)


def test_concealment_is_worth_more_than_thirty_points_at_five_percent() -> None:
    # 95 x 5 / (5 + 4.3) = 51.08, and 95 x 5 / (5 + 25.1) = 15.78.
    assert codec("g711").impairment(0.05) == pytest.approx(51.075, abs=1e-3)
    assert codec("g711-plc").impairment(0.05) == pytest.approx(15.781, abs=1e-3)


def test_packets_have_the_sizes_and_rates_of_the_paper() -> None:
    # Paper `reorder`, Section III: 80 and 24 kbit/s, 200 and 60 bytes: headers of RTP, UDP and IPv4 are 40.
    for name, size, rate in (("g711", 200, 80_000), ("g729a", 60, 24_000)):
        packet = codec(name).datagram_bytes + 28
        assert packet == size
        assert 8 * packet / codec(name).packet_s == pytest.approx(rate)


def test_delays_are_a_packet_and_the_look_ahead() -> None:
    assert codec("g729a").delay_s == pytest.approx(0.025)
    assert codec("g723.1").delay_s == pytest.approx(0.0375)
    assert codec("g711").bit_rate == pytest.approx(64_000)
    assert codec("g723.1").bit_rate == pytest.approx(6_400)


def test_a_codec_without_a_published_bpl_is_refused_under_loss() -> None:
    assert codec("g729").impairment(0) == 10
    with pytest.raises(UsageError, match=r"no Bpl of g729 is published.*g729a"):
        codec("g729").impairment(0.01)


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(UsageError, match="no codec 'speex'; expected one of g711, "):
        codec("speex")
    with pytest.raises(UsageError, match="loss_rate is 2"):
        codec("g711").impairment(2)


def test_a_codec_is_found_by_its_own_name() -> None:
    assert all(name == each.name for name, each in CODECS.items())
