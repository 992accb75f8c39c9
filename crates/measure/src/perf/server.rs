//! The server of tests.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use anyhow::{Context, bail};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_live::accept::{Place, Places, accept};
use whimbrel_net::{
    Clock, Config, Dscp, Duration, Fingerprint, HostOptions, Listener, OverflowPolicy, Security,
    SendQueueConfig, ServiceCode, Setup, TimerConfig,
};
use whimbrel_relay::{Protection, Stop, accepted_ccids, mechanisms, willing};

use super::DCCP_PORT;
use super::control::{Message, Reader, VERSION, Writer, halves};
use super::datagram::Head;
use super::dscp::mark;
use super::limits::Limits;
use super::link::Link;
use super::meter::ReceiverFigures;
use super::native::Native;
use super::plan::{Plan, Transport};
use super::sender::{SenderFigures, lock};
use super::stream::Streams;
use super::test_client::{AcceptedConnection, TestClient};
use super::test_ports::TestPorts;
use super::udp;
use crate::same_port;

/// Time limit for the first message of a new connection.
const GREETING_TIME: StdDuration = StdDuration::from_secs(10);
/// Connections whose first message has not come yet.
const MAX_GREETINGS: usize = 1024;
/// The reason for the end of a test whose place another client has taken.
const DISPLACED: &str = "another address has no test, and yours had the most: --max-tests at the server";
/// Time after the last datagram was sent for which others may still be in transit.
const DRAIN_TIME: StdDuration = StdDuration::from_millis(300);

/// Silence after which a client counts as dead, regardless of its patience.
const LONGEST_ABSENCE: Duration = Duration::from_secs(600);

/// Queues of data connections for the tests that they belong to.
type Waiting = Arc<Mutex<BTreeMap<u64, mpsc::UnboundedSender<AcceptedConnection>>>>;

/// A server of tests.
#[derive(Clone, Debug)]
pub struct Server {
    /// Address and port for UDP and TCP; by default, any of either family.
    pub bind: Option<SocketAddr>,
    /// The DCCP Service Code to serve.
    pub service_code: ServiceCode,
    /// DCCP without UDP as well.
    pub native: Native,
    /// DSCP of the packets that this end sends.
    pub dscp: Dscp,
    /// Keys, and what is to happen without.
    pub protection: Protection,
    /// Limits of requests.
    pub limits: Limits,
    /// End after one client.
    pub one_off: bool,
}

/// A test that has ended, at the server.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The client.
    pub peer: SocketAddr,
    /// Its plan.
    pub plan: &'a Plan,
    /// Figures of each stream that this end received.
    pub received: &'a [ReceiverFigures],
    /// Figures of each stream that this end sent.
    pub sent: &'a [SenderFigures],
    /// The client has not waited for them.
    pub vanished: bool,
}

/// Server messages.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ServerNotice<'a> {
    /// The server can be reached.
    Ready {
        /// Its address, for UDP and TCP.
        at: SocketAddr,
        /// Its key, if data is encrypted.
        key: Option<Fingerprint>,
    },
    /// A test has ended.
    Served(Served<'a>),
    /// A test was refused or has failed.
    Failed {
        /// The client.
        peer: SocketAddr,
        /// The reason.
        reason: &'a str,
    },
}

