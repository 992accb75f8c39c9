//! `whimbrel perf`: measures a real path, like iperf.

mod handover;
mod live;
mod output;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use whimbrel_lab::traffic::Schedule;
use whimbrel_measure::perf::{
    self, Client, DccpUse, Detection, Direction, LARGEST_WRITE, Limits, Load, MAX_SIZE, MIN_SIZE, Native,
    Plan, Reception, SERVICE_CODE, Server, Times, Transport, Tun, service_code, write_size,
};
use whimbrel_net::{HostPort, ServiceCode};
use whimbrel_relay::Protection;
use whimbrel_relay::address::{is_loopback, parse_own, parse_server};
use whimbrel_relay::text::quoted;
use whimbrel_units::{DataRate, Duration};

use super::transport::{CongestionControl, LossDifferentiation, Marking, OwnAddress, Reordering};
use crate::exit::Failure;
use crate::interrupt;
use crate::print;
use crate::quantity::{
    parse_bytes, parse_delay, parse_rate, parse_seconds, parse_seconds_or_none, parse_service_code,
};
use crate::security::{ClientSecurityArgs, SecurityArgs};
use crate::service::allow_descriptors;
use output::Printer;

/// Application data per datagram, in bytes, unless another size is asked for.
const DEFAULT_SIZE: u32 = 1200;
/// Default duration of a test, and the duration of a test that ends with its data.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
const LONGEST_TEST: Duration = Duration::from_secs(1_000_000);
/// Options that `-h` leaves out.
const ADVANCED: &str = "Advanced";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel key secret --file relay.secret             # and copy it to the other host\n  \
                  whimbrel perf server --secret-file relay.secret\n  \
                  whimbrel perf client 192.0.2.7 --ccid 3 --time 10 --secret-file relay.secret\n\n\
                  Data to other hosts is encrypted, unless both ends are given --insecure-plaintext. docs/security.md explains the keys."
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
    #[command(flatten)]
    own: OwnAddress,
    /// The DCCP Service Code to serve: a number, up to four letters, or as SC:RTPV.
    #[arg(long, default_value = SERVICE_CODE, value_parser = parse_service_code)]
    service_code: ServiceCode,
    #[command(flatten)]
    native: NativeArgs,
    #[command(flatten)]
    marking: Marking,
    #[command(flatten)]
    security: SecurityArgs,
    #[command(flatten)]
    limits: LimitArgs,
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
                  whimbrel perf client host --rate 2M --latency 150ms # repair lost datagrams in time\n  \
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
    #[command(flatten)]
    congestion_control: CongestionControl<3>,
    /// The DCCP Service Code to request: a number, up to four letters, or as SC:RTPV.
    #[arg(long, default_value = SERVICE_CODE, value_parser = parse_service_code, help_heading = ADVANCED, hide_short_help = true)]
    service_code: ServiceCode,
    #[command(flatten)]
    native: NativeArgs,
    /// Show the intervals on the live page by HTTP at this address, until the test ends.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    http: Option<SocketAddr>,
    /// Send plain UDP instead (1 Mbit/s unless --rate is given).
    #[arg(long, conflicts_with_all = ["tcp", "native", "tun", "lda", "reorder"])]
    udp: bool,
    /// Use the kernel's TCP instead.
    #[arg(long, conflicts_with_all = ["native", "tun", "lda", "reorder"])]
    tcp: bool,
    /// Congestion control of the kernel's TCP at the ends that send: reno, cubic, bbr, as far as the kernel
    /// has them and allows them (Linux).
    #[arg(long, value_name = "NAME", requires = "tcp", help_heading = ADVANCED, hide_short_help = true)]
    congestion: Option<String>,
    /// Rate of the application data per stream, such as 2Mbit/s or 2M; 0: as fast as allowed.
    #[arg(long, short = 'b', value_parser = parse_rate)]
    rate: Option<DataRate>,
    /// Send the schedule in this file repeatedly, instead of datagrams of one size: CSV with the header
    /// time_s,size_bytes or time_s,size_bytes,frame,type, one line per datagram.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "size", "reverse", "bidir", "tcp"], help_heading = ADVANCED, hide_short_help = true)]
    schedule: Option<PathBuf>,
    /// Application data per datagram, in bytes; with --tcp, bytes per write [default: 1200; with --tcp 128
    /// kB, or what arises in 10 ms at the rate]
    #[arg(long, short = 'l', value_parser = clap::value_parser!(u32).range(i64::from(MIN_SIZE)..=i64::from(LARGEST_WRITE)))]
    size: Option<u32>,
    /// Duration of the test, such as 10s or 2min, or a number of seconds [default: 10]
    #[arg(long, short = 't', value_parser = parse_seconds)]
    time: Option<Duration>,
    /// End after that much application data per stream, such as 10MB, instead of after a time.
    #[arg(long, short = 'n', value_parser = parse_bytes, conflicts_with_all = ["time", "bidir"], help_heading = ADVANCED, hide_short_help = true)]
    bytes: Option<u64>,
    /// Leave that time at the start out of the summary, in which congestion control probes the path. The test
    /// is longer by it.
    #[arg(long, short = 'O', value_name = "TIME", default_value = "0", value_parser = parse_seconds_or_none, conflicts_with = "bytes", help_heading = ADVANCED, hide_short_help = true)]
    omit: Duration,
    /// Time between two report lines.
    #[arg(long, short = 'i', default_value = "1", value_parser = parse_seconds)]
    interval: Duration,
    /// Number of parallel streams.
    #[arg(long, short = 'P', default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = ADVANCED, hide_short_help = true)]
    parallel: u16,
    /// The server sends, the client receives.
    #[arg(long, short = 'R', conflicts_with = "bidir")]
    reverse: bool,
    /// Both ends send.
    #[arg(long)]
    bidir: bool,
    /// Time for which the link may be down before the test is given up.
    /// 60 s if the link is followed [default: 0]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds_or_none, conflicts_with = "tcp", help_heading = ADVANCED, hide_short_help = true)]
    patience: Option<Duration>,
    /// Do not request ECN.
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    no_ecn: bool,
    #[command(flatten)]
    marking: Marking,
    #[command(flatten)]
    losses: LossDifferentiation,
    #[command(flatten)]
    order: Reordering,
    /// Treat the delay of --reorder as an upper bound: wait no longer than the lateness of packets in the
    /// last seconds.
    #[arg(long, requires = "reorder", help_heading = ADVANCED, hide_short_help = true)]
    reorder_adaptive: bool,
    /// Deliver datagrams that arrive later than --reorder allows, out of order, rather than discard them.
    #[arg(long, requires = "reorder", help_heading = ADVANCED, hide_short_help = true)]
    deliver_late: bool,
    /// Repair lost datagrams in order, as long as they arrive within this time after the fastest ones, such
    /// as 150ms. Without --rate or --schedule, datagrams wait at the sender as well.
    #[arg(long, value_name = "DELAY", value_parser = parse_delay, conflicts_with_all = ["udp", "tcp", "reorder"])]
    latency: Option<Duration>,
    /// Loss detection of receivers (CCIDs 3 and 4).
    #[arg(long, value_name = "RULE", default_value = "automatic", conflicts_with_all = ["udp", "tcp"], help_heading = ADVANCED, hide_short_help = true)]
    loss_detection: DetectionRule,
    #[command(flatten)]
    handover: handover::HandoverArgs,
    #[command(flatten)]
    security: ClientSecurityArgs,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
    /// Print a JSON object per line as the test goes on: start, each interval, end.
    #[arg(long, conflicts_with = "json", help_heading = ADVANCED, hide_short_help = true)]
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

