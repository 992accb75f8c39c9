"""Real speech over a lossy path: G.711 in RTP packets, and the played signal.

`Speech.prepare` converts a recording into packets of 20 ms with their sending times; `Speech.heard` is the
signal at the earpiece, given the packets that were played. Missing packets are silence, without concealment.
"""

from __future__ import annotations

import importlib
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whimbrel._base import ffmpeg
from whimbrel.errors import MediaError
from whimbrel.quality import rtp
from whimbrel.quality.codecs import CODECS, Codec
from whimbrel.quality.voice import VoiceSchedule

Samples = npt.NDArray[np.int16]

RATE_HZ = 8000
"""Samples per second of G.711."""


@dataclass(frozen=True)
class Speech:
    """A recording prepared for sending.

    Attributes:
        codec: G.711.
        reference: the recording at 8 kHz, before coding.
        decoded: the same after coding, sample by sample: the signal without loss.
        schedule: sending times and sizes of the packets.
        packets: their bytes, RTP and speech.
    """

    codec: Codec
    reference: Samples
    decoded: Samples
    schedule: VoiceSchedule
    packets: tuple[bytes, ...]

    @classmethod
    def prepare(cls, recording: Path) -> Speech:
        """Encodes a recording and cuts it into packets; a remainder of less than a packet is dropped.

        A packet is handed over at the beginning of its speech, as in `voice.talk`: `Codec.delay_s` is the
        additional delay of a real encoder.

        Args:
            recording: any sound that ffmpeg reads, such as `clips.fetch("beckett")`.

        Raises:
            MediaError: it is shorter than a packet, or not a recording.
        """
        codec = CODECS["g711"]
        size = codec.payload_bytes
        mono = ["-ac", "1", "-ar", str(RATE_HZ)]
        raw = ["-f", "s16le", "-c:a", "pcm_s16le", "-bitexact", "-"]
        reference = np.frombuffer(ffmpeg.run(["-i", str(recording), *mono, *raw]), dtype="<i2")
        coded = ffmpeg.run(["-i", str(recording), *mono, "-f", "mulaw", "-bitexact", "-"])
        count = min(len(coded), reference.size) // size
        if count == 0:
            raise MediaError(f"{recording} is shorter than a packet of {1000 * codec.packet_s:g} ms")
        coded = coded[: count * size]
        with tempfile.TemporaryDirectory(prefix="whimbrel-") as directory:
            stream = Path(directory) / "speech.ul"
            stream.write_bytes(coded)
            source = ["-f", "mulaw", "-ar", str(RATE_HZ), "-i", str(stream)]
            decoded = np.frombuffer(ffmpeg.run([*source, *raw]), dtype="<i2")
        packets = tuple(
            rtp.RtpPacket(
                number, number * size, number == 0, coded[number * size :][:size], rtp.PCMU
            ).encode()
            for number in range(count)
        )
        schedule = VoiceSchedule(
            time_s=np.arange(count, dtype=np.float64) * np.float64(codec.packet_s),
            size_bytes=np.array([len(packet) for packet in packets], dtype=np.int64),
        )
        return cls(
            codec, reference[: count * size].astype(np.int16), decoded.astype(np.int16), schedule, packets
        )

    def heard(self, played: npt.NDArray[np.bool_]) -> Samples:
        """The signal at the earpiece, given the packets that were played.

        Raises:
            MediaError: not one entry per packet.
        """
        if played.shape != self.schedule.time_s.shape:
            raise MediaError(f"{played.size} entries for {len(self.schedule)} packets")
        return np.where(np.repeat(played, self.codec.payload_bytes), self.decoded, 0).astype(np.int16)


def write_wav(path: Path, samples: Samples) -> None:
    """Writes samples at 8 kHz, one channel, as a WAV file."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.astype("<i2").tobytes())


def pesq(reference: Samples, heard: Samples) -> float | None:
    """Listening quality by ITU-T P.862, on P.862.1's scale of 1.0 to 4.5.

    None without the package `pesq`, which wraps the ITU's own program, whose licence permits evaluation only;
    and if that cannot score the signals: they are shorter than a quarter of a second, or silent.
    """
    try:
        module = importlib.import_module("pesq")
    except ImportError:
        return None
    try:
        return float(module.pesq(RATE_HZ, reference, heard, "nb"))
    except module.PesqError:
        return None
