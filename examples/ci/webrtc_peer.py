"""An end of a call by aiortc, a WebRTC stack: `webrtc_peer.py send HOST` or `webrtc_peer.py receive`.

The description of the session crosses the network, too, over a TCP connection to the receiver.
"""

from __future__ import annotations

import asyncio
import contextlib
import fractions
import sys

import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription, VideoStreamTrack
from aiortc.contrib.media import MediaBlackhole
from av import VideoFrame

PORT = 5500
RATE = 25
# Nobody beyond the emulated network answers.
ALONE = RTCConfiguration(iceServers=[])


class Noise(VideoStreamTrack):  # type: ignore[misc]
    """A picture that changes in part, so that the encoder has something to send."""

    def __init__(self) -> None:
        super().__init__()
        self._random = np.random.default_rng(1)
        self._picture = self._random.integers(0, 255, (360, 640, 3), dtype=np.uint8)
        self._count = 0

    async def recv(self) -> VideoFrame:
        """The next picture, in real time."""
        await asyncio.sleep(1 / RATE)
        left = 32 * (self._count % 16)
        self._picture[:, left : left + 32] = self._random.integers(0, 255, (360, 32, 3), dtype=np.uint8)
        frame = VideoFrame.from_ndarray(self._picture, format="rgb24")
        frame.pts, frame.time_base = self._count, fractions.Fraction(1, RATE)
        self._count += 1
        return frame


async def send(host: str) -> None:
    """Offers the video and sends it until this process ends."""
    call = RTCPeerConnection(ALONE)
    call.addTrack(Noise())
    await call.setLocalDescription(await call.createOffer())
    reader, writer = await _connected(host)
    writer.write(call.localDescription.sdp.encode() + b"\0")
    answer = (await reader.readuntil(b"\0"))[:-1].decode()
    await call.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    await asyncio.Event().wait()


async def _connected(host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    while True:
        try:
            return await asyncio.open_connection(host, PORT)
        except OSError:
            # The receiver may start later.
            await asyncio.sleep(0.1)


async def receive() -> None:
    """Answers one offer and discards the video."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call, sink = RTCPeerConnection(ALONE), MediaBlackhole()
        call.on("track", sink.addTrack)
        offer = (await reader.readuntil(b"\0"))[:-1].decode()
        await call.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        await call.setLocalDescription(await call.createAnswer())
        writer.write(call.localDescription.sdp.encode() + b"\0")
        await sink.start()

    async with await asyncio.start_server(answer, None, PORT) as server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(send(sys.argv[2]) if sys.argv[1] == "send" else receive())
