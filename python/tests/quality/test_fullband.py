"""The E-model on the fullband scale, against manual arithmetic."""

import json

import pytest

from whimbrel.__main__ import main
from whimbrel.errors import UsageError
from whimbrel.quality import emodel, fullband, voip
from whimbrel.quality.codecs import CODECS, Codec, Scale, codec


def test_a_call_without_loss_by_hand() -> None:
    # 148 - 7.2 = 140.8, / 1.48 = 95.1351; 1 + 0.035 x 95.1351 + 95.1351 x 35.1351 x 4.8649 x 7e-6.
    rated = fullband.rate(codec("evs-swb-24.4"), 0.0, 0.0)
    assert rated.r == pytest.approx(140.8)
    assert rated.mos == pytest.approx(4.44356, abs=2e-5)


def test_loss_by_hand() -> None:
    # 7.2 + 124.8 x 2 / (2 + 11.4) = 25.8269: R = 122.1731, / 1.48 = 82.5494;
    # 1 + 2.889229 + 82.5494 x 22.5494 x 17.4506 x 7e-6 = 4.11661.
    rated = fullband.rate(codec("evs-swb-24.4"), 0.0, 0.02)
    assert rated.ie_eff == pytest.approx(25.82687, abs=1e-5)
    assert rated.mos == pytest.approx(4.11661, abs=2e-5)
    # All is lost: 15.898 + 116.102 x 100 / 111.35.
    assert fullband.rate(codec("opus-swb-40"), 0.0, 1.0).ie_eff == pytest.approx(120.1656, abs=1e-4)


def test_delay_has_the_same_share_of_the_longer_scale() -> None:
    rated = fullband.rate(codec("opus-swb-40"), 0.3, 0.0)
    assert rated.i_dd == pytest.approx(1.48 * emodel.delay_impairment(0.3))
    assert fullband.rate(codec("opus-swb-40"), 0.1, 0.0).i_dd == 0


def test_the_published_default_of_another_program() -> None:
    # rtpengine's mos_calc_fb: Ie = 10.2, Bpl = 4.3; at 5 % and 150 ms by its own arithmetic:
    # 10.2 + 121.8 x 5 / 9.3 = 75.6839; x = log2 1.5 = 0.584963: 37 (1.006578 - 3 x 1.0000091 + 2) = 0.24227;
    # (148 - 0.24227 - 75.6839) / 1.48 = 48.6999.
    other = Codec("other", "other", 10.2, 4.3, 80, 0.02, 0.0, Scale.FULLBAND)
    rated = fullband.rate(other, 0.15, 0.05)
    assert rated.shrunk == pytest.approx(48.700, abs=2e-3)


def test_wideband_telephony_is_below_super_wideband() -> None:
    # AMR-WB at 12.65 kbit/s for both ears: 20 on the wideband scale, 39 here.
    wide = fullband.rate(codec("amr-wb-12.65"), 0.0, 0.0)
    assert wide.ie_eff == 39
    assert wide.mos < fullband.rate(codec("evs-swb-13.2"), 0.0, 0.0).mos
    with pytest.raises(UsageError, match="no Bpl of amr-wb"):
        fullband.rate(codec("amr-wb-12.65"), 0.0, 0.01)
    with pytest.raises(UsageError, match="no impairment factor on the fullband scale"):
        fullband.rate(codec("g711"), 0.0, 0.0)


def test_packet_sizes_follow_the_rate() -> None:
    for name, bytes_of_speech in {"evs-swb-24.4": 61, "opus-swb-25": 63, "opus-swb-40": 100}.items():
        assert codec(name).payload_bytes == bytes_of_speech
    for each in CODECS.values():
        kbits = each.name.rpartition("-")[2]
        if each.scale is Scale.FULLBAND and not each.name.startswith("amr"):
            assert each.bit_rate == pytest.approx(1000 * float(kbits), rel=0.02)


def test_narrowband_codecs_are_rated_by_g107() -> None:
    assert voip.rate(codec("g711-plc"), 0.0, 0.0).r == pytest.approx(93.2062, abs=1e-3)
    assert codec("g729a").impairment(0.02, 2.0) == pytest.approx(19.4)
    # The fullband scale has no bursts.
    assert codec("opus-swb-40").impairment(0.02, 2.0) == codec("opus-swb-40").impairment(0.02)


def test_the_command_names_its_scale(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["quality", "voice", "--codec", "opus-swb-40", "--delay", "150ms", "--loss", "1%"]
    assert main(arguments) == 0
    actual = capsys.readouterr().out
    assert "of 148, on the fullband scale (G.107.2)" in actual
    assert "burst" not in actual
    assert main([*arguments, "--burst-ratio", "2"]) == 0
    assert "for which this scale has no values" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scale"] == "fullband"
