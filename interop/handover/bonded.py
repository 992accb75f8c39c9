#!/usr/bin/env python3
"""A live video from a phone with two radios, by `whimbrel relay`, over one path and over two: frames decoded.

Usage: interop/handover/bonded.py [--whimbrel FILE] [--out out/bonded] [--ways wlan0,both,coded]

ffmpeg encodes a test picture as H.264 and sends it by RTP to a relay in the emulated phone; another relay at
the server passes it to another ffmpeg, which records it; the recording is decoded afterwards. Both radios of
bonded_radios.toml have gaps. Prints a table and writes results.json; the exit code is 1 if two paths
deliver fewer frames than they have to. If namespaces or ffmpeg are missing, it prints the reason and exits
with 0, or with 1 under REQUIRE_ALL=1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "interop" / "handover" / "bonded_radios.toml"
PORT = 5004
FRAMES_PER_S, STREAM_S = 25, 28
SENT = FRAMES_PER_S * STREAM_S
"""Frames that count. One more is sent: a recorder that is killed never writes the last one."""
BIT_RATE = "1M"
WAYS = {
    "wlan0": ("--path wlan0", "Wi-Fi alone"),
    "wwan0": ("--path wwan0", "mobile network alone"),
    "both": ("--path wlan0 --path wwan0", "both, lowest round-trip time"),
    "coded": ("--path wlan0 --path wwan0 --latency 400ms --scheduler coded", "both, coded"),
    "redundant": ("--path wlan0 --path wwan0 --scheduler redundant", "both, redundant"),
}
GAP_S = 0.2
LEAST = {"both": 0.9, "coded": 0.98, "redundant": 0.98}
"""Parts of the frames that have to arrive."""
SDP = f"""v=0
o=- 0 0 IN IP4 127.0.0.1
s=phone
c=IN IP4 127.0.0.1
t=0 0
m=video {PORT} RTP/AVP 96
a=rtpmap:96 H264/90000
a=fmtp:96 packetization-mode=1
"""


@dataclass(slots=True)
class Shown:
    """The viewer's observations."""

    way: str
    frames: int
    without_picture_s: float
    """Sum of the gaps of 0.2 s and more between two frames, on the sender's clock."""
    datagrams_sent: int
    lost: int
    bytes_sent: int
    """Over all paths, with copies, repair and encryption."""
    path_events: list[str]


def commands(way: str, folder: Path, whimbrel: str) -> tuple[str, str]:
    """The shell commands at the phone and at the server."""
    secret, sdp = folder / "secret", folder / "camera.sdp"
    sdp.write_text(SDP)
    relay = f"{shlex.quote(whimbrel)} relay"
    near = f"{relay} connect server --from 127.0.0.1:{PORT} --video h264 --secret-file {secret} --json"
    near = f"{near} {WAYS[way][0]} --stale 400ms > {folder}/near.jsonl 2> {folder}/near.err"
    send = f"ffmpeg -nostdin -v error -re {source()} -f rtp 'rtp://127.0.0.1:{PORT}?pkt_size=1100'"
    phone = f"{near} & relay=$!; sleep 2; {send} > {folder}/send.log 2>&1; sleep 1; kill -TERM $relay; wait"
    latency = re.search(r"--latency \S+", WAYS[way][0])
    far = f"{relay} listen --to 127.0.0.1:{PORT} --secret-file {secret} --json"
    far = f"{far} {latency[0] if latency else ''} > {folder}/far.jsonl 2> {folder}/far.err"
    record = "ffmpeg -nostdin -y -v error -protocol_whitelist file,udp,rtp -max_delay 100000"
    record += f" -analyzeduration 1000000 -i {sdp} -map 0:v -c copy -flush_packets 1"
    record += f" -f mpegts {folder}/received.ts > {folder}/record.log 2>&1"
    return phone, f"{far} & exec {record}"


def stream(way: str, folder: Path, whimbrel: str) -> Shown:
    """Streams once."""
    folder.mkdir(parents=True, exist_ok=True)
    key = [whimbrel, "key", "secret", "--file", str(folder / "secret")]
    (folder / "secret").unlink(missing_ok=True)
    subprocess.run(key, check=True, capture_output=True)
    phone, server = commands(way, folder, whimbrel)
    emulate = [whimbrel, "emulate", str(SCENARIO), "--json", "--interfaces", "phone=wlan0,wwan0"]
    emulate += ["--wait", "1s", "--end", f"server={server}", "--at", "wlan0", "--", "sh", "-c", phone]
    done = subprocess.run(emulate, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 130}:
        raise SystemExit(f"bonded: {way}: {done.stderr.strip()}")
    times = counted(decoded_times(folder / "received.ts"))
    events = [json.loads(line) for line in (folder / "near.jsonl").read_text().splitlines()]
    far = [json.loads(line) for line in (folder / "far.jsonl").read_text().splitlines()]
    intervals = [event for event in events if event["event"] == "interval"]
    received = [event for event in far if event["event"] == "interval"]
    return Shown(
        way,
        len(times),
        round(sum(gap for gap in gaps(times) if gap >= GAP_S), 2),
        intervals[-1]["to_peer"]["sent"] if intervals else 0,
        received[-1]["from_peer"]["lost"]["path"] if received else 0,
        bytes_of(intervals),
        [event["text"] for event in events if event["event"] == "path"],
    )


