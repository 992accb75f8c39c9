//! One end of one connection (RFC 4340).
//!
//! [`Connection`]'s methods fall into four groups, and only `poll_transmit` makes packets:
//!
//! - *queries*: [`state`](Connection::state), [`role`](Connection::role), [`snapshot`](Connection::snapshot);
//! - *commands*, which queue work: [`connect`](Connection::connect), [`invite`](Connection::invite),
//!   [`send`](Connection::send), [`close`](Connection::close), [`abort`](Connection::abort),
//!   [`allow_moves`](Connection::allow_moves), [`set_max_datagram`](Connection::set_max_datagram), [`stop_receiving`](Connection::stop_receiving),
//!   [`set_slow_receiver`](Connection::set_slow_receiver), [`datagram_discarded`](Connection::datagram_discarded),
//!   [`freeze`](Connection::freeze), [`unfreeze`](Connection::unfreeze), [`probe`](Connection::probe);
//! - *input*: [`handle_packet`](Connection::handle_packet), [`handle_timeout`](Connection::handle_timeout),
//!   [`handle_unreachable`](Connection::handle_unreachable), [`path_changed`](Connection::path_changed),
//!   [`inform_loss`](Connection::inform_loss);
//! - *output*: [`poll_transmit`](Connection::poll_transmit), [`poll_event`](Connection::poll_event),
//!   [`poll_timeout`](Connection::poll_timeout).
//!
//! This file holds the public methods. Their implementation is divided by concern: `receive` (the steps of RFC 4340,
//! Section 8.5), `options`, `transmit`, `handshake`, `invitation`, `close`, `sync`, `sequence`, `short_numbers`,
//! `duplicates`, `features`, `congestion`, `freeze`, `ack_vectors`, `resequencer`, `reception`, `dropped_data`, `rtt`,
//! `mtu`, `path_mtu`, `path_change`, `mobility`, `timer`, `validation`, `stats`.

mod ack_vectors;
mod close;
mod congestion;
mod dropped_data;
mod duplicates;
mod features;
mod freeze;
mod handshake;
mod invitation;
mod mobility;
mod mtu;
mod options;
mod path_change;
mod path_mtu;
mod receive;
mod reception;
mod resequencer;
mod room;
mod rtt;
mod sequence;
mod short_numbers;
mod state;
mod stats;
mod sync;
mod timer;
mod transmit;
mod validation;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;

use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet, SeqNo, ServiceCode};

use crate::feature::Negotiation;
use crate::{Config, ConfigError, ConnectionError, Datagram, DatagramId, Event, SendError};
use ack_vectors::AckVectors;
use close::Closing;
use congestion::Congestion;
use dropped_data::DroppedData;
use features::Features;
use freeze::Freezing;
use handshake::Handshake;
use mobility::Mobility;
use path_change::KnownPaths;
use reception::Reception;
use resequencer::Resequencer;
use rtt::RoundTripTime;
use sequence::Sequencing;
use sync::SyncState;
use timer::Timers;
use transmit::Outbound;

pub use freeze::{FreezeScope, FreezeSnapshot};
pub use path_change::{PathChange, PathId};
pub use path_mtu::PathMtuPhase;
pub(crate) use receive::has_valid_numbers;
pub use resequencer::ReorderSnapshot;
pub(crate) use sequence::{MAX_SEQUENCE_WINDOW, MIN_SEQUENCE_WINDOW};
pub use state::{Role, State};
pub use stats::{ConnectionSnapshot, Holdings, Statistics};

/// Information about a received packet that is not in its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveMeta {
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// Arrival time, on the same clock as `now`, if the driver has a more precise one than the time of the call: the
    /// kernel records arrival times, and drivers read packets in batches. Used for measuring the times between packets;
    /// timers use `now`.
    pub arrival: Option<Instant>,
}

/// A packet to put on the network.
#[derive(Clone, PartialEq, Debug)]
pub struct Transmit {
    /// The packet.
    pub packet: Packet,
    /// The ECN codepoint to send it with.
    pub ecn: Ecn,
}

