//! One end of a multipath connection.

mod closing;
mod handshake;
mod incoming;
mod joins;
mod outgoing;
mod paths;
mod receiving;
mod signalling;

use std::collections::VecDeque;

use smallvec::SmallVec;
use whimbrel_control::multipath::Scheduler;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::Key;
use whimbrel_wire::{Packet, PacketType, SeqNo, ServiceCode};

pub(crate) use handshake::option_error;

use super::addresses::Addresses;
use super::delivery::Delivery;
use super::entropy::Entropy;
use super::inbound_signals::InboundSignals;
use super::keys::Keys;
use super::sending::Sending;
use super::signals::Signals;
use super::subflow::{Stage, Subflow};
use super::watch::{PathWatch, Timeout};
use super::{MultipathConfig, MultipathEvent, Path, SubflowId, SubflowSnapshot};
use crate::endpoint::Standing;
use crate::{
    Config, ConfigError, Connection, ConnectionError, Datagram, DatagramId, ReceiveMeta, ReorderSnapshot,
    Role, SendError, State, Transmit,
};

pub use joins::JoinError;
pub use paths::MultipathStatistics;

/// The most subflows in memory, including those that are over and wait for their last timer, per permitted one.
const KEPT_PER_SUBFLOW: usize = 4;

/// Progress of a multipath connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The first handshake is under way.
    Opening,
    /// Both ends use the extensions.
    Multipath,
    /// The connection is a regular one.
    Regular,
    /// It is being closed.
    Closing {
        /// Progress of closing.
        step: ClosingStep,
        /// `true` if the peer requested it.
        by_peer: bool,
    },
    /// It is over: only the subflows' last packets follow.
    Over,
}

/// Progress of closing a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClosingStep {
    /// The application has requested it: the send queue empties, and data under way are acknowledged.
    Finishing,
    /// A CloseReq has arrived: the answer waits for data under way.
    Answering,
    /// A Close or CloseReq was sent on all subflows.
    Begun,
    /// A subflow has been closed: data of the peer may be under way on others, at most until that time.
    Receiving(Instant),
}

/// The identity of a multipath connection: identifiers and keys of both ends.
#[derive(Debug)]
struct Identity {
    /// This end's role in the first handshake.
    role: Role,
    /// The Connection Identifier of this end.
    own: u32,
    /// That of the peer; 0 before it is known.
    peer: u32,
    /// The DCCP ports of this end and of the peer on the first subflow.
    ports: [u16; 2],
    /// The keys offered by this end, until one is selected.
    offered: SmallVec<[Key; 1]>,
    /// The selected keys; `None` before, and in a regular connection.
    keys: Option<Keys>,
}

/// State of a multipath connection, for observation.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MultipathSnapshot {
    /// `true` once both ends use the extensions.
    pub is_multipath: bool,
    /// The Connection Identifier of this end.
    pub connection_id: u32,
    /// The subflows, those that are over included.
    pub subflows: Vec<SubflowSnapshot>,
    /// The largest datagram accepted now, in bytes.
    pub max_datagram: usize,
    /// Number of datagrams that wait for a path.
    pub queued_datagrams: usize,
    /// Number of their bytes of application data.
    pub queued_bytes: usize,
    /// State of the reorder buffer; `None` without one, or before the first datagram.
    pub reordering: Option<ReorderSnapshot>,
    /// Number of packets whose MP_SEQ had been received before.
    pub duplicates: u64,
    /// Number of signals that the peer has not confirmed.
    pub unconfirmed_signals: usize,
    /// Number of remembered addresses, datasets and confirmations, for checking the bounds of memory.
    pub remembered: usize,
    /// Number of datagrams that arrived and were dropped because the application did not take them.
    pub dropped_on_receipt: u64,
    /// Counts of datagrams of the whole connection.
    pub statistics: MultipathStatistics,
}

/// One end of a connection over several paths.
#[derive(Debug)]
pub struct MultipathConnection {
    config: Config,
    settings: MultipathConfig,
    entropy: Entropy,
    phase: Phase,
    /// Subflows do not probe the path MTU.
    holds_probes: bool,
    identity: Identity,
    subflows: Vec<Subflow>,
    /// The number of the next subflow.
    next_id: u32,
    scheduler: Box<dyn Scheduler>,
    sending: Sending,
    delivery: Delivery,
    signals: Signals,
    inbound: InboundSignals,
    addresses: Addresses,
    events: Events,
    /// Time at which a connection without subflows, or one that is over, is discarded.
    expiry: Instant,
}

