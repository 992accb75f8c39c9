"""The parts of `make reorder-real`, on handwritten deliveries."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import reorder_cells
from reorder_cells import BUFFER_100, NONE, PAPER, PLAIN, STRICT, Cell
from reorder_media import Delivery, Media, MediaMismatchError
from reorder_table import KEYS, check, interval_rows, read_runs, table

from whimbrel.quality import speech
from whimbrel.quality.rtp import PCMU, RtpPacket
from whimbrel.quality.speech import Speech

ROOT = Path(__file__).parents[2]
LOOKS = [[0.0, 9e9, 0.5, 0.1], [0.1, 9e9, 0.5, 0.1], [0.2, 6e5, 0.02, 0.1], [0.3, 4e5, 0.04, 0.1]]


def packet(number: int) -> bytes:
    return RtpPacket(number, 160 * number, False, bytes([number] * 160), PCMU).encode()


PACKETS = tuple(packet(number) for number in range(6))


def write(folder: Path, delivered: list[tuple[float, bytes]], number: int = 7) -> None:
    """The files of a transfer that began at 100 s."""
    rows = [f"{100 + at:.9f},{len(content)}" for at, content in delivered]
    (folder / f"{number}.csv").write_text("\n".join(["time_s,size_bytes", *rows]) + "\n")
    (folder / f"{number}.bin").write_bytes(b"".join(content for _, content in delivered))
    sender = {"start_s": 100.0, "sent": 5, "stale": 1, "refused": 0, "looks": LOOKS}
    (folder / f"{number}.sender").write_text(json.dumps(sender))
    (folder / f"{number}.receiver").write_text(json.dumps({"received": len(delivered), "lost": 2}))


def test_a_delivery_is_read_in_its_order(tmp_path: Path) -> None:
    write(tmp_path, [(0.05, packet(0)), (0.09, packet(2)), (0.11, packet(1)), (0.13, packet(4))])
    read = Delivery.read(tmp_path, 7, PACKETS)
    assert read.order.tolist() == [0, 2, 1, 4]
    assert read.received_s == pytest.approx([0.05, 0.11, 0.09, np.nan, 0.13, np.nan], nan_ok=True, abs=1e-6)
    assert read.overtaken.tolist() == [False, True, False, False, False, False]
    figures = read.figures()
    assert figures["held_back_share"] == pytest.approx(1 / 6)
    assert figures["out_of_order_share"] == pytest.approx(1 / 6)
    # Over the second half of the observed time.
    assert figures["loss_event_rate"] == pytest.approx(0.03)
    assert figures["allowed_kbps"] == pytest.approx(500)


@pytest.mark.parametrize(
    ("delivered", "words"),
    [
        ([packet(0), packet(0)], "packet 0 arrived twice"),
        ([packet(0)[:-1]], "packet 0 is not as it was sent"),
        ([packet(6)], "packet 6 is not as it was sent"),
    ],
)
def test_wrong_packets_are_detected(tmp_path: Path, delivered: list[bytes], words: str) -> None:
    write(tmp_path, [(0.1, content) for content in delivered])
    with pytest.raises(MediaMismatchError, match=words):
        Delivery.read(tmp_path, 7, PACKETS)


def test_the_reason_for_a_failed_end_is_reported(tmp_path: Path) -> None:
    write(tmp_path, [])
    (tmp_path / "7.sender").write_text("")
    (tmp_path / "7.sender.errors").write_text("no answer\n")
    (tmp_path / "7.receiver.errors").write_text("listening\n")
    with pytest.raises(MediaMismatchError, match="transfer 7 failed: no answer / listening"):
        Delivery.read(tmp_path, 7, PACKETS)


@pytest.fixture
def media(tmp_path: Path) -> Media:
    """Six packets of noise, 20 ms apart, and no video."""
    path = tmp_path / "noise.wav"
    noise = np.random.default_rng(1).integers(-9000, 9000, 6 * 160)
    speech.write_wav(path, noise.astype(np.int16))
    return Media(None, Speech.prepare(path))


def test_each_player_uses_the_right_packets(tmp_path: Path, media: Media) -> None:
    assert media.speech is not None
    packets = media.speech.packets
    # 50 ms each, but packet 1 takes 110 ms and packet 3 takes 80 ms: both are overtaken.
    trips = [0.05, 0.11, 0.05, 0.08, 0.05, 0.05]
    times = sorted((0.02 * at + trip, packets[at]) for at, trip in enumerate(trips))
    write(tmp_path, times)
    lines = media.score(Cell(7, "speech", 3, PAPER, PLAIN, 0), tmp_path, psnr_only=True)
    unused = {line["player"]: line["unused_share"] for line in lines}
    assert unused == pytest.approx({"as it comes": 2 / 6, "orders, 50 ms": 1 / 6, "orders, 100 ms": 0})
    # 20 ms of speech in a packet, 50 ms of path, the buffer and 3 ms for timers.
    delays = {line["player"]: line["delay_ms"] for line in lines}
    assert delays == pytest.approx({"as it comes": 70, "orders, 50 ms": 123, "orders, 100 ms": 173}, abs=0.01)
    scores = {line["player"]: line["mos_g711"] for line in lines}
    assert scores["as it comes"] < scores["orders, 50 ms"] < scores["orders, 100 ms"]


def rows(**changed: Any) -> list[dict[str, Any]]:
    """Two runs of a line that meets all requirements, with other values if given."""
    good = {
        "medium": "video", "ccid": 3, "impairment": PAPER.name, "transport": BUFFER_100.name,
        "player": "as it comes", "out_of_order_share": 0.0, "dccp_lost": 0, "held_back_share": 0.0,
        "unused_share": 0.0, "psnr_db": 40.0, "allowed_kbps": 2000,
    }  # fmt: skip
    return [good | {"run": 0}, good | {"run": 1} | changed]


def test_the_requirements_on_the_buffer_are_checked() -> None:
    assert check(rows()) == []
    assert check(rows(dccp_lost=1)) == [
        "video, 3, 5 % by 50 ± 20 ms, buffer of 100 ms, as it comes, 1: 1 packets lost"
    ]
    for name in ("out_of_order_share", "held_back_share", "unused_share"):
        assert len(check(rows(**{name: 0.03}))) == 1
    assert check(rows(held_back_share=0.01, unused_share=0.01)) == []
    clean = {"impairment": NONE.name, "transport": PLAIN.name}
    assert len(check(rows(**clean, unused_share=0.01))) == 1
    # If reordering does no harm, the buffer proves nothing.
    strict = {"transport": STRICT.name, "out_of_order_share": 0.04}
    assert check(rows(**strict, allowed_kbps=900, loss_event_rate=0.02)) == []
    assert len(check(rows(**strict, allowed_kbps=1300, loss_event_rate=0.02))) == 1
    assert len(check(rows(**strict, allowed_kbps=900, loss_event_rate=0.0003))) == 1
    assert len(check(rows(transport=PLAIN.name))) == 1


def test_a_table_has_means_and_intervals() -> None:
    lines = table(rows(psnr_db=42.0), "video")
    # t(0.975, 1) = 12.706 times 1.414 / sqrt(2).
    assert lines[2].endswith("| 41.0 ± 12.7 |")
    assert "CCID" not in lines[0]
    assert table(rows(), "speech") == []
    (psnr,) = [row for row in interval_rows(rows(psnr_db=42.0)) if row["metric"] == "psnr_db"]
    assert (psnr["mean"], psnr["n"]) == (41.0, 2)


def test_the_documents_tables_are_those_of_the_recorded_runs() -> None:
    runs = read_runs(ROOT / "interop" / "reorder" / "reorder_runs.csv")
    assert check([numbers(row) for row in runs]) == []
    known = {*table(runs, "video"), *table(runs, "speech")}
    _, section = (ROOT / "docs" / "reordering.md").read_text().split("\n## Measurements over Linux's netem\n")
    printed = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    assert len(printed) > 12
    assert [line for line in printed if line not in known] == []


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a file with its figures as numbers."""
    return {name: value if name in (*KEYS, "run") else float(value) for name, value in row.items()}


def test_the_job_has_every_transfer_once() -> None:
    cells = reorder_cells.cells(2)
    assert [cell.number for cell in cells] == list(range(len(cells)))
    assert len({replace(cell, number=0) for cell in cells}) == len(cells) == 2 * 3 * 11
    job = reorder_cells.script(cells, 8)
    assert all(job.count(f"\nstream {cell.number} ") == 1 for cell in cells)
    assert job.count("\n) &") == 8


def test_a_signal_that_pesq_cannot_score_has_no_pesq(monkeypatch: pytest.MonkeyPatch) -> None:
    class PesqError(RuntimeError):
        pass

    def refuse(*_: object) -> float:
        raise PesqError

    module = SimpleNamespace(PesqError=PesqError, pesq=refuse)
    monkeypatch.setitem(sys.modules, "pesq", module)
    silence = np.zeros(800, dtype=np.int16)
    assert speech.pesq(silence, silence) is None
    module.pesq = lambda *_: 4.0
    assert speech.pesq(silence, silence) == 4.0
