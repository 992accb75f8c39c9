"""Conversion of losses into pictures, in particular their alignment in time."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from whimbrel.errors import MediaError
from whimbrel.quality import video
from whimbrel.quality.frames import open_frames
from whimbrel.quality.video import Reception, Stream


def receive_without(
    stream: Stream, lost: npt.NDArray[np.bool_], path: Path, *, signalled: bool = True
) -> Reception:
    arrival = np.where(lost, np.nan, stream.schedule.time_s + 0.03)
    return stream.receive(arrival, path, signalled=signalled)


def frames_lost(stream: Stream, *frames: int) -> npt.NDArray[np.bool_]:
    return np.isin(stream.schedule.frame, frames)


def test_schedule_is_in_order_and_covers_every_byte(stream: Stream) -> None:
    schedule = stream.schedule
    assert schedule.size_bytes.max() <= 400
    assert np.array_equal(schedule.size_bytes, [len(packet) for packet in schedule.packets])
    assert np.all(np.diff(schedule.time_s) >= 0)
    assert np.array_equal(np.unique(schedule.frame), np.arange(50))
    np.testing.assert_allclose(schedule.time_s, schedule.frame * 0.04)
    assert np.array_equal(schedule.kind == "I", schedule.frame % 10 == 0)
    assert schedule.duration_s == 2.0


def test_schedule_file_can_be_read_by_scenarios(stream: Stream, tmp_path: Path) -> None:
    stream.schedule.write_csv(tmp_path / "video.csv")
    lines = (tmp_path / "video.csv").read_text().splitlines()
    assert lines[0] == "time_s,size_bytes,frame,type"
    assert len(lines) == 1 + len(stream.schedule)
    time, size, frame, kind = lines[-1].split(",")
    assert (time, frame, kind) == ("1.960000000", "49", "P")
    assert int(size) == stream.schedule.size_bytes[-1]


def test_without_loss_every_frame_is_its_own_picture(stream: Stream, tmp_path: Path) -> None:
    got = stream.receive(stream.schedule.time_s, tmp_path / "all.y4m")
    assert got.loss_rate == 0
    assert not got.shown.frozen.any()
    assert len(got.shown.frames) == 50
    # A picture scores best against its own reference: a shift by one would show.
    quality = got.quality(with_vmaf=False)
    assert quality.psnr_db.min() > 25
    own = [
        float(np.mean((stream.reference.luma(n).astype(int) - got.shown.frames.luma(n)) ** 2))
        for n in range(49)
    ]
    next_one = [
        float(np.mean((stream.reference.luma(n + 1).astype(int) - got.shown.frames.luma(n)) ** 2))
        for n in range(49)
    ]
    assert all(a < b for a, b in zip(own, next_one, strict=True))


def test_a_lost_frame_repeats_the_one_before(stream: Stream, tmp_path: Path) -> None:
    got = receive_without(stream, frames_lost(stream, 33, 34), tmp_path / "x.y4m")
    assert got.shown.source[32:36].tolist() == [32, 32, 32, 35]
    assert np.array_equal(got.shown.frames.luma(34), got.shown.frames.luma(32))
    assert np.flatnonzero(got.shown.frozen).tolist() == [33, 34]


def test_a_lost_beginning_is_black_until_the_next_key_frame(stream: Stream, tmp_path: Path) -> None:
    got = receive_without(stream, frames_lost(stream, 0, 1, 2), tmp_path / "x.y4m")
    assert got.shown.source[:12].tolist() == [-1] * 10 + [10, 11]
    assert np.all(got.shown.frames.luma(5) == 16)
    whole = stream.receive(stream.schedule.time_s, tmp_path / "all.y4m")
    for frame in (10, 27, 49):
        assert np.array_equal(got.shown.frames.luma(frame), whole.shown.frames.luma(frame))


def test_parameter_sets_are_known_from_the_session_or_received_in_band(
    stream: Stream, tmp_path: Path
) -> None:
    # The first packet holds the parameter sets and nothing else; all slices arrive.
    lost = np.zeros(len(stream.schedule), dtype=np.bool_)
    lost[0] = True
    known = receive_without(stream, lost, tmp_path / "x.y4m")
    assert not known.shown.frozen.any()
    # In band, the parameter sets of the next key frame must not help the frames before it.
    unknown = receive_without(stream, lost, tmp_path / "y.y4m", signalled=False)
    assert unknown.shown.source[:12].tolist() == [-1] * 10 + [10, 11]


def test_parameter_sets_once_known_are_not_needed_again(stream: Stream, tmp_path: Path) -> None:
    lost = np.zeros(len(stream.schedule), dtype=np.bool_)
    lost[np.searchsorted(stream.schedule.frame, 10)] = True
    got = receive_without(stream, lost, tmp_path / "x.y4m", signalled=False)
    assert not got.shown.frozen.any()


def test_no_arrivals_and_almost_none(stream: Stream, tmp_path: Path) -> None:
    nothing = receive_without(stream, np.ones(len(stream.schedule), dtype=np.bool_), tmp_path / "x.y4m")
    assert nothing.loss_rate == 1
    assert np.all(nothing.shown.source == -1)
    assert np.all(nothing.shown.frames.luma(49) == 16)
    only_p = receive_without(stream, stream.schedule.kind == "I", tmp_path / "y.y4m")
    assert np.all(only_p.shown.source == -1)


def test_late_packets_are_lost(stream: Stream, tmp_path: Path) -> None:
    arrival = stream.schedule.time_s + 0.1
    late = frames_lost(stream, 25)
    arrival[late] += 0.2
    assert video.in_time(stream.schedule, arrival, None).all()
    assert video.in_time(stream.schedule, arrival, 0.3).all()
    assert np.array_equal(video.in_time(stream.schedule, arrival, 0.15), ~late)
    got = stream.receive(arrival, tmp_path / "x.y4m", playout_delay_s=0.15)
    assert np.flatnonzero(got.shown.frozen).tolist() == [25]
    with pytest.raises(MediaError, match="1 arrivals"):
        video.in_time(stream.schedule, np.zeros(1), None)


@pytest.mark.parametrize("seed", range(12))
def test_any_loss_pattern_yields_a_picture_for_every_frame(stream: Stream, tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    lost = random.random(len(stream.schedule)) < random.choice([0.05, 0.2, 0.5, 0.8, 0.95])
    signalled = seed % 2 == 0
    got = receive_without(stream, lost, tmp_path / "x.y4m", signalled=signalled)
    again = receive_without(stream, lost, tmp_path / "y.y4m", signalled=signalled)
    assert (tmp_path / "x.y4m").read_bytes() == (tmp_path / "y.y4m").read_bytes()
    assert np.array_equal(got.shown.source, again.shown.source)
    assert len(got.shown.frames) == 50
    assert np.all(np.diff(got.shown.source) >= 0)
    assert np.all(got.shown.source <= np.arange(50))
    # a frame is only shown if some packet of it arrived
    arrived = set(stream.schedule.frame[~lost].tolist())
    assert {int(n) for n in got.shown.source if n >= 0} <= arrived


def test_a_clip_sent_twice_is_scored_twice(clip: Path, tmp_path: Path) -> None:
    twice = Stream.prepare(clip, tmp_path, bit_rate=300_000, seconds=0.4, repeat=2, key_interval_s=0.2)
    assert twice.schedule.frame_count == 20
    assert len(twice.reference) == 10
    got = receive_without(twice, frames_lost(twice, 14), tmp_path / "x.y4m")
    assert np.flatnonzero(got.shown.frozen).tolist() == [14]
    quality = got.quality()
    assert quality.psnr_db.shape == quality.ssim.shape == quality.vmaf.shape == (20,)
    assert quality.psnr_db[13] == quality.psnr_db[3]
    assert quality.psnr_db[14] < quality.psnr_db[4]


def test_more_loss_is_worse_in_every_score(stream: Stream, tmp_path: Path) -> None:
    draw = np.random.default_rng(3).random(len(stream.schedule))
    means = [
        receive_without(stream, draw < rate, tmp_path / f"{rate}.y4m").quality().means()
        for rate in (0.0, 0.05, 0.3)
    ]
    for score in ("psnr_db", "ssim", "vmaf"):
        assert means[0][score] > means[1][score] > means[2][score]


def test_truncated_frames_are_refused(stream: Stream, tmp_path: Path) -> None:
    content = stream.reference.path.read_bytes()
    (tmp_path / "short.y4m").write_bytes(content[:-1])
    with pytest.raises(MediaError, match="cut short"):
        open_frames(tmp_path / "short.y4m")
    (tmp_path / "other.y4m").write_bytes(b"RIFF")
    with pytest.raises(MediaError, match="not a YUV4MPEG2"):
        open_frames(tmp_path / "other.y4m")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("F25:1", "lacks a size or a frame rate"),
        ("W8 H8", "lacks a size or a frame rate"),
        ("W8 H8 F1:0", "lacks a size or a frame rate"),
        ("Wx H8 F25:1", "lacks a size or a frame rate"),
        ("W1000000000 H8 F25:1", "expected sides of 1 to 16384 pixels"),
        ("W0 H8 F25:1", "expected sides of 1 to 16384 pixels"),
    ],
)
def test_a_head_without_a_size_is_an_error(tmp_path: Path, head: str, message: str) -> None:
    (tmp_path / "a.y4m").write_bytes(f"YUV4MPEG2 {head}\n".encode() + bytes(102))
    with pytest.raises(MediaError, match=message):
        open_frames(tmp_path / "a.y4m")
