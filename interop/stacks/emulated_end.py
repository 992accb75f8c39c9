#!/usr/bin/env python3
"""An end of an emulated network with the address of another IP stack: a guest's, or one behind tun0.

Usage: emulated_end.py tap SOCKET                  (the device goes to the listener at the socket)
       emulated_end.py tun [--listens] COMMAND...  (the command has the device tun0)

The end's address is taken from its device and routed to the other stack, so that this kernel only forwards:
it answers no packet of a protocol that it lacks. `tap` sends the device's descriptor, the node's name and
the addresses of all ends as JSON, and binds a UDP socket when the other side answers: by this `whimbrel
emulate` recognises that the end is ready. With `--listens`, `tun` does so when the command writes "listening"
to standard error.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

# linux/if_tun.h
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
GATEWAY = "169.254.1.1"
"""The router of a guest, which is this kernel."""
MAC = "52:54:00:57:00:{:02x}"
"""Address of the guest's device with this number."""


def ip(*words: str) -> None:
    """Runs `ip`."""
    subprocess.run(["ip", *words], check=True)


def reroute(device: str, address: str) -> None:
    """Routes the end's own address to the device."""
    ip("address", "add", f"{GATEWAY}/32", "dev", "emu0")
    listed = subprocess.run(
        ["ip", "-json", "address", "show", "dev", "emu0"], check=True, capture_output=True, text=True
    )
    (prefix,) = (
        entry["prefixlen"] for entry in json.loads(listed.stdout)[0]["addr_info"] if entry["local"] == address
    )
    ip("address", "del", f"{address}/{prefix}", "dev", "emu0")
    ip("route", "replace", "default", "dev", "emu0")
    ip("link", "set", device, "up")
    ip("route", "replace", f"{address}/32", "dev", device)
    for name, value in (("ip_forward", 1), (f"conf/{device}/rp_filter", 0), ("conf/emu0/rp_filter", 0)):
        Path(f"/proc/sys/net/ipv4/{name}").write_text(f"{value}\n")


def listen() -> socket.socket:
    """A UDP socket without a peer."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("127.0.0.1", 0))
    return bound


def tap(path: str) -> int:
    """Hands a device out, and waits until the other side closes the connection."""
    node, address = os.environ["WHIMBREL_NODE"], os.environ["WHIMBREL_ADDRESS"]
    named = "WHIMBREL_ADDRESS_"
    addresses = {name.removeprefix(named): it for name, it in os.environ.items() if name.startswith(named)}
    device = os.open("/dev/net/tun", os.O_RDWR)
    flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tap0", flags))
    reroute("tap0", address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        said = json.dumps({"node": node, "addresses": addresses}).encode()
        socket.send_fds(connection, [said], [device])
        os.close(device)
        if not connection.recv(1):
            return 1
        with listen():
            connection.recv(1)
    return 0


def tun(command: list[str], *, listens: bool) -> int:
    """Runs the command with the device tun0."""
    ip("tuntap", "add", "dev", "tun0", "mode", "tun")
    reroute("tun0", os.environ["WHIMBREL_ADDRESS"])
    if not listens:
        os.execvp(command[0], command)  # noqa: S606 - there is no shell
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        said = running.stderr or ()
        for line in said:
            if line.startswith("listening"):
                with listen():
                    sys.stderr.writelines(said)
            else:
                sys.stderr.write(line)
    return running.returncode


def main() -> int:
    """Returns the exit code."""
    match sys.argv[1:]:
        case ["tap", path]:
            return tap(path)
        case ["tun", "--listens", *command] if command:
            return tun(command, listens=True)
        case ["tun", *command] if command:
            return tun(command, listens=False)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
