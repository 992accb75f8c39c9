//! The server: one recording at a time.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_live::accept::{Place, Places, Turns, accept};
use whimbrel_net::{Clock, WatchedSocket, is_refusal};
use whimbrel_relay::Stop;
use whimbrel_relay::text::quoted;
use whimbrel_units::{DataRate, Duration};

use super::probe::{Header, Kind};
use super::prober::{self, DRAIN, Prober};
use super::protocol::{Lines, MAX_PROBES, Message, Plan, VERSION};
use super::{LONGEST, PORT};
use crate::same_port::bind;

/// Clients that are not served.
const MAX_CLIENTS: usize = 64;
/// Time limit for the plan, and for the client's first datagram.
const GREETING_TIME: StdDuration = StdDuration::from_secs(3);
/// Time limit for the transfer of the log.
const REPORT_TIME: StdDuration = StdDuration::from_secs(60);

/// A client that has sent its plan.
struct Client {
    lines: Lines,
    plan: Plan,
    peer: SocketAddr,
    /// Its place among those that are not served.
    place: Place,
}

/// A server of recordings.
#[derive(Clone, Copy, Debug)]
pub struct RecordServer {
    /// Address and port of TCP and UDP; by default, all addresses.
    pub bind: Option<SocketAddr>,
    /// The highest rate of probes that a client may request.
    pub max_rate: DataRate,
}

/// Server messages.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RecordNotice<'a> {
    /// The server can be reached at this address.
    Ready(SocketAddr),
    /// A recording has ended.
    Recorded {
        /// The client.
        client: SocketAddr,
        /// Probes that arrived here.
        received: usize,
        /// Probes that this end sent.
        sent: u64,
    },
    /// A client was refused, or its recording has failed.
    Failed {
        /// The client.
        client: SocketAddr,
        /// The reason.
        reason: &'a str,
    },
}

