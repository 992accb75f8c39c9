//! The layers of the sockets above a simulated connection: repair above DTLS 1.3 (RFC 5238), with datagrams
//! as they are on the wire.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
#[cfg(feature = "dtls")]
use whimbrel_dtls::{Layer, LayerEvent, RECORD_OVERHEAD};
use whimbrel_proto::layer::Transport;
use whimbrel_proto::multipath::{MultipathConnection, MultipathEvent};
use whimbrel_proto::repair::{Below, Delivery, Policy, RepairConfig, RepairLayer};
use whimbrel_proto::{Connection, Datagram, DatagramId, DropReason, Event, LossVerdict, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Payload, SeqNo};

use super::FlowSetup;
use super::repair::{Repair, RepairKind};
use crate::metrics::FrameSummary;
use frames::{FramedFlow, Hidden};
#[cfg(not(feature = "dtls"))]
use without_dtls::{Layer, LayerEvent, RECORD_OVERHEAD};

pub(super) mod frames;
#[cfg(not(feature = "dtls"))]
mod without_dtls;

/// The largest handshake record, which a path has to carry in addition to the flow's data.
#[cfg(feature = "dtls")]
const LARGEST_HANDSHAKE: u32 = 700;

/// Encryption of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// Data travels unchanged.
    #[default]
    None,
    /// DTLS 1.3 (RFC 5238): a handshake after DCCP's, and 22 bytes more in each data packet.
    #[cfg(feature = "dtls")]
    Dtls,
}

impl Encryption {
    /// Bytes by which a record is longer than its data.
    pub(super) fn overhead(self) -> u32 {
        match self {
            Self::None => 0,
            #[cfg(feature = "dtls")]
            Self::Dtls => RECORD_OVERHEAD as u32,
        }
    }

    /// The largest datagram that a connection has to carry for datagrams of `payload` bytes.
    pub(super) fn max_datagram(self, payload: u32) -> usize {
        match self {
            Self::None => payload as usize,
            #[cfg(feature = "dtls")]
            Self::Dtls => (payload + self.overhead()).max(LARGEST_HANDSHAKE) as usize,
        }
    }
}

/// A connection that can have layers in the simulator.
pub(super) trait Secures: Transport<Event: Send> + fmt::Debug + Send + 'static {
    /// The number of datagrams that have left of which another copy may follow.
    const COPIES: usize;

    /// Closes the connection.
    fn close(&mut self, now: Instant);
    /// The meaning of an event.
    fn note(event: &Self::Event) -> Note<'_>;
}

/// The meaning of an event for an end and its layer.
pub(super) enum Note<'a> {
    /// Data can be sent, or sending fails from now on.
    Open,
    /// A datagram with that number arrived.
    Arrived(SeqNo, &'a Payload),
    /// A datagram has left.
    Sent(DatagramId),
    /// A datagram will never leave.
    Dropped(DatagramId, DropReason),
    /// The receiver reported corrupt data.
    ReportedCorrupt,
    /// The receiver classified losses.
    Classified(&'a LossVerdict),
    /// None.
    Other,
}

impl Secures for Connection {
    const COPIES: usize = 0;

    fn close(&mut self, now: Instant) {
        Connection::close(self, now);
    }

    #[inline]
    fn note(event: &Event) -> Note<'_> {
        match event {
            Event::Connected { .. } | Event::Closed(_) => Note::Open,
            Event::Datagram { sequence, payload, .. } => Note::Arrived(*sequence, payload),
            Event::DatagramSent { id, .. } => Note::Sent(*id),
            Event::DatagramDropped { id, reason } => Note::Dropped(*id, *reason),
            Event::DataDropped { code: DropCode::Corrupt | DropCode::DeliveredCorrupt, .. } => {
                Note::ReportedCorrupt
            }
            Event::LossClassified(verdict) => Note::Classified(verdict),
            _ => Note::Other,
        }
    }
}

impl Secures for MultipathConnection {
    const COPIES: usize = 1024;

    fn close(&mut self, now: Instant) {
        MultipathConnection::close(self, now);
    }

    fn note(event: &MultipathEvent) -> Note<'_> {
        match event {
            MultipathEvent::Established { .. } | MultipathEvent::Closed(_) => Note::Open,
            MultipathEvent::Datagram { sequence, payload, .. } => Note::Arrived(*sequence, payload),
            MultipathEvent::DatagramSent { id, .. } => Note::Sent(*id),
            MultipathEvent::DatagramDropped { id, reason } => Note::Dropped(*id, *reason),
            _ => Note::Other,
        }
    }
}

