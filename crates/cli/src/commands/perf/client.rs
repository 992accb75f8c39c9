//! The end that asks.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use anyhow::{Context, bail};
use bytes::{Bytes, BytesMut};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use whimbrel_net::{Clock, Socket};

use super::control::{Message, Reader, VERSION, Writer, halves};
use super::datagram::Head;
use super::link::Link;
use super::output::{Outcome, Printer};
use super::plan::{Direction, Plan, Transport};
use super::stream::Streams;
use super::{ClientArgs, DCCP_PORT};
use crate::exit::Failure;

/// How long the server may take to answer.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(5);
/// How often a greeting is repeated until the test starts.
const GREETING_INTERVAL: StdDuration = StdDuration::from_millis(100);

pub(crate) async fn run(args: ClientArgs) -> Result<(), Failure> {
    let plan = plan(&args);
    let mut printer = Printer::new(&args, &plan);
    let mut outcome = Outcome::default();
    let result = measure(&args, &plan, &mut printer, &mut outcome).await;
    if let Err(error) = &result {
        outcome.error = Some(format!("{error:#}"));
    }
    printer.summary(&outcome);
    match result {
        Err(error) => Err(Failure::Because(error)),
        Ok(()) if outcome.interrupted => Err(Failure::Interrupted),
        Ok(()) => Ok(()),
    }
}

fn plan(args: &ClientArgs) -> Plan {
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
    Plan {
        token: whimbrel_net::entropy(),
        transport,
        ccid: args.ccid,
        service_code: args.service_code,
        ecn: !args.no_ecn,
        direction,
        streams: args.parallel,
        size: args.size,
        rate: rate.is_finite().then_some(rate),
        time_s: args.time.as_secs_f64(),
        interval_s: args.interval.as_secs_f64(),
    }
}

async fn measure(
    args: &ClientArgs,
    plan: &Plan,
    printer: &mut Printer,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let (mut reader, mut writer, server) = tokio::select! {
        agreed = agree(args, plan) => agreed?,
        _ = tokio::signal::ctrl_c() => { outcome.interrupted = true; return Ok(()) }
    };
    let clock = Clock::start();
    let links = tokio::select! {
        links = open_links(args, plan, &server) => links?,
        _ = tokio::signal::ctrl_c() => { outcome.interrupted = true; return Ok(()) }
    };
    greet_until_start(plan, &links, &mut reader).await?;
    printer.started(&server.host, &links);
    let (sends, receives) = (plan.direction.client_sends(), plan.direction.server_sends());
    let mut streams = Streams::start(clock, links, plan, sends, receives);
    let result = follow(plan, &mut streams, &mut reader, &mut writer, printer, outcome).await;
    if let Err(error) = &result {
        outcome.error = Some(format!("{error:#}"));
    }
    // Whatever happened, what this end knows is part of the summary.
    (outcome.received_here, outcome.sent_here) = streams.totals();
    streams.close().await;
    result
}

/// The server as the client knows it.
struct Server {
    host: String,
    address: IpAddr,
    port: u16,
    udp_ports: Vec<u16>,
}

/// Opens the control connection and agrees on the plan.
async fn agree(args: &ClientArgs, plan: &Plan) -> anyhow::Result<(Reader, Writer, Server)> {
    let name = format!("{}:{}", args.host, args.port);
    let stream = timeout(ANSWER_TIME, TcpStream::connect((args.host.as_str(), args.port)))
        .await
        .with_context(|| format!("{name} does not answer (TCP, {} s)", ANSWER_TIME.as_secs()))?
        .with_context(|| format!("no whimbrel perf server at {name}"))?;
    let address = stream.peer_addr()?.ip();
    let (mut reader, mut writer) = halves(stream);
    writer.send(&Message::Hello { version: VERSION, plan: plan.clone() }).await?;
    let answer = timeout(ANSWER_TIME, reader.next()).await.with_context(|| {
        format!("{name} took the connection but does not answer: not a whimbrel perf server?")
    })??;
    match answer {
        Some(Message::Welcome { udp_ports }) => {
            let server = Server { host: args.host.clone(), address, port: args.port, udp_ports };
            Ok((reader, writer, server))
        }
        Some(Message::Refusal { reason }) => bail!("{name} refuses the test: {reason}"),
        Some(_) => bail!("{name} answers out of turn: not a whimbrel perf server of this version"),
        None => bail!("{name} hung up"),
    }
}