/// Role and ports of this end.
#[derive(Clone, Copy, Debug)]
struct Ports {
    role: Role,
    source: u16,
    destination: u16,
}

/// One end of one connection.
#[derive(Debug)]
pub struct Connection {
    ports: Ports,
    state: State,
    config: Config,
    sequence: Sequencing,
    sync: SyncState,
    timers: Timers,
    handshake: Handshake,
    closing: Closing,
    features: Features,
    congestion: Congestion,
    ack_vectors: AckVectors,
    dropped: DroppedData,
    reception: Reception,
    /// Reorder buffer of delivery and loss detection; `None` unless enabled.
    resequencer: Option<Box<Resequencer>>,
    rtt: RoundTripTime,
    outbound: Outbound,
    freezing: Freezing,
    events: VecDeque<Event>,
    statistics: Statistics,
    /// Sequence number of the last packet sent, at the last keep-alive check.
    last_kept_alive: Option<SeqNo>,
    /// Arrival time of the last packet.
    last_arrival: Instant,
    /// Path MTU discovery; `None` unless the connection probes the path.
    path_mtu: Option<Box<path_mtu::PathMtu>>,
    /// State of other paths, for [`Connection::path_changed_between`].
    known_paths: KnownPaths,
    /// State of address changes; `None` unless mobility was offered.
    mobility: Option<Box<Mobility>>,
}

impl Connection {
    /// Creates a client, which sends a Request once [`Connection::connect`] is called. `seed`: entropy from the driver;
    /// its low 48 bits are the initial sequence number (RFC 4340, Section 7.2).
    ///
    /// # Errors
    ///
    /// The error that [`Config::validate`] returns.
    pub fn client(
        now: Instant,
        config: Config,
        source_port: u16,
        destination_port: u16,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let ports = Ports { role: Role::Client, source: source_port, destination: destination_port };
        Self::new(now, config, ports, State::Closed, seed)
    }
    /// Creates a server for a received Request, which must then be passed to [`Connection::handle_packet`]. `seed` as
    /// for [`Connection::client`].
    ///
    /// # Errors
    ///
    /// The error that [`Config::validate`] returns.
    pub fn server(now: Instant, config: Config, request: &Packet, seed: u64) -> Result<Self, ConfigError> {
        let ports =
            Ports { role: Role::Server, source: request.destination_port, destination: request.source_port };
        Self::new(now, config, ports, State::Listen, seed)
    }
    fn new(now: Instant, config: Config, ports: Ports, state: State, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let iss = SeqNo::new(seed);
        Ok(Self {
            ports,
            state,
            sequence: Sequencing::new(now, iss),
            sync: SyncState::new(),
            timers: Timers::new(),
            handshake: Handshake::new(ports.role),
            closing: Closing::default(),
            features: Features::new(ports.role, &config),
            congestion: Congestion::default(),
            ack_vectors: AckVectors::new(iss),
            dropped: DroppedData::new(iss),
            reception: Reception::new(&config),
            resequencer: None,
            rtt: RoundTripTime::default(),
            outbound: Outbound::new(&config),
            freezing: Freezing::new(),
            events: VecDeque::new(),
            statistics: Statistics::default(),
            last_kept_alive: None,
            last_arrival: now,
            path_mtu: None,
            known_paths: KnownPaths::default(),
            mobility: None,
            config,
        })
    }

    /// Role of this end.
    pub fn role(&self) -> Role {
        self.ports.role
    }
    /// Current state (RFC 4340, Section 8.4).
    pub fn state(&self) -> State {
        self.state
    }
    /// The Service Code that the client requested.
    pub fn service_code(&self) -> ServiceCode {
        self.config.service_code
    }
    /// The DCCP port of this end.
    pub fn source_port(&self) -> u16 {
        self.ports.source
    }
    /// The DCCP port of the other end.
    pub fn destination_port(&self) -> u16 {
        self.ports.destination
    }
    /// `true` once the connection is over and its last packet is sent: only [`Event`]s remain.
    pub fn is_drained(&self) -> bool {
        self.closing.is_drained()
    }