/// The most bytes of the file of a schedule.
const LONGEST_SCHEDULE: u64 = 1 << 28;

/// Reads the file of a schedule.
fn read_schedule(path: &Path) -> anyhow::Result<Schedule> {
    let name = || quoted(&path.display().to_string());
    let text = whimbrel_lab::scenario::text::read(path, LONGEST_SCHEDULE).with_context(name)?;
    let is_video = text.lines().next().is_some_and(|header| header.contains("frame"));
    let parsed = if is_video { Schedule::parse_video(&text) } else { Schedule::parse_trace(&text) };
    let schedule = parsed.with_context(name)?;
    let fits = (MIN_SIZE..=MAX_SIZE).contains(&schedule.largest());
    if fits {
        Ok(schedule)
    } else {
        bail!(
            "{}: its largest datagram has {} bytes: expected {} to {}",
            name(),
            schedule.largest(),
            MIN_SIZE,
            MAX_SIZE
        )
    }
}

/// The loss detection of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DetectionRule {
    /// By the reorder buffer if there is one, otherwise after three later packets.
    Automatic,
    /// After three later packets (RFC 5348, Section 5.1).
    Packets,
    /// After a time that adapts to the reordering seen (RACK, RFC 8985).
    Rack,
}

impl From<DetectionRule> for Detection {
    fn from(rule: DetectionRule) -> Self {
        match rule {
            DetectionRule::Automatic => Self::Automatic,
            DetectionRule::Packets => Self::Packets,
            DetectionRule::Rack => Self::Rack,
        }
    }
}