async fn open_links(args: &ClientArgs, plan: &Plan, server: &Server) -> anyhow::Result<Vec<Link>> {
    let mut links = Vec::new();
    for stream in 0..plan.streams {
        let at = SocketAddr::new(server.address, server.port);
        links.push(match plan.transport {
            Transport::Dccp => {
                let connecting = Socket::connect(at, DCCP_PORT, plan.dccp_config());
                let socket = timeout(ANSWER_TIME, connecting)
                    .await
                    .with_context(|| format!("no DCCP answer from UDP {at}: is UDP blocked on the path?"))?
                    .with_context(|| {
                        format!(
                            "DCCP connection to UDP {at}, service code {}",
                            plan.dccp_config().service_code
                        )
                    })?;
                Link::Dccp(Arc::new(socket))
            }
            Transport::Udp => {
                let port = server
                    .udp_ports
                    .get(usize::from(stream))
                    .context("the server named too few UDP ports")?;
                let any = SocketAddr::new(unspecified(server.address), 0);
                let socket = UdpSocket::bind(any).await.context("opening a UDP socket")?;
                socket.connect((server.address, *port)).await.context("opening a UDP socket")?;
                Link::Udp(Arc::new(socket))
            }
            Transport::Tcp => {
                let connection = TcpStream::connect((args.host.as_str(), args.port)).await?;
                let (reader, mut writer) = halves(connection);
                writer.send(&Message::TcpStream { token: plan.token, stream }).await?;
                let (connection, _) = reader.reunite(writer)?;
                Link::Tcp(Arc::new(connection))
            }
        });
    }
    Ok(links)
}

const fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    }
}

/// Says on each data connection which stream it is, again and again, until the server has understood.
async fn greet_until_start(plan: &Plan, links: &[Link], reader: &mut Reader) -> anyhow::Result<()> {
    let mut repeat = tokio::time::interval(GREETING_INTERVAL);
    let limit = tokio::time::sleep(2 * ANSWER_TIME);
    tokio::pin!(limit);
    loop {
        tokio::select! {
            message = reader.next() => match message? {
                Some(Message::Start) => return Ok(()),
                Some(_) => {}
                None => bail!("the server hung up before the test began"),
            },
            _ = repeat.tick() => if plan.transport != Transport::Tcp {
                for (stream, link) in (0..).zip(links) {
                    link.send(&greeting(plan, stream)).await?;
                }
            },
            () = &mut limit => bail!("the server did not see the data connections within 10 s"),
        }
    }
}

fn greeting(plan: &Plan, stream: u16) -> Bytes {
    let mut bytes = BytesMut::zeroed(Head::LEN);
    Head { token: plan.token, stream, greeting: true, sequence: 0, sent: 0 }.write(&mut bytes);
    bytes.freeze()
}

/// Follows the test to its end, and fetches the server's report.
async fn follow(
    plan: &Plan,
    streams: &mut Streams,
    reader: &mut Reader,
    writer: &mut Writer,
    printer: &mut Printer,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let patience = StdDuration::from(plan.interval()) * 3 + ANSWER_TIME;
    let end = tokio::time::sleep(plan.time().into());
    tokio::pin!(end);
    let mut sending = plan.direction.client_sends();
    loop {
        tokio::select! {
            message = timeout(patience, reader.next()) => {
                match message.with_context(|| format!("no word from the server for {} s", patience.as_secs()))?? {
                    Some(Message::Interval { received, sent }) => {
                        let (received_here, sent_here) = streams.take_interval();
                        outcome.push_interval(printer, plan, (received_here, sent_here), (received, sent));
                    }
                    Some(_) => {}
                    None => bail!("the server has gone"),
                }
            }
            sent = streams.sent(), if sending => { sent?; sending = false }
            () = &mut end => break,
            _ = tokio::signal::ctrl_c() => { outcome.interrupted = true; break }
        }
    }
    streams.stop_sending();
    writer.send(&Message::Stop).await?;
    loop {
        let message =
            timeout(ANSWER_TIME, reader.next()).await.context("the server's report did not come")??;
        match message {
            Some(Message::Report { received, sent }) => {
                (outcome.received_there, outcome.sent_there) = (received, sent);
                return Ok(());
            }
            // The last interval is shorter than the others: the summary counts it.
            Some(_) => {}
            None => bail!("the server has gone without a report"),
        }
    }
}