/// Events for the application, oldest first.
#[derive(Debug, Default)]
struct Events {
    queue: VecDeque<MultipathEvent>,
    /// Number of datagrams among them, and of their bytes.
    datagrams: usize,
    bytes: usize,
    /// Number of datagrams that found no room.
    dropped: u64,
    /// Number of datagrams delivered, and of their bytes.
    delivered: u64,
    delivered_bytes: u64,
    /// The end was reported.
    is_drained: bool,
}

impl MultipathConnection {
    fn new(
        config: Config,
        settings: MultipathConfig,
        entropy: Entropy,
        identity: Identity,
        path: Path,
        phase: Phase,
    ) -> Self {
        let mut entropy = entropy;
        let first = SeqNo::new(entropy.number());
        Self {
            scheduler: settings.scheduler.build(),
            sending: Sending::new(config.send_queue, first),
            delivery: Delivery::new(&config),
            signals: Signals::default(),
            inbound: InboundSignals::default(),
            addresses: Addresses::new(path.local.ip(), path.remote.ip(), settings.max_addresses),
            events: Events::default(),
            expiry: Instant::FAR_FUTURE,
            subflows: Vec::new(),
            next_id: 0,
            config,
            settings,
            entropy,
            phase,
            holds_probes: false,
            identity,
        }
    }
    /// Checks a configuration, and derives that of the subflows from it.
    fn subflow_config(config: &Config, settings: &MultipathConfig) -> Result<Config, ConfigError> {
        config.validate()?;
        settings.validate()?;
        let mut inner = config.clone();
        // Section 3.7: no application data in REQUEST.
        inner.data_on_handshake = false;
        // Addresses change by subflows, and the order is that of MP_SEQ.
        inner.mobility = None;
        inner.receive.reorder_delay = None;
        Ok(inner)
    }
    fn add(&mut self, path: Path, mut connection: Connection, stage: Stage) -> usize {
        connection.set_slow_receiver(self.delivery.is_slow());
        let id = SubflowId(self.next_id);
        self.next_id += 1;
        let watch = PathWatch::new(self.settings.min_path_timeout);
        // It is not open yet: there is nothing to resume.
        connection.hold_path_probes(Instant::ZERO, self.holds_probes);
        self.subflows.push(Subflow::new(id, path, connection, stage, watch));
        self.subflows.len() - 1
    }
    fn index(&self, id: SubflowId) -> Option<usize> {
        self.subflows.iter().position(|subflow| subflow.id == id)
    }

