"""Live video over bad paths: the stream, the measurements, the commands and the tables."""

from __future__ import annotations

import dataclasses
import re
import socket
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from live import checks, measure, page, pictures, report, rivals, stream
from live.__main__ import measured, plan
from live.end import RECORD, age_s, is_asked
from live.paths import PATHS
from live.rivals import RIVALS
from live.runs import Bench, Cell, RunError

import whimbrel
from whimbrel._base import ffmpeg
from whimbrel._simulate.record_format import encode
from whimbrel.errors import MediaError
from whimbrel.quality import rtp
from whimbrel.quality.encode import START_CODE
from whimbrel.result import Result

KEY = (b"\x67set", b"\x65key slice")
OTHER = (b"\x41slice",)


def encoding(frames: int, key_every: int, *, size: int = 40) -> stream.Encoding:
    """A video whose frames have a packet, and whose key frames are fragmented."""
    packets: list[bytes] = []
    for number in range(frames):
        units = [unit + bytes([number]) * size for unit in (OTHER if number % key_every else KEY)]
        made = rtp.packetise(units, len(packets), 7000 + 3003 * number, 30)
        packets += [packet.encode() for packet in made]
    return stream.group(packets)


def log(*datagrams: tuple[float, bytes]) -> bytes:
    """A log of arrivals: seconds and content."""
    return b"".join(RECORD.pack(round(at * 1e9), len(data)) + data for at, data in datagrams)


def transfer(*, lost: frozenset[int] = frozenset(), delay_s: float = 0.03) -> Result:
    """Six frames, a key frame every three, some packets of which are lost."""
    video = encoding(6, 3)
    sent, arrived, sequence = [], [], 0
    for number, frame in enumerate(video.frames):
        sent.append((0, sequence, round(number / 30 * 1e9)))
        for packet in frame:
            if sequence not in lost:
                arrived.append((number / 30 + delay_s, stream.numbered(packet, sequence, number)))
            sequence += 1
    tables = measure.transfer(sent, [video], log(*arrived))
    names = (
        "forward_bytes",
        "backward_bytes",
        "camera_cpu_s",
        "viewer_cpu_s",
        "beside_bps",
        "lateness_p99_s",
    )
    tables["ends"] = {name: np.array([1000.0]) for name in names}
    return Result(tables)


def test_packets_are_grouped_by_frames_and_key_frames_are_known_in_fragments() -> None:
    video = encoding(6, 3)
    assert video.is_key == (True, False, False, True, False, False)
    assert len(video.frames[0]) > 2
    assert {len(frame) for frame in video.frames[1:3]} == {2}


def test_ffmpegs_packets_are_those_of_its_frames(tmp_path: Path) -> None:
    path = stream.make(tmp_path, 300_000, 12, 5)
    video = stream.read(path)
    assert video.is_key == tuple(number % 5 == 0 for number in range(12))
    sizes = [len(packet) for frame in video.frames for packet in frame]
    assert 900 < max(sizes) <= stream.PACKET_BYTES
    # The last packet of each frame, and no other, has the marker.
    assert [[packet[1] >> 7 for packet in frame] for frame in video.frames] == [
        [0] * (len(frame) - 1) + [1] for frame in video.frames
    ]
    assert list(tmp_path.iterdir()) == [path]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(MediaError, match="cut short"):
        stream.read(path)


def test_a_complete_video_has_the_quality_of_its_encoding_and_one_with_a_gap_has_less(tmp_path: Path) -> None:
    video = stream.read(stream.make(tmp_path, 1_500_000, 12, 50))
    raw, sent, sequence = tmp_path / "raw.264", [], 0
    units = rtp.depacketise(
        rtp.decode_packet(packet, at)
        for at, packet in enumerate(each for frame in video.frames for each in frame)
    )
    raw.write_bytes(b"".join(START_CODE + unit for frame in units.values() for unit in frame))
    graph = "[1:v]format=yuv420p[a];[a][0:v]psnr=stats_file=direct.log"
    inputs = ["-r", "30", "-i", "raw.264", "-f", "lavfi", "-i", stream.SOURCE]
    ffmpeg.run([*inputs, "-lavfi", graph, "-frames:v", "12", "-f", "null", "-"], cwd=tmp_path)
    direct = [float(each) for each in re.findall(r"psnr_y:(\S+)", (tmp_path / "direct.log").read_text())]
    arrived = []
    for number, frame in enumerate(video.frames):
        sent.append((0, sequence, round(number / 30 * 1e9)))
        for packet in frame:
            arrived.append((number, number / 30 + 0.03, stream.numbered(packet, sequence, number)))
            sequence += 1
    scores = []
    for lost in (None, 7):
        heard = [(at, packet) for number, at, packet in arrived if number != lost]
        tables = measure.transfer(sent, [video], log(*heard))
        scores.append(pictures.score(Result(tables), [video], 0.1))
    # The first quarter does not count.
    assert scores[0]["psnr"] == pytest.approx(np.mean(direct[3:]), abs=0.01)
    assert scores[1]["psnr"] < scores[0]["psnr"] - 0.5
    assert scores[1]["ssim"] < scores[0]["ssim"] - 0.01