/// The layers of one end; at least one of them is there.
#[derive(Debug)]
pub(super) struct Layers<C: Secures> {
    security: Option<Layer<C>>,
    repair: Option<RepairLayer<C>>,
    /// The frames of the flow, if they are watched.
    pub(super) frames: Option<FramedFlow>,
    sent: SentDatagrams,
    events: VecDeque<C::Event>,
    /// The end may send: all handshakes are complete. Or one has failed, so that sending fails.
    is_open: bool,
    /// Repair has used the connection.
    has_acted: bool,
}

/// The datagrams that left the end, or will, whose packets do not show them.
#[derive(Debug, Default)]
struct SentDatagrams {
    /// Datagrams in the send queue.
    waiting: BTreeMap<DatagramId, Hidden>,
    /// The last ones that have left, of which copies may follow.
    copied: BTreeMap<DatagramId, Hidden>,
    /// The one that has left last.
    left: Option<Hidden>,
}

impl SentDatagrams {
    /// A datagram has left the connection. `copies`: of so many datagrams a copy may follow.
    fn on_sent(&mut self, id: DatagramId, copies: usize) {
        let hidden = self.waiting.remove(&id);
        self.left = hidden.or_else(|| self.copied.get(&id).copied());
        if let Some(hidden) = hidden.filter(|_| copies > 0) {
            self.copied.insert(id, hidden);
            if self.copied.len() > copies {
                self.copied.pop_first();
            }
        }
    }
}

/// Layers below repair.
struct Lower<'a, C: Secures> {
    security: &'a mut Option<Layer<C>>,
    sent: &'a mut SentDatagrams,
    repairs: bool,
    connection: &'a mut C,
}

impl<C: Secures> Below<C> for Lower<'_, C> {
    fn connection(&mut self) -> &mut C {
        self.connection
    }

    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        let hidden = Hidden::of(&datagram.payload, self.repairs);
        let id = match self.security {
            Some(security) => security.send(now, self.connection, datagram),
            None => self.connection.send(now, datagram),
        }?;
        self.sent.waiting.insert(id, hidden);
        Ok(id)
    }

    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        match self.security {
            Some(security) => security.make_room(now, self.connection, size),
            None => self.connection.make_room(now, size),
        }
    }

    fn max_datagram(&mut self) -> usize {
        let records = if self.security.is_some() { RECORD_OVERHEAD } else { 0 };
        self.connection.max_datagram().saturating_sub(records)
    }
}

impl<C: Secures> Layers<C> {
    /// The layers of the client and of the server; `None` if a flow has none.
    pub(super) fn pair(
        flow: &FlowSetup<'_>,
        encryption: Encryption,
        repair: Option<&Repair>,
        seeds: [u64; 2],
    ) -> [Option<Box<Self>>; 2] {
        if encryption == Encryption::None && repair.is_none() {
            return [None, None];
        }
        let security: [Option<Layer<C>>; 2] = match encryption {
            Encryption::None => [None, None],
            #[cfg(feature = "dtls")]
            Encryption::Dtls => whimbrel_dtls::simulated(seeds).map(|session| Some(Layer::new(session))),
        };
        #[cfg(not(feature = "dtls"))]
        let _ = seeds;
        security.map(|security| {
            Some(Box::new(Self {
                security,
                repair: repair.and_then(layer),
                frames: repair.map(|repair| FramedFlow::new(flow, repair)),
                sent: SentDatagrams::default(),
                events: VecDeque::new(),
                is_open: false,
                has_acted: false,
            }))
        })
    }

    /// `true` if datagrams can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Sends a placeholder of the flow's source. `now` is the simulation's time, `local` the end's.
    pub(super) fn send(
        &mut self,
        [now, local]: [Instant; 2],
        connection: &mut C,
        mut datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        if let Some(frames) = &self.frames {
            datagram = frames.datagram([now, local], datagram);
        }
        let ends_frame = datagram.mark.ends_frame;
        let sent = match self.split(connection) {
            (Some(repair), mut lower) => repair.send(local, &mut lower, datagram),
            (None, mut lower) => lower.send(local, datagram),
        };
        if let Some(frames) = &mut self.frames
            && ends_frame
            && sent != Err(SendError::Closed)
        {
            frames.on_sent(now);
        }
        self.settle(local, connection);
        sent
    }