/// DCCP without UDP encapsulation.
#[derive(Clone, Debug, Args)]
struct NativeArgs {
    /// Carry DCCP as IP protocol 33 by a raw socket, not inside UDP (Linux; needs root or CAP_NET_RAW)
    #[arg(long, conflicts_with = "tun", help_heading = ADVANCED, hide_short_help = true)]
    native: bool,
    /// The same as a host of its own behind a TUN device, which is created unless it exists; the system needs
    /// a route to the addresses through it (Linux; needs root or CAP_NET_ADMIN, or a device made for the
    /// user)
    #[arg(long, value_name = "NAME,ADDRESS[,ADDRESS]", help_heading = ADVANCED, hide_short_help = true)]
    tun: Option<Tun>,
}

impl From<NativeArgs> for Native {
    fn from(NativeArgs { native: raw, tun }: NativeArgs) -> Self {
        Self { raw, tun }
    }
}

/// Limits of what clients may request from a server.
#[derive(Clone, Debug, Args)]
struct LimitArgs {
    /// The highest rate at which this end sends in a test, all streams together; tests without a rate are
    /// refused then [default: 1 Gbit/s of plain UDP, and what congestion control allows of the rest]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    max_rate: Option<DataRate>,
    /// The longest test, and the longest patience of a client.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_seconds)]
    max_time: Duration,
    /// Tests at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_tests: u16,
    /// Serve tests of plain UDP and TCP although this server has keys: anyone can request them.
    #[arg(long)]
    allow_kernel_transports: bool,
}

/// Runs the verb.
pub(crate) fn run(args: PerfArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.role {
        Role::Server(args) => runtime.block_on(serve(*args)),
        Role::Client(args) => runtime.block_on(measure(*args)),
    }
}

async fn serve(args: ServerArgs) -> Result<(), Failure> {
    let protection = args.security.protection()?;
    let service_code = service_code(args.service_code, protection.security.is_some());
    let observer = output::server(args.json, service_code, protection.is_plaintext_allowed);
    let LimitArgs { max_rate, max_time, max_tests, allow_kernel_transports } = args.limits;
    let server = Server {
        bind: args.own.bind,
        service_code,
        native: args.native.into(),
        dscp: args.marking.dscp,
        protection,
        limits: Limits { max_rate, max_time, max_tests, allow_kernel_transports },
        one_off: args.one_off,
    };
    allow_descriptors();
    let _lines = print::in_background();
    Ok(perf::serve(server, observer, interrupt::listen()).await?)
}