def test_the_encoder_takes_the_highest_rate_that_is_offered() -> None:
    assert [stream.choose(rate, (200, 300, 500)) for rate in (0, 199, 200, 499, 500, 9e9)] == [
        0,
        0,
        0,
        1,
        2,
        2,
    ]


def test_a_transport_may_number_packets_anew_but_not_change_them() -> None:
    video = encoding(2, 2)
    first, second = (stream.numbered(video.frames[at][0], at, at) for at in (0, 1))
    renumbered = first[:2] + b"\xff\xff" + first[4:8] + b"ssrc" + first[12:]
    altered = second[:-1] + bytes([second[-1] ^ 1])
    received = log((0.1, renumbered), (0.2, altered), (0.3, first), (0.4, b""))
    tables = measure.transfer([(0, 0, 0), (0, 3, 10_000_000)], [video], received)
    assert tables["packets"]["delay_s"][0] == pytest.approx(0.1)
    assert np.isnan(tables["packets"]["delay_s"][1:]).all()
    assert (tables["stray"]["again"][0], tables["stray"]["foreign"][0]) == (1, 2)


def test_a_packets_delay_begins_when_its_frame_is_sent() -> None:
    video = encoding(2, 2)
    packet = stream.numbered(video.frames[1][0], len(video.frames[0]), 1)
    sent = [(0, 0, 0), (0, len(video.frames[0]), 250_000_000)]
    tables = measure.transfer(sent, [video], log((0.3, packet)))
    assert tables["packets"]["delay_s"][len(video.frames[0])] == pytest.approx(0.05)
    with pytest.raises(MediaError, match="cut short"):
        measure.transfer(sent, [video], log((0.3, packet))[:-1])


def test_each_frame_of_a_ladder_is_compared_with_its_own_encoding() -> None:
    ladder = [encoding(2, 1), encoding(2, 1, size=55)]
    packet = stream.numbered(ladder[1].frames[1][-1], 3, 1)
    for rung, lost in ((1, 0), (0, 1)):
        sent = [(0, 0, 0), (rung, len(ladder[0].frames[0]), 0)]
        tables = measure.transfer(sent, ladder, log((0.1, packet)))
        assert tables["stray"]["foreign"][0] == lost


def test_a_frame_can_be_decoded_if_nothing_back_to_its_key_frame_is_missing() -> None:
    whole = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=np.bool_)
    is_key = np.array([0, 1, 0, 0, 1, 0, 1, 0], dtype=np.bool_)
    assert measure.decodable(whole, is_key).tolist() == [False, True, False, False, True, True, False, False]


def test_frames_count_within_base_delay_budget_and_tolerance() -> None:
    limit_s = 0.02 + 0.12 + measure.TOLERANCE_S
    for delay_s, share in ((limit_s - 1e-6, 100.0), (limit_s + 1e-6, 0.0)):
        assert measure.figures(transfer(delay_s=delay_s), 0.02, 0.12)["complete"] == share


def test_the_figures_of_a_run() -> None:
    video = encoding(6, 3)
    first_of_third = sum(len(frame) for frame in video.frames[:2])
    found = measure.figures(transfer(lost=frozenset([first_of_third])), 0.02, 0.12)
    # The first quarter does not count: frames 2 to 5 do.
    assert found["complete"] == pytest.approx(75)
    assert found["decodable"] == pytest.approx(75)
    assert found["delay_median"] == pytest.approx(30)
    payload = sum(len(packet) - 12 for frame in video.frames for packet in frame)
    assert found["forward"] == pytest.approx(100 * (1000 / payload - 1))
    assert found["cpu"] == pytest.approx(30 * 2000 / 0.2)
    assert found["foreign"] == 0


