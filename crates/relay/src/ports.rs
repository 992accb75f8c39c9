//! The UDP side of a relay: takes local programs' datagrams and passes on the other end's.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::AbortHandle;
use whimbrel_rtp::Codec;
use whimbrel_units::{Duration, Instant};

use super::arrivals::{Arrivals, Arrived};
use super::embedded::EmbeddedPorts;
use crate::edge::address::{Program, ProgramAddress};
use crate::edge::carriage::Delivery;
use crate::edge::flow::Flow;
use crate::edge::flow_kind::Sends;
use crate::edge::ledger::{Ledger, Reason};
use crate::edge::local_socket::{LocalSocket, Reader};
use crate::edge::stream::Stream;

/// The programs' side of a connection.
#[derive(Debug)]
pub(super) enum Ports {
    Near(NearPorts),
    Far(FarPorts),
    /// Of either end, for a program of this process.
    Embedded(EmbeddedPorts),
}

/// The near end: it listens at ports, and answers to the programs whose datagrams arrived there.
#[derive(Debug)]
pub(super) struct NearPorts {
    sockets: Vec<Arc<LocalSocket>>,
    arrivals: Arc<Arrivals>,
    programs: BTreeMap<Flow, NearProgram>,
    /// The UDP ports, by the number of the port on the connection.
    udp_ports: Vec<u16>,
    /// The user's description of each port.
    streams: Vec<Stream>,
    /// A flow whose program is a new one.
    renewed: Option<Flow>,
    /// Counters of each socket that the ledger has already included.
    known: Vec<Known>,
    limit: usize,
}

/// The program of a flow at the near end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NearProgram {
    address: SocketAddr,
    /// The place of the socket at which its datagrams arrive.
    socket: usize,
    /// The time of its last datagram.
    used: Instant,
}

/// The far end: it sends to programs, each flow from a socket of its own.
#[derive(Debug)]
pub(super) struct FarPorts {
    targets: Arc<[Program]>,
    arrivals: Arc<Arrivals>,
    /// By flow. Most connections have few.
    sockets: Vec<(Flow, FarFlow)>,
    limit: usize,
}

#[derive(Debug)]
struct FarFlow {
    socket: Arc<LocalSocket>,
    reader: Option<AbortHandle>,
    used: Instant,
    known: Known,
}

impl Drop for FarFlow {
    fn drop(&mut self) {
        self.reader.iter().for_each(AbortHandle::abort);
    }
}

/// Socket counters in the ledger: datagrams that the kernel dropped, those at whose address nothing
/// listens, and those to whose address there is no way.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The number of its port.
    port: u8,
    drops: u64,
    refusals: [u64; 2],
}

impl Known {
    /// Enters in the ledger what the system has counted since the last call. Returns the address of a program
    /// at which nothing listens.
    fn settle(&mut self, socket: &LocalSocket, ledger: &Ledger) -> Option<SocketAddr> {
        socket.note_pending();
        let now = Self { port: self.port, drops: socket.kernel_drops(), refusals: socket.refusals() };
        let before = std::mem::replace(self, now);
        ledger.on_kernel_drops(now.drops.saturating_sub(before.drops));
        let new = |which: usize| now.refusals[which].saturating_sub(before.refusals[which]);
        ledger.lose_arrived(now.port, Reason::Refused, new(0));
        ledger.lose_arrived(now.port, Reason::Undeliverable, new(1));
        socket.refused().filter(|_| new(0) > 0)
    }
}

