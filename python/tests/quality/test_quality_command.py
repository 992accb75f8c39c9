"""The command `whimbrel quality`."""

import json
from pathlib import Path
from typing import Any

import pytest

import whimbrel
from whimbrel.__main__ import main
from whimbrel._simulate.record_format import encode
from whimbrel.quality import g1070, p1203, voip
from whimbrel.quality.codecs import codec

CSV = """flow,sequence,tag,size_bytes,sent_s,received_s,fate
call,1,0,200,0.000,0.050,received
other,1,0,200,0.000,0.050,received
call,2,1,200,0.020,,wireless
call,4,2,0,,,expired
call,3,3,200,0.060,0.190,received
call,5,4,200,0.080,0.130,received
call,6,0,200,0.000,0.300,received
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Five datagrams: one lost, one dropped by the sender, one after 130 ms, two after 50 ms (one twice)."""
    (tmp_path / "packets.csv").write_text(CSV)
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["quality", *arguments, "--json"]) == 0
    actual = json.loads(capsys.readouterr().out)
    assert isinstance(actual, dict)
    return actual


def _complaint(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    assert main(["quality", *arguments]) == code
    return capsys.readouterr().err


def test_a_call_by_plain_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    actual = _json(capsys, "voice", "--codec", "g729a", "--delay", "150ms", "--loss", "1%")
    rated = voip.rate(codec("g729a"), 0.15, 0.01)
    assert (actual["r"], actual["mos"]) == (rated.r, rated.mos)
    terms = actual["terms"]
    assert terms["ro"] - terms["is"] - terms["id"] - terms["ie_eff"] + terms["a"] == pytest.approx(
        actual["r"]
    )
    # 94.2 - 3.6 - 15.2.
    assert actual["simplified"]["r"] == pytest.approx(75.4)


def test_the_text_output_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quality", "voice", "--delay", "0.1 s", "--loss", "0.05"]) == 0
    assert "G.711 with loss concealment (Appendix I): MOS 3.82, R 74.9" in capsys.readouterr().out


def test_a_video_by_plain_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    actual = _json(capsys, "video", "--bit-rate", "898kbit/s", "--frame-rate", "15", "--loss", "2%")
    assert actual["mos"] == g1070.rate(g1070.screen("4.2in"), 898_000, 15, 0.02).mos


def test_a_call_of_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    actual = _json(capsys, "voice", str(run), "--flow", "call", "--playout", "60ms", "--codec", "g729a")
    # 3 of 5 not played, 1 of them late, in one run: 3 / (1 / (1 - 0.6)); 25 ms of codec and 60 of buffer.
    assert actual["loss_rate"] == pytest.approx(0.6)
    assert actual["late_rate"] == pytest.approx(0.2)
    assert actual["burst_ratio"] == pytest.approx(1.2)
    assert actual["delay_s"] == pytest.approx(0.085)


def test_a_video_of_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    actual = _json(capsys, "video", str(run / "packets.csv"), "--flow", "call", "--playout", "60ms")
    # 3 x 200 bytes in 80 ms: a dropped datagram has size 0 here, and the last begins the next interval.
    assert actual["bit_rate_bps"] == pytest.approx(8 * 600 / 0.08)
    assert actual["loss_rate"] == pytest.approx(0.6)
    assert _json(capsys, "video", str(run), "--flow", "call")["loss_rate"] == pytest.approx(0.4)


def test_every_form_of_a_record_is_read(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns: dict[str, list[Any]] = {name: [] for name in CSV.splitlines()[0].split(",")}
    for line in CSV.splitlines()[1:]:
        for name, word in zip(columns, line.split(","), strict=True):
            columns[name].append(word if name in ("flow", "fate") else float(word) if word else float("nan"))
    (run / "one.record").write_bytes(encode("one", whimbrel.Result({"packets": columns}).tables, {}))
    plain = {name: [None if word != word else word for word in words] for name, words in columns.items()}
    (run / "one.json").write_text(json.dumps({"seed": 1, "tables": {"packets": plain}}))
    options = ("--flow", "call", "--playout", "60ms")
    found = [
        _json(capsys, "voice", str(run / name), *options)
        for name in ("packets.csv", "one.record", "one.json")
    ]
    assert found[0] == found[1] == found[2]


def test_delays_count_from_the_schedule(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "call.csv").write_text("time_s,size_bytes\n" + "".join(f"{at * 0.01},160\n" for at in range(9)))
    # Handed over at 1 s + 10 ms each: 50, -, -, 160, 90 ms with arrivals a second later.
    late = (
        CSV.replace("0.050,received\n", "1.050,received\n")
        .replace("0.190", "1.190")
        .replace("0.130", "1.130")
    )
    (run / "packets.csv").write_text(late)
    schedule = ("--schedule", str(run / "call.csv"), "--start", "1s", "--flow", "call")
    actual = _json(capsys, "voice", str(run), *schedule, "--playout", "100ms")
    assert (actual["loss_rate"], actual["late_rate"]) == (pytest.approx(0.6), pytest.approx(0.2))
    assert _json(capsys, "video", str(run), *schedule)["bit_rate_bps"] == pytest.approx(8 * 4 * 160 / 0.04)


def test_a_capture_provides_loss_and_round_trip_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "call.toml"
    scenario.write_text(
        """
[simulation]
duration = "20 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "path"
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "40 ms"
loss = { model = "bernoulli", rate = 0.05 }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "dccp"
ccid = 2
traffic = { kind = "cbr", rate = "64 kbit/s" }
packet_size = "200 B"
"""
    )
    pcap = tmp_path / "call.pcapng"
    assert main(["run", str(scenario), "--quiet", "--pcap", str(pcap), "--out", str(tmp_path / "out")]) == 0
    flows = (tmp_path / "out" / "flows.csv").read_text().splitlines()
    flow = dict(zip(flows[0].split(","), flows[1].split(","), strict=True))
    capsys.readouterr()
    actual = _json(capsys, "voice", str(pcap), "--codec", "g711-plc")
    lost = int(flow["lost_wireless"]) / int(flow["sent_packets"])
    assert lost > 0.03
    assert actual["loss_rate"] == pytest.approx(lost, rel=0.1)
    # Half of 2 x 40 ms and a little more, as acknowledgements wait; and 23.75 ms of codec.
    assert 0.04 + 0.02375 < actual["delay_s"] < 0.045 + 0.02375
    assert _json(capsys, "video", str(pcap), "--loss", "0")["loss_rate"] == 0


def test_talk_writes_schedules_for_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    actual = _json(
        capsys, "talk", str(tmp_path / "a.csv"), "--codec", "g729a", "--duration", "2s", "--continuous"
    )
    assert (actual["packets"], actual["datagram_bytes"], actual["activity"]) == (100, 32, pytest.approx(1))
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 101


def test_an_adaptive_buffer_adapts_at_talk_spurts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"call,{at},{at},200,{at:.1f},{at + 0.05 + 0.04 * (at % 2):.2f},received" for at in range(9)]
    (tmp_path / "packets.csv").write_text("\n".join([CSV.splitlines()[0], *lines]))
    for buffer in ("adaptive", "spikes"):
        actual = _json(capsys, "voice", str(tmp_path), "--playout", buffer, "--codec", "g711")
        # Every packet is a spurt of its own, and is played on arrival or later; 20 ms of codec.
        assert actual["loss_rate"] == 0
        assert actual["delay_s"] > 0.02 + 0.05 + 0.04 * 4 / 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("voice", "--codec", "speex"), "no codec 'speex'"),
        (("video",), "--bit-rate is missing"),
        (("video", "--bit-rate", "1Mbit/s", "--screen", "5in"), "no screen '5in'"),
        (("talk", "nothing/here.csv"), "cannot be written"),
    ],
)
def test_mistakes_are_reported(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in _complaint(capsys, *arguments)


def test_mistakes_in_records_are_reported(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--flow is missing; expected one of call, other" in _complaint(capsys, "voice", str(run))
    assert "no flow 'x'; expected one of call, other" in _complaint(capsys, "voice", str(run), "--flow", "x")
    assert "one talk spurt" in _complaint(capsys, "voice", str(run), "--flow", "call")
    (run / "packets.csv").write_text("flow,tag\ncall,1\n")
    # The command line is right, and the file is not.
    assert "has no column sent_s" in _complaint(capsys, "voice", str(run), code=1)
    (run / "packets.csv").write_text(CSV.replace("0.190", "soon"))
    assert "column received_s" in _complaint(capsys, "voice", str(run), code=1)
    for text in ("{}", "[]", "3", '{"tables": {"packets": {"flow": 3}}}'):
        (run / "a.json").write_text(text)
        assert "not the output of `whimbrel run --json`" in _complaint(
            capsys, "voice", str(run / "a.json"), code=1
        )
    for text, message in (
        ("", "has no column flow; expected flow, tag"),
        ("flow,tag,sent_s,received_s,size_bytes\n", "the table of packets is empty; expected a line per"),
    ):
        (run / "a.csv").write_text(text)
        assert message in _complaint(capsys, "voice", str(run / "a.csv"), code=1)
    (run / "packets.csv").write_text(CSV)
    (run / "a.csv").write_bytes(b"\x00\xff")
    schedule = ("voice", str(run), "--flow", "call", "--schedule", str(run / "a.csv"))
    assert "cannot be read: it is not in UTF-8" in _complaint(capsys, *schedule, code=1)


@pytest.mark.parametrize("name", ["none.pcap", "none"])
def test_missing_input_is_a_failure_and_not_wrong_usage(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["quality", "voice", str(run / name)]) == 1
    assert name in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [("--loss", "2"), ("--loss", "-1%"), ("--delay", "3km"), ("--burst-ratio", "0.5")]
)
def test_units_are_checked(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["quality", "voice", *words])
    assert end.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_a_large_video_by_plain_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ("--resolution", "1280x720", "--bit-rate", "1.5Mbit/s", "--shown", "20")
    actual = _json(capsys, "video", *wanted)
    assert actual["mos"] == p1203.rate(p1203.Picture((1280, 720), (1920, 1080)), 1.5e6, 30, 20).mos
    assert _json(capsys, "video", *wanted, "--display", "1280x720", "--handheld")["mos"] > actual["mos"]
    assert "expected --shown" in _complaint(capsys, "video", "--resolution", "1280x720", "--loss", "1%")
    assert "expected one of them" in _complaint(capsys, "video", *wanted, "--screen", "6in")
    assert "expected --resolution with it" in _complaint(
        capsys, "video", "--bit-rate", "1Mbit/s", "--shown", "9"
    )


def test_a_record_has_frames_only_with_a_schedule(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = _complaint(capsys, "video", str(run), "--flow", "call", "--resolution", "1280x720")
    assert "does not group datagrams into frames" in message


CALL = """
[simulation]
duration = "12 s"

[[node]]
name = "one"
[[node]]
name = "other"

[[link]]
between = ["one", "other"]
rate = "3 Mbit/s"
delay = "40 ms"
loss = { model = "bernoulli", rate = "RATE" }

[[flow]]
name = "voice"
from = "one"
to = "other"
transport = "dccp"
ccid = 4
packet_size = "100 B"
traffic = { kind = "trace", file = "talk.csv" }

[[flow]]
name = "video"
from = "one"
to = "other"
transport = "udp"
packet_size = "1200 B"
traffic = { kind = "trace", file = "frames.csv" }

[record]
packets = true
"""


def test_a_browser_call_is_scored_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _json(
        capsys,
        "talk",
        str(tmp_path / "talk.csv"),
        "--codec",
        "opus-swb-40",
        "--begin",
        "1s",
        "--duration",
        "11s",
    )
    made = _json(
        capsys,
        "frames",
        str(tmp_path / "frames.csv"),
        "--bit-rate",
        "1.5Mbit/s",
        "--begin",
        "1s",
        "--duration",
        "11s",
    )
    # 6250 bytes of a frame are six datagrams.
    assert (made["frames"], made["packets"]) == (300, 1800)
    scores: list[Any] = []
    for loss in ("0 %", "1 %"):
        (tmp_path / "call.toml").write_text(CALL.replace("RATE", loss))
        out = tmp_path / f"out{len(scores)}"
        assert main(["run", str(tmp_path / "call.toml"), "--quiet", "--out", str(out)]) == 0
        capsys.readouterr()
        voice = _json(
            capsys,
            "voice",
            str(out),
            "--flow",
            "voice",
            "--schedule",
            str(tmp_path / "talk.csv"),
            "--codec",
            "opus-swb-40",
            "--playout",
            "100ms",
        )
        video = _json(
            capsys,
            "video",
            str(out),
            "--flow",
            "video",
            "--schedule",
            str(tmp_path / "frames.csv"),
            "--resolution",
            "1280x720",
            "--display",
            "1280x720",
            "--playout",
            "200ms",
        )
        assert video["bit_rate_bps"] == pytest.approx(1.5e6, rel=1e-3)
        assert len(video["seconds"]) == 9
        scores.append((voice["mos"], video["mos"], video["frames_shown"] / video["frames"]))
    (voice, video, shown), (worse_voice, worse_video, fewer) = scores
    assert shown == 1
    assert video == pytest.approx(
        p1203.rate(p1203.Picture((1280, 720), (1280, 720)), 1.5e6, 30).mos, abs=1e-3
    )
    # All six datagrams must arrive: 0.99^6.
    assert fewer == pytest.approx(0.99**6, abs=0.04)
    assert 1 < worse_video <= video
    assert 1 < worse_voice < voice < 5
