"""Properties of the encoder: packet-sized slices, no reordering, reproducible bytes."""

from pathlib import Path

from whimbrel.quality import encode as h264
from whimbrel.quality.frames import decode_clip
from whimbrel.quality.video import Stream


def test_the_stream_is_suited_to_losses(stream: Stream) -> None:
    video = stream.video
    assert len(video.frames) == 50
    assert [n for n, frame in enumerate(video.frames) if frame.is_key] == [0, 10, 20, 30, 40]
    for frame in video.frames:
        kinds = [h264.nal_type(unit) for unit in frame.nal_units]
        # every key frame is preceded by its parameter sets; the stream contains only these and slices
        assert kinds == [7, 8] + [5] * (len(kinds) - 2) if frame.is_key else set(kinds) == {1}
    sets = [unit for frame in video.frames for unit in frame.nal_units if h264.nal_type(unit) in (7, 8)]
    assert set(sets) == set(video.parameter_sets)
    assert len(sets) == 5 * len(video.parameter_sets) == 10
    sizes = [len(unit) for frame in video.frames for unit in frame.nal_units]
    assert sum(size > 388 for size in sizes) <= len(sizes) // 100
    assert 0.8 * 400_000 < video.bit_rate < 1.2 * 400_000


def test_the_same_clip_produces_the_same_bytes(clip: Path, stream: Stream, tmp_path: Path) -> None:
    again = decode_clip(clip, tmp_path / "again.y4m")
    assert h264.encode(again, 400_000, max_nal_bytes=388, key_interval_s=0.4) == stream.video


def test_units_are_split_at_both_start_codes_and_lose_their_padding() -> None:
    stream = b"\x00\x00\x00\x01\x67\x01\x00\x00\x01\x68\x02\x00\x00\x00\x00\x01\x65\x88\x00"
    assert h264.split_nal_units(stream) == [b"\x67\x01", b"\x68\x02", b"\x65\x88"]


def test_a_slice_that_starts_at_the_first_macroblock_starts_a_frame() -> None:
    # first_mb_in_slice 0 is coded as a leading 1 bit, everything else begins with 0
    units = [b"\x67s", b"\x68p", b"\x65\x80", b"\x65\x40", b"\x41\x80", b"\x41\x20", b"\x67s", b"\x65\xff"]
    frames = [frame.nal_units for frame in h264.group_frames(units)]
    assert frames == [tuple(units[:4]), tuple(units[4:6]), tuple(units[6:])]
