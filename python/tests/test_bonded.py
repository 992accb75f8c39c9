"""The video over two radios: gaps, table, requirements, and the quick form where it can run."""

from __future__ import annotations

import bonded
import pytest
from bonded import SENT, Shown, bytes_of, failures, gaps, table, times_of


def shown(way: str, frames: int) -> Shown:
    """A result with that number of frames."""
    return Shown(way, frames, 1.5, 4000, 0, 4_200_000, [])


def test_times_are_read_from_the_decoders_list() -> None:
    text = "#software: Lavf\n#tb 0: 1/25\n#media_type 0: video\n"
    frames = ((40, "0x1"), (35, "0x2"))
    text += "".join(f"0,         {pts},         {pts},        1,   345600, {crc}\n" for pts, crc in frames)
    assert times_of(text) == pytest.approx([1.4, 1.6])
    assert times_of("") == []


def test_a_stream_that_ends_early_has_a_gap_to_its_end() -> None:
    assert gaps([]) == [float(bonded.STREAM_S)]
    found = gaps([1.0, 1.04, 4.04])
    assert found == pytest.approx([0.04, 3.0, 1.0 + bonded.STREAM_S - 4.04])


def test_two_paths_have_to_deliver_more_than_one() -> None:
    enough = round(0.95 * SENT)
    assert failures([shown("wlan0", 500), shown("both", enough)]) == []
    assert len(failures([shown("wlan0", enough + 1), shown("both", enough)])) == 1
    assert len(failures([shown("redundant", enough), shown("both", round(0.8 * SENT))])) == 2


def test_the_table_names_the_paths_and_the_part_of_the_frames() -> None:
    line = table([shown("both", 691)], 3_500_000).splitlines()[-1]
    assert line == "| both, lowest round-trip time | 691 | 98.7 % | 1.5 s | 20 % |"


def test_the_bytes_of_a_path_that_has_come_back_are_added() -> None:
    def interval(*sent: tuple[str, int]) -> dict[str, object]:
        return {"paths": [{"local": local, "remote": "r", "bytes_sent": count} for local, count in sent]}

    assert bytes_of([]) == 0
    assert bytes_of([interval(("a", 10), ("b", 5)), interval(("b", 7)), interval(("a", 4), ("b", 9))]) == 23
