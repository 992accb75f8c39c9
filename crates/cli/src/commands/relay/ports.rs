//! The UDP side of a relay: local programs' datagrams in, those of the other end's programs out.
//!
//! Datagrams that belong together are a *flow*: at the near end those of one program at one port, which has a number on
//! the connection; at the far end those of that number, from a socket of its own, so that answers find their way back.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use bytes::{BufMut, Bytes, BytesMut};
use socket2::SockRef;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;
use whimbrel_units::Instant;

use super::arrivals::{Arrivals, Arrived};

/// Bytes that precede a datagram on the connection: the port's number, and the flow's at this port.
pub(super) const HEADER: usize = 2;
/// The most ports, and flows of a connection.
pub(super) const MAX_PORTS: usize = 64;
pub(super) const MAX_FLOWS: usize = 255;

/// A flow: the port's number, and its own at this port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Flow {
    pub(super) port: u8,
    pub(super) number: u8,
}

impl Flow {
    /// One number for both.
    pub(super) fn id(self) -> u16 {
        u16::from_be_bytes([self.port, self.number])
    }
    /// A datagram with the header of the connection.
    pub(super) fn wrap(self, payload: &[u8]) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEADER + payload.len());
        bytes.put_slice(&[self.port, self.number]);
        bytes.put_slice(payload);
        bytes.freeze()
    }
    /// Flow and payload of a datagram of the connection; `None` if it has no header.
    pub(super) fn unwrap(mut datagram: Bytes) -> Option<(Self, Bytes)> {
        if datagram.len() < HEADER {
            return None;
        }
        let payload = datagram.split_off(HEADER);
        Some((Self { port: datagram[0], number: datagram[1] }, payload))
    }
}

/// The UDP side of a connection.
#[derive(Debug)]
pub(super) enum Ports {
    Near(NearPorts),
    Far(FarPorts),
}

/// The near end: it listens at ports, and answers to the programs whose datagrams arrived there.
#[derive(Debug)]
pub(super) struct NearPorts {
    sockets: Vec<Arc<UdpSocket>>,
    arrivals: Arc<Arrivals>,
    /// The program of each flow, and the time of its last datagram.
    programs: BTreeMap<Flow, (SocketAddr, Instant)>,
    limit: usize,
}

/// The far end: it sends to programs, each flow from a socket of its own.
#[derive(Debug)]
pub(super) struct FarPorts {
    targets: Arc<[SocketAddr]>,
    arrivals: Arc<Arrivals>,
    /// By flow. Most connections have few.
    sockets: Vec<(Flow, FarFlow)>,
    limit: usize,
}

#[derive(Debug)]
struct FarFlow {
    socket: Arc<UdpSocket>,
    reader: AbortHandle,
    used: Instant,
}

impl Drop for FarFlow {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl NearPorts {
    /// Listens at these addresses.
    pub(super) async fn bind(addresses: &[SocketAddr], limit: usize) -> anyhow::Result<Self> {
        let arrivals = Arc::new(Arrivals::default());
        let mut sockets = Vec::new();
        for (port, address) in (0..).zip(addresses) {
            let socket = UdpSocket::bind(address).await.with_context(|| format!("UDP {address}"))?;
            let socket = Arc::new(socket);
            tokio::spawn(Arrivals::read(arrivals.clone(), socket.clone(), port, None));
            sockets.push(socket);
        }
        Ok(Self { sockets, arrivals, programs: BTreeMap::new(), limit })
    }
    /// The addresses at which it listens.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.sockets.iter().map(|socket| socket.local_addr()).collect()
    }
    /// The flow of a program at a port: a new one takes the number of the one that was silent for longest, if there are
    /// too many.
    fn flow_of(&mut self, now: Instant, port: u8, source: SocketAddr) -> Flow {
        if let Some((flow, (_, used))) =
            self.programs.iter_mut().find(|(flow, (known, _))| flow.port == port && *known == source)
        {
            *used = now;
            return *flow;
        }
        let free =
            (0..=u8::MAX).map(|number| Flow { port, number }).find(|flow| !self.programs.contains_key(flow));
        let flow = match free.filter(|_| self.programs.len() < self.limit) {
            Some(flow) => flow,
            None => {
                let oldest = self.programs.iter().min_by_key(|(_, (_, used))| *used).map(|(flow, _)| *flow);
                let oldest = oldest.unwrap_or(Flow { port, number: 0 });
                self.programs.remove(&oldest);
                if oldest.port == port { oldest } else { free.unwrap_or(Flow { port, number: 0 }) }
            }
        };
        self.programs.insert(flow, (source, now));
        flow
    }
}

