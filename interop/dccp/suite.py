"""The tests of suite.toml as values, and the shell script that runs them in the guest."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Location of each implementation, by IP version: the kernel at a, the kernel at b, Whimbrel behind b.
ADDRESSES = {
    "a": {4: "10.44.0.1", 6: "fd44::1"},
    "b": {4: "10.44.0.2", 6: "fd44::2"},
    "tun": {4: "10.45.0.2", 6: "fd45::2"},
}
PORT = 5001
QUICK_CELL = {"warm": 1, "seconds": 5, "repeats": 1}


@dataclass(frozen=True)
class End:
    """One end of a connection: implementation, location and arguments."""

    who: str
    place: str
    options: str

    def command(self, role: str, family: int, server: End, port: int) -> str:
        """The command line in the guest."""
        words = [f"{self.who}_peer", role, ADDRESSES[server.place][family], str(port)]
        if self.place == "tun":
            words += ["tun=tun0", f"local={ADDRESSES[self.place][family]}"]
        return " ".join([*words, self.options])

    @property
    def namespace(self) -> str:
        """The network namespace it runs in."""
        return "a" if self.place == "a" else "b"


@dataclass(frozen=True)
class Test:
    """One connection over a path of its own."""

    kind: str
    name: str
    ccid: int
    family: int
    server: End
    client: End
    # netem's arguments at a and at b.
    netem: tuple[str, str]
    # Approximate duration in the guest.
    seconds: float
    # Data for the requirements.
    facts: dict[str, Any] = field(default_factory=dict)
    clients: int = 1
    listens: int = PORT

    @property
    def is_ours(self) -> bool:
        """True if Whimbrel takes part."""
        return {self.server.who, self.client.who} != {"linux"}

    def ends(self) -> str:
        """The client's and the server's implementation."""
        return f"{self.client.who} -> {self.server.who}"


def linux(place: str, options: str) -> End:
    """The kernel's end."""
    return End("linux", place, options)


def whimbrel(options: str) -> End:
    """Whimbrel's end."""
    return End("whimbrel", "tun", options)


def deviations() -> list[dict[str, Any]]:
    """Limits within which Whimbrel may differ from Linux, and the reason."""
    found: list[dict[str, Any]] = tomllib.loads((HERE / "suite.toml").read_text())["deviation"]
    return found


def load(quick: bool) -> list[Test]:
    """All tests, or the quick ones."""
    data = tomllib.loads((HERE / "suite.toml").read_text())
    return [
        *exchanges(data["exchange"], quick),
        *refusals(data["refusal"]),
        *bulks(data["bulk"], quick),
        *(() if quick else both_ways(data["both_ways"])),
    ]