impl NearPorts {
    /// Listens at these places.
    pub(super) async fn bind(places: &[ProgramAddress], limit: usize) -> anyhow::Result<Self> {
        let (arrivals, reader) = (Arc::new(Arrivals::default()), Reader::get()?);
        arrivals.set_connected(false);
        let (mut sockets, mut udp_ports) = (Vec::<Arc<LocalSocket>>::new(), Vec::new());
        let mut known = Vec::new();
        for (port, place) in (0..).zip(places) {
            for socket in LocalSocket::open_from(place, &reader).await? {
                let socket = Arc::new(socket);
                let source = (port, None, sockets.len());
                reader.spawn(Arrivals::read(arrivals.clone(), socket.clone(), source));
                sockets.push(socket);
                known.push(Known { port, ..Known::default() });
            }
            let last = sockets.last().and_then(|socket| socket.local_addr().ok());
            udp_ports.push(last.map_or(0, |address| address.port()));
        }
        let programs = BTreeMap::new();
        let streams = places.iter().map(|place| place.stream().clone()).collect();
        Ok(Self { sockets, arrivals, programs, udp_ports, streams, renewed: None, known, limit })
    }

    /// The addresses at which it listens.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.sockets.iter().map(|socket| socket.local_addr()).collect()
    }

    /// The flow of a program at a port: a new one takes the number of the one that was silent for longest, if
    /// there are too many.
    fn flow_of(&mut self, now: Instant, port: u8, (socket, source): (usize, SocketAddr)) -> Flow {
        let mut known = self.programs.iter_mut();
        let is_its =
            |flow: &Flow, it: &NearProgram| flow.port == port && it.address == source && it.socket == socket;
        if let Some((flow, program)) = known.find(|(flow, program)| is_its(flow, program)) {
            program.used = now;
            return *flow;
        }
        let free =
            (0..=u8::MAX).map(|number| Flow { port, number }).find(|flow| !self.programs.contains_key(flow));
        let flow = match free.filter(|_| self.programs.len() < self.limit) {
            Some(flow) => flow,
            None => {
                let oldest = self.programs.iter().min_by_key(|(_, it)| it.used).map(|(flow, _)| *flow);
                let oldest = oldest.unwrap_or(Flow { port, number: 0 });
                self.programs.remove(&oldest);
                if oldest.port == port { oldest } else { free.unwrap_or(Flow { port, number: 0 }) }
            }
        };
        self.programs.insert(flow, NearProgram { address: source, socket, used: now });
        self.renewed = Some(flow);
        flow
    }
}

impl FarPorts {
    /// Sends to these programs.
    pub(super) fn new(targets: Arc<[Program]>, limit: usize) -> Self {
        Self { targets, arrivals: Arc::default(), sockets: Vec::new(), limit }
    }

    /// The socket of a flow; `None` if there is no such port here.
    fn socket(&mut self, now: Instant, flow: Flow) -> io::Result<Option<Arc<LocalSocket>>> {
        let Some(target) = self.targets.get(usize::from(flow.port)) else { return Ok(None) };
        if let Ok(place) = self.place(flow) {
            let known = &mut self.sockets[place].1;
            known.used = now;
            return Ok(Some(known.socket.clone()));
        }
        if self.sockets.len() >= self.limit {
            let flows = self.sockets.iter().enumerate();
            if let Some((oldest, _)) = flows.min_by_key(|(_, (_, known))| known.used) {
                let (_, mut ended) = self.sockets.remove(oldest);
                ended.known.settle(&ended.socket, self.arrivals.ledger());
            }
        }
        let reader = Reader::get()?;
        let socket = Arc::new(LocalSocket::open_to(target, &reader)?);
        // The members of a group answer from addresses of their own, to which the socket is not connected.
        let reader = (!target.is_group()).then(|| {
            let source = (flow.port, Some(flow.number), 0);
            reader.spawn(Arrivals::read(self.arrivals.clone(), socket.clone(), source))
        });
        // The first is alone in most cases: a vector would take room for four.
        if self.sockets.is_empty() {
            self.sockets.reserve_exact(1);
        }
        let place = self.place(flow).unwrap_or_else(|place| place);
        self.sockets.insert(
            place,
            (
                flow,
                FarFlow {
                    socket: socket.clone(),
                    reader,
                    used: now,
                    known: Known { port: flow.port, ..Known::default() },
                },
            ),
        );
        Ok(Some(socket))
    }

