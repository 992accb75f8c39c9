//! `whimbrel perf`: measures a real path, like iperf.
//!
//! A TCP connection to the same port number carries the control messages (the test's parameters,
//! interval figures, the final report); the measured datagrams travel beside it.

mod client;
mod connect;
mod control;
mod control_channel;
mod datagram;
mod dscp;
pub(super) mod handover;
mod limits;
mod link;
mod meter;
mod native;
mod outcome;
mod output;
mod pace;
mod plan;
mod sender;
mod server;
mod size;
mod stream;
mod tcp;
mod test_client;
mod test_ports;
mod udp;

use std::net::SocketAddr;

use clap::{Args, Subcommand};
use whimbrel_lab::traffic::Schedule;
use whimbrel_net::{Dscp, HostPort, Scheme, ServiceCode};
use whimbrel_relay::address::{parse_own, parse_server};
use whimbrel_units::{DataRate, Duration};

use crate::exit::Failure;
use crate::quantity::{
    parse_bytes, parse_ccid, parse_delay, parse_rate, parse_seconds, parse_seconds_or_none,
    parse_service_code,
};
use crate::security::{ClientSecurityArgs, SecurityArgs};

/// The DCCP port behind the UDP port (the following ones are for single tests), and the Service Code of perf servers ("perf").
const DCCP_PORT: u16 = 5001;
const SERVICE_CODE: &str = "perf";
/// The Service Code in its place if the data are encrypted: RFC 5238, Section 3.6.
const SECURED_SERVICE_CODE: &str = "prfs";

