"""Speech as packets and back."""

import sys
from pathlib import Path

import numpy as np
import pytest

from whimbrel.errors import MediaError
from whimbrel.quality import rtp, speech
from whimbrel.quality.speech import RATE_HZ, Speech


@pytest.fixture(scope="module")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Speech:
    """A tone of 400 Hz for 0.109 s: five packets and almost half of one."""
    path = tmp_path_factory.mktemp("speech") / "tone.wav"
    time_s = np.arange(872) / RATE_HZ
    speech.write_wav(path, (8000 * np.sin(2 * np.pi * 400 * time_s)).astype(np.int16))
    return Speech.prepare(path)


def test_packets_are_g711_in_rtp_every_20_ms(tone: Speech) -> None:
    assert tone.schedule.time_s.tolist() == pytest.approx([0, 0.02, 0.04, 0.06, 0.08])
    assert set(tone.schedule.size_bytes.tolist()) == {172}
    read = [rtp.decode_packet(packet) for packet in tone.packets]
    assert [(packet.sequence, packet.timestamp) for packet in read] == [(n, 160 * n) for n in range(5)]
    assert {packet.payload_type for packet in read} == {0}
    # G.711, Table 2a: a positive zero is 0xFF, and the tone begins with one.
    assert read[0].payload[0] == 0xFF


def test_played_packets_have_the_noise_of_g711(tone: Speech) -> None:
    heard = tone.heard(np.ones(5, dtype=np.bool_)).astype(np.float64)
    noise = heard - tone.reference
    # mu-law has 38 dB on a loud tone; 35 would indicate another law.
    assert 10 * np.log10(np.sum(heard**2) / np.sum(noise**2)) == pytest.approx(38, abs=2)


def test_missing_packets_are_silence(tone: Speech) -> None:
    heard = tone.heard(np.array([True, False, True, True, False]))
    whole = tone.heard(np.ones(5, dtype=np.bool_))
    assert not heard[160:320].any()
    assert not heard[640:].any()
    assert (heard[:160] == whole[:160]).all()
    assert (heard[320:640] == whole[320:640]).all()


def test_less_than_a_packet_is_refused(tmp_path: Path) -> None:
    speech.write_wav(tmp_path / "short.wav", np.zeros(159, dtype=np.int16))
    with pytest.raises(MediaError, match="shorter than a packet of 20 ms"):
        Speech.prepare(tmp_path / "short.wav")


def test_another_number_of_packets_is_refused(tone: Speech) -> None:
    with pytest.raises(MediaError, match="4 entries for 5 packets"):
        tone.heard(np.ones(4, dtype=np.bool_))


def test_without_the_package_there_is_no_pesq(tone: Speech, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pesq", None)
    assert speech.pesq(tone.reference, tone.decoded) is None