def test_bytes_are_counted_by_direction_without_simulated_flows() -> None:
    flows = {
        "flow": ["video", "viewer>camera", "upload0"],
        "scheme": ["emulated", "emulated", "tcp"],
        "sent_bytes": [1000, 10, 5000],
        "feedback_bytes": [20, 300, 40],
    }
    found = measure.of_emulation(
        {"tables": {"flows": flows}, "emulation": {"events": {"p99_s": 0.25, "max_s": 0.5}}}
    )
    assert found == {
        "forward_bytes": 1020,
        "backward_bytes": 310,
        "lateness_p99_s": 0.25,
        "lateness_max_s": 0.5,
    }


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.key)
def test_the_commands_of_both_ends_have_all_their_values(rival: rivals.Rival) -> None:
    values = {"budget": "777", "wait": "777", "whimbrel": "W", "python": "P", "folder": "F"}
    both = [rival.commands(end, values) for end in ("camera", "viewer")]
    assert bool(both[0]) == bool(both[1])
    words = [word for commands in both for command in commands for word in command]
    assert rival.has_budget == any("777" in word for word in words)
    # Only the addresses of the ends are left to fill in.
    text = " ".join(words)
    assert "{" not in text.format(camera="10.0.0.1", viewer="10.0.0.2")
    assert not words or "10.0.0.2" in text.format(camera="10.0.0.1", viewer="10.0.0.2")


def test_a_missing_program_is_named_with_its_package() -> None:
    lacking = dataclasses.replace(RIVALS[0], needs={"no-such-program": "no-such-package"})
    assert lacking.missing() == "no no-such-program: apt-get install no-such-package"
    without = dataclasses.replace(RIVALS[0], law="vegemite")
    assert "vegemite" in (without.missing() or "")
    assert RIVALS[0].missing() is None


@pytest.mark.parametrize(
    ("key", "least", "most"), [("clean", 0, 0), ("loss3", 2.5, 3.5), ("bursts", 3.5, 6.5)]
)
def test_the_scenarios_lose_what_their_names_say(key: str, least: float, most: float) -> None:
    path = next(each for each in PATHS if each.key == key)
    links = whimbrel.run(
        path.file, seed=1, overrides=[f"{name}={value}" for name, value in path.values.items()]
    ).links
    lost, sent = float(links["wireless_lost_packets"][0]), float(links["departed_packets"][0])
    assert least <= 100 * lost / sent <= most


def test_an_encoder_obeys_only_who_controls_it_and_budgets_are_run_once_where_they_do_not_matter() -> None:
    cells = plan(PATHS, RIVALS, [120, 400], [1, 2])
    assert len({cell.key for cell in cells}) == len(cells)
    for row in ("drive-following", "bursts-restarting"):
        measured = {cell.rival.key for cell in cells if cell.path.key == row}
        assert measured == {rival.key for rival in RIVALS if rival.rate_url}
    clean = [cell for cell in cells if cell.path.key == "clean" and cell.seed == 2]
    assert len(clean) == sum(2 if rival.has_budget else 1 for rival in RIVALS)