/// The Service Code of tests, of which `plain` is asked for, with encryption or without.
fn service_code(plain: ServiceCode, is_secured: bool) -> ServiceCode {
    match ServiceCode::from_letters(SECURED_SERVICE_CODE) {
        Some(secured) if is_secured && Some(plain) == ServiceCode::from_letters(SERVICE_CODE) => secured,
        _ => plain,
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel key secret --file relay.secret             # and copy it to the other host\n  \
                  whimbrel perf server --secret-file relay.secret\n  \
                  whimbrel perf client 192.0.2.7 --ccid 3 --time 10 --secret-file relay.secret\n\n\
                  Data to other hosts are encrypted, unless both ends are given --insecure-plaintext. docs/security.md explains the keys."
)]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Answer clients until interrupted.
    Server(Box<ServerArgs>),
    /// Measure the path to a server.
    Client(Box<ClientArgs>),
}

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel perf server --secret-file relay.secret     # clients have the same file\n  \
                  whimbrel perf server --bind 127.0.0.1:6511 --one-off\n  \
                  whimbrel perf server --native                       # as root, also without UDP"
)]
pub(crate) struct ServerArgs {
    /// Address and port for UDP and TCP; port 0: any free one [default: port 6511 of all addresses]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    bind: Option<SocketAddr>,
    /// The DCCP Service Code to serve: a number, up to four letters, or as SC:RTPV.
    #[arg(long, default_value = SERVICE_CODE, value_parser = parse_service_code)]
    service_code: ServiceCode,
    #[command(flatten)]
    native: native::NativeArgs,
    /// DSCP of the packets that this end sends: 0 to 63, or a name such as EF, AF41, CS5 or LE (Linux).
    #[arg(long, value_name = "CODEPOINT", default_value_t = Dscp::DEFAULT, hide_default_value = true)]
    dscp: Dscp,
    #[command(flatten)]
    security: SecurityArgs,
    #[command(flatten)]
    limits: limits::Limits,
    /// End after one client.
    #[arg(long)]
    one_off: bool,
    /// Print one JSON object per test.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel perf client 192.0.2.7 --secret-file relay.secret   # DCCP, CCID 3, 10 s, as fast as allowed, encrypted\n  \
                  whimbrel perf client host --ccid 2 --reverse        # the server sends\n  \
                  whimbrel perf client host --rate 2M --bidir --json  # 2 Mbit/s in both directions\n  \
                  whimbrel perf client host --native                  # as root: IP protocol 33, no UDP\n  \
                  whimbrel perf client host --lda zbs3                # do not slow down for losses on a radio\n  \
                  whimbrel perf client host --reorder 50ms            # tolerate packet reordering\n  \
                  whimbrel perf client host --freeze-on-link-loss     # survive a change of networks\n  \
                  whimbrel perf client host --tcp --congestion reno   # the kernel's TCP on the same path\n  \
                  whimbrel perf client host --udp --rate 2M           # plain UDP\n\n\
                  Exit code: 0, or 1 if the test failed, 2 for wrong usage, 130 after Ctrl-C (the summary is still printed)."
)]
pub(crate) struct ClientArgs {
    /// The server's name or address, with or without its port: host, 192.0.2.7:6511, [2001:db8::7]:6511.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_server)]
    host: HostPort,
    /// The server's port [default: 6511]
    #[arg(long, short = 'p')]
    port: Option<u16>,
    /// Congestion control of the DCCP data: 2 (TCP-like), 3 (TFRC), 4 (TFRC for small packets, 100
    /// of them per second at most), or an experiment: cubic (248), veno (249), delay-aware (252), westwood (253), prague (254).
    #[arg(long, default_value_t = 3, value_parser = parse_ccid)]
    ccid: u8,
    /// The DCCP Service Code to request: a number, up to four letters, or as SC:RTPV.
    #[arg(long, default_value = SERVICE_CODE, value_parser = parse_service_code)]
    service_code: ServiceCode,
    #[command(flatten)]
    native: native::NativeArgs,
    /// Send plain UDP instead (1 Mbit/s unless --rate is given).
    #[arg(long, conflicts_with_all = ["tcp", "native", "tun"])]
    udp: bool,
    /// Use the kernel's TCP instead.
    #[arg(long, conflicts_with_all = ["native", "tun"])]
    tcp: bool,
    /// Congestion control of the kernel's TCP at the ends that send: reno, cubic, bbr, as far as the kernel has them and
    /// allows them (Linux).
    #[arg(long, value_name = "NAME", requires = "tcp")]
    congestion: Option<String>,
    /// Rate of the application data per stream, such as 2Mbit/s or 2M; 0: as fast as allowed.
    #[arg(long, short = 'b', value_parser = parse_rate)]
    rate: Option<DataRate>,
    /// Send the schedule in this file repeatedly, instead of datagrams of one size: CSV with the header
    /// time_s,size_bytes or time_s,size_bytes,frame,type, one line per datagram.
    #[arg(long, value_name = "FILE", value_parser = parse_schedule, conflicts_with_all = ["rate", "size", "reverse", "bidir", "tcp"])]
    schedule: Option<Schedule>,
    /// Application data per datagram, in bytes; with --tcp, bytes per write [default: 1200; with --tcp 128 kB, or what arises
    /// in 10 ms at the rate]
    #[arg(long, short = 'l', value_parser = clap::value_parser!(u32).range(i64::from(plan::MIN_SIZE)..=i64::from(tcp::LARGEST_WRITE)))]
    size: Option<u32>,
    /// Duration of the test, such as 10s or 2min, or a number of seconds [default: 10]
    #[arg(long, short = 't', value_parser = parse_seconds)]
    time: Option<Duration>,
    /// End after that much application data per stream, such as 10MB, instead of after a time.
    #[arg(long, short = 'n', value_parser = parse_bytes, conflicts_with_all = ["time", "bidir"])]
    bytes: Option<u64>,
    /// Leave that time at the start out of the summary, in which congestion control probes the path. The test is longer by it.
    #[arg(long, short = 'O', value_name = "TIME", default_value = "0", value_parser = parse_seconds_or_none, conflicts_with = "bytes")]
    omit: Duration,
    /// Time between two report lines.
    #[arg(long, short = 'i', default_value = "1", value_parser = parse_seconds)]
    interval: Duration,
    /// Number of parallel streams.
    #[arg(long, short = 'P', default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    parallel: u16,
    /// The server sends, the client receives.
    #[arg(long, short = 'R', conflicts_with = "bidir")]
    reverse: bool,
    /// Both ends send.
    #[arg(long)]
    bidir: bool,
    /// Time for which the link may be down before the test is given up.
    /// 60 s if the link is followed [default: 0]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds_or_none, conflicts_with = "tcp")]
    patience: Option<Duration>,
    /// Do not request ECN.
    #[arg(long)]
    no_ecn: bool,
    /// DSCP of the packets that this end sends: 0 to 63, or a name such as EF, AF41, CS5 or LE (Linux).
    #[arg(long, value_name = "CODEPOINT", default_value_t = Dscp::DEFAULT, hide_default_value = true)]
    dscp: Dscp,
    /// Distinguish losses on a radio from congestion losses, and slow down for the latter only (CCIDs 3 and 4):
    /// biaz, mbiaz, spike, zigzag, zbs, zbs2, zbs3 or inherent. A guard limits its effect.
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["udp", "tcp"])]
    lda: Option<Scheme>,
    /// Deliver datagrams in order: a datagram that arrives early waits for earlier ones, for at most this time, such as
    /// 50ms. CCIDs 3 and 4 declare no datagram lost before then.
    #[arg(long, value_name = "DELAY", value_parser = parse_delay, conflicts_with_all = ["udp", "tcp"])]
    reorder: Option<Duration>,
    /// Treat the delay of --reorder as an upper bound: wait no longer than the lateness of packets in the last seconds.
    #[arg(long, requires = "reorder")]
    reorder_adaptive: bool,
    /// Deliver datagrams that arrive later than --reorder allows, out of order, rather than discard them.
    #[arg(long, requires = "reorder")]
    deliver_late: bool,
    /// Loss detection of receivers (CCIDs 3 and 4).
    #[arg(long, value_name = "RULE", default_value = "automatic", conflicts_with_all = ["udp", "tcp"])]
    loss_detection: plan::Detection,
    #[command(flatten)]
    handover: handover::HandoverArgs,
    #[command(flatten)]
    security: ClientSecurityArgs,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
    /// Print a JSON object per line as the test goes on: start, each interval, end.
    #[arg(long, conflicts_with = "json")]
    json_stream: bool,
}

