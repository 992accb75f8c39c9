//! The kinds of connections that sockets are made of: over one path, or over several.

use std::fmt::Debug;
use std::net::SocketAddr;

use bytes::Bytes;
use whimbrel_proto::endpoint::Held;
use whimbrel_proto::layer::Transport;
use whimbrel_proto::multipath::{MultipathConnection, MultipathEvent, MultipathSnapshot, Path};
use whimbrel_proto::{Ccid, Connection, ConnectionError, ConnectionSnapshot, Event};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use crate::dtls::Layer;
use crate::feedback::{Delivered, Reports};
use crate::inbox::Received;
use crate::multipath::MultipathReceived;
use crate::trace::Trace;

/// The meaning of an event for a socket.
#[derive(Debug)]
pub(crate) enum Meaning<C: Kind> {
    /// None.
    Nothing,
    /// A datagram arrived.
    Datagram(C::Received),
    /// The send queue has room again.
    Room,
    /// The connection is open. The application may get the event as well.
    Opened(C::Opened, Option<C::Events>),
    /// The connection is over. The application may get the event as well.
    Closed(ConnectionError, Option<C::Events>),
    /// It is for the application.
    Other(C::Events),
}

/// A kind of connections.
pub(crate) trait Kind:
    Transport<Event = <Self as Kind>::Events>
    + Held<Event = <Self as Kind>::Events>
    + Reports<<<Self as Kind>::Received as Delivered>::Packet>
    + 'static
{
    /// What it reports.
    type Events: Clone + PartialEq + Debug;
    /// A datagram as the application receives it.
    type Received: Delivered + Debug;
    /// Its state, for observation.
    type Snapshot;
    /// What is known once it is open.
    type Opened: Copy + Debug;
    /// The packet size of its path is queried before it is open.
    const MEASURES_AT_ONCE: bool;

    /// The peer's address.
    fn peer(address: Self::Address) -> SocketAddr;
    /// Closes it in order.
    fn begin_close(&mut self, now: Instant);
    /// Ends it at once.
    fn cut(&mut self, now: Instant);
    /// Its state, as the application above its layer sees it.
    fn seen(&self, layer: Option<&Layer<Self>>) -> Self::Snapshot;
    /// The largest datagram in that state.
    fn max_datagram_of(snapshot: &mut Self::Snapshot) -> &mut usize;
    /// Passes the paths that an event makes worth measuring to `measure`.
    fn new_paths(&self, event: &Self::Events, measure: impl FnMut(Self::Address));
    /// `true` for the event that ends the handshake of DCCP.
    fn is_opening(event: &Self::Events) -> bool;
    /// The address to which the peer has moved.
    fn moved(event: &Self::Events) -> Option<SocketAddr>;
    /// The meaning of an event at that time.
    fn meaning(event: Self::Events, arrival: Instant) -> Meaning<Self>;
    /// Writes an event to the records of `tracing`.
    fn trace(trace: &Trace, event: &Self::Events);
}

fn bytes(payload: Payload) -> Bytes {
    match payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Opaque { .. } => Bytes::new(),
    }
}

impl Kind for Connection {
    type Events = Event;
    type Received = Received;
    type Snapshot = ConnectionSnapshot;
    type Opened = (Ccid, Ccid);
    const MEASURES_AT_ONCE: bool = true;

    fn peer(address: SocketAddr) -> SocketAddr {
        address
    }
    fn begin_close(&mut self, now: Instant) {
        self.close(now);
    }
    fn cut(&mut self, now: Instant) {
        self.abort(now);
    }
    fn max_datagram_of(snapshot: &mut ConnectionSnapshot) -> &mut usize {
        &mut snapshot.max_datagram
    }
    fn seen(&self, layer: Option<&Layer<Self>>) -> ConnectionSnapshot {
        let snapshot = self.snapshot();
        match layer {
            Some(layer) => layer.seen(snapshot),
            None => snapshot,
        }
    }
    fn new_paths(&self, _: &Event, _: impl FnMut(SocketAddr)) {}
    fn is_opening(event: &Event) -> bool {
        matches!(event, Event::Connected { .. })
    }
    fn moved(event: &Event) -> Option<SocketAddr> {
        match event {
            Event::PeerMoved { to, .. } => Some(*to),
            _ => None,
        }
    }
    fn meaning(event: Event, arrival: Instant) -> Meaning<Self> {
        let corrupt = matches!(event, Event::CorruptDatagram { .. });
        match event {
            Event::DatagramSent { .. } | Event::Drained => Meaning::Nothing,
            Event::Datagram { payload, sequence, ecn }
            | Event::CorruptDatagram { payload, sequence, ecn } => {
                Meaning::Datagram(Received { payload: bytes(payload), sequence, ecn, arrival, corrupt })
            }
            Event::SendReady => Meaning::Room,
            Event::Connected { sender_ccid, receiver_ccid } => {
                Meaning::Opened((sender_ccid, receiver_ccid), Some(event))
            }
            Event::Closed(why) => Meaning::Closed(why, Some(event)),
            event => Meaning::Other(event),
        }
    }
    fn trace(trace: &Trace, event: &Event) {
        trace.event(event);
    }
}

impl Kind for MultipathConnection {
    type Events = MultipathEvent;
    type Received = MultipathReceived;
    type Snapshot = MultipathSnapshot;
    /// `true` if the extensions are in use; `false` in a regular connection.
    type Opened = bool;
    const MEASURES_AT_ONCE: bool = false;

    fn peer(path: Path) -> SocketAddr {
        path.remote
    }
    fn begin_close(&mut self, now: Instant) {
        self.close(now);
    }
    fn cut(&mut self, now: Instant) {
        self.abort(now);
    }
    fn max_datagram_of(snapshot: &mut MultipathSnapshot) -> &mut usize {
        &mut snapshot.max_datagram
    }
    fn seen(&self, layer: Option<&Layer<Self>>) -> MultipathSnapshot {
        let snapshot = self.snapshot();
        match layer {
            Some(layer) => layer.seen(snapshot),
            None => snapshot,
        }
    }
    fn new_paths(&self, event: &MultipathEvent, measure: impl FnMut(Path)) {
        if matches!(event, MultipathEvent::Established { .. } | MultipathEvent::SubflowUp(_)) {
            self.subflows().map(|(_, path)| path).for_each(measure);
        }
    }
    fn is_opening(event: &MultipathEvent) -> bool {
        matches!(event, MultipathEvent::Established { .. })
    }
    fn moved(_: &MultipathEvent) -> Option<SocketAddr> {
        None
    }
    fn meaning(event: MultipathEvent, arrival: Instant) -> Meaning<Self> {
        match event {
            MultipathEvent::DatagramSent { .. } | MultipathEvent::Drained => Meaning::Nothing,
            MultipathEvent::Datagram { payload, sequence, subflow, packet, ecn } => {
                let payload = bytes(payload);
                Meaning::Datagram(MultipathReceived { payload, sequence, subflow, packet, ecn, arrival })
            }
            MultipathEvent::SendReady => Meaning::Room,
            MultipathEvent::Established { is_multipath } => Meaning::Opened(is_multipath, None),
            MultipathEvent::Closed(why) => Meaning::Closed(why, None),
            event => Meaning::Other(event),
        }
    }
    fn trace(trace: &Trace, event: &MultipathEvent) {
        trace.multipath(event);
    }
}
