"""examples/carry/ffmpeg_rate.py: an encoder that cannot change its rate follows a relay's by restarts."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "examples" / "carry" / "ffmpeg_rate.py"
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


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
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
                # What the first process has sent until its end.
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
