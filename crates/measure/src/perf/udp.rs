//! The data connections of plain UDP: each end proves that it receives at the address the other sends to.
//!
//! A source address of UDP can be forged, and a port that a message names may belong to another program.
//! Therefore neither end sends measured data before the other has repeated a nonce that travelled over the
//! same two addresses. The answer of a server is as long as the greeting, and goes only to the host of the
//! control connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use whimbrel_net::{Dscp, enlarge_receive_buffer, entropy};

use super::datagram::{Head, Kind};
use super::dscp::mark;
use super::link::Link;
use super::plan::{Plan, Transport};

/// Interval between repetitions of a greeting.
pub(super) const GREETING_INTERVAL: Duration = Duration::from_millis(100);

/// A UDP socket per stream, at the server's address to which the client connected.
pub(super) async fn bind(plan: &Plan, mut local: SocketAddr, dscp: Dscp) -> anyhow::Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    local.set_port(0);
    if plan.transport == Transport::Udp {
        for _ in 0..plan.streams {
            let socket = UdpSocket::bind(local).await.context("binding a UDP port")?;
            enlarge_receive_buffer(&socket)?;
            mark(&socket, socket.local_addr()?, dscp)?;
            sockets.push(socket);
        }
    }
    Ok(sockets)
}

/// Connects each socket of a server to the client at `peer` that has proven its address.
pub(super) async fn gather(sockets: Vec<UdpSocket>, token: u64, peer: IpAddr) -> anyhow::Result<Vec<Link>> {
    let mut proving = JoinSet::new();
    for (stream, socket) in sockets.into_iter().enumerate() {
        proving.spawn(async move {
            prove(&socket, token, peer).await?;
            anyhow::Ok((stream, Link::Udp(Arc::new(socket))))
        });
    }
    let mut links = Vec::new();
    while let Some(proven) = proving.join_next().await {
        links.push(proven??);
    }
    links.sort_unstable_by_key(|(stream, _)| *stream);
    Ok(links.into_iter().map(|(_, link)| link).collect())
}

/// Waits until the client repeats a nonce that went to the address of its greeting, and connects the socket
/// to that address.
async fn prove(socket: &UdpSocket, token: u64, peer: IpAddr) -> anyhow::Result<()> {
    let mut buffer = [0; 2048];
    let mut asked: Option<(SocketAddr, u64)> = None;
    loop {
        let (taken, from) = socket.recv_from(&mut buffer).await?;
        let Some(head) = Head::read(&buffer[..taken]) else { continue };
        if head.token != token || head.kind != Kind::Greeting || from.ip().to_canonical() != peer {
            continue;
        }
        let nonce = match asked {
            Some((address, nonce)) if address == from && nonce == head.sent => {
                return Ok(socket.connect(from).await?);
            }
            Some((address, nonce)) if address == from => nonce,
            _ => entropy()?.max(1),
        };
        asked = Some((from, nonce));
        let answer = bytes(Head { kind: Kind::Answer, sent: nonce, ..head });
        // A datagram that cannot be sent now is asked for again.
        let _ = socket.try_send_to(&answer, from);
    }
}

/// The greetings of a client, until dropped.
#[derive(Debug)]
pub(super) struct Greeter {
    _greeting: JoinSet<()>,
    answers: mpsc::UnboundedReceiver<()>,
    unanswered: usize,
}

impl Greeter {
    /// Greets on each link of plain UDP.
    pub(super) fn start(plan: &Plan, links: &[Link]) -> anyhow::Result<Self> {
        let (answered, answers) = mpsc::unbounded_channel();
        let mut greeting = JoinSet::new();
        for (stream, link) in (0..).zip(links) {
            let Link::Udp(socket) = link else { continue };
            let head =
                Head { token: plan.token, stream, kind: Kind::Greeting, sequence: entropy()?, sent: 0 };
            greeting.spawn(greet(socket.clone(), head, answered.clone()));
        }
        Ok(Self { unanswered: greeting.len(), _greeting: greeting, answers })
    }

    /// The server begins.
    ///
    /// # Errors
    /// The server has not answered on each link: data would go to ports that may not be its own.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        while self.answers.try_recv().is_ok() {
            self.unanswered -= 1;
        }
        if self.unanswered > 0 {
            bail!("the server began without an answer from each UDP port that it named");
        }
        Ok(())
    }
}

/// Repeats a greeting; after the server's answer with its nonce.
async fn greet(socket: Arc<UdpSocket>, mut head: Head, answered: mpsc::UnboundedSender<()>) {
    let mut buffer = [0; 2048];
    let mut repeat = tokio::time::interval(GREETING_INTERVAL);
    loop {
        // A destination that is unreachable for now is greeted again.
        tokio::select! {
            _ = repeat.tick() => drop(socket.send(&bytes(head)).await),
            received = socket.recv(&mut buffer) => if let Ok(taken) = received
                && let Some(answer) = Head::read(&buffer[..taken])
                && (answer.token, answer.kind, answer.sequence) == (head.token, Kind::Answer, head.sequence)
                && head.sent == 0
            {
                head.sent = answer.sent;
                let _ = answered.send(());
                drop(socket.send(&bytes(head)).await);
            },
        }
    }
}

fn bytes(head: Head) -> [u8; Head::LEN] {
    let mut bytes = [0; Head::LEN];
    head.write(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
