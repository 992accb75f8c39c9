//! The client of a test.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration as StdDuration;

use anyhow::{Context, bail};
use bytes::{Bytes, BytesMut};
use tokio::time::timeout;
use whimbrel_net::{Clock, HostPort};
use whimbrel_relay::Stop;
use whimbrel_relay::address::is_loopback;
use whimbrel_relay::address::{connect_tcp, resolve};
use whimbrel_units::{DataRate, Duration};

use super::ClientArgs;
use super::connect::open_links;
use super::control::{Message, Reader, VERSION, Writer, halves};
use super::control_channel::ControlChannel;
use super::datagram::{Head, Kind};
use super::handover::{Consequence, Handover};
use super::link::Link;
use super::outcome::Outcome;
use super::output::Printer;
use super::plan::{DccpUse, Direction, Load, MIN_SIZE, Plan, Reception, Times, Transport};
use super::stream::Streams;
use super::tcp::write_size;
use super::udp::{GREETING_INTERVAL, Greeter};
use crate::exit::Failure;
use crate::interrupt;
use crate::print::quoted;
use crate::security::{ClientSecurity, required};

/// Time limit for the server's answers.
pub(super) const ANSWER_TIME: StdDuration = StdDuration::from_secs(5);
/// A transfer of a number of bytes ends after this time without progress, plus the time for which the link may be down.
const STALL_TIME: Duration = Duration::from_secs(60);
/// Application data per datagram, in bytes, unless another size is asked for.
const DEFAULT_SIZE: u32 = 1200;
/// Duration of a test, and that of one that ends with its data.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
const LONGEST_TEST: Duration = Duration::from_secs(1_000_000);

pub(crate) async fn run(args: ClientArgs) -> Result<(), Failure> {
    let server = args.server()?;
    let security = security(&args, &server).await?;
    let plan = plan(&args, security.security.is_some())?;
    let printer = Printer::new(&args, &plan);
    let mut outcome = Outcome::default();
    let interrupt = interrupt::listen();
    let result = measure((&args, &security), server, &plan, &printer, &mut outcome, interrupt.clone()).await;
    outcome.interrupted = interrupt.is_raised();
    if let Err(error) = &result {
        outcome.error = Some(format!("{error:#}"));
    }
    printer.summary(&outcome)?;
    match result {
        Err(error) => Err(error.into()),
        Ok(()) if outcome.interrupted => Err(Failure::Interrupted),
        Ok(()) => Ok(()),
    }
}

