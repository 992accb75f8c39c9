"""Videos and recordings of others, which ffmpeg reads."""

import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from whimbrel.__main__ import main
from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality.frames import decode_clip
from whimbrel.quality.speech import Speech


class _Counter(socketserver.ThreadingTCPServer):
    """A server that counts its clients."""

    daemon_threads = True
    visits = 0

    def verify_request(self, *_: object) -> bool:
        self.visits += 1
        return False


@pytest.fixture(name="server")
def _server() -> Iterator[_Counter]:
    with _Counter(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_files_and_names_of_addresses_send_nothing(
    server: _Counter, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = f"http://127.0.0.1:{server.server_address[1]}/a.ts"
    playlist = tmp_path / "clip.m3u8"
    playlist.write_text(
        f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{address}\n#EXT-X-ENDLIST\n", encoding="ascii"
    )
    assert main(["schedule", str(playlist), "-o", str(tmp_path / "out.csv")]) == 1
    assert "whimbrel: " in capfd.readouterr().err
    place = f"127.0.0.1:{server.server_address[1]}"
    for clip in (playlist, *(Path(f"{kind}:/{place}/a") for kind in ("http", "tcp", "cache:http", "rtmp"))):
        with pytest.raises(MediaError):
            decode_clip(clip, tmp_path / "out.y4m")
        with pytest.raises(MediaError):
            Speech.prepare(clip)
        with pytest.raises(MediaError):
            # The second of two inputs.
            ffmpeg.run(["-f", "lavfi", "-i", "sine=duration=0.1", "-i", str(clip), "-f", "null", "-"])
    assert server.visits == 0
