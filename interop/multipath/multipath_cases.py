"""The connections between Whimbrel and a kernel with MP-DCCP, with their expected outcomes."""

from __future__ import annotations

from dataclasses import dataclass

SYSCTL = "/proc/sys/net/mpdccp"
LINKS = "/sys/module/mpdccplink/links"
PORT = 5001
# Of each end: few and small, for captures of a few kilobytes.
COUNT = 20
DATA = "size=40 interval=0.03 wait=7"
SECOND_PATH = "at=0.2:join:1"
BOTH = "SubflowUp\\(SubflowId\\(1\\)\\)"


@dataclass(frozen=True)
class Case:
    """One connection, and the expected outcome."""

    name: str
    # The end that accepts the connection: kernel or whimbrel.
    server: str
    # Further arguments of both ends.
    kernel: str = ""
    whimbrel: str = ""
    # Commands before and during the connection.
    setup: str = ""
    meanwhile: str = ""
    # The result of the connection at each end.
    ends: tuple[str, str] = ("eof", "closed")
    is_multipath: bool = True
    # Number of subflows that carry data in each direction.
    subflows: int = 2
    # Regular expressions for Whimbrel's events and the kernel's messages, each of which occurs.
    events: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    # Copies of datagrams are expected.
    is_redundant: bool = False
    ccid: int = 2
    # File name of the capture that the tests of the repository decode.
    capture: str = ""

    def count(self) -> int:
        """Number of datagrams that Whimbrel sends."""
        return COUNT if self.subflows else 0

    def kernel_count(self) -> int:
        """Number of datagrams that the kernel sends."""
        # Its schedulers read a congestion window, which CCID 3 does not have.
        return 0 if self.is_multipath and self.ccid == 3 else self.count()

    def kernel_command(self) -> str:
        """The command of the kernel's end."""
        place = f"server {PORT}" if self.server == "kernel" else f"client 10.45.1.2 {PORT} from=10.44.1.1"
        return f"linux_multipath {place} {DATA} ccid={self.ccid} count={self.kernel_count()} {self.kernel}"

    def whimbrel_command(self) -> str:
        """The command of Whimbrel's end."""
        place = f"client {PORT} peer=10.44.1.1" if self.server == "kernel" else f"server {PORT}"
        addresses = "tun=tun0 local=10.45.1.2,10.45.2.2"
        return f"whimbrel_multipath {place} {addresses} {DATA} count={COUNT} ccid={self.ccid} {self.whimbrel}"

    def job(self) -> str:
        """The guest's job."""
        return "\n".join(
            [
                ". /job/multipath.sh",
                f"echo 1 > {SYSCTL}/mpdccp_debug",
                # A scheduler that uses all paths.
                f"echo rr > {SYSCTL}/mpdccp_scheduler",
                # Of the subflows that a client's kernel opens by itself.
                f"echo {self.ccid} > /proc/sys/net/dccp/default/tx_ccid",
                f"echo {self.ccid} > /proc/sys/net/dccp/default/rx_ccid",
                self.setup,
                'paths "delay 10ms" "delay 20ms"',
                "linux_multipath on va1 va2",
                # The kernel notices addresses with a delay.
                "sleep 0.5",
                f'run_ends run {self.server} "{self.kernel_command()}" "{self.whimbrel_command()}"',
                "",
            ]
        )


ACCEPTS_PRIORITIES = f"echo 1 > {SYSCTL}/mpdccp_accept_prio"
# Address, two priorities at once, and the removal.
WHIMBREL_SIGNALS = (
    "at=0.5:announce:1 at=0.7:priority:0:5 at=0.7:priority:1:1 at=1.1:priority:1:7 at=1.4:remove:1"
)
PRIORITIES = ("assigning prio 5 - old", "assigning prio 1 - old prio 3", "assigning prio 7 - old prio 1")
PRIORITY_OF_KERNEL = "PriorityChanged .*SubflowId\\(1\\), priority: PathPriority\\(1\\)"
CONFIRMED_PRIORITY = "mp_confirm matches sent option. txpe: 9"
NO_MULTIPATH = f"echo 0 > {SYSCTL}/mpdccp_enabled"
ABRUPT = "Reset\\(Reset .*AbruptMultipathTermination"


def closing(server: str) -> list[Case]:
    """The four ways to end a connection, to one server."""
    join = SECOND_PATH if server == "kernel" else ""
    return [
        Case(f"{server} accepts, Whimbrel closes", server, whimbrel=f"{join} at=2:close", events=(BOTH,)),
        Case(
            f"{server} accepts, Whimbrel aborts", server, whimbrel=f"{join} at=2:abort", events=(BOTH,),
            capture=f"multipath-{server}-accepts-abort.pcap",
        ),
        Case(
            f"{server} accepts, kernel closes", server, kernel="closes=2", whimbrel=join,
            ends=("closed", "eof"), events=(BOTH,),
        ),
        Case(
            f"{server} accepts, kernel aborts", server, kernel="closes=2 fast=1", whimbrel=join,
            ends=("closed", "reset"), events=(BOTH, ABRUPT),
        ),
        Case(f"{server} accepts, CCID 3", server, whimbrel=f"{join} at=2:close", events=(BOTH,), ccid=3),
        Case(
            f"{server} accepts, copies on all paths", server, whimbrel=f"{join} at=2:close", events=(BOTH,),
            setup=f"echo redundant > {SYSCTL}/mpdccp_scheduler", is_redundant=True,
        ),
    ]  # fmt: skip


