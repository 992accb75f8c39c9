//! The kinds of connections that sockets are made of: over one path, or over several.

use std::net::SocketAddr;

use bytes::Bytes;
use whimbrel_proto::endpoint::Held;
use whimbrel_proto::layer::Transport;
use whimbrel_proto::multipath::{MultipathConnection, MultipathEvent, Path, SubflowId};
use whimbrel_proto::{Ccid, Connection, ConnectionHandle, ConnectionSnapshot, Endpoint, Event};
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Ecn, Payload};

use crate::carrier::Quoted;
use crate::dtls::Layer;
use crate::received::{Meaning, PacketName, Received};
use crate::trace::Trace;

/// A kind of connections. Its reports become [`Event`]s in the end, and its parts, if any, are subflows.
pub(crate) trait Kind: Transport<Event = <Self as Held>::Event> + Held {
    /// The packet size of its path is queried before it is open.
    const MEASURES_AT_ONCE: bool;

    /// Closes it in order.
    fn begin_close(&mut self, now: Instant);
    /// Its state, as the application above its layer sees it.
    fn seen(&self, layer: Option<&Layer<Self>>) -> Option<ConnectionSnapshot>;
    /// Passes the paths that an event makes worth measuring to `measure`.
    fn new_paths(&self, event: &<Self as Held>::Event, measure: impl FnMut(Self::Address));
    /// The meaning of an event at that time, of the connection with that handle.
    fn meaning(
        endpoint: &Endpoint<Self>,
        handle: ConnectionHandle,
        event: <Self as Held>::Event,
        arrival: Instant,
    ) -> Meaning;
    /// Writes an event to the records of `tracing`.
    fn trace(trace: &Trace, event: &<Self as Held>::Event);

    /// The subflows of a connection that are on a path.
    fn on_path_of(endpoint: &Endpoint<Self>, handle: ConnectionHandle, path: Self::Address)
    -> Vec<SubflowId>;
    /// The subflows that have sent the quoted packet, or may have, of those `on_path`, and their connections.
    fn senders_of(
        endpoint: &Endpoint<Self>,
        quoted: Quoted,
        path: Self::Address,
        on_path: impl FnOnce() -> Vec<(ConnectionHandle, SubflowId)>,
    ) -> Vec<(ConnectionHandle, SubflowId)>;
    /// The connection of a subflow.
    fn subflow(&self, subflow: SubflowId) -> Option<&Connection>;
    /// Passes a report about the path of a subflow to its connection.
    fn report(&mut self, now: Instant, subflow: SubflowId, report: impl FnOnce(&mut Connection));

    /// A datagram did not reach the application. Returns `true` if the peer will be notified.
    fn report_discarded(&mut self, packet: PacketName, code: DropCode) -> bool;
    /// The application cannot keep up, or can again.
    fn report_slow(&mut self, is_slow: bool);
    /// The application receives no more datagrams.
    fn end_receiving(&mut self, now: Instant);
    /// Returns memory that the handshake, or traffic, has left behind.
    fn release_memory(&mut self);
}

/// An intact datagram that no repair brought, with the number of its packet.
fn received(payload: Payload, (subflow, packet): PacketName, ecn: Ecn, arrival: Instant) -> Received {
    let payload = match payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Opaque { .. } => Bytes::new(),
    };
    Received { payload, sequence: packet, subflow, packet, ecn, arrival, corrupt: false, repaired: false }
}

/// `true` if a packet was sent by a connection, as far as what is quoted of it shows.
fn is_from(quoted: Quoted, connection: &Connection) -> bool {
    quoted.source_port == connection.source_port()
        && quoted.destination_port == connection.destination_port()
        && quoted.sequence.is_none_or(|sequence| connection.has_sent(sequence))
}

impl Kind for Connection {
    const MEASURES_AT_ONCE: bool = true;

    fn begin_close(&mut self, now: Instant) {
        self.close(now);
    }

    fn seen(&self, layer: Option<&Layer<Self>>) -> Option<ConnectionSnapshot> {
        let snapshot = self.snapshot();
        Some(match layer {
            Some(layer) => layer.seen(snapshot),
            None => snapshot,
        })
    }

    fn new_paths(&self, _: &Event, _: impl FnMut(SocketAddr)) {}
    fn meaning(_: &Endpoint<Self>, _: ConnectionHandle, event: Event, arrival: Instant) -> Meaning {
        let received = |payload, sequence, ecn| received(payload, (SubflowId(0), sequence), ecn, arrival);
        match event {
            Event::DatagramSent { .. } | Event::Drained => Meaning::Nothing,
            Event::Datagram { payload, sequence, ecn, repaired, .. } => {
                Meaning::Datagram(Received { repaired, ..received(payload, sequence, ecn) })
            }
            Event::CorruptDatagram { payload, sequence, ecn } => {
                Meaning::Datagram(Received { corrupt: true, ..received(payload, sequence, ecn) })
            }
            Event::SendReady => Meaning::Room,
            Event::Connected { .. } => Meaning::Opened(event),
            Event::Closed(why) => Meaning::Closed(why),
            event => Meaning::Other(event),
        }
    }

    fn trace(trace: &Trace, event: &Event) {
        trace.event(event);
    }

    fn on_path_of(endpoint: &Endpoint<Self>, handle: ConnectionHandle, path: SocketAddr) -> Vec<SubflowId> {
        let is_there = endpoint.remote(handle) == Some(path);
        is_there.then_some(SubflowId(0)).into_iter().collect()
    }

