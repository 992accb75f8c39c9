"""Video with repair: simulated, and by `whimbrel perf` on real sockets across the same emulated paths.

Each pair of ends has a path of its own, all in one network. A pair has the same losses on both sides until
the packets differ. The numbers of both sides, over a whole run:

- frames in time: the share of frames that the receiver delivers whole, which it does within the latency after
  the fastest datagram. Its clock decides on both sides: an application that wakes up later is not its matter.
  Frames of the first seconds are left out, in which the allowed rate is below the video's.
- datagrams repaired: the part of the source's datagrams that the path lost and repair brought.
- overhead: bytes of headers, repeats and coded packets over the bytes of the data.

`whimbrel perf` greets its server by a small datagram, from whose size congestion control derives the first
rate; so does the simulation. Without it no frame is dropped at the start, and fewer coded packets are sent.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

CONFIDENCE = 0.999
TOLERANCE = 0.002
"""Allowed difference. Programs that wake up late answer losses later, with more coded packets: a simulated
processor that takes 1 ms for a packet adds 0.14 % of overhead."""
LATE_S = 0.01
"""Lateness of 1 % of the datagrams, by the receiving program, above which a machine is too busy."""
WARM_UP_S = 2.0
START_S = 1.0
"""The time that the servers have to start."""
END_S = 5.0
"""The time that the programs may take besides, in which the network has to last."""
_SCHEDULE = "frames.csv"
_GREETED = "greeted.csv"
_HEADER = "time_s,size_bytes,frame,type"
_GREETING_S = 0.1
_GREETING_SIZE = 32
_FRAMES_PER_S = 30
_SIZE = 1000
_DATAGRAMS = 5
_KEY_DATAGRAMS = 15

_PATH = """
[[node]]
name = "camera{i}"
[[node]]
name = "viewer{i}"
[[link]]
between = ["camera{i}", "viewer{i}"]
rate = "4 Mbit/s"
delay = "20 ms"
queue = "100 packets"
loss = { %s }
"""

_FLOW = """
[[flow]]
name = "video{i}"
from = "camera{i}"
to = "viewer{i}"
transport = "dccp"
ccid = 3
classifier = "standing"
dccp = { udp_encapsulation = true }
traffic = { kind = "video", schedule = "%s" }
repair = { latency = "%g ms", early = true }
"""


@dataclass(frozen=True, slots=True)
class RepairCase:
    """Paths that lose packets, and the latency.

    Attributes:
        name: as in the table.
        loss: the loss model.
        latency_s: the time that repair may use.
    """

    name: str
    loss: str
    latency_s: float

    def write(self, directory: Path, name: str, seconds: float, pairs: int) -> None:
        """Writes a scenario with a path for each of the pairs, and the schedules of both sides."""
        (directory / name).write_text(self._scenario(seconds, pairs))
        (directory / _SCHEDULE).write_text("\n".join([_HEADER, *_video(0.0, 1.0, 0)]) + "\n")
        greeting = f"0,{_GREETING_SIZE},0,P"
        lines = [_HEADER, greeting, *_video(_GREETING_S, seconds, 1)]
        (directory / _GREETED).write_text("\n".join(lines) + "\n")

    def _scenario(self, seconds: float, pairs: int) -> str:
        time = f'duration = "{seconds:g} s"\nwarm_up = "{WARM_UP_S:g} s"\n'
        flow = _FLOW % (_GREETED, self.latency_s * 1e3)
        parts = [text.replace("{i}", str(i)) for text in (_PATH % self.loss, flow) for i in range(pairs)]
        return f'title = "{self.name}"\n[simulation]\n{time}' + "".join(parts)

    def ends(self, whimbrel: str, directory: Path, seconds: float, pairs: int) -> list[str]:
        """The options of `whimbrel emulate` that run the programs of all pairs, and its main command."""
        words = []
        program = hurried() + shlex.quote(whimbrel)
        done = [directory / f"done{i}" for i in range(pairs)]
        for i, each in enumerate(done):
            each.unlink(missing_ok=True)
            server = f"exec {program} perf server --one-off --insecure-plaintext"
            client = f"{program} perf client $WHIMBREL_ADDRESS_VIEWER{i} --schedule {_SCHEDULE} --json"
            client += f" --latency {self.latency_s * 1e3:g}ms --time {seconds:g} --insecure-plaintext"
            report = shlex.quote(str(directory / f"report{i}.json"))
            client = f"sleep {START_S:g}; {client} > {report}; touch {shlex.quote(str(each))}"
            words += ["--end", f"viewer{i}={server}", "--end", f"camera{i}={client}"]
        # The emulation ends with its main command.
        steps = round((START_S + seconds + END_S) * 10)
        files = " ".join(shlex.quote(str(each)) for each in done)
        wait = f"for step in $(seq {steps}); do sleep 0.1; ls {files} > /dev/null 2>&1 && exit; done"
        return [*words, "--at", "camera0", "--", "sh", "-c", wait]


@dataclass(slots=True)
class Repaired:
    """The numbers, by pair of ends."""

    in_time: list[float]
    repaired: list[float]
    overhead: list[float]

    def add(self, more: Repaired) -> None:
        """Adds runs."""
        self.in_time += more.in_time
        self.repaired += more.repaired
        self.overhead += more.overhead

    def named(self) -> Iterable[tuple[str, list[float]]]:
        """The quantities as in the table."""
        return (
            ("frames in time", self.in_time),
            ("datagrams repaired", self.repaired),
            ("overhead of repair", self.overhead),
        )


def hurried() -> str:
    """Words that run a program before processes of normal priority, if permitted."""
    return "chrt --fifo 40 " if os.geteuid() == 0 and shutil.which("chrt") else ""


def _video(start_s: float, seconds: float, first: int) -> list[str]:
    """Lines of a schedule of 1.28 Mbit/s with a key frame each second."""
    lines = []
    for frame in range(round((seconds - start_s) * _FRAMES_PER_S)):
        count, kind = (_DATAGRAMS, "P") if frame % _FRAMES_PER_S else (_KEY_DATAGRAMS, "I")
        lines += [f"{start_s + frame / _FRAMES_PER_S:.6f},{_SIZE},{first + frame},{kind}"] * count
    return lines


def simulated(table: Mapping[str, list[float]], seconds: float) -> Repaired:
    """The numbers of a simulation, by its table `flows`."""
    # The table has the packets after the warm-up only.
    sent = len(_video(_GREETING_S, seconds, 1))
    pairs = zip(table["frames_in_time"], table["frames"], strict=True)
    in_time = [in_time / frames for in_time, frames in pairs]
    return Repaired(in_time, [each / sent for each in table["repaired_datagrams"]], table["repair_overhead"])


def emulated(directory: Path, pairs: int, latency_s: float) -> Repaired:
    """The numbers of the reports of `whimbrel perf`.

    Raises:
        OSError, ValueError: a program has written none, or a short one, or was late.
    """
    runs = Repaired([], [], [])
    for i in range(pairs):
        report = json.loads((directory / f"report{i}.json").read_text())
        up = report["summary"]["up"]
        received, sent = up["received"], up["sent"]
        first = [each["up"]["received"] for each in report["intervals"] if each["start_s"] < WARM_UP_S - 0.5]

        whole, repaired, given_up = (
            received[name] - sum(each[name] for each in first)
            for name in ("frames_whole", "frames_repaired", "frames_given_up")
        )
        frames = whole + repaired + given_up
        late_s = received["delay_variation_p99_s"] - latency_s
        if late_s > LATE_S:
            raise ValueError(f"pair {i}: 1 % of the datagrams were {late_s:.3f} s late")
        if frames < _FRAMES_PER_S:
            raise ValueError(f"pair {i}: {frames:g} frames")
        runs.in_time.append((whole + repaired) / frames)
        runs.repaired.append((received["repeated"] + received["restored"]) / sent["datagrams"])
        runs.overhead.append(sent["repair_bytes"] / sent["bytes"])
    return runs


REPAIR_CASES = (
    RepairCase("repair of random losses", 'model = "bernoulli", rate = "3 %"', 0.15),
    RepairCase(
        "repair of bursts",
        'model = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %"',
        0.08,
    ),
)
REPAIR_QUICK = ("repair of random losses",)
