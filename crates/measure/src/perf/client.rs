//! The client of a test.

use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use anyhow::{Context, bail};
use bytes::{Bytes, BytesMut};
use tokio::time::timeout;
use whimbrel_net::{Clock, HostPort};
use whimbrel_relay::Stop;
use whimbrel_relay::address::{connect_tcp, is_loopback, resolve};
use whimbrel_relay::text::quoted;
use whimbrel_units::Duration;

use super::connect::open_links;
use super::control::{Message, Reader, VERSION, Writer, halves};
use super::control_channel::ControlChannel;
use super::datagram::{Head, Kind};
use super::ends::{ANSWER_TIME, Client, Server};
use super::handover::{Consequence, Handover};
use super::link::Link;
use super::outcome::{Outcome, Row};
use super::plan::{Plan, Transport};
use super::stream::Streams;
use super::udp::{GREETING_INTERVAL, Greeter};

/// A transfer of a number of bytes ends after this time without progress, plus the time for which the link
/// may be down.
const STALL_TIME: Duration = Duration::from_secs(60);

/// Messages of a measuring client.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The test begins.
    Started {
        /// The server's address.
        server: SocketAddr,
        /// This end's address towards it.
        local: Option<SocketAddr>,
    },
    /// An interval has ended.
    Interval(&'a Row),
}

/// Takes what a client says. An error ends the test.
pub type Observer<'a> = &'a (dyn Fn(Progress<'_>) -> anyhow::Result<()> + Sync);

/// Runs a test to its end, or until it is stopped. Returns its figures also if it fails.
pub async fn measure(client: &Client, observer: Observer<'_>, stop: Stop) -> (Outcome, anyhow::Result<()>) {
    let mut outcome = Outcome::default();
    let result = run(client, observer, &mut outcome, stop.clone()).await;
    outcome.interrupted = stop.is_raised();
    outcome.error = result.as_ref().err().map(|error| format!("{error:#}"));
    (outcome, result)
}

/// A test that is about to begin.
struct Ready {
    channel: ControlChannel,
    server: Server,
    links: Vec<Link>,
    greetings: u64,
    clock: Clock,
}

async fn run(
    client: &Client,
    observer: Observer<'_>,
    outcome: &mut Outcome,
    mut stop: Stop,
) -> anyhow::Result<()> {
    let plan = &client.plan;
    let ready = tokio::select! {
        ready = prepare(client) => ready?,
        () = stop.raised() => return Ok(()),
    };
    let Ready { mut channel, server, links, greetings, clock } = ready;
    observer(Progress::Started { server: server.at, local: links.first().and_then(Link::local) })?;
    let (sends, receives) = (plan.direction.client_sends(), plan.direction.server_sends());
    let mut handover = Handover::start(client, clock, server.at.ip(), &links)?;
    let mut streams = Streams::start(clock, links, greetings, plan, sends, receives);
    let result = follow(plan, &mut streams, &mut channel, &mut handover, observer, outcome, &mut stop).await;
    outcome.handover = handover.report();
    // In any case, this end's figures are part of the summary.
    streams.stop_sending();
    (outcome.received_here, outcome.sent_here) = streams.totals();
    streams.close().await;
    result
}

/// Agrees with the server and opens the data connections.
async fn prepare(client: &Client) -> anyhow::Result<Ready> {
    let (at, plan) = (client.server.clone(), &client.plan);
    let (mut reader, writer, server) = agree(&at, plan).await?;
    let may_be_plain = plan.transport != Transport::Dccp || client.protection.is_plaintext_allowed;
    // The name was resolved anew.
    if !plan.dccp.secured && !may_be_plain && !is_loopback(server.at.ip()) {
        bail!("data to {} would not be encrypted: it is another host now", at.host());
    }
    let clock = Clock::start();
    let links = open_links(client, &server).await?;
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
    observer: Observer<'_>,
    outcome: &mut Outcome,
    stop: &mut Stop,
) -> anyhow::Result<()> {
    let end = tokio::time::sleep(plan.times.total().into());
    tokio::pin!(end);
    let omitted = tokio::time::sleep(plan.times.omitted().into());
    tokio::pin!(omitted);
    let mut is_omitted = plan.times.omit_s > 0.0;
    let mut sending = plan.direction.client_sends();
    let mut is_over = false;
    // A server cannot extend the test, nor print without end: it has an interval's figures for each interval,
    // and two answers' time for the report.
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
                        observer(Progress::Interval(outcome.push_interval(plan, here, there, is_measured)))?;
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
            () = stop.raised(), if !is_over => true,
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