def exchanges(cases: Iterable[dict[str, str]], quick: bool) -> Iterable[Test]:
    """Short connections."""
    clean = "delay 5ms"
    combinations = [
        (ccid, family, ours) for ccid in (2, 3) for family in (4, 6) for ours in ("client", "server")
    ]
    for index, case in enumerate(cases):
        for number, (ccid, family, ours) in enumerate(combinations):
            # Half of them, each case with each CCID, family and role.
            if quick and (number + number // 2 + number // 4 + index) % 2:
                continue
            common = f"ccid={ccid} size=400 wait=20"
            ends = {role: f"{common} {case[role]}" for role in ("client", "server")}
            client = whimbrel(ends["client"]) if ours == "client" else linux("a", ends["client"])
            server = whimbrel(ends["server"]) if ours == "server" else linux("a", ends["server"])
            facts = {"closer": case["closer"], "resets": [1], "orders": "netem" in case}
            netem = (f"{case.get('netem', clean)} limit 1000",) * 2
            yield Test("exchange", case["name"], ccid, family, server, client, netem, 3, facts)


def refusals(cases: Iterable[dict[str, Any]]) -> Iterable[Test]:
    """Connections that fail, with their expected errors."""
    netem = ("delay 5ms limit 1000",) * 2
    for number, case in enumerate(cases):
        family = 4 if number % 2 == 0 else 6
        common = "ccid=2 size=400 wait=3"
        client_options = f"{common} {case.get('client_options', '')}"
        server_options = f"{common} {case.get('server_options', '')}"
        # The other end of Linux: Whimbrel, or the probe.
        other = case["client"] if case["client"] != "linux" else case.get("server", "whimbrel")
        # The probe supports IPv4 only.
        family = 4 if other == "probe" else family
        ours = case["client"] != "linux"
        client = End(other, "tun", client_options) if ours else linux("a", client_options)
        server = linux("a", server_options) if ours else End(other, "tun", server_options)
        facts = {"client_error": case["client_error"], "resets": case["resets"]}
        yield Test(
            "refusal",
            case["name"],
            2,
            family,
            server,
            client,
            netem,
            5,
            facts,
            case.get("clients", 1),
            case.get("listens", PORT),
        )


def bulks(bulk: dict[str, Any], quick: bool) -> Iterable[Test]:
    """One-way transfers as fast as allowed."""
    for cell in bulk["cells"]:
        if quick:
            if not cell.get("quick"):
                continue
            cell = cell | QUICK_CELL
        measure = cell["seconds"] - cell["warm"] - 1
        for repeat in range(cell["repeats"]):
            family, client_sends = (4, True) if repeat % 2 == 0 else (6, False)
            kinds = ["linux -> linux", "whimbrel -> linux", "linux -> whimbrel"]
            if quick:
                kinds = kinds[1:]
            for kind in kinds:
                common = f"ccid={cell['ccid']} size={bulk['size']} wait={cell['seconds'] + 30}"
                sending = f"{common} sends=1 seconds={cell['seconds']} closes=1"
                receiving = f"{common} warm={cell['warm']} measure={measure}"
                # The data come from b, unless Whimbrel receives them there.
                from_b = kind != "linux -> whimbrel"
                sender = (
                    whimbrel(sending)
                    if kind == "whimbrel -> linux"
                    else linux("b" if from_b else "a", sending)
                )
                receiver = linux("a", receiving) if from_b else whimbrel(receiving)
                clean = f"delay {cell['delay']}ms rate {cell['rate']} limit {cell['limit']}"
                lossy = f"{clean} loss {cell['loss']}%" if cell["loss"] else clean
                netem = (clean, lossy) if from_b else (lossy, clean)
                client, server = (sender, receiver) if client_sends else (receiver, sender)
                facts = {
                    "sender": "client" if client_sends else "server",
                    "cell": (cell["ccid"], cell["loss"], cell["delay"]),
                    "kind": kind,
                    "size": bulk["size"],
                    "closer": "client" if client_sends else "server",
                    "warm": cell["warm"],
                    "measure": measure,
                    "resets": [1],
                }
                name = f"bulk {cell['loss']} % {cell['delay']} ms {kind}"
                yield Test(
                    "bulk", name, cell["ccid"], family, server, client, netem, cell["seconds"] + 3, facts
                )


def both_ways(data: dict[str, Any]) -> Iterable[Test]:
    """Both ends send at once."""
    for cell in data["cells"]:
        for repeat in range(cell["repeats"]):
            common = f"ccid={cell['ccid']} size={data['size']} wait={cell['seconds'] + 30} sends=1"
            common += f" warm={cell['warm']}"
            client_options = f"{common} seconds={cell['seconds']} closes=1"
            server_options = f"{common} seconds={cell['seconds'] + 5}"
            ours_is_client = repeat % 2 == 0
            client = whimbrel(client_options) if ours_is_client else linux("a", client_options)
            server = linux("a", server_options) if ours_is_client else whimbrel(server_options)
            lossy = f"delay {cell['delay']}ms rate {cell['rate']} limit {cell['limit']} loss {cell['loss']}%"
            facts = {"closer": "client", "resets": [1], "both": True}
            name = f"both ways {cell['loss']} % {cell['delay']} ms"
            yield Test(
                "both ways",
                name,
                cell["ccid"],
                4 if repeat % 2 == 0 else 6,
                server,
                client,
                (lossy, lossy),
                cell["seconds"] + 3,
                facts,
            )


def script(tests: Sequence[tuple[int, Test]], lanes: int) -> str:
    """Runs the tests in the given number of parallel lanes, the longest first."""
    queues: list[list[str]] = [[] for _ in range(lanes)]
    load_s = [0.0] * lanes
    for number, test in sorted(tests, key=lambda pair: -pair[1].seconds):
        lane = load_s.index(min(load_s))
        load_s[lane] += test.seconds
        server = test.server.command("server", test.family, test.server, test.listens)
        client = test.client.command("client", test.family, test.server, PORT)
        queues[lane].append(
            f'path {number} "{test.netem[0]}" "{test.netem[1]}"\n'
            f'connection {number} {test.server.namespace}.{number} "{server}" '
            f'{test.client.namespace}.{number} "{client}" {test.clients}'
        )
    parts = ["(\n" + "\n".join(queue) + "\n) &" for queue in queues if queue]
    return "\n".join([*parts, "wait\n"])