/// Takes what a server says. An error ends it.
pub type RecordObserver = Arc<dyn Fn(RecordNotice<'_>) -> anyhow::Result<()> + Send + Sync>;

/// Answers clients, one at a time, until it is stopped.
///
/// # Errors
/// A port cannot be bound, or the observer has returned an error.
pub async fn serve(args: RecordServer, observer: RecordObserver, mut stop: Stop) -> anyhow::Result<()> {
    let (tcp, udp, at) = bind(args.bind, PORT, async |at| Ok(prober::bind(at)?)).await?;
    observer(RecordNotice::Ready(at))?;
    let (greeted, mut clients) = mpsc::channel(MAX_CLIENTS);
    tokio::spawn(greet(tcp, greeted, observer.clone()));
    let (clock, mut turns) = (Clock::start(), Turns::default());
    loop {
        let client = tokio::select! {
            Some(client) = clients.recv() => client,
            () = stop.raised() => return Ok(()),
        };
        let peer = client.peer;
        if let Some(reason) = objection(&client.plan, args.max_rate) {
            observer(RecordNotice::Failed { client: peer, reason: &format!("refused: {reason}") })?;
            refuse(client, reason);
            continue;
        }
        if let Err(wait) = turns.begin(clock.now(), peer.ip()) {
            let wait = wait.as_secs_f64().ceil();
            refuse(
                client,
                format!("others could not record while it served your address: again in {wait} s"),
            );
            continue;
        }
        let recorded = tokio::select! {
            recorded = serve_one(client, &udp) => recorded,
            () = refuse_others(&mut clients, &mut turns) => continue,
            () = stop.raised() => return Ok(()),
        };
        turns.end(clock.now());
        match recorded {
            Ok((received, sent)) => observer(RecordNotice::Recorded { client: peer, received, sent })?,
            Err(error) => observer(RecordNotice::Failed { client: peer, reason: &format!("{error:#}") })?,
        }
    }
}

/// Accepts clients, and passes on those that have sent a plan. A client without a plan does not block others.
async fn greet(tcp: TcpListener, greeted: mpsc::Sender<Client>, observer: RecordObserver) {
    let places = Places::new(MAX_CLIENTS);
    loop {
        let (stream, peer) = accept(&tcp).await;
        let (mut place, greeted, observer) = (places.take(peer.ip()), greeted.clone(), observer.clone());
        tokio::spawn(async move {
            let mut lines = Lines::new(stream);
            let first = tokio::select! {
                first = timeout(GREETING_TIME, lines.next()) => first,
                () = place.taken() => return,
            };
            match first {
                Ok(Ok(Some(Message::Plan(plan)))) => {
                    let _ = greeted.send(Client { lines, plan, peer, place }).await;
                }
                other => {
                    let error = other.ok().and_then(Result::err);
                    let reason = error.map_or("expected a plan".into(), |error| format!("{error:#}"));
                    // The next notice of a recording ends the server.
                    let _ = observer(RecordNotice::Failed { client: peer, reason: &reason });
                }
            }
        });
    }
}

/// Refuses a client.
fn refuse(mut client: Client, reason: String) {
    tokio::spawn(async move {
        let refusal = Message::Refused { reason };
        tokio::select! {
            _ = timeout(GREETING_TIME, client.lines.send(&refusal)) => {}
            () = client.place.taken() => {}
        }
    });
}

/// Refuses further clients while one is served.
async fn refuse_others(clients: &mut mpsc::Receiver<Client>, turns: &mut Turns) {
    while let Some(client) = clients.recv().await {
        turns.refuse(client.peer.ip());
        refuse(client, "it is busy with another recording".into());
    }
}

/// Serves a client.
async fn serve_one(client: Client, udp: &WatchedSocket) -> anyhow::Result<(usize, u64)> {
    let Client { mut lines, plan, peer, place } = client;
    drop(place);
    let token = whimbrel_net::entropy()?;
    lines.send(&Message::Accepted { token }).await?;
    let address = timeout(GREETING_TIME, client_address(udp, token, peer))
        .await
        .context("no datagram from the client: UDP may be blocked")??;
    lines.send(&Message::Start).await?;
    let plan = Cell::new(plan);
    let figures = Cell::default();
    let mut probing = pin!(Prober::new(udp, address, (token, true), &plan, &figures, Clock::start()).run());
    let (log, sent) = loop {
        tokio::select! {
            probed = &mut probing => break probed?,
            message = lines.next() => match message? {
                Some(Message::Stop { load_ms }) => plan.set(plan.get().limited(load_ms)),
                // The client gets no more probes.
                None => bail!("the client has gone"),
                Some(other) => bail!("expected nothing but an early end while probes are sent, found {}", quoted(&format!("{other:?}"))),
            },
        }
    };
    timeout(REPORT_TIME, lines.send_log(&log, sent)).await.context("the client does not take the log")??;
    Ok((log.len(), sent.iter().sum()))
}

/// The reason why a plan is refused.
fn objection(plan: &Plan, max_rate: DataRate) -> Option<String> {
    let most = max_rate.as_bits_per_second();
    if plan.version != VERSION {
        Some(format!("it speaks version {VERSION} of the protocol, not {}", plan.version))
    } else if plan.load_ms == 0 || Duration::from_millis(plan.load_ms) > LONGEST {
        Some(format!("--time must be above 0 and at most {} s", LONGEST.as_secs_f64()))
    // Also refuses what is no number.
    } else if !(plan.rate_bps > 0.0 && plan.rate_bps <= most) {
        Some(format!("--rate must be above 0 and at most {} Mbit/s there", most * 1e-6))
    } else if plan.probes() > MAX_PROBES {
        Some(format!("{} probes are more than {MAX_PROBES}: choose a lower --rate or --time", plan.probes()))
    } else {
        None
    }
}

/// The address from which the client's datagrams with this token come: of the same host as its TCP
/// connection.
async fn client_address(udp: &WatchedSocket, token: u64, peer: SocketAddr) -> anyhow::Result<SocketAddr> {
    let mut buffer = [0; 2048];
    loop {
        udp.readable().await?;
        let (length, from) = match udp.try_recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::WouldBlock || is_refusal(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let is_hello = Header::read(&buffer[..length])
            .is_some_and(|header| header.kind == Kind::Hello && header.token == token);
        if is_hello && from.ip().to_canonical() == peer.ip().to_canonical() {
            return Ok(from);
        }
    }
}

/// Time after which a server must have sent its log.
pub(super) fn patience(plan: &Plan) -> StdDuration {
    StdDuration::from(plan.length() + DRAIN) + REPORT_TIME
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::probe::PING;
    use super::*;

    /// A datagram with the token from another host than the control connection: its address may be forged.
    #[tokio::test]
    async fn probes_go_to_no_host_but_that_of_the_control_connection() {
        let socket = |at: &str| prober::bind(at.parse().expect("an address")).expect("loopback");
        let (udp, third, client) = (socket("127.0.0.1:0"), socket("127.0.0.2:0"), socket("127.0.0.1:0"));
        let at = udp.local_addr().expect("bound");
        let mut hello = [0; PING];
        for (from, token) in [(&third, 7), (&client, 8), (&client, 7)] {
            Header { kind: Kind::Hello, token, number: 0, sent_us: 0 }.write(&mut hello);
            prober::send_to(from, &hello, at).expect("loopback");
        }
        let peer = "127.0.0.1:9".parse().expect("an address");
        let found = client_address(&udp, 7, peer).await.expect("no error");
        assert_eq!(found, client.local_addr().expect("bound"));
        assert!(udp.try_recv_from(&mut hello).is_err(), "all three were read");
    }
}
