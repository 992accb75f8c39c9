#!/usr/bin/env python3
"""Draws docs/images/live-view.webp, the picture of README.md: the live page of two videos over one radio.

Usage: make picture   (needs chromium and ffmpeg; about two minutes)

A test picture becomes H.264 in RTP packets, which a simulated run sends twice over the same radio: by UDP
and by DCCP with repair. The page of `whimbrel run --watch` replays the run in a browser, with the picture
that each viewer sees above its charts. A viewer shows a picture if all packets of the picture, and of all
pictures since the last key frame, have arrived in time, as browsers do; until then its picture stands still.

The simulation, the video and the moments are the same in each run; the pixels depend on the browser, its
fonts and the versions of ffmpeg and libwebp.
"""

from __future__ import annotations

import argparse
import base64
import csv
import fcntl
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from whimbrel._base import ffmpeg
from whimbrel.quality.frames import Frames
from whimbrel.quality.video import Stream

SECONDS = 30
START_S = 0.5
"""Of the videos: before it the connection is set up."""
PLAYOUT_S = 0.2
KEY_INTERVAL_S = 1.0
PICTURES_PER_S = 4
"""Of the recording; the charts move once a second, which keeps the file small."""
FREEZE_S = 0.3
"""Age from which a picture counts as frozen."""
WIDTH, HEIGHT = 1000, 690
"""Of the page; the charts below are cut off."""
PICTURE_WIDTH = 272
MOST_BYTES = 1_000_000
SIDES = ["plain UDP", "whimbrel"]
"""The flows, in the order of the page."""
SCENARIO = f"""
title = "The same video over the same radio"

[simulation]
duration = "{SECONDS + 1} s"

[[node]]
name = "camera"
[[node]]
name = "viewer"

[[link]]
name = "radio"
between = ["camera", "viewer"]
rate = "8 Mbit/s"
delay = "30 ms"
loss = {{ model = "bernoulli", rate = "4 %" }}

[[event]]
time = "18 s"
link = "radio"
up = false
[[event]]
time = "19.5 s"
link = "radio"
up = true

[[flow]]
name = "plain UDP"
from = "camera"
to = "viewer"
start = "{START_S} s"
transport = "udp"
traffic = {{ kind = "video", schedule = "schedule.csv" }}

[[flow]]
name = "whimbrel"
from = "camera"
to = "viewer"
start = "{START_S} s"
transport = "dccp"
ccid = 3
classifier = "spike"
traffic = {{ kind = "video", schedule = "schedule.csv" }}
repair = {{ latency = "150 ms" }}

[record]
packets = true
"""


def prepared(folder: Path) -> Stream:
    """The test picture as a stream, with its schedule in the folder."""
    clip = folder / "clip.mkv"
    pattern = f"testsrc=size=320x180:rate=25:duration={SECONDS}"
    ffmpeg.run(["-f", "lavfi", "-i", pattern, "-c:v", "ffv1", "-pix_fmt", "yuv420p", str(clip)])
    stream = Stream.prepare(clip, folder, bit_rate=700_000, key_interval_s=KEY_INTERVAL_S)
    stream.schedule.write_csv(folder / "schedule.csv")
    return stream


def arrivals(packets: Path, flow: str, count: int) -> npt.NDArray[np.float64]:
    """The time from the video's beginning at which each of its datagrams has arrived; NaN: never."""
    found = np.full(count, np.nan)
    with packets.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tag, received_s = int(row["tag"]), float(row["received_s"])
            if row["flow"] == flow and tag < count:
                found[tag] = np.fmin(found[tag], received_s - START_S)
    return found