def bytes_of(intervals: list[dict[str, Any]]) -> int:
    """The bytes that left on all paths; the count of a path that has come back begins anew."""
    total, last = 0, dict[tuple[str, str], int]()
    for interval in intervals:
        for path in interval["paths"]:
            place, now = (path["local"], path["remote"]), int(path["bytes_sent"])
            before = last.get(place, 0)
            total += now - before if now >= before else now
            last[place] = now
    return total


def video_bytes() -> int:
    """The bytes of the encoded video."""
    done = subprocess.run(
        shlex.split(f"ffmpeg -nostdin -v error {source()} -f h264 -"), capture_output=True, check=True
    )
    return len(done.stdout)


def source() -> str:
    """The arguments by which ffmpeg makes the video."""
    picture = f"-f lavfi -i testsrc2=size=640x360:rate={FRAMES_PER_S} -frames:v {SENT + 1}"
    encode = f"-c:v libx264 -preset ultrafast -tune zerolatency -g {FRAMES_PER_S} -b:v {BIT_RATE}"
    # A key frame has parameter sets: a viewer that has missed one continues with the next.
    encode += f" -maxrate {BIT_RATE} -bufsize {BIT_RATE} -x264-params repeat-headers=1 -pix_fmt yuv420p"
    return f"{picture} {encode}"


def counted(times: list[float]) -> list[float]:
    """The times of the frames that count. The first two have the same: ffmpeg learns the rate from them."""
    return [at for at in times if at < times[0] + STREAM_S - 1.5 / FRAMES_PER_S]


def gaps(times: list[float]) -> list[float]:
    """The times between successive frames, and from the last one to the end."""
    if not times:
        return [float(STREAM_S)]
    ends = [*times, max(times[-1], times[0] + STREAM_S)]
    return [after - before for before, after in pairwise(ends)]


def decoded_times(recorded: Path) -> list[float]:
    """The presentation times in seconds of the frames that a decoder makes of a recorded stream."""
    decode = ["ffmpeg", "-nostdin", "-v", "quiet", "-copyts", "-i", str(recorded), "-map", "0:v"]
    decode += ["-vsync", "passthrough", "-f", "framecrc", "-"]
    return times_of(subprocess.run(decode, capture_output=True, text=True, check=False).stdout)


def times_of(text: str) -> list[float]:
    """The presentation times of decoded frames in seconds, of a file of the framecrc format."""
    base = re.search(r"#tb 0: (\d+)/(\d+)", text)
    unit = int(base[1]) / int(base[2]) if base else 1.0
    lines = (line.split(",") for line in text.splitlines() if line and not line.startswith("#"))
    return sorted(int(fields[2]) * unit for fields in lines)


def missing(whimbrel: str) -> str | None:
    """The reason why it cannot run here."""
    if shutil.which("ffmpeg") is None:
        return "no ffmpeg"
    probe = [whimbrel, "emulate", str(SCENARIO), "--interfaces", "phone=wlan0,wwan0", "--json", "--", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


def table(results: list[Shown], video: int) -> str:
    """The results as Markdown; `video`: the bytes of the video itself."""
    lines = [
        "| paths | frames decoded | of those sent | without a picture | bytes beyond the video |",
        "|---|---|---|---|---|",
    ]
    for each in results:
        part = 100 * each.frames / SENT
        lines.append(
            f"| {WAYS[each.way][1]} | {each.frames} | {part:.1f} % | {each.without_picture_s:.1f} s "
            f"| {100 * (each.bytes_sent / video - 1):.0f} % |"
        )
    return "\n".join(lines)


def failures(results: list[Shown]) -> list[str]:
    """The requirements that are not met."""
    found = []
    single = [each.frames for each in results if each.way not in LEAST]
    for each in results:
        least = LEAST.get(each.way)
        if least is not None and each.frames < max([least * SENT, *single]):
            name = WAYS[each.way][1]
            found.append(
                f"{name}: {each.frames} of {SENT} frames, expected {least:.0%}, and more than one path"
            )
    return found


def main() -> int:
    """Runs the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", default=shutil.which("whimbrel", path=str(Path(sys.executable).parent)))
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bonded")
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated: " + ", ".join(WAYS))
    arguments = parser.parse_args()
    if arguments.whimbrel is None:
        parser.error("no whimbrel next to this Python: expected --whimbrel FILE")
    ways = arguments.ways.split(",")
    if unknown := [way for way in ways if way not in WAYS]:
        parser.error(f"--ways {unknown[0]}: expected some of {', '.join(WAYS)}")
    whimbrel = str(Path(arguments.whimbrel).resolve())
    if reason := missing(whimbrel):
        required = os.environ.get("REQUIRE_ALL") == "1"
        print(f"bonded: {'cannot run' if required else 'skipped'}: {reason}", file=sys.stderr)
        return 1 if required else 0
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        results = [stream(way, Path(folder) / way, whimbrel) for way in ways]
    (out / "results.json").write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")
    print(table(results, video_bytes()))
    found = failures(results)
    for each in found:
        print(f"bonded: {each}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
