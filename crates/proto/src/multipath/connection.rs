//! One end of a multipath connection.
//!
//! Its concerns own their state and are handed [`Context`] to read and [`Effects`] to act on, as in
//! [`Connection`]. The methods compose them in layers: the verbs (here), received packets (`incoming`), sent
//! ones (`outgoing`), handshakes (`handshake`, `joins`), commands (`paths`, `commands`), the closing
//! (`closing`), the events of the subflows (`collecting`), the end (`ending`) and delivery (`receiving`).
//! `scripts/check_rings.py` keeps these files free of circular calls.

mod closing;
mod collecting;
mod commands;
mod context;
mod ending;
mod events;
mod handshake;
mod incoming;
mod joins;
mod outgoing;
mod paths;
mod receiving;
mod signalling;
mod subflows;
mod summary;

use whimbrel_control::multipath::Scheduler;
use whimbrel_units::Instant;
use whimbrel_wire::{Packet, ServiceCode};

pub(crate) use handshake::option_error;

use super::delivery::Delivery;
use super::subflow::{Stage, Subflow};
use super::watch::Timeout;
use super::{MultipathEvent, Path, SubflowId, SubflowSnapshot};
use crate::endpoint::Standing;
use crate::{
    Connection, ConnectionError, Datagram, DatagramId, ReceiveMeta, ReorderSnapshot, Role, SendError, State,
    Transmit,
};
use context::{Context, Effects, Phase};
use signalling::Signalling;
use subflows::Subflows;

pub use joins::JoinError;
pub use paths::MultipathStatistics;

/// State of a multipath connection, for observation.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MultipathSnapshot {
    /// `true` once both ends use the extensions.
    pub is_multipath: bool,
    /// The Connection Identifier of this end.
    pub connection_id: u32,
    /// The subflows, those that have ended included.
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
    /// The state that every concern reads.
    cx: Context,
    /// The effects of the concerns.
    fx: Effects,
    subflows: Subflows,
    scheduler: Box<dyn Scheduler>,
    delivery: Delivery,
    signalling: Signalling,
}

impl MultipathConnection {
    /// `true` if both ends use the multipath extensions.
    pub fn is_multipath(&self) -> bool {
        self.cx.is_multipath()
    }

    /// `true` until the first handshake is complete.
    pub fn is_opening(&self) -> bool {
        self.subflows.iter().any(|subflow| matches!(subflow.stage, Stage::Offering | Stage::Accepting))
    }

    /// Progress, as far as the limits of an endpoint depend on it.
    pub(crate) fn standing(&self) -> Standing {
        match self.cx.phase {
            Phase::Over => Standing::Over,
            Phase::Closing { .. } => Standing::Closing,
            _ if self.is_opening() && self.cx.identity.role == Role::Server => Standing::HalfOpen,
            _ => Standing::Open,
        }
    }

    /// The end of TIMEWAIT, if nothing else is left: the application has been notified, and all packets are
    /// sent.
    pub(crate) fn time_wait(&self) -> Option<Instant> {
        let rests = |subflow: &Subflow| {
            subflow.connection.state() == State::TimeWait || subflow.connection.is_drained()
        };
        let is_over = self.cx.is_over() && !self.has_events() && !self.is_drained();
        self.poll_timeout().filter(|_| is_over && self.subflows.iter().all(rests))
    }

    /// The Service Code of the connection.
    pub fn service_code(&self) -> ServiceCode {
        self.cx.config.service_code
    }

    /// Gives the first subflow a command.
    pub(crate) fn with_first(&mut self, command: impl FnOnce(&mut Connection)) {
        if let Some(first) = self.subflows.first_mut() {
            command(&mut first.connection);
        }
    }

    /// The DCCP ports of this end and of the peer on the first subflow.
    pub fn ports(&self) -> [u16; 2] {
        self.cx.identity.ports
    }

    /// The Connection Identifier of this end.
    pub fn connection_id(&self) -> u32 {
        self.cx.identity.own
    }

    /// `true` once the connection has ended and all packets are sent: only events remain.
    pub fn is_drained(&self) -> bool {
        self.fx.events.is_drained
    }

    /// Holds the probes of path MTU discovery on all subflows, or releases them, as
    /// [`Connection::hold_path_probes`] does.
    pub fn hold_path_probes(&mut self, now: Instant, holds: bool) {
        self.subflows.hold_path_probes(now, holds);
    }

