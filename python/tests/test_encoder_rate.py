"""Programs of examples/carry that make encoders follow a relay's rate."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "carry"
PROGRAM = EXAMPLES / "ffmpeg_rate.py"
PATIENCE_S = 60.0


class _Rate(HTTPServer):
    """A relay's /rate, as far as the program reads it."""

    allowed: float | None = 5e6

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)


class _Answer(BaseHTTPRequestHandler):
    server: _Rate

    def do_GET(self) -> None:
        body = json.dumps({"connected": True, "encoder_rate_bps": self.server.allowed}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _bytes_of(viewer: socket.socket, duration_s: float) -> int:
    """Bytes that arrive in this time, from the first datagram on."""
    size = len(viewer.recv(65536))
    end = time.monotonic() + duration_s
    while time.monotonic() < end:
        size += len(viewer.recv(65536))
    return size


@pytest.mark.skipif(
    shutil.which("ffmpeg") is None and os.environ.get("REQUIRE_ALL") != "1", reason="needs ffmpeg"
)
def test_ffmpeg_follows_the_rate_of_a_relay(tmp_path: Path) -> None:
    with _Rate() as relay, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as viewer:
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        viewer.bind(("127.0.0.1", 0))
        viewer.settimeout(PATIENCE_S)
        source = ["-re", "-f", "lavfi", "-i", "nullsrc=s=160x120:r=25,geq=random(1)*255:128:128"]
        coder = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-b:v", "{rate}"]
        control = ["-maxrate", "{rate}", "-bufsize", "{rate}"]
        to = [
            "-f",
            "rtp",
            "-sdp_file",
            str(tmp_path / "camera.sdp"),
            f"rtp://127.0.0.1:{viewer.getsockname()[1]}?pkt_size=1200",
        ]
        command = ["ffmpeg", "-v", "error", *source, *coder, *control, *to]
        url = f"http://127.0.0.1:{relay.server_address[1]}/rate"
        with subprocess.Popen(
            [sys.executable, str(PROGRAM), url, "--steps", "100k,400k,800k", "--", *command],
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            try:
                assert program.stdout is not None
                # The lowest at first, and the highest after five seconds for which it fits.
                assert program.stdout.readline() == "100000 bit/s\n"
                assert program.stdout.readline() == "800000 bit/s\n"
                high = _bytes_of(viewer, 3.0)
                # Nine tenths of it are the step.
                relay.allowed = 120e3
                assert program.stdout.readline() == "100000 bit/s\n"
                # Discards the datagrams that the first process sent until its end.
                viewer.setblocking(False)
                with suppress(BlockingIOError):
                    while True:
                        viewer.recv(65536)
                viewer.settimeout(PATIENCE_S)
                low = _bytes_of(viewer, 3.0)
                assert low < high / 3, (low, high)
            finally:
                program.terminate()
        relay.shutdown()


class _Obs(ModuleType):
    """OBS's module for scripts, with one stream. It counts what is not released."""

    OBS_TEXT_DEFAULT = 0

    def __init__(self) -> None:
        super().__init__("obspython")
        self.video, self.audio = SimpleNamespace(bitrate=2500), SimpleNamespace(bitrate=64)
        self.is_active = True
        self.held = 0
        self.timers: list[Any] = []

    def _held(self, value: Any) -> Any:
        self.held += 1
        return value

    def _release(self, _value: Any) -> None:
        self.held -= 1

    obs_output_release = obs_data_release = _release

    def obs_frontend_get_streaming_output(self) -> Any:
        return self._held("output")

    def obs_output_active(self, _output: Any) -> bool:
        return self.is_active

    def obs_output_get_video_encoder(self, _output: Any) -> Any:
        return self.video

    def obs_output_get_audio_encoder(self, _output: Any, _track: int) -> Any:
        return self.audio

    def obs_encoder_get_settings(self, encoder: Any) -> Any:
        return self._held({"bitrate": encoder.bitrate})

    def obs_encoder_update(self, encoder: Any, settings: dict[str, int]) -> None:
        encoder.bitrate = settings["bitrate"]

    def obs_data_create(self) -> Any:
        return self._held({})

    def obs_data_get_int(self, settings: dict[str, int], key: str) -> int:
        return settings[key]

    def obs_data_set_int(self, settings: dict[str, int], key: str, value: int) -> None:
        settings[key] = value

    def obs_data_get_string(self, settings: dict[str, str], key: str) -> str:
        return settings[key]

    def timer_add(self, call: Any, _period_ms: int) -> None:
        self.timers.append(call)

    def timer_remove(self, call: Any) -> None:
        self.timers.remove(call)

    def becomes(self, kbps: int) -> bool:
        """Runs the timers until the video has this bitrate."""
        end = time.monotonic() + PATIENCE_S
        while self.video.bitrate != kbps and time.monotonic() < end:
            for call in self.timers:
                call()
            time.sleep(0.01)
        return bool(self.video.bitrate == kbps)


def test_the_script_for_obs_sets_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    obs = _Obs()
    monkeypatch.setitem(sys.modules, "obspython", obs)
    spec = importlib.util.spec_from_file_location("obs_rate", EXAMPLES / "obs_rate.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with _Rate() as relay:
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        script.script_load({})
        relay.allowed = 1e6
        script.script_update({"url": f"http://127.0.0.1:{relay.server_address[1]}/rate"})
        # Nine tenths, less the speech.
        assert obs.becomes(836)
        relay.allowed = 20e3
        assert obs.becomes(100)
        # Never more than in the settings of OBS.
        relay.allowed = 9e6
        assert obs.becomes(2500)
        # A stream that begins anew may have other settings.
        obs.is_active = False
        obs.timers[0]()
        obs.is_active, obs.video.bitrate = True, 900
        obs.timers[0]()
        relay.allowed = 500e3
        assert obs.becomes(386)
        relay.allowed = 9e6
        assert obs.becomes(900)
        script.script_unload()
        relay.shutdown()
    assert obs.timers == []
    assert obs.held == 0