    fn senders_of(
        endpoint: &Endpoint<Self>,
        quoted: Quoted,
        path: SocketAddr,
        _: impl FnOnce() -> Vec<(ConnectionHandle, SubflowId)>,
    ) -> Vec<(ConnectionHandle, SubflowId)> {
        let found = endpoint.find(path, quoted.source_port, quoted.destination_port);
        let is_meant = |handle: &_| endpoint.connection(*handle).is_some_and(|it| is_from(quoted, it));
        found.filter(is_meant).map(|handle| (handle, SubflowId(0))).into_iter().collect()
    }

    fn subflow(&self, _: SubflowId) -> Option<&Connection> {
        Some(self)
    }

    fn report(&mut self, _: Instant, _: SubflowId, report: impl FnOnce(&mut Connection)) {
        report(self);
    }

    fn report_discarded(&mut self, (_, packet): PacketName, code: DropCode) -> bool {
        self.datagram_discarded(packet, code)
    }

    fn report_slow(&mut self, is_slow: bool) {
        self.set_slow_receiver(is_slow);
    }

    fn end_receiving(&mut self, now: Instant) {
        self.stop_receiving(now);
    }

    fn release_memory(&mut self) {
        self.shrink_to_fit();
    }
}

impl Kind for MultipathConnection {
    const MEASURES_AT_ONCE: bool = false;

    fn begin_close(&mut self, now: Instant) {
        self.close(now);
    }

    fn seen(&self, layer: Option<&Layer<Self>>) -> Option<ConnectionSnapshot> {
        let snapshot = self.snapshot();
        match layer {
            Some(layer) => layer.seen(snapshot).whole(),
            None => snapshot.whole(),
        }
    }

    fn new_paths(&self, event: &MultipathEvent, measure: impl FnMut(Path)) {
        if matches!(event, MultipathEvent::Established { .. } | MultipathEvent::SubflowUp(_)) {
            self.subflows().map(|(_, path)| path).for_each(measure);
        }
    }

    fn meaning(
        endpoint: &Endpoint<Self>,
        handle: ConnectionHandle,
        event: MultipathEvent,
        arrival: Instant,
    ) -> Meaning {
        match event {
            MultipathEvent::DatagramSent { .. } | MultipathEvent::Drained => Meaning::Nothing,
            MultipathEvent::Datagram { payload, sequence, subflow, packet, ecn, repaired } => {
                let received = received(payload, (subflow, packet), ecn, arrival);
                Meaning::Datagram(Received { sequence, repaired, ..received })
            }
            MultipathEvent::Subflow { subflow, event: Event::CorruptDatagram { payload, sequence, ecn } } => {
                let received = received(payload, (subflow, sequence), ecn, arrival);
                Meaning::Datagram(Received { corrupt: true, ..received })
            }
            MultipathEvent::SendReady => Meaning::Room,
            MultipathEvent::Established { .. } => {
                let connection = endpoint.connection(handle);
                let first = connection.and_then(|it| it.subflow(it.subflows().next()?.0));
                let ccids = first.map(Connection::snapshot).map(|it| (it.sender_ccid, it.receiver_ccid));
                // A connection that has ended already has no subflow left.
                let (sender_ccid, receiver_ccid) = ccids.unwrap_or((Ccid::TCP_LIKE, Ccid::TCP_LIKE));
                Meaning::Opened(Event::Connected { sender_ccid, receiver_ccid })
            }
            MultipathEvent::Closed(why) => Meaning::Closed(why),
            MultipathEvent::DatagramDropped { id, reason } => {
                Meaning::Other(Event::DatagramDropped { id, reason })
            }
            MultipathEvent::NewStartNeeded { stream } => Meaning::Other(Event::NewStartNeeded { stream }),
            event => Meaning::Other(Event::Paths(Box::new(event))),
        }
    }

    fn trace(trace: &Trace, event: &MultipathEvent) {
        trace.multipath(event);
    }

    fn on_path_of(endpoint: &Endpoint<Self>, handle: ConnectionHandle, path: Path) -> Vec<SubflowId> {
        let connection = endpoint.connection(handle);
        let subflows = connection.into_iter().flat_map(MultipathConnection::subflows);
        subflows.filter(|(_, of)| *of == path).map(|(id, _)| id).collect()
    }

    fn senders_of(
        endpoint: &Endpoint<Self>,
        quoted: Quoted,
        _: Path,
        on_path: impl FnOnce() -> Vec<(ConnectionHandle, SubflowId)>,
    ) -> Vec<(ConnectionHandle, SubflowId)> {
        let mut found = on_path();
        found.retain(|(handle, id)| {
            let of = endpoint.connection(*handle).and_then(|it| it.subflow(*id));
            of.is_some_and(|it| is_from(quoted, it))
        });
        found
    }

    fn subflow(&self, subflow: SubflowId) -> Option<&Connection> {
        self.subflow(subflow)
    }

    fn report(&mut self, now: Instant, subflow: SubflowId, report: impl FnOnce(&mut Connection)) {
        self.on_path(now, subflow, report);
    }

    fn report_discarded(&mut self, (subflow, packet): PacketName, code: DropCode) -> bool {
        self.datagram_discarded(subflow, packet, code)
    }

    fn report_slow(&mut self, is_slow: bool) {
        self.set_slow_receiver(is_slow);
    }

    fn end_receiving(&mut self, now: Instant) {
        self.stop_receiving(now);
    }

    fn release_memory(&mut self) {}
}
