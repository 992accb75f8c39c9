"""`whimbrel schedule` with the ffmpeg of the package: real videos, and damaged ones."""

import csv
from pathlib import Path

import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel._base import ffmpeg
from whimbrel.scenario import Scenario


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds with key frames every second and frames that are sent before they are shown."""
    path = tmp_path_factory.mktemp("video") / "camera.mp4"
    source = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2"]
    ffmpeg.run([*source, "-c:v", "libx264", "-g", "25", "-bf", "2", "-b:v", "400k", str(path)])
    return path


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_video_becomes_the_datagrams_of_its_frames(video: Path, tmp_path: Path) -> None:
    out = tmp_path / "camera.csv"
    assert main(["schedule", str(video), "-o", str(out), "--datagram", "1000"]) == 0
    rows = _rows(out)
    frames = {int(row["frame"]): (float(row["time_s"]), row["type"]) for row in rows}
    assert len(frames) == 50
    assert [frames[frame][0] for frame in (0, 1, 25, 49)] == [0.0, 0.04, 1.0, 1.96]
    assert [kind for _, kind in frames.values()].count("I") == 2
    assert {kind for _, kind in frames.values()} == {"I", "P", "B"}
    assert max(int(row["size_bytes"]) for row in rows) <= 1000
    # All bytes of the video stream, as ffmpeg copies them.
    raw = ffmpeg.run(["-i", str(video), "-map", "0:v:0", "-c", "copy", "-f", "data", "-"])
    assert sum(int(row["size_bytes"]) for row in rows) == len(raw)

    # A scenario sends it.
    scenario = Scenario(
        {
            "simulation": {"duration": "4 s"},
            "node": [{"name": "a"}, {"name": "b"}],
            "link": [{"between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "99 packets"}],
            "flow": [
                {
                    "name": "camera",
                    "from": "a",
                    "to": "b",
                    "transport": "udp",
                    "traffic": {"kind": "video", "schedule": str(out)},
                }
            ],
        }
    )
    assert whimbrel.run(scenario).flows["received_packets"][0] == len(rows)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.9])
def test_a_damaged_video_is_an_error_in_one_line(
    part: float, video: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content = bytearray(video.read_bytes())
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(content[: int(part * len(content))])
    assert main(["schedule", str(damaged), "-o", str(tmp_path / "out.csv")]) == 1
    error = capfd.readouterr().err
    assert error.startswith(f"whimbrel: {damaged}: ")
    assert len(error.splitlines()) == 1
    # Sizes in the index of the file that no file could have.
    at = content.index(b"stsz")
    content[at + 4 : at + 40] = b"\xff" * 36
    damaged.write_bytes(content)
    assert main(["schedule", str(damaged), "-o", str(tmp_path / "out.csv")]) == 1


def test_a_file_without_video_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sound = tmp_path / "sound.mp4"
    ffmpeg.run(["-f", "lavfi", "-i", "sine=duration=0.2", str(sound)])
    for file, text in ((sound, "ffmpeg: "), (tmp_path / "missing.mp4", "No such file")):
        assert main(["schedule", str(file)]) == 1
        assert text in capfd.readouterr().err
