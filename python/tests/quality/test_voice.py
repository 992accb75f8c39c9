"""Talkers, and the quality of their calls."""

from pathlib import Path

import numpy as np
import pytest

import whimbrel
from whimbrel.errors import UsageError
from whimbrel.quality import opinion, playout, sources, voice, voip
from whimbrel.quality.codecs import codec

G729A = codec("g729a")


def test_continuous_speech_sends_a_packet_every_interval() -> None:
    made = voice.talk(codec("g711"), 1.0, spurts=voice.CONTINUOUS)
    assert made.time_s.tolist() == pytest.approx([0.02 * at for at in range(50)])
    assert set(made.size_bytes.tolist()) == {172}


def test_spurts_and_pauses_have_the_means_of_p59() -> None:
    made = voice.talk(G729A, 20_000)
    number = playout.spurts(made.time_s)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    talked = np.diff(np.append(starts, number.size)) * 0.02
    # `spurts` ignores pauses of less than 40 ms: it joins 3 % of them; whole packets add half of one.
    short = 1 - np.exp(-0.04 / 1.587)
    assert talked.mean() == pytest.approx((1.004 + 0.01) / (1 - short), rel=0.03)
    # About 7700 spurts; an exponential's deviation is its mean.
    assert talked.std() == pytest.approx(talked.mean(), rel=0.05)
    assert number[-1] == pytest.approx(20_000 / (1.004 + 0.01 + 1.587) * (1 - short), rel=0.03)


def test_a_spurt_is_as_many_packets_as_cover_it() -> None:
    # With a mean of one packet, 1 / (1 - 1/e) packets cover a spurt, not 1.
    cover = 1 / (1 - np.exp(-1))
    made = voice.talk(G729A, 20_000, spurts=voice.TalkSpurts(0.02, 1.0))
    assert len(made) == pytest.approx(cover * 20_000 / (0.02 * cover + 1.0), rel=0.02)


def test_the_same_seed_produces_the_same_schedule_everywhere(tmp_path: Path) -> None:
    voice.talk(G729A, 30, seed=7).write_csv(tmp_path / "a.csv")
    voice.talk(G729A, 30, seed=7).write_csv(tmp_path / "b.csv")
    first = (tmp_path / "a.csv").read_text()
    assert first == (tmp_path / "b.csv").read_text()
    assert first != _written(voice.talk(G729A, 30, seed=8), tmp_path)
    assert first.startswith("time_s,size_bytes\n0.000000000,32\n0.020000000,32\n")


def _written(made: voice.VoiceSchedule, directory: Path) -> str:
    made.write_csv(directory / "c.csv")
    return (directory / "c.csv").read_text()


def test_the_first_spurt_begins_at_the_given_time() -> None:
    made = voice.talk(G729A, 30, begin_s=1)
    assert made.time_s[0] == 1
    # The same spurts, later; the end cuts them differently.
    same = voice.talk(G729A, 29)
    assert made.time_s - 1 == pytest.approx(same.time_s)
    with pytest.raises(UsageError, match="begin_s is 30"):
        voice.talk(G729A, 30, begin_s=30)


def test_a_duration_of_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="duration_s is 0"):
        voice.talk(G729A, 0)
    with pytest.raises(UsageError, match="expected above 0"):
        voice.talk(G729A, 1, spurts=voice.TalkSpurts(talk_s=0))


@pytest.mark.parametrize(
    ("name", "delay_s", "loss", "mos"),
    # Paper `reorder`, Table II. It prints no delays. Every line is met, to 0.01, by 100 ms without a buffer,
    # with the 5 % overtaken packets lost, and by 80 ms more, four packets, with the buffer of five.
    [
        ("g711-plc", 0.18, 0.0, 4.33),
        ("g729a", 0.18, 0.0, 3.96),
        ("g711-plc", 0.10, 0.05, 3.87),
        ("g729a", 0.10, 0.05, 3.27),
    ],
)
def test_table_2_of_the_paper_is_reproduced_to_a_hundredth(
    name: str, delay_s: float, loss: float, mos: float
) -> None:
    actual = opinion.mos(voip.rate_simplified(codec(name), delay_s, loss))
    assert actual == pytest.approx(mos, abs=0.0101)
    # The whole model is up to 0.07 lower: R without impairment is 93.2, not 94.2, in today's edition.
    assert 0.03 < actual - voip.rate(codec(name), delay_s, loss).mos < 0.08


def test_a_burst_ratio_below_one_counts_as_one() -> None:
    at_one = voip.rate(G729A, 0.1, 0.05)
    assert voip.rate(G729A, 0.1, 0.05, burst_ratio=0.5) == at_one
    assert voip.rate(G729A, 0.1, 0.05, burst_ratio=2).r < at_one.r - 2


def test_a_simulated_call_is_rated_by_its_schedule(tmp_path: Path) -> None:
    made = voice.talk(codec("g711"), 5, spurts=voice.CONTINUOUS)
    made.write_csv(tmp_path / "call.csv")
    scenario = {
        "simulation": {"duration": "6 s"},
        "node": [{"name": "a"}, {"name": "b"}],
        "link": [{"between": ["a", "b"], "rate": "1 Mbit/s", "delay": "30 ms"}],
        "flow": [
            {
                "name": "call",
                "from": "a",
                "to": "b",
                "transport": "udp",
                "traffic": {"kind": "trace", "file": str(tmp_path / "call.csv")},
            }
        ],
    }
    table = whimbrel.run(scenario, packets=True).packets
    sent = sources.datagrams(table, schedule=tmp_path / "call.csv")
    assert sent.sent_s.tolist() == made.time_s.tolist()
    # 30 ms, and 172 bytes with headers of 28 at 1 Mbit/s: 1.6 ms.
    trips = sent.received_s - sent.sent_s
    assert trips == pytest.approx(np.full(250, 0.0316), abs=1e-6)
    actual = playout.fixed(sent.sent_s, sent.received_s, 0.04)
    assert actual.loss_rate == 0
    assert voip.mouth_to_ear_s(codec("g711"), actual) == pytest.approx(0.06)
    assert playout.fixed(sent.sent_s, sent.received_s, 0.03).loss_rate == 1