impl ClientArgs {
    /// The server's name or address, with its port.
    ///
    /// # Errors
    /// Both `HOST:PORT` and `--port` name a port, and not the same.
    fn server(&self) -> Result<HostPort, Failure> {
        match (self.host.port(), self.port) {
            (Some(first), Some(second)) if first != second => Err(Failure::Usage(format!(
                "{} names port {first}, --port {second}: give the port once",
                self.host
            ))),
            (_, second) => Ok(self.host.or_port(second.unwrap_or(whimbrel_net::DCCP_UDP_PORT))),
        }
    }
}

/// Reads the file of a schedule.
fn parse_schedule(path: &str) -> Result<Schedule, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let is_video = text.lines().next().is_some_and(|header| header.contains("frame"));
    let parsed = if is_video { Schedule::parse_video(&text) } else { Schedule::parse_trace(&text) };
    let schedule = parsed.map_err(|error| error.to_string())?;
    let fits = (plan::MIN_SIZE..=plan::MAX_SIZE).contains(&schedule.largest());
    if fits {
        Ok(schedule)
    } else {
        Err(format!(
            "its largest datagram has {} bytes: expected {} to {}",
            schedule.largest(),
            plan::MIN_SIZE,
            plan::MAX_SIZE
        ))
    }
}

/// Runs the verb.
pub(crate) fn run(args: PerfArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.role {
        Role::Server(args) => runtime.block_on(server::run(*args)),
        Role::Client(args) => runtime.block_on(client::run(*args)),
    }
}
