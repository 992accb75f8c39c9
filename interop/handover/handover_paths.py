"""Two network namespaces joined by two paths, and a client that moves from one path to the other.

    client                         here                              server
    air  <--- tbf: the rate --->  ap | relay: the delay | p0 <---> home   10.1.0.1
                                                        | p1 <---> away   10.2.0.1
                                                                   lo     10.9.0.1

Everything exists in separate namespaces (user, network, mount, process) and disappears with them: no
privileges are needed, and the machine's configuration is not changed.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from handover_relay import Relay, switch_offloads_off

SERVER = "10.9.0.1"
TOOLS = ("unshare", "nsenter", "ip", "tc")
NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


class PathError(Exception):
    """The namespaces or their content cannot be created."""


@dataclass(frozen=True, slots=True)
class Way:
    """A path from the client to the server.

    Attributes:
        name: the server's interface.
        network: the first three bytes of its addresses.
        kilobits: its rate from the client, in kbit/s.
        delay_s: one way, in seconds.
    """

    name: str
    network: str
    kilobits: int
    delay_s: float

    @property
    def rtt_s(self) -> float:
        """Round-trip time without queues, in seconds."""
        return 2 * self.delay_s


def fresh_namespaces() -> list[str] | None:
    """Command prefix that runs a program in separate namespaces, rootless if allowed; None if unavailable."""
    for rootless in (["--user", "--map-root-user"], []):
        command = ["unshare", *rootless, *NAMESPACES]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    return None


def missing() -> str | None:
    """Reason why namespaces and paths are unavailable, or None."""
    if absent := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"programs are missing: {', '.join(absent)} (util-linux and iproute2)"
    if (command := fresh_namespaces()) is None:
        return "the kernel allows no namespaces to this user"
    words = (
        "ip link add name wh0 type veth peer name wh1 && "
        "tc qdisc add dev wh0 root tbf rate 1mbit burst 4kb latency 50ms"
    )
    probe = subprocess.run([*command, "sh", "-c", words], capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"the kernel has no veth or no tbf: {probe.stderr.strip()}"
    return None


class Lab:
    """The namespaces, from the inside: see the module."""

    def __init__(self, ways: list[Way]) -> None:
        """Creates the namespaces; the client is on the first of `ways`."""
        self.ways = ways
        self._holders = [
            subprocess.Popen(["unshare", "--net", "sleep", "1000000"]) for _ in ("client", "server")
        ]
        self.client, self.server = (holder.pid for holder in self._holders)
        self._wait_for_namespaces()
        self._join("ap", "air", self.client)
        for index, way in enumerate(ways):
            self._join(f"p{index}", way.name, self.server)
        self.ip(self.client, ["link set lo up"])
        self.ip(self.server, ["link set lo up", f"addr add {SERVER}/32 dev lo"])
        for index, way in enumerate(ways):
            self.ip(
                self.server,
                [
                    f"link set {way.name} address {self._mac(index + 1)} up",
                    f"addr add {way.network}.1/24 dev {way.name}",
                    f"neigh replace {way.network}.2 lladdr {self._mac(0)} dev {way.name} nud permanent",
                ],
            )
        self.ip(self.client, [f"link set air address {self._mac(0)}"])
        self.relay = Relay("ap", [(f"p{index}", way.delay_s) for index, way in enumerate(ways)])
        self.come_back(0)

    @staticmethod
    def _mac(number: int) -> str:
        return f"02:00:00:00:00:{number + 1:02x}"

    def _wait_for_namespaces(self) -> None:
        here = Path("/proc/self/ns/net").readlink()
        limit = time.monotonic() + 10
        while any(Path(f"/proc/{pid}/ns/net").readlink() == here for pid in (self.client, self.server)):
            if time.monotonic() > limit:
                raise PathError("the namespaces were not made within 10 s")
            time.sleep(0.005)

    def _join(self, here: str, there: str, holder: int) -> None:
        self.run(["ip", "link", "add", here, "type", "veth", "peer", "name", there])
        for end in (here, there):
            switch_offloads_off(end)
        self.run(["ip", "link", "set", there, "netns", str(holder)])
        self.run(["ip", "link", "set", here, "up"])

    @staticmethod
    def inside(holder: int) -> list[str]:
        """Command prefix that runs a program in one of the namespaces."""
        return ["nsenter", f"--net=/proc/{holder}/ns/net", "--"]

    @staticmethod
    def run(command: list[str], text: str | None = None) -> None:
        """Runs a program to its end."""
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PathError(f"{' '.join(command)}: {done.stderr.strip()} {text or ''}")

    def ip(self, holder: int, lines: list[str]) -> None:
        """Runs several commands of `ip` in one batch."""
        self.run([*self.inside(holder), "ip", "-batch", "-"], "\n".join(lines) + "\n")

    def go_away(self) -> float:
        """Takes the client's interface down; returns the time on the monotonic clock."""
        self.ip(self.client, ["link set air down"])
        return time.monotonic()

    def come_back(self, index: int) -> float:
        """Brings the interface up on a path, with its address and rate; returns the time."""
        way = self.ways[index]
        # Three datagrams at once, as on a radio with aggregation; 100 ms of queue.
        shape = f"rate {way.kilobits}kbit burst 4kb latency 100ms"
        self.run([*self.inside(self.client), "tc", *f"qdisc replace dev air root tbf {shape}".split()])
        self.relay.path = index
        self.ip(
            self.client,
            [
                "addr flush dev air",
                f"addr add {way.network}.2/24 dev air",
                "link set air up",
                f"neigh replace {way.network}.1 lladdr {self._mac(index + 1)} dev air nud permanent",
                f"route add default via {way.network}.1",
            ],
        )
        return time.monotonic()

    def handed_over(self) -> int:
        """UDP datagrams handed to the client's kernel, including those without a route."""
        tables: dict[str, dict[str, int]] = {}
        with Path(f"/proc/{self.client}/net/snmp").open(encoding="ascii") as file:
            lines = [line.split() for line in file]
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            tables[names[0]] = dict(zip(names[1:], map(int, values[1:]), strict=True))
        return tables["Udp:"]["OutDatagrams"] + tables["Ip:"]["OutNoRoutes"]

    def close(self) -> None:
        """Ends the processes started here."""
        self.relay.close()
        for holder in self._holders:
            holder.kill()
            holder.wait()
