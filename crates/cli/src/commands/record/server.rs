//! The server: one recording at a time.

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration as StdDuration;

use anyhow::{Context, bail};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;
use whimbrel_net::{Clock, enlarge_receive_buffer};
use whimbrel_units::Duration;

use super::probe::{Header, Kind};
use super::prober::{DRAIN, Prober};
use super::protocol::{Lines, MAX_PROBES, Message, Plan, VERSION};
use super::{LONGEST, PORT, ServerArgs};
use crate::accept::accept;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::print;

/// Time limit for the plan, and for the client's first datagram.
const GREETING_TIME: StdDuration = StdDuration::from_secs(3);
/// Time limit for the transfer of the log.
const REPORT_TIME: StdDuration = StdDuration::from_secs(60);

pub(super) async fn run(args: &ServerArgs) -> Result<(), Failure> {
    let (tcp, udp, at) = bind(args.bind).await?;
    print::line(match args.json {
        true => json!({ "event": "ready", "address": at.to_string() }).to_string(),
        false => format!("whimbrel record server on {at}, TCP and UDP"),
    })?;
    let mut interrupt = Interrupt::listen();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&tcp) => accepted,
            () = interrupt.raised() => return Err(Failure::Interrupted),
        };
        let recorded = tokio::select! {
            recorded = serve(args, stream, peer, &udp) => recorded,
            () = refuse_others(&tcp) => continue,
            () = interrupt.raised() => return Err(Failure::Interrupted),
        };
        match recorded {
            Ok(summary) => print::line(if args.json { summary.to_string() } else { text(&summary) })?,
            Err(error) => print::note(format_args!("{peer}: {error:#}")),
        }
    }
}

fn text(summary: &serde_json::Value) -> String {
    format!("{}: {} probes received, {} sent", summary["client"], summary["received"], summary["sent"])
}

/// TCP and UDP on one port.
async fn bind(wanted: Option<SocketAddr>) -> anyhow::Result<(TcpListener, UdpSocket, SocketAddr)> {
    let tcp = match wanted {
        Some(at) => TcpListener::bind(at).await.with_context(|| format!("TCP {at}"))?,
        None => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, PORT)).await {
            Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await.context("TCP")?
            }
            bound => bound.with_context(|| format!("TCP port {PORT}: is another server running?"))?,
        },
    };
    let at = tcp.local_addr()?;
    let udp = UdpSocket::bind(at).await.with_context(|| format!("UDP {at}"))?;
    enlarge_receive_buffer(&udp)?;
    Ok((tcp, udp, at))
}

/// Refuses further clients while one is served.
async fn refuse_others(tcp: &TcpListener) {
    loop {
        let (stream, _) = accept(tcp).await;
        let reason = "it is busy with another recording".to_owned();
        let refusal = Message::Refused { reason };
        let _ = timeout(StdDuration::from_millis(200), Lines::new(stream).send(&refusal)).await;
    }
}

/// Serves a client.
async fn serve(
    args: &ServerArgs,
    stream: TcpStream,
    peer: SocketAddr,
    udp: &UdpSocket,
) -> anyhow::Result<serde_json::Value> {
    let mut lines = Lines::new(stream);
    let first = timeout(GREETING_TIME, lines.next()).await.context("no plan")??;
    let Some(Message::Plan(plan)) = first else { bail!("expected a plan") };
    if let Some(reason) = objection(&plan, args) {
        lines.send(&Message::Refused { reason: reason.clone() }).await?;
        bail!("refused: {reason}");
    }
    let token = whimbrel_net::entropy()?;
    lines.send(&Message::Accepted { token }).await?;
    let address = timeout(GREETING_TIME, client_address(udp, token, peer))
        .await
        .context("no datagram from the client: UDP may be blocked")??;
    lines.send(&Message::Start).await?;
    let plan = Cell::new(plan);
    let mut probing = pin!(Prober::new(udp, address, (token, true), &plan, Clock::start()).run());
    let (log, sent) = loop {
        tokio::select! {
            probed = &mut probing => break probed?,
            message = lines.next() => match message? {
                Some(Message::Stop { load_ms }) => plan.set(plan.get().limited(load_ms)),
                // It gets no more probes.
                None => bail!("the client has gone"),
                Some(other) => bail!("expected nothing but an early end while probes are sent, found {other:?}"),
            },
        }
    };
    timeout(REPORT_TIME, lines.send_log(&log, sent)).await.context("the client does not take the log")??;
    Ok(
        json!({ "event": "recorded", "client": peer.to_string(), "received": log.len(), "sent": sent.iter().sum::<u64>() }),
    )
}

/// The reason why a plan is refused.
fn objection(plan: &Plan, args: &ServerArgs) -> Option<String> {
    let most = args.max_rate.as_bits_per_second();
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

/// The address from which the client's datagrams with this token come: of the same host as its TCP connection.
async fn client_address(udp: &UdpSocket, token: u64, peer: SocketAddr) -> anyhow::Result<SocketAddr> {
    let mut buffer = [0; 2048];
    loop {
        let (length, from) = match udp.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
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

    /// A datagram with the token, but from another host than the control connection: an address that may be forged.
    #[tokio::test]
    async fn probes_go_to_no_host_but_that_of_the_control_connection() {
        let socket = |at| async move { UdpSocket::bind(at).await.expect("loopback") };
        let (udp, third, client) =
            (socket("127.0.0.1:0").await, socket("127.0.0.2:0").await, socket("127.0.0.1:0").await);
        let at = udp.local_addr().expect("bound");
        let mut hello = [0; PING];
        for (from, token) in [(&third, 7), (&client, 8), (&client, 7)] {
            Header { kind: Kind::Hello, token, number: 0, sent_us: 0 }.write(&mut hello);
            from.send_to(&hello, at).await.expect("loopback");
        }
        let peer = "127.0.0.1:9".parse().expect("an address");
        let found = client_address(&udp, 7, peer).await.expect("no error");
        assert_eq!(found, client.local_addr().expect("bound"));
        assert!(udp.try_recv(&mut hello).is_err(), "all three were read");
    }
}