def test_the_stream_begins_at_a_time_of_the_path_and_not_of_the_interpreter() -> None:
    start = time.monotonic()
    before = age_s()
    time.sleep(0.05)
    after = age_s()
    # The process is older than its first import.
    assert before > 0.1
    assert 0.05 <= after - before <= time.monotonic() - start


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        (bytes([0x81, 206, 0, 2]) + bytes(8), True),
        (bytes([0x84, 206, 0, 4]) + bytes(16), True),
        # Application layer feedback: REMB.
        (bytes([0x8F, 206, 0, 2]) + bytes(8), False),
        (bytes([0x81]), False),
    ],
)
def test_a_request_for_a_key_frame_is_known_from_other_feedback(message: bytes, asks: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.bind(("127.0.0.1", 0))
        assert not is_asked(out)
        out.sendto(message, out.getsockname())
        assert is_asked(out) == asks
        assert not is_asked(out)


def test_an_encoder_that_restarts_has_an_encoding_for_each_start(tmp_path: Path) -> None:
    path = next(path for path in PATHS if path.key == "bursts-restarting")
    assert path.first_keys == tuple(range(0, stream.KEY_EVERY, stream.RESTART_EVERY))
    assert {path.first_keys for path in PATHS if not path.restarts} == {(0,)}
    video = stream.read(stream.make(tmp_path, 300_000, 12, 5, 2))
    assert video.is_key == tuple(number in {0, 2, 7} for number in range(12))


def test_a_record_of_another_length_is_made_again(tmp_path: Path) -> None:
    cell = Cell(PATHS[0], RIVALS[0], None, 1)
    Bench(tmp_path, tmp_path, 6).records.save(cell.key, encode(cell.key, transfer().tables, {}))
    assert Bench(tmp_path, tmp_path, 6).load(cell) is not None
    assert Bench(tmp_path, tmp_path, 7).load(cell) is None


class Counting(Bench):
    """Makes runs of the test's own."""

    made: ClassVar[list[str]] = []

    def run(self, cell: Cell) -> Result:
        """A run, which fails for one rival."""
        self.made.append(cell.key)
        if cell.rival.key == "rist":
            raise RunError("rist broke off")
        result = transfer()
        self.records.save(cell.key, encode(cell.key, result.tables, {}))
        return result


def test_only_missing_runs_are_made_and_one_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    bench = Counting(tmp_path, tmp_path, 6)
    wanted = [
        Cell(PATHS[0], rival, None, 1) for rival in RIVALS if rival.key in ("udp", "srt", "rist", "rtx")
    ]
    bench.records.save(wanted[0].key, encode(wanted[0].key, transfer().tables, {}))
    bench.records.path(wanted[1].key).write_bytes(b"damaged")
    keys = [cell.key for cell in wanted]
    for again, expected in ((False, keys[1:]), (False, keys[2:3]), (True, keys)):
        Counting.made.clear()
        assert measured(bench, wanted, 2, again=again) == ["rist broke off"]
        assert sorted(Counting.made) == sorted(expected)


def cells(**changed: float) -> dict[tuple[str, str, int], list[report.Figures]]:
    """Results of every rival on every path."""
    figures = {
        "complete": 100.0,
        "decodable": 99.0,
        "lost": 8.0,
        "foreign": 0.0,
        "lateness": 0.1,
        "beside": 2.5,
    }
    figures |= {"delay_median": 28.0, "delay_p99": 51.0, "forward": 4.0, "backward": 1.0, "cpu": 0.97}
    places = [(path.key, rival.key, budget) for path in PATHS for rival in RIVALS for budget in (120, 400)]
    worse = figures | changed
    return {place: [figures, worse if place[1] == "udp" else figures] for place in places}


def test_the_table_fits_into_80_columns() -> None:
    lines = report.terminal(cells(complete=0.0)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("no loss" in line and "50 ± 635" in line for line in lines)


def test_rows_in_which_the_product_is_behind_are_named_beyond_the_intervals() -> None:
    def runs(*decodable: float) -> list[report.Figures]:
        return [{"decodable": each} for each in decodable]

    place = ("loss3", "relay", 120)
    rival = {("loss3", "srt", 120): runs(99.0, 98.0), ("loss3", "udp", 120): runs(9.0, 9.0)}
    assert report.behind(rival | {place: runs(10.0, 11.0)}) == ["loss 3 %, 120 ms: whimbrel relay 10, SRT 98"]
    assert report.behind(rival | {place: runs(95.0, 90.0)}) == []
    assert report.behind(rival | {place: runs(100.0, 100.0)}) == []
    assert report.behind(rival) == []
    wide = {("loss3", "srt", 120): runs(99.0, 60.0), place: runs(70.0, 70.0)}
    assert report.behind(wide) == []


def test_the_best_of_a_row_is_bold_and_late_runs_are_marked() -> None:
    lines = report.by_path(cells(decodable=90.0, lateness=9.0), 120, "decodable")
    assert lines[2].startswith("| no loss | 94 ± 57\\* | **99** |")
    assert lines[2].endswith("| 2 |")


def test_the_page_has_its_tables_and_no_place_left_open() -> None:
    text = page.page(cells(), 900)
    assert "{" not in text
    assert "| LTE, encoder follows | **99** |" in text
    assert "0.97" not in text
    assert "## Goodput of the downloads, Mbit/s" in text
    assert "## Picture quality" not in text


def test_picture_quality_is_shown_where_it_was_measured() -> None:
    some = {
        place: [runs[0] | {"psnr": 27.0 + at, "ssim": 0.9} for at in (0, 1)] if place[0] == "loss3" else runs
        for place, runs in cells().items()
    }
    lines = report.pictures(some)
    assert len(lines) == 2 + 2 * len(RIVALS)
    assert lines[2] == "| loss 3 % | 120 ms | RTP over UDP | 27.50 | 0.900 |"


def test_a_short_run_fails_if_a_datagram_is_foreign_or_a_repairing_program_repairs_nothing() -> None:
    good = cells(complete=60.0)
    clean = {place: runs for place, runs in good.items() if place[0] == "loss8"}
    assert checks.failures(clean) == []
    assert (
        len(checks.failures({("loss1", "srt", 400): [good["loss1", "srt", 400][0] | {"foreign": 1.0}]})) == 1
    )
    for rival, expected in (("rist", 1), ("srt", 0)):
        late = [good["clean", rival, 400][0] | {"complete": 90.0}]
        assert len(checks.failures({("clean", rival, 400): late})) == expected
    assert len(checks.failures({place: runs for place, runs in cells().items() if place[0] == "loss8"})) == 2
    lossless = [good["loss8", "udp", 400][0] | {"lost": 0.0}]
    assert len(checks.failures({("loss8", "udp", 400): lossless})) == 1
