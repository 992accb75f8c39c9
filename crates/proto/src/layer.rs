//! Layers between a connection and its application: what they need of a connection, over one path or several.

use bytes::Bytes;
use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::Payload;
use whimbrel_wire::option::FeatureNumber;

use crate::feature::Location;
use crate::multipath::{MultipathConnection, MultipathEvent};
use crate::{Connection, ConnectionError, Datagram, DatagramId, DropReason, Event, Role, SendError};

/// A connection above which a layer can stand: over one path, or over several.
pub trait Transport: sealed::Sealed {
    /// An event of the connection.
    type Event: Clone + core::fmt::Debug;

    /// This end's role.
    #[doc(hidden)]
    fn role(&self) -> Role;
    /// An estimate of the round-trip time.
    #[doc(hidden)]
    fn rtt(&self) -> Option<Duration>;
    /// Queues a datagram.
    #[doc(hidden)]
    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError>;
    /// Makes room for a datagram of that size.
    #[doc(hidden)]
    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError>;
    /// Ends the connection at once.
    #[doc(hidden)]
    fn abort(&mut self, now: Instant);
    /// Ends the connection at once, because this end is too busy.
    #[doc(hidden)]
    fn abort_as_busy(&mut self, now: Instant);
    /// Holds the probes of path MTU discovery, or releases them.
    #[doc(hidden)]
    fn hold_path_probes(&mut self, now: Instant, holds: bool);
    /// Repair that both ends have agreed on; `None` as long as they negotiate. Mostly that ends with the
    /// handshake: a Response to another copy of a Request confirms nothing, however.
    #[doc(hidden)]
    fn repairs(&self) -> Option<Agreed>;
    /// The largest datagram.
    #[doc(hidden)]
    fn max_datagram(&self) -> usize;
    /// The meaning of an event for a layer.
    #[doc(hidden)]
    fn step(event: &mut Self::Event) -> Step<'_>;
    /// The event of a datagram with `data`, like an arrival's. `is_repaired`: the path had lost it.
    #[doc(hidden)]
    fn deliver(arrival: &Self::Event, data: Bytes, is_repaired: bool) -> Self::Event;
    /// A datagram that will never be sent.
    #[doc(hidden)]
    fn dropped(id: DatagramId, reason: DropReason) -> Self::Event;
    /// The send queue has room again.
    #[doc(hidden)]
    fn send_ready() -> Self::Event;
    /// The encoder should make a frame that refers to no other.
    #[doc(hidden)]
    fn new_start(stream: u64) -> Self::Event;
}

/// Repair that both ends have agreed on.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreed {
    /// No repair.
    No,
    /// Datagrams go as a whole.
    Whole,
    /// Datagrams go in parts.
    InParts,
}