    /// The index of a flow, or the one at which it would be inserted.
    fn place(&self, flow: Flow) -> Result<usize, usize> {
        self.sockets.binary_search_by_key(&flow, |(flow, _)| *flow)
    }
}

impl Ports {
    /// `true` at the end that connects.
    pub(super) fn is_near(&self) -> bool {
        match self {
            Self::Near(_) => true,
            Self::Far(_) => false,
            Self::Embedded(ports) => ports.is_near(),
        }
    }

    /// The addresses at which it listens.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::Near(near) => near.addresses(),
            Self::Far(_) | Self::Embedded(_) => Ok(Vec::new()),
        }
    }

    /// Known kinds of the datagrams of programs. `video`: the codec of all of them, if known.
    pub(super) fn sends(&self, video: Option<Codec>) -> Sends {
        match self {
            Self::Embedded(ports) => ports.sends(),
            Self::Near(_) | Self::Far(_) => Sends::All(video),
        }
    }

    /// Waits until there is a datagram of a local program. Cancel safe.
    pub(super) async fn ready(&self) {
        self.arrivals().ready().await;
    }

    /// The next datagram of a local program, its flow, and the time since it came.
    pub(super) fn try_next(&mut self, now: Instant) -> Option<(Flow, Bytes, Duration)> {
        let arrived = self.arrivals().try_next()?;
        let age = self.arrivals().age(&arrived);
        let Arrived { port, number, socket, source, payload, .. } = arrived;
        let flow = match (self, number) {
            (Self::Near(near), _) => near.flow_of(now, port, (socket, source)),
            (Self::Far(_), number) => Flow { port, number: number.unwrap_or_default() },
            (Self::Embedded(ports), _) => ports.flow_of(port),
        };
        Some((flow, payload, age))
    }

    /// The flow of the last datagram, if its program is a new one.
    pub(super) fn take_renewed(&mut self) -> Option<Flow> {
        match self {
            Self::Near(near) => near.renewed.take(),
            Self::Far(_) | Self::Embedded(_) => None,
        }
    }

    /// The UDP ports of the programs, by the number of the port on the connection.
    pub(super) fn udp_ports(&self) -> Vec<u16> {
        match self {
            Self::Near(near) => near.udp_ports.clone(),
            Self::Far(far) => {
                let first = |program: &Program| program.addresses.first().map_or(0, SocketAddr::port);
                far.targets.iter().map(first).collect()
            }
            Self::Embedded(_) => Vec::new(),
        }
    }

    /// Time for which datagrams wait for a connection.
    pub(super) fn set_hold(&self, hold: Duration) {
        self.arrivals().set_hold(hold);
    }

    /// Loses datagrams that are older. Cancel safe.
    pub(super) async fn expire(&self) -> Infallible {
        self.arrivals().expire().await
    }

    /// Notes whether there is a connection.
    pub(super) fn set_connected(&self, is_connected: bool) {
        self.arrivals().set_connected(is_connected);
    }

    /// The user's descriptions of the programs' datagrams, by the number of the port.
    pub(super) fn streams(&self) -> Vec<Stream> {
        match self {
            Self::Near(near) => near.streams.clone(),
            Self::Far(far) => far.targets.iter().map(|program| program.stream.clone()).collect(),
            Self::Embedded(_) => Vec::new(),
        }
    }

    /// Passes a datagram to the program of a flow. It does not wait: one that the system refuses is lost.
    pub(super) fn deliver(&mut self, now: Instant, flow: Flow, payload: &[u8]) -> Delivery {
        let sent = match self {
            Self::Near(near) => {
                let Some(program) = near.programs.get(&flow) else { return Delivery::UnknownFlow };
                let Some(socket) = near.sockets.get(program.socket) else { return Delivery::UnknownFlow };
                socket.send_to(payload, program.address)
            }
            Self::Far(far) => match far.socket(now, flow) {
                Ok(Some(socket)) => socket.send(payload),
                Ok(None) => return Delivery::UnknownFlow,
                Err(error) => Err(error),
            },
            Self::Embedded(ports) => return ports.deliver(flow, payload),
        };
        sent.map_or(Delivery::Undeliverable, |()| Delivery::Passed)
    }

    /// Enters in the ledger what the system has counted since the last call. Returns the address of a program
    /// at which nothing listens.
    pub(super) fn settle(&mut self) -> Option<SocketAddr> {
        let mut refused = None;
        match self {
            Self::Near(near) => {
                for (socket, known) in near.sockets.iter().zip(&mut near.known) {
                    refused = known.settle(socket, near.arrivals.ledger()).or(refused);
                }
            }
            Self::Far(far) => {
                for (_, flow) in &mut far.sockets {
                    refused = flow.known.settle(&flow.socket, far.arrivals.ledger()).or(refused);
                }
            }
            Self::Embedded(_) => {}
        }
        refused
    }

    /// Number of flows.
    pub(super) fn flows(&self) -> usize {
        match self {
            Self::Near(near) => near.programs.len(),
            Self::Far(far) => far.sockets.len(),
            Self::Embedded(ports) => ports.flows(),
        }
    }

    /// Fates of datagrams.
    pub(super) fn ledger(&self) -> &Ledger {
        self.arrivals().ledger()
    }

    /// Returns memory that a burst has left behind.
    pub(super) fn shrink(&self) {
        self.arrivals().shrink();
    }

    fn arrivals(&self) -> &Arrivals {
        match self {
            Self::Near(near) => &near.arrivals,
            Self::Far(far) => &far.arrivals,
            Self::Embedded(ports) => ports.arrivals(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[tokio::test]
    async fn programs_keep_their_flows_and_the_silent_ones_give_way() {
        let mut near = NearPorts::bind(&[address(0).into(), address(0).into()], 2).await.expect("loopback");
        let at = Instant::from_secs;
        let first = near.flow_of(at(1), 0, (0, address(1)));
        let second = near.flow_of(at(2), 0, (0, address(2)));
        assert_ne!(first, second);
        assert_eq!(near.flow_of(at(3), 0, (0, address(1))), first);
        // The second was silent for longest.
        assert_eq!(near.flow_of(at(4), 0, (0, address(3))), second);
        assert_eq!(near.programs.len(), 2);
        let other_port = near.flow_of(at(5), 1, (1, address(1)));
        assert_eq!((other_port.port, near.programs.len()), (1, 2));
        assert!(!near.programs.contains_key(&first));
    }

    #[tokio::test]
    async fn a_far_end_opens_no_more_sockets_than_it_may_and_only_to_its_targets() {
        let program = tokio::net::UdpSocket::bind(address(0)).await.expect("loopback");
        let target = program.local_addr().expect("bound");
        let known =
            Program { addresses: vec![target], interface: None, ttl: None, stream: Stream::Recognized };
        let mut ports = Ports::Far(FarPorts::new([known].into(), 3));
        let now = Instant::from_secs(1);
        for number in 0..=u8::MAX {
            assert_eq!(ports.deliver(now, Flow { port: 0, number }, b"x"), Delivery::Passed);
            assert!(ports.flows() <= 3);
        }
        assert_eq!(ports.deliver(now, Flow { port: 1, number: 0 }, b"x"), Delivery::UnknownFlow);
        // The program's answer returns on the flow of its question.
        let mut buffer = [0; 8];
        let mut source = target;
        for _ in 0..=u8::MAX {
            source = program.recv_from(&mut buffer).await.expect("a datagram").1;
        }
        program.send_to(b"answer", source).await.expect("loopback");
        ports.ready().await;
        let (flow, payload, _) = ports.try_next(now).expect("a datagram");
        assert_eq!((flow, &payload[..]), (Flow { port: 0, number: u8::MAX }, &b"answer"[..]));
    }
}
