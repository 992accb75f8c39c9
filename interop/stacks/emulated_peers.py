"""The stacks of `emulated.py` that are not this host's: the guest's kernel, and Whimbrel's sockets."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import machine
from confront_cells import SIZE, UDP_BPS
from emulated_guest import END, Guest, Job
from emulated_items import GUEST, OURS, Item

PORT = 5001
REST_S = 2.0
"""Time after the last packet of the senders."""
PROGRAMS = (("flow", "flow"), ("peer", "linux_peer"))
"""The guest's: the source, and the program's name."""


def prepare() -> str | None:
    """Builds guest and peers. Returns the reason if that is impossible."""
    if missing := machine.missing_packages():
        return f"packages are missing: apt-get install {' '.join(missing)}"
    if os.uname().machine != "x86_64":
        return "the guest's kernel is for x86_64"
    sources = Path(__file__).resolve().parents[1] / "guest"
    try:
        machine.build_peer("interop_peer", machine.CACHE / "whimbrel_peer")
        programs = [machine.build_c(sources / f"{name}.c", machine.CACHE / to) for name, to in PROGRAMS]
        machine.initramfs(machine.kernel(), programs)
    except machine.MachineError as error:
        return str(error)
    return None


def dccp(role: str, address: str, item: Item, flow: int, run: int) -> str:
    """Arguments of a peer; `address` is the server's."""
    words = [role, address, str(PORT), f"ccid={item.protocols[flow].law}", f"size={SIZE}"]
    words.append(f"wait={item.seconds + 60:g}")
    if role == "client":
        words += ["sends=1", f"seconds={item.seconds - item.offset_s(flow, run):g}", "closes=1"]
    return " ".join(words)


def job(item: Item, run: int, addresses: dict[str, str]) -> Job:
    """The guest's commands."""
    servers, clients = [], []
    for flow, protocol in enumerate(item.protocols):
        to = addresses[f"r{flow}"]
        is_dccp = protocol.transport == "dccp"
        if item.sink == GUEST:
            command = f"flow {protocol.transport}-sink {PORT}"
            if is_dccp:
                command = f"linux_peer {dccp('server', to, item, flow, run)}"
            servers.append((f"r{flow}", f"sink{flow}", command))
        if item.source == GUEST:
            offset = item.offset_s(flow, run)
            command = f"flow {protocol.transport}-send {to} {PORT} {SIZE} {item.seconds - offset:g} "
            command += protocol.law or str(UDP_BPS)
            if is_dccp:
                command = f"linux_peer {dccp('client', to, item, flow, run)}"
            clients.append((f"s{flow}", f"source{flow}", offset, command))
    return Job(tuple(servers), tuple(clients), item.seconds + REST_S)


def guest(item: Item, run: int, folder: Path) -> Guest:
    """A guest at those ends of the item that are its."""
    nodes = [f"{side}{flow}" for flow in range(len(item.protocols)) for side in sides(item)]
    laws = [each.law for each in item.protocols if each.transport == "tcp"] or ["reno"]
    return Guest(folder, tuple(nodes), lambda addresses: job(item, run, addresses), laws)


def sides(item: Item) -> str:
    """Initials of the guest's nodes."""
    return "".join(side for side, stack in (("s", item.source), ("r", item.sink)) if stack == GUEST)


def ends(item: Item, run: int, of: Guest, ahead: str) -> list[str]:
    """Options and main command of the emulation."""
    program = shlex.quote(str(machine.CACHE / "whimbrel_peer"))
    behind = f"{ahead}{shlex.quote(sys.executable)} {shlex.quote(str(END))} tun"
    words = of.options()
    if item.sink == OURS:
        command = f"{program} {dccp('server', '$WHIMBREL_ADDRESS', item, 0, run)} tun=tun0"
        words += ["--end", f"r0=exec {behind} --listens {command} > {shlex.quote(str(of.folder / 'sink0'))}"]
    main = f"{of.start()}; sleep {item.seconds + REST_S:g}"
    if item.source == OURS:
        command = f"{program} {dccp('client', '$WHIMBREL_ADDRESS_R0', item, 0, run)}"
        report = shlex.quote(str(of.folder / "source0"))
        main = f"{of.start()}; exec {behind} {command} tun=tun0 local=$WHIMBREL_ADDRESS > {report}"
    return [*words, "--", "sh", "-c", main]


def check(item: Item, of: Guest) -> None:
    """Requires that all senders have done what they were to.

    Raises:
        machine.MachineError: if one of them has not.
    """
    results = of.wait()
    for flow, protocol in enumerate(item.protocols):
        if protocol.transport == "dccp":
            folder = results if item.source == GUEST else of.folder
            said = (folder / f"source{flow}").read_text()
            if not said:
                raise machine.MachineError(f"{item.name}: a sender had not ended after {REST_S:g} s")
            report = json.loads(said)
            if report["end"] != "closed" or str(report["tx_ccid"]) != protocol.law:
                raise machine.MachineError(f"{item.name}: {report['end']}: {report['error']}")
        elif errors := (results / f"source{flow}.errors").read_text():
            raise machine.MachineError(f"{item.name}: {errors}")