/// Takes what a server says. An error ends it.
pub type ServerObserver = Arc<dyn Fn(ServerNotice<'_>) -> anyhow::Result<()> + Send + Sync>;

/// The observer has returned an error.
#[derive(Debug, Error)]
#[error("{0:#}")]
struct Unheard(anyhow::Error);

/// Answers clients until it is stopped.
///
/// # Errors
/// A port cannot be bound, or the observer has returned an error.
pub async fn serve(args: Server, observer: ServerObserver, mut stop: Stop) -> anyhow::Result<()> {
    let security = args.protection.security.clone();
    // The client's plan chooses; the last one listed is used if nothing else is offered.
    let config = willing(
        Config::default()
            .ccids(mechanisms())
            .sender_ccids(accepted_ccids())
            .receiver_ccids(accepted_ccids())
            .service_code(args.service_code)
            .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
            // Clients may be unreachable for as long as their patience.
            .timers(TimerConfig::default().idle(Some(LONGEST_ABSENCE))),
    );
    let options = HostOptions::default().dscp(args.dscp);
    let fingerprint = security.as_ref().map(Security::fingerprint);
    let setup = Setup::new(config, security);
    let (control, listener, bind) = same_port::bind(args.bind, whimbrel_net::DCCP_UDP_PORT, async |at| {
        Ok(Listener::bind_with(at, DCCP_PORT, setup.clone(), options).await?)
    })
    .await?;
    let (listeners, addresses) = args.native.server(bind.ip(), &setup, args.dscp).await?;
    let addresses = Arc::new(addresses);
    observer(ServerNotice::Ready { at: bind, key: fingerprint })?;
    let waiting = Waiting::default();
    let listeners: Vec<Arc<Listener>> = listeners.into_iter().chain([listener]).map(Arc::new).collect();
    let ports = Arc::new(TestPorts::new(&listeners, setup));
    for listener in listeners {
        tokio::spawn(accept_dccp(listener, waiting.clone()));
    }
    let (done, mut finished) = mpsc::unbounded_channel();
    let places = Places::new(MAX_GREETINGS);
    let tests = Places::new(args.limits.max_tests.into());
    loop {
        tokio::select! {
            (stream, peer) = accept(&control) => {
                let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                let (args, waiting, done) = (args.clone(), waiting.clone(), done.clone());
                let (addresses, ports, observer) = (addresses.clone(), ports.clone(), observer.clone());
                let (place, tests) = (places.take(peer.ip()), tests.clone());
                tokio::spawn(async move {
                    let secured = fingerprint.is_some();
                    match greet(stream, (peer, place), (&args, secured), (&addresses, &ports), (&waiting, &tests), &observer).await {
                        Ok(Purpose::Connection) => {}
                        Ok(Purpose::Test(result)) => { let _ = done.send((peer, true, result)); }
                        Err(error) => { let _ = done.send((peer, false, Err(error))); }
                    }
                });
            }
            Some((peer, was_test, result)) = finished.recv() => {
                match result.map_err(anyhow::Error::downcast) {
                    // Without its observer the server is of no use.
                    Err(Ok(Unheard(error))) => return Err(error),
                    Err(Err(error)) => observer(ServerNotice::Failed { peer, reason: &format!("{error:#}") })?,
                    Ok(()) => {}
                }
                if args.one_off && was_test {
                    return Ok(());
                }
            }
            () = stop.raised() => return Ok(()),
        }
    }
}

async fn accept_dccp(listener: Arc<Listener>, waiting: Waiting) {
    while let Ok(socket) = listener.accept().await {
        let waiting = waiting.clone();
        tokio::spawn(async move {
            // The first datagram identifies test and stream. Other connections are dropped.
            if let Ok(Ok(first)) = timeout(GREETING_TIME, socket.recv()).await
                && let Some(head) = Head::read(&first.payload)
                && let Some(test) = lock(&waiting).get(&head.token)
            {
                let _ = test.send(AcceptedConnection::Link(head.stream, Link::Dccp(Arc::new(socket))));
            }
        });
    }
}

/// Purpose of a TCP connection.
enum Purpose {
    /// A test, which has ended.
    Test(anyhow::Result<()>),
    /// A connection of a test, or of none.
    Connection,
}

/// Handles a TCP connection by its first message.
async fn greet(
    stream: TcpStream,
    (peer, mut place): (SocketAddr, Place),
    (args, is_secured): (&Server, bool),
    (addresses, ports): (&[IpAddr], &TestPorts),
    (waiting, tests): (&Waiting, &Places),
    observer: &ServerObserver,
) -> anyhow::Result<Purpose> {
    let local = match stream.local_addr()? {
        // A link-local address has a zone.
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_none() => v6.into(),
        mapped => SocketAddr::new(mapped.ip().to_canonical(), mapped.port()),
    };
    let (mut reader, mut writer) = halves(stream);
    let first = tokio::select! {
        first = timeout(GREETING_TIME, reader.next()) => first.context("no message for 10 s")??,
        () = place.taken() => return Ok(Purpose::Connection),
    };
    drop(place);
    match first {
        Some(Message::Hello { version, plan }) => {
            let objection = if version == VERSION {
                let served = (is_secured, args.native.is_wanted());
                args.limits.objection(&plan, peer.ip(), args.protection.is_plaintext_allowed, served)
            } else {
                Some(format!(
                    "this server has version {VERSION} of whimbrel perf, the client version {version}"
                ))
            };
            if let Some(reason) = objection {
                writer.send(&Message::Refusal { reason: reason.clone() }).await?;
                bail!("refused: {reason}");
            }
            let token = plan.token;
            let begun = match tests.share(peer.ip()).map(|place| (place, register(waiting, token))) {
                Some((place, Some(receiver))) => Ok((place, receiver)),
                Some((_, None)) => Err("it runs a test with this token already".to_owned()),
                None => {
                    let most = args.limits.max_tests;
                    Err(format!("it runs {most} tests already: --max-tests at the server"))
                }
            };
            let (mut place, receiver) = match begun {
                Ok(begun) => begun,
                Err(reason) => {
                    writer.send(&Message::Refusal { reason }).await?;
                    return Ok(Purpose::Connection);
                }
            };
            let result = async {
                let test_port = ports.open(&plan)?;
                let ends = (addresses, test_port.port);
                test((reader, writer), &plan, receiver, (local, peer), ends, (args, &mut place), observer)
                    .await
            };
            let result = result.await;
            lock(waiting).remove(&token);
            Ok(Purpose::Test(result))
        }
        Some(Message::TcpStream { token, stream }) => {
            let connection = reader.reunite(writer)?;
            mark(&connection, connection.local_addr()?, args.dscp)?;
            if let Some(test) = lock(waiting).get(&token) {
                let _ = test.send(AcceptedConnection::Link(stream, Link::Tcp(Arc::new(connection))));
            }
            Ok(Purpose::Connection)
        }
        Some(Message::Resume { token, intervals }) => {
            let Some(test) = lock(waiting).get(&token).cloned() else {
                let reason = "it has no such test any more".into();
                writer.send(&Message::Refusal { reason }).await?;
                return Ok(Purpose::Connection);
            };
            let _ = test.send(AcceptedConnection::Client(reader, writer, intervals));
            Ok(Purpose::Connection)
        }
        Some(_) => bail!("began with an unexpected message"),
        None => Ok(Purpose::Connection),
    }
}

/// Registers a test for its connections; `None` if there is one with its token.
fn register(waiting: &Waiting, token: u64) -> Option<mpsc::UnboundedReceiver<AcceptedConnection>> {
    let mut tests = lock(waiting);
    if tests.contains_key(&token) {
        return None;
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    tests.insert(token, sender);
    Some(receiver)
}

async fn test(
    (reader, mut writer): (Reader, Writer),
    plan: &Plan,
    mut arriving: mpsc::UnboundedReceiver<AcceptedConnection>,
    (local, peer): (SocketAddr, SocketAddr),
    (addresses, dccp_port): (&[IpAddr], u16),
    (args, place): (&Server, &mut Place),
    observer: &ServerObserver,
) -> anyhow::Result<()> {
    let clock = Clock::start();
    let udp = udp::bind(plan, local, args.dscp).await?;
    let udp_ports =
        udp.iter().map(|socket| Ok(socket.local_addr()?.port())).collect::<anyhow::Result<_>>()?;
    writer.send(&Message::Welcome { udp_ports, dccp_port, native: addresses.to_vec() }).await?;
    let gathered = async {
        match plan.transport {
            Transport::Udp => udp::gather(udp, plan.token, peer.ip()).await,
            Transport::Dccp | Transport::Tcp => gather(plan, &mut arriving).await,
        }
    };
    let links = timeout(GREETING_TIME, gathered)
        .await
        .context("its data connections did not arrive within 10 s")??;
    if let Some(name) = plan.congestion.as_ref().filter(|_| plan.direction.server_sends()) {
        links.iter().try_for_each(|link| link.set_congestion(name))?;
    }
    writer.send(&Message::Start).await?;
    let (sends, receives) = (plan.direction.server_sends(), plan.direction.client_sends());
    let mut streams = Streams::start(clock, links, 0, plan, sends, receives);
    let mut tick = tokio::time::interval(plan.times.interval().into());
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tick.tick().await;
    let mut client = TestClient::new(clock, (reader, writer), arriving, plan);
    let mut ticks = plan.times.ticks();
    let omitted = tokio::time::sleep(plan.times.omitted().into());
    tokio::pin!(omitted);
    let mut is_omitted = plan.times.omit_s > 0.0;
    let mut sending = sends;
    let limit = tokio::time::sleep(StdDuration::from(args.limits.longest(plan)) + GREETING_TIME);
    tokio::pin!(limit);
    let vanished = loop {
        tokio::select! {
            () = &mut limit => break true,
            () = place.taken() => {
                client.send(&Message::Refusal { reason: DISPLACED.into() }).await;
                break true;
            }
            message = client.next() => match message {
                Some(Message::Stop) => break false,
                Some(_) => {}
                None => break true,
            },
            _ = tick.tick(), if ticks > 0 => {
                ticks -= 1;
                if !client.send_figures(streams.take_interval()).await {
                    break true;
                }
            }
            // A broken stream shows in the figures; the client decides when the test ends.
            _ = streams.sent(), if sending => {
                sending = false;
                if plan.load.bytes.is_some() && !client.send(&Message::Sent).await {
                    break true;
                }
            }
            () = &mut omitted, if is_omitted => {
                is_omitted = false;
                streams.begin_measuring();
            }
        }
    };
    streams.stop_sending();
    if !vanished {
        tokio::time::sleep(DRAIN_TIME).await;
    }
    let last = streams.take_interval();
    let (received, sent) = streams.totals();
    let served = Served { peer, plan, received: &received, sent: &sent, vanished };
    observer(ServerNotice::Served(served)).map_err(Unheard)?;
    if !vanished {
        client.send_figures(last).await;
        client.send(&Message::Report { received, sent }).await;
    }
    streams.close().await;
    Ok(())
}

/// Waits for one data connection per stream.
async fn gather(
    plan: &Plan,
    arriving: &mut mpsc::UnboundedReceiver<AcceptedConnection>,
) -> anyhow::Result<Vec<Link>> {
    let mut links: Vec<Option<Link>> = vec![None; usize::from(plan.streams)];
    while links.iter().any(Option::is_none) {
        let arrived = arriving.recv().await.context("the test ended before it began")?;
        let AcceptedConnection::Link(stream, link) = arrived else { continue };
        match links.get_mut(usize::from(stream)) {
            Some(slot) => *slot = Some(link),
            None => bail!("stream {stream} does not belong to the test"),
        }
    }
    Ok(links.into_iter().flatten().collect())
}
