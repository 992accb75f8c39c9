"""A script for OBS Studio: the video encoder follows the rate that a relay allows, without a restart.

In OBS: Tools, Scripts, + (this file), and the URL of the relay's figures. OBS streams to the relay's --from,
such as udp://127.0.0.1:5004?pkt_size=1316. Four times a second it sets 90 % of encoder_rate_bps, less
the audio's rate, at least 100 kbit/s and at most the bitrate in the settings of OBS.
"""

import json
import threading
import urllib.request
from contextlib import suppress

import obspython as obs

SHARE = 0.9
LEAST_KBPS = 100
PERIOD_MS = 250
# Changes below this share are left alone.
STEP = 0.03


class Reader(threading.Thread):
    """Reads the relay's figures. It is a thread, because a wait for an answer would stop OBS's window."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.allowed_bps: float | None = None
        self.ended = threading.Event()

    def run(self) -> None:
        """Reads until `ended`."""
        while not self.ended.wait(PERIOD_MS / 1000):
            self.allowed_bps = self._read()

    def _read(self) -> float | None:
        with (
            suppress(OSError, ValueError, AttributeError),
            urllib.request.urlopen(self.url, timeout=1) as answer,  # noqa: S310
        ):
            rate = json.load(answer).get("encoder_rate_bps")
            return None if rate is None else float(rate)
        return None


class Follower:
    """Sets the encoder of the stream that is on air."""

    def __init__(self) -> None:
        self.reader: Reader | None = None
        self.most_kbps: int | None = None

    def read_from(self, url: str) -> None:
        """Reads this URL from now on, or nothing if it is empty."""
        if self.reader is not None:
            self.reader.ended.set()
        self.reader = Reader(url) if url.startswith("http://") else None
        if self.reader is not None:
            self.reader.start()

    def tick(self) -> None:
        """Sets the rate that is allowed now."""
        output = obs.obs_frontend_get_streaming_output()
        if output is None:
            return
        try:
            if obs.obs_output_active(output):
                self._follow(output)
            else:
                # A stream begins with the bitrate of OBS's settings.
                self.most_kbps = None
        finally:
            obs.obs_output_release(output)

    def _follow(self, output: object) -> None:
        encoder = obs.obs_output_get_video_encoder(output)
        allowed = None if self.reader is None else self.reader.allowed_bps
        if encoder is None or allowed is None:
            return
        current = bitrate(encoder)
        if self.most_kbps is None:
            self.most_kbps = current
        audio = obs.obs_output_get_audio_encoder(output, 0)
        left = SHARE * allowed / 1000 - (0 if audio is None else bitrate(audio))
        wanted = int(min(max(left, LEAST_KBPS), self.most_kbps))
        if abs(wanted - current) >= STEP * current or (wanted == self.most_kbps != current):
            settings = obs.obs_data_create()
            obs.obs_data_set_int(settings, "bitrate", wanted)
            obs.obs_encoder_update(encoder, settings)
            obs.obs_data_release(settings)


def bitrate(encoder: object) -> int:
    """The bitrate of an encoder in kbit/s."""
    settings = obs.obs_encoder_get_settings(encoder)
    rate = obs.obs_data_get_int(settings, "bitrate")
    obs.obs_data_release(settings)
    return int(rate)


follower = Follower()


# The functions below are what OBS calls.
def script_description() -> str:
    return "The video encoder follows the rate that a Whimbrel relay allows."


def script_defaults(settings: object) -> None:
    obs.obs_data_set_default_string(settings, "url", "http://127.0.0.1:9612/rate")


def script_properties() -> object:
    properties = obs.obs_properties_create()
    obs.obs_properties_add_text(properties, "url", "The relay's figures", obs.OBS_TEXT_DEFAULT)
    return properties


def script_update(settings: object) -> None:
    follower.read_from(obs.obs_data_get_string(settings, "url"))


def script_load(_settings: object) -> None:
    obs.timer_add(follower.tick, PERIOD_MS)


def script_unload() -> None:
    obs.timer_remove(follower.tick)
    follower.read_from("")
