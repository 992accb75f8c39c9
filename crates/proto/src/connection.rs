//! One end of one connection (RFC 4340).
//!
//! [`Connection`]'s methods fall into four groups, and only `poll_transmit` makes packets:
//!
//! - *look*: [`state`](Connection::state), [`role`](Connection::role), [`snapshot`](Connection::snapshot);
//! - *command*, which queues: [`connect`](Connection::connect), [`invite`](Connection::invite), [`send`](Connection::send),
//!   [`close`](Connection::close), [`abort`](Connection::abort),
//!   [`allow_moves`](Connection::allow_moves), [`set_max_datagram`](Connection::set_max_datagram), [`stop_receiving`](Connection::stop_receiving),
//!   [`set_slow_receiver`](Connection::set_slow_receiver), [`datagram_discarded`](Connection::datagram_discarded),
//!   [`freeze`](Connection::freeze), [`unfreeze`](Connection::unfreeze), [`probe`](Connection::probe);
//! - *feed*: [`handle_packet`](Connection::handle_packet), [`handle_timeout`](Connection::handle_timeout),
//!   [`handle_unreachable`](Connection::handle_unreachable), [`path_changed`](Connection::path_changed),
//!   [`inform_loss`](Connection::inform_loss);
//! - *drain*: [`poll_transmit`](Connection::poll_transmit), [`poll_event`](Connection::poll_event),
//!   [`poll_timeout`](Connection::poll_timeout).
//!
//! This file has the verbs. What they do is told by concern: `receive` (the steps of RFC 4340,
//! Section 8.5), `options`, `transmit`, `handshake`, `invitation`, `close`, `sync`, `sequence`, `short_numbers`, `duplicates`,
//! `features`, `congestion`, `freeze`, `ack_vectors`, `ordering`, `reception`, `dropped_data`, `rtt`, `mtu`, `path_mtu`, `path_change`, `mobility`, `timer`, `validation`, `stats`.

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
mod ordering;
mod path_change;
mod path_mtu;
mod receive;
mod reception;
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
use ordering::Ordering;
use path_change::KnownPaths;
use reception::Reception;
use rtt::RoundTripTime;
use sequence::Sequencing;
use sync::SyncState;
use timer::Timers;
use transmit::Outbound;

pub use freeze::{FreezeScope, FreezeSnapshot};
pub use ordering::ReorderSnapshot;
pub use path_change::{PathChange, PathName};
pub use path_mtu::PathMtuPhase;
pub(crate) use receive::has_valid_numbers;
pub(crate) use sequence::{MAX_SEQUENCE_WINDOW, MIN_SEQUENCE_WINDOW};
pub use state::{Role, State};
pub use stats::{ConnectionSnapshot, Holdings, Statistics};

/// What the driver knows about a packet besides its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveMeta {
    /// How the network marked it.
    pub ecn: Ecn,
    /// When it arrived, on the same clock as `now`, where the driver knows that better than by when it hands the packet over:
    /// a kernel notes the time on arrival, and drivers take many packets at once. Used where times between packets are
    /// measured; timers go by `now`.
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

/// Which end it is, between which ports.
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
    /// Delivery and judgement in order; `None` unless enabled.
    ordering: Option<Box<Ordering>>,
    rtt: RoundTripTime,
    outbound: Outbound,
    freezing: Freezing,
    events: VecDeque<Event>,
    statistics: Statistics,
    /// The number of the last packet when keep-alive last looked.
    last_kept_alive: Option<SeqNo>,
    /// When the last packet arrived.
    last_arrival: Instant,
    /// What is known of the path, where the connection probes it.
    path_mtu: Option<Box<path_mtu::PathMtu>>,
    /// What was known of other paths, where that is of use.
    known_paths: KnownPaths,
    /// What it takes for the client to move, where that was offered.
    mobility: Option<Box<Mobility>>,
}