    /// `true` if both ends use the multipath extensions.
    pub fn is_multipath(&self) -> bool {
        self.identity.keys.is_some()
    }
    /// `true` if subflows may join: the first handshake is complete, and the connection is not closing.
    pub fn may_join(&self) -> bool {
        // Section 3.3: the host that adds a subflow waits for the fourth packet of the first handshake.
        let is_opening = |state| matches!(state, State::Request | State::Respond | State::PartOpen);
        let is_complete = |subflow: &Subflow| subflow.id.0 != 0 || !is_opening(subflow.connection.state());
        self.phase == Phase::Multipath && self.subflows.iter().all(|it| it.is_over() || is_complete(it))
    }
    /// `true` until the first handshake is complete.
    pub fn is_opening(&self) -> bool {
        self.subflows.iter().any(|subflow| matches!(subflow.stage, Stage::Offering | Stage::Accepting))
    }
    /// Progress, as far as the limits of an endpoint depend on it.
    pub(crate) fn standing(&self) -> Standing {
        match self.phase {
            Phase::Over => Standing::Over,
            Phase::Closing { .. } => Standing::Closing,
            _ if self.is_opening() && self.identity.role == Role::Server => Standing::HalfOpen,
            _ => Standing::Open,
        }
    }
    /// The end of TIMEWAIT, if nothing else is left: the application has been notified, and all packets are sent.
    pub(crate) fn time_wait(&self) -> Option<Instant> {
        let rests = |subflow: &Subflow| {
            subflow.connection.state() == State::TimeWait || subflow.connection.is_drained()
        };
        let is_over = self.phase == Phase::Over && !self.has_events() && !self.is_drained();
        self.poll_timeout().filter(|_| is_over && self.subflows.iter().all(rests))
    }
    /// The Service Code of the connection.
    pub fn service_code(&self) -> ServiceCode {
        self.config.service_code
    }
    /// Gives the first subflow a command.
    pub(crate) fn with_first(&mut self, command: impl FnOnce(&mut Connection)) {
        if let Some(first) = self.subflows.first_mut() {
            command(&mut first.connection);
        }
    }
    /// The DCCP ports of this end and of the peer on the first subflow.
    pub fn ports(&self) -> [u16; 2] {
        self.identity.ports
    }
    /// The Connection Identifier of this end.
    pub fn connection_id(&self) -> u32 {
        self.identity.own
    }
    /// `true` once the connection is over and all packets are sent: only events remain.
    pub fn is_drained(&self) -> bool {
        self.events.is_drained
    }
    /// Holds the probes of path MTU discovery on all subflows, or releases them, as
    /// [`Connection::hold_path_probes`] does.
    pub fn hold_path_probes(&mut self, now: Instant, holds: bool) {
        self.holds_probes = holds;
        for subflow in &mut self.subflows {
            subflow.connection.hold_path_probes(now, holds);
        }
    }
    /// The subflows that are not over, with their paths.
    pub fn subflows(&self) -> impl Iterator<Item = (SubflowId, Path)> + '_ {
        self.subflows.iter().filter(|subflow| !subflow.is_over()).map(|subflow| (subflow.id, subflow.path))
    }
    /// The connection of a subflow, for reading.
    pub fn subflow(&self, id: SubflowId) -> Option<&Connection> {
        self.index(id).map(|index| &self.subflows[index].connection)
    }
    /// The subflow that a packet belongs to, by its path and DCCP ports.
    pub fn find(&self, path: Path, packet: &Packet) -> Option<SubflowId> {
        self.find_index(path, packet).map(|index| self.subflows[index].id)
    }
    fn find_index(&self, path: Path, packet: &Packet) -> Option<usize> {
        let has = |subflow: &Subflow| {
            subflow.path == path
                && subflow.connection.source_port() == packet.destination_port
                && subflow.connection.destination_port() == packet.source_port
        };
        // A later subflow may use the ports of one that is over.
        self.subflows.iter().rposition(has)
    }
    /// Current state, for observation.
    pub fn snapshot(&self) -> MultipathSnapshot {
        MultipathSnapshot {
            is_multipath: self.is_multipath(),
            connection_id: self.identity.own,
            subflows: self.subflows.iter().map(Subflow::snapshot).collect(),
            max_datagram: self.max_datagram(),
            queued_datagrams: self.sending.len(),
            queued_bytes: self.sending.bytes(),
            reordering: self.delivery.snapshot(),
            duplicates: self.delivery.duplicates(),
            unconfirmed_signals: self.signals.len(),
            remembered: self.addresses.len() + self.inbound.len(),
            dropped_on_receipt: self.events.dropped,
            statistics: self.statistics(),
        }
    }

    /// Queues a datagram. Its outcome is reported by [`MultipathEvent::DatagramSent`] or
    /// [`MultipathEvent::DatagramDropped`].
    ///
    /// # Errors
    ///
    /// The connection is closing, the peer no longer listens, the datagram is too large, or the queue is full and its policy is
    /// to refuse.
    pub fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        self.check_size(datagram.payload.len())?;
        let result = self.sending.push(now, datagram);
        self.sending.report(&mut self.events.queue);
        result
    }
    /// Makes room for a datagram of `size` bytes: with [`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse), there may be
    /// none, and [`MultipathEvent::SendReady`] reports that there is some again.
    ///
    /// # Errors
    ///
    /// As [`MultipathConnection::send`].
    pub fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        self.check_size(size)?;
        let result = self.sending.make_room(now, size);
        self.sending.report(&mut self.events.queue);
        result
    }
    fn check_size(&self, size: usize) -> Result<(), SendError> {
        if matches!(self.phase, Phase::Closing { .. } | Phase::Over) {
            return Err(SendError::Closed);
        }
        if self.sending.has_peer_stopped() {
            return Err(SendError::PeerNotListening);
        }
        let limit = self.max_datagram();
        if size > limit { Err(SendError::TooLarge { size, limit }) } else { Ok(()) }
    }
    /// Processes a received packet. One that belongs to no subflow is ignored: an
    /// [endpoint](super::MultipathEndpoint) accepts those that join.
    pub fn handle_packet(&mut self, now: Instant, path: Path, meta: ReceiveMeta, packet: Packet) {
        if let Some(index) = self.find_index(path, &packet) {
            self.receive(now, index, meta, packet);
        }
    }
    /// Runs the timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        for index in 0..self.subflows.len() {
            let subflow = &mut self.subflows[index];
            subflow.connection.handle_timeout(now);
            let step = if subflow.is_open() { subflow.watch.on_timeout(now) } else { Timeout::Early };
            match step {
                Timeout::Early => {}
                Timeout::Failed => self.on_path_failed(index),
                Timeout::Probe => subflow.connection.probe_peer(),
            }
            self.collect(now, index, None);
        }
        self.sending.expire(now);
        self.release(now);
        self.sending.report(&mut self.events.queue);
        self.check_closing(now);
        self.check_expiry(now);
    }
    /// Returns the next packet to send, and its path.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Path, Transmit)> {
        let mut transmit = self.next_transmit(now);
        // A timer that expired while the driver was busy may make another packet due.
        if transmit.is_none() && self.poll_timeout().is_some_and(|next| next <= now) {
            self.handle_timeout(now);
            transmit = self.next_transmit(now);
        }
        self.sending.report(&mut self.events.queue);
        self.retire();
        transmit
    }
    /// Time of the next call to [`MultipathConnection::handle_timeout`] and [`MultipathConnection::poll_transmit`]. Valid
    /// once `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let subflows = self.subflows.iter().flat_map(|subflow| {
            let watch = if subflow.is_open() { subflow.watch.deadline() } else { Instant::FAR_FUTURE };
            [subflow.connection.poll_timeout().unwrap_or(Instant::FAR_FUTURE), watch]
        });
        let own = [
            self.sending.wake,
            self.sending.next_deadline(),
            self.delivery.deadline(),
            self.signals.deadline(|carrier| self.can_signal(carrier)),
            self.closing_deadline(),
            self.expiry,
        ];
        subflows.chain(own).min().filter(|next| *next < Instant::FAR_FUTURE)
    }
    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<MultipathEvent> {
        let event = self.events.queue.pop_front()?;
        if let MultipathEvent::Datagram { payload, .. } = &event {
            self.events.datagrams -= 1;
            self.events.bytes -= payload.len();
        }
        Some(event)
    }
    /// `true` if [`MultipathConnection::poll_event`] would return an event.
    pub fn has_events(&self) -> bool {
        !self.events.queue.is_empty()
    }

    /// Removes subflows whose last timer has expired, and the oldest that are over if there are too many.
    fn retire(&mut self) {
        self.subflows.retain(|subflow| !(subflow.is_over() && subflow.connection.is_drained()));
        let limit = self.settings.max_subflows * KEPT_PER_SUBFLOW;
        while self.subflows.len() > limit
            && let Some(oldest) = self.subflows.iter().position(Subflow::is_over)
        {
            self.subflows.remove(oldest);
        }
        if self.phase == Phase::Over && self.subflows.is_empty() {
            self.drain();
        }
    }
    fn drain(&mut self) {
        if !self.events.is_drained {
            self.events.is_drained = true;
            self.expiry = Instant::FAR_FUTURE;
            self.events.queue.push_back(MultipathEvent::Drained);
        }
    }
    /// Ends the connection if no subflow has joined for too long, or discards what is left of one that is over.
    fn check_expiry(&mut self, now: Instant) {
        if self.expiry > now {
            return;
        }
        self.expiry = Instant::FAR_FUTURE;
        if self.phase != Phase::Over {
            self.finish(ConnectionError::TimedOut);
        }
        self.subflows.clear();
        self.drain();
    }
    /// `true` if a signal can be sent now: on the subflow that must carry it, or on any. None is once the connection is over, although
    /// a subflow may still wait for its end.
    fn can_signal(&self, carrier: Option<SubflowId>) -> bool {
        let is_meant = |subflow: &Subflow| carrier.is_none_or(|id| id == subflow.id);
        self.is_multipath()
            && self.phase != Phase::Over
            && self.subflows.iter().any(|subflow| is_meant(subflow) && subflow.is_open())
    }
    /// The path of a subflow has stopped answering: its datagram that has not left takes another.
    fn on_path_failed(&mut self, index: usize) {
        let subflow = &mut self.subflows[index];
        subflow.connection.probe_peer();
        let others = self.subflows.iter().enumerate();
        let has_other = others.filter(|(other, _)| *other != index).any(|(_, other)| other.is_open());
        let subflow = &mut self.subflows[index];
        if has_other
            && subflow.staged.is_some()
            && subflow.connection.withdraw_datagram()
            && let Some(staged) = subflow.staged.take()
        {
            self.sending.take_back(staged);
        }
        self.report_path(MultipathEvent::PathFailed(self.subflows[index].id));
    }
    /// Reports the latest state of a path, so that a path that fails and recovers does not accumulate events.
    fn report_path(&mut self, event: MultipathEvent) {
        let of = |event: &MultipathEvent| match event {
            MultipathEvent::PathFailed(subflow) | MultipathEvent::PathRecovered(subflow) => Some(*subflow),
            _ => None,
        };
        let subflow = of(&event);
        self.events.queue.retain(|queued| of(queued).is_none() || of(queued) != subflow);
        self.events.queue.push_back(event);
    }
    /// The round-trip time of a subflow, or RFC 4340's default.
    fn rtt(&self, index: usize) -> Duration {
        const DEFAULT: Duration = Duration::from_millis(200);
        self.subflows[index].connection.rtt_estimate().unwrap_or(DEFAULT)
    }
    /// `true` for packets with application data.
    fn is_data(packet_type: PacketType) -> bool {
        matches!(packet_type, PacketType::Data | PacketType::DataAck)
    }
}