async fn measure(args: ClientArgs) -> Result<(), Failure> {
    let server = args.server()?;
    let protection = protection(&args, &server).await?;
    let plan = plan(&args, protection.security.is_some())?;
    let printer = Printer::new((args.json, args.json_stream), &plan);
    let client = Client {
        server,
        plan,
        native: args.native.into(),
        dscp: args.marking.dscp,
        handover: args.handover.handovers(),
        outages: interrupt::outages()?,
        protection,
    };
    let page = match args.http {
        Some(at) => Some(live::Page::open(at, format!("perf {}", client.server.host())).await?),
        None => None,
    };
    let observer = |progress: perf::Progress<'_>| {
        if let (Some(page), perf::Progress::Interval(row)) = (&page, progress) {
            page.interval(row);
        }
        Ok(printer.show(progress)?)
    };
    let (outcome, result) = perf::measure(&client, &observer, interrupt::listen()).await;
    printer.summary(&outcome)?;
    match result {
        Err(error) => Err(error.into()),
        Ok(()) if outcome.interrupted => Err(Failure::Interrupted),
        Ok(()) => Ok(()),
    }
}

/// The keys of the data connections; none for TCP and UDP.
async fn protection(args: &ClientArgs, server: &HostPort) -> Result<Protection, Failure> {
    if args.udp || args.tcp {
        return Ok(Protection::default());
    }
    // A name that cannot be resolved is reported when it is connected to.
    let is_local = match server.resolve(server.port().unwrap_or_default()).await {
        Ok(addresses) => addresses.iter().all(|address| is_loopback(address.ip())),
        Err(_) => true,
    };
    args.security.protection_of(server, is_local)
}

fn plan(args: &ClientArgs, is_secured: bool) -> Result<Plan, Failure> {
    let transport = match (args.udp, args.tcp) {
        (true, _) => Transport::Udp,
        (_, true) => Transport::Tcp,
        _ => Transport::Dccp,
    };
    let direction = match (args.reverse, args.bidir) {
        (_, true) => Direction::Both,
        (true, _) => Direction::Down,
        _ => Direction::Up,
    };
    let default_rate = if transport == Transport::Udp { 1e6 } else { f64::INFINITY };
    let rate = args.rate.map_or(default_rate, |rate| rate.as_bits_per_second());
    let schedule = args.schedule.as_deref().map(read_schedule).transpose()?;
    let size = match (&schedule, args.size) {
        (Some(schedule), _) => schedule.largest(),
        (None, Some(size)) => size,
        (None, None) if transport == Transport::Tcp => write_size(DataRate::from_bits_per_second(rate)),
        (None, None) => DEFAULT_SIZE,
    };
    // A test that ends with its data may last as long as any.
    let default_time = if args.bytes.is_some() { LONGEST_TEST } else { DEFAULT_TIME };
    let plan = Plan {
        transport,
        direction,
        streams: args.parallel,
        congestion: args.congestion.clone(),
        dccp: DccpUse {
            ccid: args.congestion_control.ccid().0,
            service_code: service_code(args.service_code, is_secured).0,
            ecn: !args.no_ecn,
            native: Native::from(args.native.clone()).is_wanted(),
            secured: is_secured,
        },
        reception: Reception {
            lda: args.losses.lda.map(|scheme| scheme.name().to_owned()),
            reorder_s: args.order.reorder.map(|delay| delay.as_secs_f64()),
            reorder_adapts: args.reorder_adaptive,
            deliver_late: args.deliver_late,
            loss_detection: args.loss_detection.into(),
            latency_s: args.latency.map(|latency| latency.as_secs_f64()),
        },
        load: Load { size, rate_bps: rate.is_finite().then_some(rate), bytes: args.bytes, media: schedule },
        times: Times {
            time_s: args.time.unwrap_or(default_time).as_secs_f64(),
            omit_s: args.omit.as_secs_f64(),
            interval_s: args.interval.as_secs_f64(),
            patience_s: args.patience.unwrap_or(args.handover.handovers().patience()).as_secs_f64(),
        },
        ..Plan::new()?
    };
    if plan.load.size > plan.largest_size() {
        return Err(Failure::Usage(format!(
            "--size {}: expected {MIN_SIZE} to {} bytes per datagram",
            plan.load.size,
            plan.largest_size()
        )));
    }
    Ok(plan)
}