/// The meaning of an event for a layer.
#[doc(hidden)]
#[derive(Debug)]
pub enum Step<'a> {
    /// The connection is open.
    Opened,
    /// A datagram arrived.
    Datagram(&'a mut Payload),
    /// A datagram arrived damaged.
    Damaged(&'a mut Payload),
    /// A datagram has left, or never will.
    Outcome(&'a mut DatagramId),
    /// The send queue has room again.
    SendReady,
    /// The largest datagram is another.
    Resized(&'a mut usize),
    /// Losses were classified.
    Classified(LossClass),
    /// The connection has ended.
    Closed(ConnectionError),
    /// The event concerns the application only.
    Other,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Connection {}
    impl Sealed for crate::multipath::MultipathConnection {}
}

impl Transport for Connection {
    type Event = Event;

    fn role(&self) -> Role {
        self.role()
    }

    fn rtt(&self) -> Option<Duration> {
        self.snapshot().rtt
    }

    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        self.send(now, datagram)
    }

    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        self.make_room(now, size)
    }

    fn abort(&mut self, now: Instant) {
        self.abort(now);
    }

    fn abort_as_busy(&mut self, now: Instant) {
        self.abort_as_busy(now);
    }

    fn hold_path_probes(&mut self, now: Instant, holds: bool) {
        self.hold_path_probes(now, holds);
    }

    fn repairs(&self) -> Option<Agreed> {
        let is_settled = |location| self.negotiation().is_settled(FeatureNumber::Repair, location);
        let values = Location::BOTH.map(|location| self.negotiation().value(FeatureNumber::Repair, location));
        Location::BOTH.into_iter().all(is_settled).then_some(match values {
            [0, _] | [_, 0] => Agreed::No,
            [2, 2] => Agreed::InParts,
            _ => Agreed::Whole,
        })
    }

    fn max_datagram(&self) -> usize {
        self.snapshot().max_datagram
    }

    fn dropped(id: DatagramId, reason: DropReason) -> Event {
        Event::DatagramDropped { id, reason }
    }

    fn deliver(arrival: &Event, data: Bytes, is_repaired: bool) -> Event {
        let mut event = arrival.clone();
        if let Event::Datagram { payload, repaired, .. } = &mut event {
            (*payload, *repaired) = (data.into(), is_repaired);
        }
        event
    }

    fn send_ready() -> Event {
        Event::SendReady
    }

    fn new_start(stream: u64) -> Event {
        Event::NewStartNeeded { stream }
    }

    fn step(event: &mut Event) -> Step<'_> {
        match event {
            Event::Connected { .. } => Step::Opened,
            Event::Datagram { payload, .. } => Step::Datagram(payload),
            Event::CorruptDatagram { payload, .. } => Step::Damaged(payload),
            Event::DatagramSent { id, .. } | Event::DatagramDropped { id, .. } => Step::Outcome(id),
            Event::SendReady => Step::SendReady,
            Event::MaxDatagramChanged { max_datagram } => Step::Resized(max_datagram),
            Event::LossClassified(verdict) => Step::Classified(verdict.cause),
            Event::Closed(why) => Step::Closed(*why),
            _ => Step::Other,
        }
    }
}

impl Transport for MultipathConnection {
    type Event = MultipathEvent;

    fn role(&self) -> Role {
        self.role()
    }

    fn rtt(&self) -> Option<Duration> {
        let (first, _) = self.subflows().next()?;
        self.subflow(first)?.snapshot().rtt
    }

    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        self.send(now, datagram)
    }

    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        self.make_room(now, size)
    }

    fn abort(&mut self, now: Instant) {
        self.abort(now);
    }

    fn abort_as_busy(&mut self, now: Instant) {
        self.abort_as_busy(now);
    }

    fn hold_path_probes(&mut self, now: Instant, holds: bool) {
        self.hold_path_probes(now, holds);
    }

    fn repairs(&self) -> Option<Agreed> {
        let first = self.subflows().next().and_then(|(first, _)| self.subflow(first));
        first.map_or(Some(Agreed::No), Transport::repairs)
    }

    fn max_datagram(&self) -> usize {
        self.max_datagram()
    }

    fn dropped(id: DatagramId, reason: DropReason) -> MultipathEvent {
        MultipathEvent::DatagramDropped { id, reason }
    }

    fn deliver(arrival: &MultipathEvent, data: Bytes, is_repaired: bool) -> MultipathEvent {
        let mut event = arrival.clone();
        if let MultipathEvent::Datagram { payload, repaired, .. } = &mut event {
            (*payload, *repaired) = (data.into(), is_repaired);
        }
        event
    }

    fn send_ready() -> MultipathEvent {
        MultipathEvent::SendReady
    }

    fn new_start(stream: u64) -> MultipathEvent {
        MultipathEvent::NewStartNeeded { stream }
    }

    fn step(event: &mut MultipathEvent) -> Step<'_> {
        match event {
            MultipathEvent::Established { .. } => Step::Opened,
            MultipathEvent::Datagram { payload, .. } => Step::Datagram(payload),
            MultipathEvent::Subflow { event: Event::CorruptDatagram { payload, .. }, .. } => {
                Step::Damaged(payload)
            }
            MultipathEvent::DatagramSent { id, .. } | MultipathEvent::DatagramDropped { id, .. } => {
                Step::Outcome(id)
            }
            MultipathEvent::SendReady => Step::SendReady,
            MultipathEvent::Subflow { event: Event::MaxDatagramChanged { max_datagram }, .. } => {
                Step::Resized(max_datagram)
            }
            MultipathEvent::Subflow { event: Event::LossClassified(verdict), .. } => {
                Step::Classified(verdict.cause)
            }
            MultipathEvent::Closed(why) => Step::Closed(*why),
            _ => Step::Other,
        }
    }
}