    /// The subflows that are not over, with their paths.
    pub fn subflows(&self) -> impl Iterator<Item = (SubflowId, Path)> + '_ {
        self.subflows.iter().filter(|subflow| !subflow.is_over()).map(|subflow| (subflow.id, subflow.path))
    }

    /// The connection of a subflow, for reading.
    pub fn subflow(&self, id: SubflowId) -> Option<&Connection> {
        self.subflows.place(id).map(|place| &self.subflows[place].connection)
    }

    /// The subflow that a packet belongs to, by its path and DCCP ports.
    pub fn find(&self, path: Path, packet: &Packet) -> Option<SubflowId> {
        self.subflows.find(path, packet).map(|place| self.subflows[place].id)
    }

    /// Current state, for observation.
    pub fn snapshot(&self) -> MultipathSnapshot {
        MultipathSnapshot {
            is_multipath: self.is_multipath(),
            connection_id: self.cx.identity.own,
            subflows: self.subflows.iter().map(Subflow::snapshot).collect(),
            max_datagram: self.max_datagram(),
            queued_datagrams: self.fx.sending.len(),
            queued_bytes: self.fx.sending.bytes(),
            reordering: self.delivery.snapshot(),
            duplicates: self.delivery.duplicates(),
            unconfirmed_signals: self.signalling.unconfirmed(),
            remembered: self.signalling.remembered(),
            dropped_on_receipt: self.fx.events.dropped,
            statistics: self.statistics(),
        }
    }

    /// Queues a datagram. Its outcome is reported by [`MultipathEvent::DatagramSent`] or
    /// [`MultipathEvent::DatagramDropped`].
    ///
    /// # Errors
    ///
    /// The connection is closing, the peer no longer listens, the datagram is too large, or the queue is full
    /// and its policy is to refuse.
    pub fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        self.check_size(datagram.payload.len())?;
        let result = self.fx.sending.push(now, datagram);
        self.fx.report();
        result
    }

    /// Makes room for a datagram of `size` bytes: with
    /// [`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse), there may be none, and
    /// [`MultipathEvent::SendReady`] reports that there is some again.
    ///
    /// # Errors
    ///
    /// As [`MultipathConnection::send`].
    pub fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        self.check_size(size)?;
        let result = self.fx.sending.make_room(now, size);
        self.fx.report();
        result
    }

    fn check_size(&self, size: usize) -> Result<(), SendError> {
        if matches!(self.cx.phase, Phase::Closing { .. } | Phase::Over) {
            return Err(SendError::Closed);
        }
        if self.fx.sending.has_peer_stopped() {
            return Err(SendError::PeerNotListening);
        }
        let limit = self.max_datagram();
        if size > limit { Err(SendError::TooLarge { size, limit }) } else { Ok(()) }
    }

    /// Processes a received packet. One that belongs to no subflow is ignored: an
    /// [endpoint](super::MultipathEndpoint) accepts those that join.
    pub fn handle_packet(&mut self, now: Instant, path: Path, meta: ReceiveMeta, packet: Packet) {
        if let Some(index) = self.subflows.find(path, &packet) {
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
        self.fx.sending.expire(now);
        self.release(now);
        self.fx.report();
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
        self.fx.report();
        self.subflows.retire(&self.cx.settings);
        if self.cx.is_over() && self.subflows.is_empty() {
            self.drain();
        }
        transmit
    }

    /// Time of the next call to [`MultipathConnection::handle_timeout`] and
    /// [`MultipathConnection::poll_transmit`]. Valid once `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let subflows = self.subflows.iter().flat_map(|subflow| {
            let watch = if subflow.is_open() { subflow.watch.deadline() } else { Instant::FAR_FUTURE };
            [subflow.connection.poll_timeout().unwrap_or(Instant::FAR_FUTURE), watch]
        });
        let own = [
            self.fx.sending.wake,
            self.fx.sending.next_deadline(),
            self.delivery.deadline(),
            self.signalling.deadline(&self.cx, &self.subflows),
            self.closing_deadline(),
            self.fx.expiry,
        ];
        subflows.chain(own).min().filter(|next| *next < Instant::FAR_FUTURE)
    }

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<MultipathEvent> {
        self.fx.events.poll()
    }

    /// `true` if [`MultipathConnection::poll_event`] would return an event.
    pub fn has_events(&self) -> bool {
        !self.fx.events.queue.is_empty()
    }

    /// Ends the connection if no subflow has joined for too long, or discards what is left of one that has
    /// ended.
    fn check_expiry(&mut self, now: Instant) {
        if self.fx.expiry > now {
            return;
        }
        self.fx.expiry = Instant::FAR_FUTURE;
        if !self.cx.is_over() {
            self.finish(ConnectionError::TimedOut);
        }
        self.subflows.clear();
        self.drain();
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
            self.fx.sending.take_back(staged);
        }
        self.fx.events.on_path(MultipathEvent::PathFailed(self.subflows[index].id));
    }
}