impl FarPorts {
    /// Sends to these addresses.
    pub(super) fn new(targets: Arc<[SocketAddr]>, limit: usize) -> Self {
        Self { targets, arrivals: Arc::default(), sockets: Vec::new(), limit }
    }
    /// The socket of a flow; `None` if there is no such port here.
    fn socket(&mut self, now: Instant, flow: Flow) -> io::Result<Option<Arc<UdpSocket>>> {
        let Some(target) = self.targets.get(usize::from(flow.port)) else { return Ok(None) };
        if let Ok(place) = self.place(flow) {
            let known = &mut self.sockets[place].1;
            known.used = now;
            return Ok(Some(known.socket.clone()));
        }
        if self.sockets.len() >= self.limit {
            let flows = self.sockets.iter().enumerate();
            if let Some((oldest, _)) = flows.min_by_key(|(_, (_, known))| known.used) {
                self.sockets.remove(oldest);
            }
        }
        let any: SocketAddr = match target {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = std::net::UdpSocket::bind(any)?;
        // Only the program's answers are let in.
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        let socket = Arc::new(UdpSocket::from_std(socket)?);
        let reader = Arrivals::read(self.arrivals.clone(), socket.clone(), flow.port, Some(flow.number));
        let reader = tokio::spawn(reader).abort_handle();
        // The first is alone in most cases: a vector would take room for four.
        if self.sockets.is_empty() {
            self.sockets.reserve_exact(1);
        }
        let place = self.place(flow).unwrap_or_else(|place| place);
        self.sockets.insert(place, (flow, FarFlow { socket: socket.clone(), reader, used: now }));
        Ok(Some(socket))
    }
    /// The index of a flow, or the one at which it would be inserted.
    fn place(&self, flow: Flow) -> Result<usize, usize> {
        self.sockets.binary_search_by_key(&flow, |(flow, _)| *flow)
    }
}

impl Ports {
    /// The next datagram of a local program, and its flow. Cancel safe.
    pub(super) async fn next(&mut self, now: impl Fn() -> Instant) -> (Flow, Bytes) {
        let Arrived { port, number, source, payload } = self.arrivals().next().await;
        let flow = match (self, number) {
            (Self::Near(near), _) => near.flow_of(now(), port, source),
            (Self::Far(_), number) => Flow { port, number: number.unwrap_or_default() },
        };
        (flow, payload)
    }

    /// Discards what arrived before there was a connection.
    pub(super) fn discard_old(&mut self) {
        self.arrivals().clear();
    }

    /// Passes a datagram to the program of a flow. Returns `false` if there is none. It does not wait: a datagram that the system
    /// refuses is a lost datagram.
    pub(super) fn deliver(&mut self, now: Instant, flow: Flow, payload: &[u8]) -> bool {
        match self {
            Self::Near(near) => {
                let Some((program, _)) = near.programs.get(&flow) else { return false };
                let Some(socket) = near.sockets.get(usize::from(flow.port)) else { return false };
                let _ = SockRef::from(&**socket).send_to(payload, &(*program).into());
                true
            }
            Self::Far(far) => match far.socket(now, flow) {
                Ok(Some(socket)) => {
                    let _ = SockRef::from(&*socket).send(payload);
                    true
                }
                Ok(None) | Err(_) => false,
            },
        }
    }

    /// Number of flows.
    pub(super) fn flows(&self) -> usize {
        match self {
            Self::Near(near) => near.programs.len(),
            Self::Far(far) => far.sockets.len(),
        }
    }
    /// Datagrams of local programs for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.arrivals().lost()
    }
    /// Returns memory that a burst has left behind.
    pub(super) fn shrink(&self) {
        self.arrivals().shrink();
    }
    fn arrivals(&self) -> &Arrivals {
        match self {
            Self::Near(near) => &near.arrivals,
            Self::Far(far) => &far.arrivals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn a_header_names_port_and_flow() {
        let flow = Flow { port: 1, number: 7 };
        let datagram = flow.wrap(b"data");
        assert_eq!(datagram[..], *b"\x01\x07data");
        assert_eq!(Flow::unwrap(datagram), Some((flow, Bytes::from_static(b"data"))));
        assert_eq!(Flow::unwrap(flow.wrap(b"")), Some((flow, Bytes::new())));
        assert_eq!(Flow::unwrap(Bytes::from_static(b"x")), None);
    }

    #[tokio::test]
    async fn programs_keep_their_flows_and_the_silent_ones_give_way() {
        let mut near = NearPorts::bind(&[address(0), address(0)], 2).await.expect("loopback");
        let at = Instant::from_secs;
        let first = near.flow_of(at(1), 0, address(1));
        let second = near.flow_of(at(2), 0, address(2));
        assert_ne!(first, second);
        assert_eq!(near.flow_of(at(3), 0, address(1)), first);
        // The second was silent for longest.
        assert_eq!(near.flow_of(at(4), 0, address(3)), second);
        assert_eq!(near.programs.len(), 2);
        let other_port = near.flow_of(at(5), 1, address(1));
        assert_eq!((other_port.port, near.programs.len()), (1, 2));
        assert!(!near.programs.contains_key(&first));
    }

    #[tokio::test]
    async fn a_far_end_opens_no_more_sockets_than_it_may_and_only_to_its_targets() {
        let program = UdpSocket::bind(address(0)).await.expect("loopback");
        let target = program.local_addr().expect("bound");
        let mut ports = Ports::Far(FarPorts::new([target].into(), 3));
        let now = Instant::from_secs(1);
        for number in 0..=u8::MAX {
            assert!(ports.deliver(now, Flow { port: 0, number }, b"x"));
            assert!(ports.flows() <= 3);
        }
        assert!(!ports.deliver(now, Flow { port: 1, number: 0 }, b"x"), "there is no such port");
        // The program's answer returns on the flow of its question.
        let mut buffer = [0; 8];
        let mut source = target;
        for _ in 0..=u8::MAX {
            source = program.recv_from(&mut buffer).await.expect("a datagram").1;
        }
        program.send_to(b"answer", source).await.expect("loopback");
        let (flow, payload) = ports.next(|| now).await;
        assert_eq!((flow, &payload[..]), (Flow { port: 0, number: u8::MAX }, &b"answer"[..]));
    }
}
