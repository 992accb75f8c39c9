"""The programs that carry the stream: their commands at the camera and at the viewer.

A camera's program takes RTP packets at 127.0.0.1:5004, a viewer's delivers them to 127.0.0.1:5006. In the
commands `{camera}` and `{viewer}` are addresses, `{budget}` is the latency budget in milliseconds,
`{wait}` a frame less, `{whimbrel}` and `{python}` are programs, and `{folder}` is the run's.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LAWS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True, slots=True)
class Rival:
    """A way to carry the stream.

    Attributes:
        key: in the names of records and options.
        title: in tables.
        camera: command at the camera; empty if the sender itself sends to the viewer.
        viewer: command at the viewer.
        needs: programs, with the Debian package of each.
        has_budget: true if the commands depend on the budget; otherwise a run serves all budgets.
        law: the congestion control that the kernel must have.
        rate_url: where it offers a rate to the encoder.
        is_ours: true for the product.
    """

    key: str
    title: str
    camera: str = ""
    viewer: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    has_budget: bool = True
    law: str = ""
    rate_url: str = ""
    is_ours: bool = False

    def commands(self, end: str, values: Mapping[str, str]) -> list[list[str]]:
        """The commands at an end. The addresses of the ends stay to be filled in there."""
        words = shlex.split(self.camera if end == "camera" else self.viewer)
        kept = {"camera": "{camera}", "viewer": "{viewer}"}
        return [[word.format(**values, **kept) for word in words]] if words else []

    def missing(self) -> str | None:
        """The programs that this machine lacks for it, with the remedy."""
        for program, package in self.needs.items():
            if shutil.which(program) is None:
                return f"no {program}: apt-get install {package}"
        if self.law and self.law not in LAWS.read_text().split():
            return f"the kernel has no congestion control {self.law}: modprobe tcp_{self.law}"
        return None


_SRT = {"srt-live-transmit": "srt-tools"}
_RIST = {"ristsender": "rist-tools", "ristreceiver": "rist-tools"}
_GSTREAMER = {
    "gst-launch-1.0": "gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good",
}
_H264 = "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96"
_FROM = "udpsrc address=127.0.0.1 port=5004 caps=" + _H264
_DELIVER = "udpsink host=127.0.0.1 port=5006 sync=false async=false"
_RTX_MAP = "payload-type-map=application/x-rtp-pt-map,96=(uint)97"
# RFC 4588 by the example of GStreamer's manual; NACKs leave at once by the profile AVPF.
_RTX_CAMERA = (
    f"gst-launch-1.0 -q rtpsession name=s rtp-profile=avpf {_FROM} ! "
    f"rtprtxsend '{_RTX_MAP}' max-size-packets=2000 ! s.send_rtp_sink "
    "s.send_rtp_src ! udpsink host={viewer} port=5000 sync=false async=false "
    "udpsrc port=5001 ! s.recv_rtcp_sink "
    "s.send_rtcp_src ! udpsink host={viewer} port=5002 sync=false async=false"
)
_RTX_VIEWER = (
    f"gst-launch-1.0 -q rtpsession name=s rtp-profile=avpf udpsrc port=5000 caps={_H264} ! s.recv_rtp_sink "
    f"s.recv_rtp_src ! rtprtxreceive '{_RTX_MAP}' ! rtpssrcdemux ! "
    "rtpjitterbuffer do-retransmission=true latency={budget} ! " + _DELIVER + " "
    "udpsrc port=5002 ! s.recv_rtcp_sink "
    "s.send_rtcp_src ! udpsink host={camera} port=5001 sync=false async=false"
)
_ULPFEC_CAMERA = (
    f"gst-launch-1.0 -q {_FROM} ! rtpulpfecenc pt=122 percentage=50 multipacket=true ! "
    "udpsink host={viewer} port=5000 sync=false async=false"
)
# The jitter buffer reports a lost packet when the next frame would be due.
_ULPFEC_VIEWER = (
    f"gst-launch-1.0 -q udpsrc port=5000 caps={_H264} ! rtpstorage size-time=2000000000 ! rtpssrcdemux ! "
    f"{_H264} ! rtpjitterbuffer do-lost=true latency={{wait}} ! rtpulpfecdec pt=122 ! " + _DELIVER
)
_TCP_CAMERA = "{python} -m whimbrel.testbed.tcp send {viewer}:7001 --from 127.0.0.1:5004 --stale inf"
_TCP_VIEWER = "{python} -m whimbrel.testbed.tcp receive 0.0.0.0:7001 --to 127.0.0.1:5006 --stale inf"
_RELAY_CAMERA = (
    "{whimbrel} relay client {viewer} --from 127.0.0.1:5004 --video h264 --secret-file {folder}/secret "
    "--latency {budget}ms --http 127.0.0.1:9611 --json"
)
_RELAY_VIEWER = (
    "{whimbrel} relay server --to 127.0.0.1:5006 --secret-file {folder}/secret --latency {budget}ms --json"
)
_RATE = "http://127.0.0.1:9611/rate"

RIVALS = (
    Rival("udp", "RTP over UDP", has_budget=False),
    Rival("relay", "whimbrel relay", _RELAY_CAMERA, _RELAY_VIEWER, rate_url=_RATE, is_ours=True),
    Rival(
        "srt",
        "SRT",
        "srt-live-transmit udp://127.0.0.1:5004 'srt://{viewer}:9000?mode=caller&latency={budget}'",
        "srt-live-transmit 'srt://:9000?mode=listener&latency={budget}' udp://127.0.0.1:5006",
        _SRT,
    ),
    Rival(
        "srt-fec",
        "SRT, FEC 5x5",
        "srt-live-transmit udp://127.0.0.1:5004 "
        "'srt://{viewer}:9000?mode=caller&latency={budget}&packetfilter=fec,cols:5,rows:5,arq:always'",
        "srt-live-transmit "
        "'srt://:9000?mode=listener&latency={budget}&packetfilter=fec,cols:5,rows:5,arq:always' "
        "udp://127.0.0.1:5006",
        _SRT,
    ),
    Rival(
        "rist",
        "RIST",
        "ristsender -p 1 -i udp://127.0.0.1:5004 -o 'rist://{viewer}:8193?buffer={budget}'",
        "ristreceiver -p 1 -i 'rist://@0.0.0.0:8193?buffer={budget}' -o udp://127.0.0.1:5006",
        _RIST,
    ),
    Rival("rtx", "GStreamer RTX", _RTX_CAMERA, _RTX_VIEWER, _GSTREAMER),
    Rival("ulpfec", "GStreamer ULPFEC", _ULPFEC_CAMERA, _ULPFEC_VIEWER, _GSTREAMER),
    Rival("cubic", "TCP CUBIC", _TCP_CAMERA + " --law cubic", _TCP_VIEWER, has_budget=False, law="cubic"),
    Rival("bbr", "TCP BBR", _TCP_CAMERA + " --law bbr", _TCP_VIEWER, has_budget=False, law="bbr"),
)
