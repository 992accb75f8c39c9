"""The guest of interop/machine.py as ends of an emulated network: an interface for each, in real time.

Unlike in other tests, the guest's clock follows the host's clock, as the emulated network's does. The guest
boots while `whimbrel emulate` waits for its ends; the network starts, and with it the guest's job, when all
of them are ready.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import machine
from emulated_end import GATEWAY, MAC

END = Path(__file__).resolve().parent / "emulated_end.py"
BOOT_S = 90.0
"""The longest time for the guest to boot."""
READY, DONE = "guest: ready", "guest: done"


@dataclass(frozen=True)
class Job:
    """The guest's commands: servers, which say "listening", and then clients.

    Attributes:
        servers: node, output's name and command of each.
        clients: node, output's name, seconds after the start, and command of each.
        seconds: time after which everything ends.
    """

    servers: tuple[tuple[str, str, str], ...]
    clients: tuple[tuple[str, str, float, str], ...]
    seconds: float

    def script(self, addresses: dict[str, str], laws: Sequence[str]) -> str:
        """The job of a guest whose interfaces have these addresses, in this order."""
        lines = [
            "net=/proc/sys/net/ipv4",
            # Other namespaces than the first may use these only.
            f"echo '{' '.join(laws)}' > $net/tcp_allowed_congestion_control",
        ]
        for number, (node, address) in enumerate(addresses.items()):
            lines += [
                f"ip netns add {node}",
                f"ip link set eth{number} netns {node}",
                f"ip -n {node} link set lo up",
                f"ip -n {node} link set eth{number} up",
                f"ip -n {node} addr add {address}/32 dev eth{number}",
                f"ip -n {node} route add {GATEWAY} dev eth{number}",
                f"ip -n {node} route add default via {GATEWAY} dev eth{number}",
                f"ip netns exec {node} ping -c 1 -W 2 {GATEWAY} > /dev/null",
            ]
        for node, name, command in self.servers:
            lines += [
                f"ip netns exec {node} {command} > /out/{name} 2> /run/{name} &",
                f"until_said /run/{name} listening",
            ]
        lines += ["head -1 /proc/stat > /out/processor.before", f"echo '{READY}'", "read go"]
        for node, name, delay_s, command in self.clients:
            run = f"ip netns exec {node} {command} > /out/{name} 2> /out/{name}.errors"
            lines.append(f"(sleep {delay_s:g}; {run}) &")
        lines += [f"sleep {self.seconds:g}", "head -1 /proc/stat > /out/processor.after"]
        lines += [
            "for each in $(ip netns list | cut -d' ' -f1); do",
            "running=$(ip netns pids $each)",
            '[ -z "$running" ] || kill $running',
            "done",
        ]
        return "\n".join([*lines, "sleep 0.3", ""])


@dataclass
class Guest:
    """A guest at the ends of one emulation.

    Attributes:
        folder: of its sockets and files; the results are in `out` below it.
        ends: the nodes; their names have letters and digits only, none of them capital.
        job: its commands, of the addresses of all ends by the nodes' names.
        laws: the congestion controls of TCP that they use.
    """

    folder: Path
    ends: tuple[str, ...]
    job: Callable[[dict[str, str]], Job]
    laws: Sequence[str] = ("reno",)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._said: list[str] = []
        self._failed: str | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.socket))
        self._listener.listen(len(self.ends))
        self._listener.settimeout(BOOT_S)
        os.mkfifo(self.go)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def socket(self) -> Path:
        """The socket to which the ends connect."""
        return self.folder / "ends"

    @property
    def go(self) -> Path:
        """The pipe into which a line is written to start the job."""
        return self.folder / "go"

    @property
    def out(self) -> Path:
        """The folder of the results."""
        return self.folder / "out"

    def options(self) -> list[str]:
        """The options of `whimbrel emulate` for the guest's ends."""
        ends = [f"{sys.executable} {shlex.quote(str(END))} tap {shlex.quote(str(self.socket))}"] * len(
            self.ends
        )
        return [
            word
            for node, command in zip(self.ends, ends, strict=True)
            for word in ("--end", f"{node}=exec {command}")
        ] + ["--wait", f"{BOOT_S:g}s"]

    def start(self) -> str:
        """The command, for a shell, that starts the job."""
        return f"echo go > {shlex.quote(str(self.go))}"

    def wait(self) -> Path:
        """Waits for the end of the guest, and returns the folder of the results.

        Raises:
            machine.MachineError: if the guest has not run the job to its end.
        """
        self._thread.join()
        if self._failed is not None:
            raise machine.MachineError(self._failed)
        return self.out

    def busy(self) -> float:
        """The share of the time of the job that the guest's processor was busy."""
        before, after = (
            [int(word) for word in (self.out / f"processor.{when}").read_text().split()[1:]]
            for when in ("before", "after")
        )
        spent = [late - early for early, late in zip(before, after, strict=True)]
        # user, nice, system, idle, iowait, ...
        return 1 - (spent[3] + spent[4]) / sum(spent)

    def _run(self) -> None:
        try:
            self._boot()
        except (OSError, machine.MachineError, ValueError, KeyError) as error:
            self._failed = f"{type(error).__name__}: {error}"
        finally:
            self._listener.close()

    def _boot(self) -> None:
        connections: list[socket.socket] = []
        descriptors: dict[str, int] = {}
        known: dict[str, str] = {}
        for _ in self.ends:
            connection, _ = self._listener.accept()
            said, received, _, _ = socket.recv_fds(connection, 4096, 1)
            end = json.loads(said)
            connections.append(connection)
            descriptors[end["node"]], known = received[0], end["addresses"]
        # The environment has the names in capitals.
        addresses = {name.lower(): address for name, address in known.items()}
        script = self.job(addresses).script({node: addresses[node] for node in self.ends}, self.laws)
        disk = machine.bundle(machine.CACHE / "initramfs.cpio.gz", script, self.folder / "work")
        devices: list[str] = []
        for number, node in enumerate(self.ends):
            mac = MAC.format(number)
            devices += ["-netdev", f"tap,id=n{number},fd={descriptors[node]}"]
            devices += ["-device", f"virtio-net-pci,netdev=n{number},mac={mac}"]
        command = machine.command_line(machine.kernel(), self.folder / "work", devices)
        # Open for writing too, it has no end before the last reader.
        pipe = os.open(self.go, os.O_RDWR)
        with subprocess.Popen(
            command, stdin=pipe, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", pass_fds=list(descriptors.values()),
        ) as running:  # fmt: skip
            os.close(pipe)
            for descriptor in descriptors.values():
                os.close(descriptor)
            for line in running.stdout or ():
                self._said.append(line)
                if READY in line:
                    for connection in connections:
                        connection.send(b"1")
            for connection in connections:
                connection.close()
        if not any(DONE in line for line in self._said):
            raise machine.MachineError(f"the guest ended early:\n{''.join(self._said)[-3000:]}")
        self.out.mkdir(parents=True, exist_ok=True)
        with tarfile.open(disk) as tar:
            tar.extractall(self.out, filter="data")
        shutil.rmtree(self.folder / "work")