impl Connection {
    /// A client that will send a Request once [`Connection::connect`] is called. `seed`: entropy
    /// from the driver; its low 48 bits are the initial sequence number (RFC 4340, Section 7.2).
    ///
    /// # Errors
    ///
    /// Where [`Config::validate`] finds one.
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
    /// A server for a Request that just arrived. Afterwards give it that Request with
    /// [`Connection::handle_packet`]. `seed` as for [`Connection::client`].
    ///
    /// # Errors
    ///
    /// Where [`Config::validate`] finds one.
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
            ordering: None,
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

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.ports.role
    }
    /// Where in its life it is.
    pub fn state(&self) -> State {
        self.state
    }
    /// The Service Code that the client asked for.
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
    /// Whether the connection is over and its last packet sent: nothing but [`Event`]s will come of it.
    pub fn is_drained(&self) -> bool {
        self.closing.is_drained()
    }

    /// The features: their values in force, and whether both ends are believed to agree.
    pub fn negotiation(&self) -> &Negotiation {
        &self.features.negotiation
    }
    /// How many datagrams wait in the send queue.
    pub fn queued_datagrams(&self) -> usize {
        self.outbound.queue.len()
    }
    /// Whether [`Connection::poll_event`] has something to tell.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty() || self.congestion.has_verdicts()
    }

    /// Command: sends a Request, and repeats it until the server answers.
    pub fn connect(&mut self, now: Instant) {
        if self.state == State::Closed && self.ports.role == Role::Client && !self.closing.is_over() {
            self.start_request(now);
        }
    }
    /// Command: queues a datagram. What becomes of it is told by [`Event::DatagramSent`] or
    /// [`Event::DatagramDropped`].
    ///
    /// # Errors
    ///
    /// The connection is closing, the peer no longer listens, the datagram is too large, or the queue
    /// full and its policy to refuse.
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
    /// Command: closes the connection once the send queue is empty. Datagrams leave as the
    /// congestion control lets them; those with a deadline are dropped when it passes. It takes
    /// [`TimerConfig::close`](crate::config::TimerConfig::close) at most.
    pub fn close(&mut self, now: Instant) {
        self.request_close(now);
    }
    /// Command: resets the connection at once (Reset 2, "Aborted") and forgets the send queue.
    pub fn abort(&mut self, now: Instant) {
        let _ = now;
        self.abort_with(ConnectionError::AbortedLocally);
    }

    /// The network said (ICMP) that the destination cannot be reached. That ends an attempt to
    /// connect and an attempt to close; an established connection goes on, as the trouble may pass
    /// and the message may be forged.
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
    /// Whether a packet with that number was sent recently, as an ICMP message that quotes it claims:
    /// one that quotes another may be forged (RFC 4340, Section 14.1).
    pub fn has_sent(&self, sequence: SeqNo) -> bool {
        self.sequence.numbers.is_ack_in_window(sequence)
    }
    /// A packet for this connection arrived.
    pub fn handle_packet(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet) {
        // Kernels note times on several processors: what is handed over later did not arrive earlier.
        self.last_arrival = meta.arrival.unwrap_or(now).max(self.last_arrival).min(now);
        let arrival = meta.arrival.and(Some(self.last_arrival));
        self.receive(now, ReceiveMeta { arrival, ..meta }, packet);
    }
    /// Runs the timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.run_timers(now);
    }
    /// The truth about a packet that the network lost on the way to this end, from an omniscient simulator.
    pub fn inform_loss(&mut self, sequence: SeqNo, cause: LossClass) {
        self.congestion.on_loss_cause(sequence, cause);
    }

    /// The next packet to put on the network.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(transmit) = self.next_transmit(now) {
            return Some(transmit);
        }
        // A timer that came due while the driver was busy may have something to say before it sleeps.
        if self.run_timers(now) { self.next_transmit(now) } else { None }
    }
    /// When to call [`Connection::handle_timeout`] and [`Connection::poll_transmit`] next, pacing
    /// included. True once `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_deadline();
        (next < Instant::FAR_FUTURE).then_some(next)
    }
    /// The next thing the application should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(verdict) = self.congestion.take_verdict() {
            return Some(Event::LossClassified(verdict));
        }
        let event = self.events.pop_front()?;
        self.reception.on_taken(&event);
        Some(event)
    }
}