    /// Processes an event of the connection. The events for the application follow by [`Layers::poll_event`].
    pub(super) fn handle_event(&mut self, now: Instant, connection: &mut C, event: C::Event) {
        match C::note(&event) {
            Note::Sent(id) => self.sent.on_sent(id, C::COPIES),
            Note::Dropped(id, _) => drop(self.sent.waiting.remove(&id)),
            _ => {}
        }
        match &mut self.security {
            Some(security) => security.handle_event(now, connection, event),
            None => self.rise(now, connection, event),
        }
        self.settle(now, connection);
    }

    /// The next event for the application of those that have been processed.
    pub(super) fn poll_event(&mut self) -> Option<C::Event> {
        let event = self.events.pop_front()?;
        self.is_open |= matches!(C::note(&event), Note::Open);
        Some(event)
    }

    /// Hidden part of the packet that left last. The event about its datagram has been polled.
    pub(super) fn take_left(&mut self) -> Hidden {
        self.sent.left.take().unwrap_or_default()
    }

    /// `true` if the connection has received a command from a layer since the last call.
    pub(super) fn take_acted(&mut self) -> bool {
        let acted = self.security.as_mut().is_some_and(Layer::take_acted);
        std::mem::take(&mut self.has_acted) || acted
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, connection: &mut C) {
        if let Some(security) = &mut self.security {
            security.handle_timeout(now, connection);
        }
        if let (Some(repair), mut lower) = self.split(connection) {
            repair.handle_timeout(now, &mut lower);
        }
        self.settle(now, connection);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let security = self.security.as_ref().and_then(Layer::poll_timeout);
        let repair = self.repair.as_ref().and_then(RepairLayer::poll_timeout);
        [security, repair].into_iter().flatten().min()
    }

    /// Sends what is left, and the last record; the connection is closed then.
    pub(super) fn close(&mut self, now: Instant, connection: &mut C) {
        if let (Some(repair), mut lower) = self.split(connection) {
            repair.close(now, &mut lower);
        }
        if let Some(security) = &mut self.security {
            security.close(now, connection);
        }
    }

    /// The frames and the repair of this end, if they are watched.
    pub(super) fn summary(&self) -> Option<FrameSummary> {
        let counts = self.repair.as_ref().and_then(RepairLayer::counts).unwrap_or_default();
        self.frames.as_ref().map(|frames| frames.summary(&counts))
    }

    /// The repair whose policy a program sets.
    pub(super) fn external(&mut self) -> Option<&mut RepairLayer<C>> {
        self.repair.as_mut().filter(|repair| repair.config().policy.is_some())
    }

    /// Passes the events of the layers on.
    fn settle(&mut self, now: Instant, connection: &mut C) {
        while let Some(event) = self.security.as_mut().and_then(Layer::poll_event) {
            // After a failure the connection is aborted, and its end follows.
            let LayerEvent::Event(event) = event else { continue };
            self.rise(now, connection, event);
        }
        if let Some(repair) = &mut self.repair {
            self.has_acted = true;
            self.events.extend(std::iter::from_fn(|| repair.poll_event()));
        }
    }

    /// An event passes from below repair to the application.
    fn rise(&mut self, now: Instant, connection: &mut C, event: C::Event) {
        match self.split(connection) {
            (Some(repair), mut lower) => repair.handle_event(now, &mut lower, event),
            (None, _) => self.events.push_back(event),
        }
    }

    fn split<'a>(&'a mut self, connection: &'a mut C) -> (Option<&'a mut RepairLayer<C>>, Lower<'a, C>) {
        let Self { security, repair, sent, .. } = self;
        let lower = Lower { security, sent, repairs: repair.is_some(), connection };
        (repair.as_mut(), lower)
    }
}

/// The layer that repairs, if the flow is repaired.
fn layer<C: Transport>(repair: &Repair) -> Option<RepairLayer<C>> {
    let delivery = if repair.early { Delivery::Early } else { Delivery::Constant };
    let is_external = repair.kind == RepairKind::External;
    let policy = is_external.then_some(Policy { parity: 0.0, repeats: false });
    let config = RepairConfig { delivery, policy, ..RepairConfig::new(repair.latency.0) };
    (repair.kind != RepairKind::None).then(|| RepairLayer::new(config))
}