def undamaged(stream: Stream, arrival_s: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """For each picture the number of the one that is shown in its place; -1 for none yet."""
    schedule = stream.schedule
    in_time = arrival_s <= schedule.time_s + PLAYOUT_S + 1e-9
    whole = np.ones(schedule.frame_count, dtype=np.bool_)
    np.logical_and.at(whole, schedule.frame, in_time)
    is_key = np.zeros(schedule.frame_count, dtype=np.bool_)
    is_key[schedule.frame[schedule.kind == "I"]] = True
    shown = np.full(schedule.frame_count, -1, dtype=np.int64)
    decodes = False
    for frame in range(schedule.frame_count):
        decodes = bool(whole[frame]) and (decodes or bool(is_key[frame]))
        shown[frame] = frame if decodes else (shown[frame - 1] if frame else -1)
    return shown


def decoded(stream: Stream, folder: Path) -> Frames:
    """The pictures as they were sent, of which each viewer sees some."""
    everything = np.zeros(len(stream.schedule))
    return stream.receive(everything, folder / "shown.y4m").shown.frames


def picture(pictures: Frames, shown: npt.NDArray[np.int64], time_s: float) -> Image.Image:
    """A viewer's picture at a time of the run."""
    rate = float(pictures.rate)
    due = min(int((time_s - START_S - PLAYOUT_S) * rate + 1e-6), shown.size - 1)
    number = int(shown[due]) if due >= 0 else -1
    height = round(PICTURE_WIDTH * pictures.height / pictures.width)
    if number < 0:
        return Image.new("RGB", (PICTURE_WIDTH, height), "black")
    image = Image.fromarray(pictures.rgb(number)).resize((PICTURE_WIDTH, height), Image.Resampling.LANCZOS)
    age = (due - number) / rate
    if age >= FREEZE_S:
        draw = ImageDraw.Draw(image)
        text = f" frozen for {age:.1f} s "
        box = draw.textbbox((6, 6), text, font_size=18)
        draw.rectangle([box[0] - 2, box[1] - 3, box[2] + 2, box[3] + 3], fill="#a8331f")
        draw.text((6, 6), text, fill="white", font_size=18)
        draw.rectangle([0, 0, PICTURE_WIDTH - 1, height - 1], outline="#a8331f", width=4)
    return image


class Browser:
    """A headless Chromium that is driven over its pipe (--remote-debugging-pipe)."""

    def __init__(self, folder: Path) -> None:
        # The numbers that the browser expects, 3 and 4, must be free.
        ours, theirs = ([fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe()] for _ in range(2))

        def pipes() -> None:
            os.dup2(ours[0], 3)
            os.dup2(theirs[1], 4)

        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ]
        options += ["--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank"]
        self.process = subprocess.Popen(
            ["chromium", *options], preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.requests = os.fdopen(ours[1], "wb", buffering=0)
        self.answers = theirs[0]
        self.read = b""
        self.number = 0
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Calls a method of the DevTools protocol."""
        self.number += 1
        request: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            request["sessionId"] = self.session
        self.requests.write(json.dumps(request).encode() + b"\0")
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _message(self) -> bytes:
        while b"\0" not in self.read:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("chromium has ended")
            self.read += part
        message, _, self.read = self.read.partition(b"\0")
        return message

    def run(self, script: str) -> object:
        """The value of an expression, or of the promise that it is."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def close(self) -> None:
        """Ends the browser."""
        self.process.terminate()
        self.process.wait()


SETUP = f"""
(async () => {{
  const pause = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  while (!document.querySelector(".view .uplot")) await pause();
  // Pictures of the viewers, above the charts; what is below texts stays where it is.
  window.shown = [...document.querySelectorAll(".view")].map((view) => {{
    const image = document.createElement("img");
    image.style = "width: {PICTURE_WIDTH}px; display: block; margin: auto; border-radius: 6px";
    view.querySelector(".heading").after(image);
    view.querySelector(".sentence").style.height = "4.2em";
    const events = view.querySelector(".events");
    events.style = "height: 1.4em; overflow: hidden; white-space: nowrap; text-overflow: ellipsis";
    return image;
  }});
  window.move = async (time, pictures) => {{
    if (time !== null) location.hash = `t=${{time}}&beside=1`;
    await Promise.all(shown.map((image, n) => ((image.src = pictures[n]), image.decode())));
    await pause();
    await pause();
  }};
}})()
"""


def encoded(image: Image.Image) -> str:
    """An image as an address for the page."""
    data = io.BytesIO()
    image.save(data, "PNG")
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode("ascii")


def recorded(
    page: Path, folder: Path, pictures: Frames, shown: Sequence[npt.NDArray[np.int64]]
) -> list[Image.Image]:
    """The page at all moments of the recording."""
    browser = Browser(folder)
    try:
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            width=WIDTH,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=False,
        )
        browser.call("Page.navigate", url=f"file://{page}#t=1&beside=1")
        browser.run(SETUP)
        images = []
        for step in range(SECONDS * PICTURES_PER_S):
            time_s = 1 + Fraction(step, PICTURES_PER_S)
            seen = [encoded(picture(pictures, each, float(time_s))) for each in shown]
            moved = int(time_s) if time_s.denominator == 1 else None
            browser.run(f"move({json.dumps(moved)}, {json.dumps(seen)})")
            shot = browser.call("Page.captureScreenshot", format="png")["data"]
            images.append(Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB"))
        return images
    finally:
        browser.close()


def main() -> int:
    """Writes the recording."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images/live-view.webp"))
    parser.add_argument("--whimbrel", type=Path, default=Path(".venv/bin/whimbrel"), help="the command")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as name:
        folder = Path(name)
        stream = prepared(folder)
        scenario = folder / "scenario.toml"
        scenario.write_text(SCENARIO, encoding="utf-8")
        page = folder / "page.html"
        command = [given.whimbrel, "run", scenario, "--quiet", "--watch", page, "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shown = [
            undamaged(stream, arrivals(folder / "packets.csv", side, len(stream.schedule))) for side in SIDES
        ]
        pictures = decoded(stream, folder)
        images = recorded(page, folder, pictures, shown)
    for side, each in zip(SIDES, shown, strict=True):
        share = float(np.mean(each != np.arange(each.size)))
        print(f"{side}: frozen for {share * SECONDS:.1f} of {SECONDS} s")
    images[0].save(
        given.out,
        save_all=True,
        append_images=images[1:],
        duration=1000 // PICTURES_PER_S,
        loop=0,
        quality=55,
        method=4,
        minimize_size=True,
    )
    size = given.out.stat().st_size
    print(f"{given.out}: {len(images)} pictures, {size} bytes")
    return 0 if size < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
