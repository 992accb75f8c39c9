"""The section of docs/emulation-accuracy.md that interop/emulation/netem.py writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SECTION = "## Against Linux's tbf and netem\n"
HEAD = (
    "| path | quantity | Linux | simulated | emulated | bound |",
    "|---|---|---|---|---|---|",
)
CLOCKS_HEAD = ("| clock of the guest | 1 % below, ms | median, ms | 99 % below, ms |", "|---|---|---|---|")


@dataclass
class Line:
    """A line of the table: a quantity with its values in Linux, simulated and emulated."""

    path: str
    quantity: str
    values: tuple[str, ...]
    bound: str
    holds: bool


def replaced(page: str, new: str) -> str:
    """The page with a new section in place of the old one, or at its end; sections behind it stay."""
    before, _, old = page.partition(SECTION)
    _, heading, rest = old.partition("\n## ")
    return f"{before.rstrip()}\n\n{new.rstrip()}\n" + (f"{heading}{rest}" if heading else "")


def table(rows: Sequence[Line]) -> list[str]:
    """Lines as Markdown."""
    return [
        *HEAD,
        *(f"| {row.path} | {row.quantity} | {' | '.join(row.values)} | {row.bound} |" for row in rows),
    ]


def section(
    rows: Sequence[Line],
    explained: set[str],
    clocks: Sequence[tuple[str, float, float, float]],
    seconds: float,
    kernel: str,
) -> str:
    """The section: the measured lines, and percentiles of the delay in seconds by the guest's clock."""
    percentiles = [f"| {name} | {' | '.join(f'{1e3 * at:.3f}' for at in cuts)} |" for name, *cuts in clocks]
    return SECTION + TEXT.format(
        kernel=kernel,
        seconds=seconds,
        agreeing="\n".join(table([row for row in rows if row.path not in explained])),
        differing="\n".join(table([row for row in rows if row.path in explained])),
        clock_path=CLOCK_PATH,
        clocks="\n".join([*CLOCKS_HEAD, *percentiles]),
    )


CLOCK_PATH = "a link that is not full, tbf"
TEXT = """
```sh
make netem         # measures this section anew, in ten minutes; do not edit it
make netem-quick   # three paths, under a minute
```

Linux {kernel} runs in an [emulated machine](interop.md), whose clock counts instructions. A datagram
passes a router with `tbf`, the bottleneck, and one with `netem`, which delays and loses. Simulated and
emulated is one link with the same rate, delay, queue and losses. The load of full links is 1.2 times
their rate. The disciplines count packets without their Ethernet headers (`stab overhead -14`). Datagrams
of 1000 or 1500 B, {seconds:g} s each; the simulation with 5 seeds.

{agreeing}

Losses and delays of `netem` are compared by the distributions of their runs and values. The median delay
of a full queue depends on the phase of arrivals and departures: the bound is a sixth of a packet's time
on the link, by which successive delays differ, and 0.1 ms.

Where the disciplines differ from a link, each reason is an experiment:

{differing}

- **tbf's burst.** A token bucket lets packets pass at once while it has tokens. A packet that finds the
  bottleneck idle is not delayed by its transmission (0.8 ms for 1000 B at 10 Mbit/s), and a train passes
  as a train, up to `burst` bytes. A link transmits every packet, and so does netem's own rate.
- **netem's own rate.** A packet that finds others waiting departs a transmission time after the last of
  them: the `delay` is not added to the waiting time, but a part of it. With a larger `limit`, by the
  packets that fit into the delay (25), the delay is that of a link with a full queue.
- **netem's limit**, 1000 packets by default, includes those that are only delayed: at 4167 packets/s and
  300 ms it loses a fifth of them without any bottleneck. `limit 10000` loses none, as a link does.
- **The guest's clock.** If it follows the host's instead of counting instructions, the guest waits for the
  host's other programs, and its delays have these waits. The path "{clock_path}", measured beside other
  work on two processors:

{clocks}
"""