    /// Feature negotiation: the values in force, and the state of each exchange.
    pub fn negotiation(&self) -> &Negotiation {
        &self.features.negotiation
    }
    /// Number of datagrams in the send queue.
    pub fn queued_datagrams(&self) -> usize {
        self.outbound.queue.len()
    }
    /// `true` if [`Connection::poll_event`] would return an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty() || self.congestion.has_verdicts()
    }

    /// Sends a Request, and retransmits it until the server answers.
    pub fn connect(&mut self, now: Instant) {
        if self.state == State::Closed && self.ports.role == Role::Client && !self.closing.is_over() {
            self.start_request(now);
        }
    }
    /// Queues a datagram. Its outcome is reported by [`Event::DatagramSent`] or [`Event::DatagramDropped`].
    ///
    /// # Errors
    ///
    /// The connection is closing, the peer no longer listens, the datagram is too large, or the queue is full and its
    /// policy is to refuse.
    pub fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        if self.closing.is_requested() || self.closing.is_over() {
            return Err(SendError::Closed);
        }
        if self.dropped.has_peer_stopped() {
            return Err(SendError::PeerNotListening);
        }
        let (size, limit) = (datagram.payload.len(), self.max_datagram());
        if size > limit {
            return Err(SendError::TooLarge { size, limit });
        }
        self.outbound.queue.push(now, datagram, &mut self.events)
    }
    /// Closes the connection once the send queue is empty. Queued datagrams leave as congestion control permits; those
    /// with a deadline are dropped when it passes. Closing takes at most
    /// [`TimerConfig::close`](crate::config::TimerConfig::close).
    pub fn close(&mut self, now: Instant) {
        self.request_close(now);
    }
    /// Resets the connection at once (Reset 2, "Aborted") and discards the send queue.
    pub fn abort(&mut self, now: Instant) {
        let _ = now;
        self.abort_with(ConnectionError::AbortedLocally);
    }

    /// Processes an ICMP message that reports the destination unreachable. It ends an attempt to connect or to close;
    /// an established connection continues, as the condition may be temporary and the message forged.
    pub fn handle_unreachable(&mut self, now: Instant) {
        let _ = now;
        match self.state {
            State::Request => self.end(ConnectionError::Unreachable),
            State::CloseReq | State::Closing => {
                let error = self.closing.error();
                self.end(error);
            }
            _ => {}
        }
    }
    /// `true` if a packet with that number was sent recently. An ICMP message that quotes another number may be forged
    /// (RFC 4340, Section 14.1).
    pub fn has_sent(&self, sequence: SeqNo) -> bool {
        self.sequence.numbers.is_ack_in_window(sequence)
    }
    /// Processes a received packet.
    pub fn handle_packet(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet) {
        // Kernels take arrival times on several processors: enforce that they do not decrease.
        self.last_arrival = meta.arrival.unwrap_or(now).max(self.last_arrival).min(now);
        let arrival = meta.arrival.and(Some(self.last_arrival));
        self.receive(now, ReceiveMeta { arrival, ..meta }, packet);
    }
    /// Runs the timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.run_timers(now);
    }
    /// Reports the true cause of a loss on the path to this end, for simulators that know it.
    pub fn inform_loss(&mut self, sequence: SeqNo, cause: LossClass) {
        self.congestion.on_loss_cause(sequence, cause);
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(transmit) = self.next_transmit(now) {
            return Some(transmit);
        }
        // A timer that expired while the driver was busy may have made another packet due.
        if self.run_timers(now) { self.next_transmit(now) } else { None }
    }
    /// Time of the next call to [`Connection::handle_timeout`] and [`Connection::poll_transmit`], pacing included.
    /// Valid once `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_deadline();
        (next < Instant::FAR_FUTURE).then_some(next)
    }
    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(verdict) = self.congestion.take_verdict() {
            return Some(Event::LossClassified(verdict));
        }
        let event = self.events.pop_front()?;
        self.reception.on_taken(&event);
        Some(event)
    }
}