def signals() -> list[Case]:
    """Addresses and priorities."""
    return [
        Case(
            "kernel accepts, Whimbrel signals", "kernel", setup=ACCEPTS_PRIORITIES,
            whimbrel=f"{SECOND_PATH} {WHIMBREL_SIGNALS} at=2.5:close", events=(BOTH,), messages=PRIORITIES,
            capture="multipath-kernel-accepts.pcap",
        ),
        Case(
            "whimbrel accepts, Whimbrel signals", "whimbrel", setup=ACCEPTS_PRIORITIES,
            whimbrel=f"{WHIMBREL_SIGNALS} at=2.5:close", events=(BOTH,), messages=PRIORITIES,
        ),
        Case(
            "kernel accepts, kernel signals", "kernel",
            whimbrel=f"{SECOND_PATH} at=1.5:follow:1 at=2.5:close",
            meanwhile=f"sleep 0.8; for link in {LINKS}/name/va2*; do echo 1 > $link/mpdccp_prio; done\n"
            "sleep 0.3; ip addr add 10.44.2.9/24 dev va2",
            events=(
                BOTH, PRIORITY_OF_KERNEL, "AddressAdded { address_id: 3, address: 10.44.2.9, port: None",
                "SubflowUp\\(SubflowId\\(2\\)\\)",
            ),
            messages=(CONFIRMED_PRIORITY, "mp_confirm matches sent option. txpe: 7"),
            capture="multipath-kernel-announces.pcap",
        ),
        Case(
            "whimbrel accepts, kernel signals", "whimbrel", kernel="closes=3.2", ends=("closed", "eof"),
            meanwhile=f"sleep 0.8; echo 1 > {LINKS}/dev/va2/mpdccp_prio; sleep 0.5\n"
            "ip addr del 10.44.2.1/24 dev va2; sleep 0.5; ip addr add 10.44.2.1/24 dev va2\n"
            "ip route add default via 10.44.2.2 dev va2 table 2",
            events=(
                BOTH, PRIORITY_OF_KERNEL, "AddressRemoved { address_id: 2 }",
                "SubflowUp\\(SubflowId\\(2\\)\\)",
            ),
            messages=(CONFIRMED_PRIORITY, "mp_confirm matches sent option. txpe: 8"),
            capture="multipath-whimbrel-accepts.pcap",
        ),
    ]  # fmt: skip


def limits() -> list[Case]:
    """Fallbacks to a regular connection, and what does not work."""
    rfc = "dialect=rfc"
    return [
        Case(
            "kernel accepts, without MP-DCCP", "kernel", setup=NO_MULTIPATH, kernel="single=1",
            whimbrel="at=1.5:close", is_multipath=False, subflows=1,
        ),
        Case(
            "kernel accepts, without MP-DCCP, CCID 3", "kernel", setup=NO_MULTIPATH, kernel="single=1",
            whimbrel="at=1.5:close", is_multipath=False, subflows=1, ccid=3,
        ),
        Case(
            "whimbrel accepts, kernel without MP-DCCP, CCID 3", "whimbrel", setup=NO_MULTIPATH,
            kernel="single=1", whimbrel="at=1.5:close", is_multipath=False, subflows=1, ccid=3,
        ),
        Case(
            "whimbrel accepts, kernel without MP-DCCP", "whimbrel", setup=NO_MULTIPATH, kernel="single=1",
            whimbrel="at=1.5:close", is_multipath=False, subflows=1,
        ),
        Case(
            "whimbrel accepts, no common key", "whimbrel", whimbrel="key=255 at=1.5:close",
            is_multipath=False, subflows=1,
        ),
        # The kernel rejects a key type that it does not know, instead of a fallback.
        Case(
            "kernel accepts, no common key", "kernel", whimbrel="key=255", kernel="wait=3",
            ends=("idle", "idle"), is_multipath=False, subflows=0,
            events=("Closed\\(Reset\\(Reset { code: OptionError, data: \\[46",),
        ),
        # RFC 9897 has another code of MP_JOIN: the second subflow fails, the first one carries on.
        Case(
            "kernel accepts, RFC 9897", "kernel", whimbrel=f"{rfc} {SECOND_PATH} at=1.5:close", subflows=1,
            events=("SubflowDown { subflow: SubflowId\\(1\\), error: ResetLocally\\(.*code: OptionError",),
        ),
        Case(
            "whimbrel accepts, RFC 9897", "whimbrel", whimbrel=f"{rfc} at=1.5:close", subflows=1,
            messages=("HMAC validation failed",),
        ),
        # The longer MP_ADDADDR of RFC 9897 ends the connection.
        Case(
            "kernel accepts, address of RFC 9897", "kernel", whimbrel=f"{rfc} at=1:announce:1", subflows=1,
            ends=("timeout", "reset"), events=("Closed\\(Reset\\(Reset { code: OptionError, data: \\[46",),
        ),
    ]  # fmt: skip


def cases() -> list[Case]:
    """All connections."""
    return [*closing("kernel"), *closing("whimbrel"), *signals(), *limits()]