/// The security of the data connections; none for TCP and UDP.
async fn security(args: &ClientArgs, server: &HostPort) -> Result<ClientSecurity, Failure> {
    if args.udp || args.tcp {
        return Ok(ClientSecurity::default());
    }
    // A name that cannot be resolved is reported when it is connected to.
    let port = server.port().unwrap_or_default();
    let is_local = match server.resolve(port).await {
        Ok(addresses) => addresses.iter().all(|address| is_loopback(address.ip())),
        Err(_) => true,
    };
    args.security.client(server.host(), port, is_local)
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
    let size = match (&args.schedule, args.size) {
        (Some(schedule), _) => schedule.largest(),
        (None, Some(size)) => size,
        (None, None) if transport == Transport::Tcp => write_size(DataRate::from_bits_per_second(rate)),
        (None, None) => DEFAULT_SIZE,
    };
    // A test that ends with its data may last as long as any.
    let default_time = if args.bytes.is_some() { LONGEST_TEST } else { DEFAULT_TIME };
    let plan = Plan {
        // Few enough bits for programs that read JSON numbers as floating point.
        token: whimbrel_net::entropy().context("asking the system for random numbers")? >> 11,
        transport,
        direction,
        streams: args.parallel,
        congestion: args.congestion.clone(),
        dccp: DccpUse {
            ccid: args.ccid,
            service_code: super::service_code(args.service_code, is_secured).0,
            ecn: !args.no_ecn,
            native: args.native.is_wanted(),
            secured: is_secured,
        },
        reception: Reception {
            lda: args.lda.map(|scheme| scheme.name().to_owned()),
            reorder_s: args.reorder.map(|delay| delay.as_secs_f64()),
            reorder_adapts: args.reorder_adaptive,
            deliver_late: args.deliver_late,
            loss_detection: args.loss_detection,
        },
        load: Load {
            size,
            rate_bps: rate.is_finite().then_some(rate),
            bytes: args.bytes,
            media: args.schedule.clone(),
        },
        times: Times {
            time_s: args.time.unwrap_or(default_time).as_secs_f64(),
            omit_s: args.omit.as_secs_f64(),
            interval_s: args.interval.as_secs_f64(),
            patience_s: args.patience.unwrap_or(args.handover.patience()).as_secs_f64(),
        },
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

/// A test that is about to begin.
struct Ready {
    channel: ControlChannel,
    server: Server,
    links: Vec<Link>,
    greetings: u64,
    clock: Clock,
}

/// The addresses of the server.
pub(super) struct Server {
    /// Address of its TCP port, which is also the UDP port of DCCP.
    pub(super) at: SocketAddr,
    pub(super) udp_ports: Vec<u16>,
    pub(super) dccp_port: u16,
    /// Addresses of DCCP without UDP.
    pub(super) native: Vec<IpAddr>,
    /// This end's address towards it.
    pub(super) local: IpAddr,
}

async fn measure(
    (args, security): (&ClientArgs, &ClientSecurity),
    at: HostPort,
    plan: &Plan,
    printer: &Printer,
    outcome: &mut Outcome,
    mut interrupt: Stop,
) -> anyhow::Result<()> {
    let ready = tokio::select! {
        ready = prepare(args, security, at, plan) => ready?,
        () = interrupt.raised() => return Ok(()),
    };
    let Ready { mut channel, server, links, greetings, clock } = ready;
    printer.started(server.at, &links)?;
    let (sends, receives) = (plan.direction.client_sends(), plan.direction.server_sends());
    let mut handover = Handover::start(&args.handover, plan, clock, server.at.ip(), &links)?;
    let mut streams = Streams::start(clock, links, greetings, plan, sends, receives);
    let result =
        follow(plan, &mut streams, &mut channel, &mut handover, printer, outcome, &mut interrupt).await;
    outcome.handover = handover.report();
    // In any case, this end's figures are part of the summary.
    streams.stop_sending();
    (outcome.received_here, outcome.sent_here) = streams.totals();
    streams.close().await;
    result
}

/// Agrees with the server and opens the data connections.
async fn prepare(
    args: &ClientArgs,
    security: &ClientSecurity,
    at: HostPort,
    plan: &Plan,
) -> anyhow::Result<Ready> {
    let (mut reader, writer, server) = agree(&at, plan).await?;
    let may_be_plain = plan.transport != Transport::Dccp || args.security.both.is_insecure();
    // The name was resolved anew.
    if !plan.dccp.secured && !may_be_plain && !is_loopback(server.at.ip()) {
        bail!(required(at.host()));
    }
    let clock = Clock::start();
    let links = open_links((args, security), plan, &server).await?;
    let greetings = greet_until_start(plan, &links, &mut reader).await?;
    let channel = ControlChannel::new(clock, at, plan, reader, writer);
    Ok(Ready { channel, server, links, greetings, clock })
}

/// Opens the control connection and agrees on the plan.
async fn agree(name: &HostPort, plan: &Plan) -> anyhow::Result<(Reader, Writer, Server)> {
    let addresses = resolve(name, whimbrel_net::DCCP_UDP_PORT).await?;
    let stream = timeout(ANSWER_TIME, connect_tcp(&addresses))
        .await
        .with_context(|| format!("{name} does not answer (TCP, {} s)", ANSWER_TIME.as_secs()))?
        .with_context(|| format!("no whimbrel perf server at {name}"))?;
    let at = stream.peer_addr()?;
    let local = stream.local_addr()?.ip();
    let (mut reader, mut writer) = halves(stream);
    writer.send(&Message::Hello { version: VERSION, plan: plan.clone() }).await?;
    let answer = timeout(ANSWER_TIME, reader.next()).await.with_context(|| {
        format!("{name} accepted the connection but does not answer: not a whimbrel perf server?")
    })??;
    match answer {
        Some(Message::Welcome { udp_ports, dccp_port, native }) => {
            Ok((reader, writer, Server { at, udp_ports, dccp_port, native, local }))
        }
        Some(Message::Refusal { reason }) => bail!("{name} refuses the test: {}", quoted(&reason)),
        Some(_) => bail!("{name} sends an unexpected message: not a whimbrel perf server of this version"),
        None => bail!("{name} hung up"),
    }
}

/// Sends greetings with the stream's number on each data connection until the server has received
/// them. Returns the number of repetitions.
async fn greet_until_start(plan: &Plan, links: &[Link], reader: &mut Reader) -> anyhow::Result<u64> {
    let mut repeat = tokio::time::interval(GREETING_INTERVAL);
    let limit = tokio::time::sleep(2 * ANSWER_TIME);
    tokio::pin!(limit);
    let greeter = Greeter::start(plan, links)?;
    let mut greetings = 0;
    loop {
        tokio::select! {
            message = reader.next() => match message? {
                Some(Message::Start) => {
                    greeter.finish()?;
                    return Ok(greetings);
                }
                Some(_) => bail!("the server sends an unexpected message before the test"),
                None => bail!("the server closed the connection before the test began"),
            },
            _ = repeat.tick() => if plan.transport == Transport::Dccp {
                for (stream, link) in (0..).zip(links) {
                    link.send(&greeting(plan, stream)).await?;
                }
                greetings += 1;
            },
            () = &mut limit => bail!("the server did not see the data connections within 10 s"),
        }
    }
}

fn greeting(plan: &Plan, stream: u16) -> Bytes {
    let mut bytes = BytesMut::zeroed(Head::LEN);
    Head { token: plan.token, stream, kind: Kind::Greeting, sequence: 0, sent: 0 }.write(&mut bytes);
    bytes.freeze()
}

/// Follows the test to its end, and fetches the server's report.
async fn follow(
    plan: &Plan,
    streams: &mut Streams,
    channel: &mut ControlChannel,
    handover: &mut Handover,
    printer: &Printer,
    outcome: &mut Outcome,
    interrupt: &mut Stop,
) -> anyhow::Result<()> {
    let end = tokio::time::sleep(plan.times.total().into());
    tokio::pin!(end);
    let omitted = tokio::time::sleep(plan.times.omitted().into());
    tokio::pin!(omitted);
    let mut is_omitted = plan.times.omit_s > 0.0;
    let mut sending = plan.direction.client_sends();
    let mut is_over = false;
    // A server cannot extend the test, nor print without end: it has an interval's figures for each interval, and two answers' time
    // for the report.
    let mut intervals = plan.times.ticks() + 1;
    let last_words = tokio::time::sleep(2 * ANSWER_TIME);
    tokio::pin!(last_words);
    let stall_time = STALL_TIME.max(plan.load.spacing().unwrap_or_default() * 3) + plan.times.patience();
    let mut stalled = tokio::time::interval(stall_time.into());
    let mut moved = None;
    loop {
        let ends = tokio::select! {
            message = channel.next() => {
                let mut ends = false;
                match message? {
                    Message::Interval { received, sent } => {
                        intervals = intervals.checked_sub(1).context("the server reports more intervals than the test has")?;
                        let is_measured = !is_omitted;
                        let (here, there) = (streams.take_interval(), (received, sent));
                        printer.row(outcome.push_interval(plan, here, there, is_measured))?;
                    }
                    Message::Report { received, sent } if is_over => {
                        (outcome.received_there, outcome.sent_there) = (received, sent);
                        return Ok(());
                    }
                    Message::Sent => ends = !is_over,
                    _ => {}
                }
                ends
            }
            () = &mut omitted, if is_omitted => {
                is_omitted = false;
                streams.begin_measuring();
                outcome.begin_measuring();
                false
            }
            consequence = handover.next() => {
                match consequence? {
                    Consequence::Away => channel.pause(),
                    Consequence::RouteChanged => channel.reconnect(),
                }
                false
            }
            ended = streams.ended(sending), if !is_over => { ended?; sending = false; plan.load.bytes.is_some() }
            () = &mut end, if !is_over => true,
            () = &mut last_words, if is_over => bail!("the server does not report"),
            _ = stalled.tick(), if plan.load.bytes.is_some() && !is_over => {
                let (received, sent) = streams.totals();
                let bytes = received.iter().map(|figures| figures.bytes).chain(sent.iter().map(|figures| figures.bytes));
                let now = Some(bytes.sum::<u64>());
                if std::mem::replace(&mut moved, now) == now {
                    bail!("no data have moved for {} s", stall_time.as_secs_f64());
                }
                false
            }
            () = interrupt.raised(), if !is_over => true,
        };
        if ends {
            is_over = true;
            streams.stop_sending();
            let limit = 2 * ANSWER_TIME + StdDuration::from(plan.times.patience());
            last_words.set(tokio::time::sleep(limit));
            channel.stop().await?;
        }
    }
}
