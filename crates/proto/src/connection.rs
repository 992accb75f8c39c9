//! One end of one connection (RFC 4340).
//!
//! [`Connection`]'s methods fall into four groups, and only `poll_transmit` makes packets:
//!
//! - *queries*: [`state`](Connection::state), [`role`](Connection::role), [`snapshot`](Connection::snapshot);
//! - *commands*, which queue work: [`connect`](Connection::connect), [`invite`](Connection::invite),
//!   [`send`](Connection::send), [`close`](Connection::close), [`abort`](Connection::abort),
//!   [`allow_moves`](Connection::allow_moves), [`set_max_datagram`](Connection::set_max_datagram),
//!   [`stop_receiving`](Connection::stop_receiving),
//!   [`set_slow_receiver`](Connection::set_slow_receiver),
//!   [`datagram_discarded`](Connection::datagram_discarded),
//!   [`freeze`](Connection::freeze), [`unfreeze`](Connection::unfreeze), [`probe`](Connection::probe);
//! - *input*: [`handle_packet`](Connection::handle_packet), [`handle_timeout`](Connection::handle_timeout),
//!   [`handle_unreachable`](Connection::handle_unreachable), [`path_changed`](Connection::path_changed),
//!   [`inform_loss`](Connection::inform_loss);
//! - *output*: [`poll_transmit`](Connection::poll_transmit), [`poll_event`](Connection::poll_event),
//!   [`poll_timeout`](Connection::poll_timeout).
//!
//! Each concern of a connection is a type that owns its state: `handshake`, `invitation`, `close`, `freeze`,
//! `mobility`, `mtu` (over `path_mtu`), `path_change`, `liveness`, `reception`, `resequencer`,
//! `dropped_data`, `ack_vectors`, `congestion`, `subflow`. Its methods are handed the `Context` to read and
//! the `Effects` to act on, and return what another concern has to do. Concerns do not call each other:
//! `impl Connection` composes them, in `receive`, `options` and `arrival` (the steps of RFC 4340, Section
//! 8.5), `opening`, `agreement`, `path`, `timeouts`, `transmit`, `packets`, `emit`, `outcome`, `moves` and
//! `joining`. `scripts/check_rings.py` keeps these files free of circular calls.

mod ack_vectors;
mod agreement;
mod arrival;
mod close;
mod congestion;
mod context;
mod driver;
mod dropped_data;
mod duplicates;
mod emit;
mod features;
mod freeze;
mod handshake;
mod invitation;
mod joining;
mod liveness;
mod mobility;
mod moves;
mod mtu;
mod opening;
mod options;
mod outbound;
mod outcome;
mod packets;
mod path;
mod path_change;
mod path_mtu;
mod profile;
mod receive;
mod reception;
mod resequencer;
mod room;
mod rtt;
mod sequence;
mod short_numbers;
mod snapshot;
mod state;
mod statistics;
mod subflow;
mod sync;
mod timeouts;
mod timer;
mod transmit;
mod validation;

#[cfg(test)]
pub(crate) mod tests;

use whimbrel_control::capacity::Estimate;
use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Packet, Reset, ResetCode, SeqNo, ServiceCode};

use crate::feature::Negotiation;
use crate::mobility::MobilitySecret;
use crate::{Config, ConfigError, ConnectionError, Datagram, DatagramId, Event, SendError};
use ack_vectors::AckVectors;
use close::Closing;
use congestion::Congestion;
use context::{Context, Effects, Ports};
use dropped_data::DroppedData;
use freeze::Freezing;
use handshake::Handshake;
use invitation::Invitation;
use liveness::Liveness;
use mobility::Mobility;
use mtu::Mtu;
use path_change::KnownPaths;
pub(crate) use profile::Profile;
use reception::Reception;
use resequencer::Resequencer;
use subflow::Subflow;

pub use driver::{Poll, ReceiveMeta, Transmit, Wait};
pub(crate) use duplicates::Duplicates;
pub use freeze::{FreezeScope, FreezeSnapshot};
pub use path_change::PathId;
pub use path_mtu::PathMtuPhase;
pub(crate) use receive::has_valid_numbers;
pub use resequencer::ReorderSnapshot;
pub use snapshot::{ConnectionSnapshot, Holdings};
pub use state::{Role, State};
pub use statistics::Statistics;
pub(crate) use subflow::IncomingOptions;

/// One end of one connection.
#[derive(Debug)]
pub struct Connection {
    /// The state that every concern reads.
    cx: Context,
    /// The effects of the concerns.
    fx: Effects,
    handshake: Handshake,
    invitation: Invitation,
    closing: Closing,
    congestion: Congestion,
    ack_vectors: AckVectors,
    dropped: DroppedData,
    reception: Reception,
    /// Reorder buffer of delivery and loss detection; `None` unless enabled.
    resequencer: Option<Box<Resequencer>>,
    freezing: Freezing,
    liveness: Liveness,
    /// Arrival time of the last packet.
    last_arrival: Instant,
    /// The largest datagram, and path MTU discovery.
    mtu: Mtu,
    /// State of other paths, for [`Connection::path_changed_between`].
    known_paths: KnownPaths,
    /// State of address changes.
    mobility: Mobility,
    /// Multipath options, if this is a subflow.
    subflow: Subflow,
}

impl Connection {
    /// Creates a client, which sends a Request once [`Connection::connect`] is called. `seed`: entropy from
    /// the driver; its low 48 bits are the initial sequence number (RFC 4340, Section 7.2).
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
        Ok(Self::new(now, Profile::new(config)?, ports, State::Closed, seed))
    }
    /// Creates a server for a received Request, which must then be passed to [`Connection::handle_packet`].
    /// `seed` as for [`Connection::client`].
    ///
    /// # Errors
    ///
    /// The error that [`Config::validate`] returns.
    pub fn server(now: Instant, config: Config, request: &Packet, seed: u64) -> Result<Self, ConfigError> {
        Ok(Self::server_of(now, Profile::new(config)?, request, seed))
    }
    /// As [`Connection::server`], with a configuration that other connections share.
    pub(crate) fn server_of(now: Instant, profile: Profile, request: &Packet, seed: u64) -> Self {
        let ports =
            Ports { role: Role::Server, source: request.destination_port, destination: request.source_port };
        Self::new(now, profile, ports, State::Listen, seed)
    }
    /// Creates a server for one client at `destination_port`. It sends Listen packets once
    /// [`Connection::invite`] is called, and then waits for the Request. `seed` as for
    /// [`Connection::client`].
    ///
    /// # Errors
    ///
    /// The error that [`Config::validate`] returns.
    pub fn inviting(
        now: Instant,
        config: Config,
        source_port: u16,
        destination_port: u16,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let ports = Ports { role: Role::Server, source: source_port, destination: destination_port };
        Ok(Self::new(now, Profile::new(config)?, ports, State::Closed, seed))
    }
    fn new(now: Instant, config: Profile, ports: Ports, state: State, seed: u64) -> Self {
        let iss = SeqNo::new(seed);
        Self {
            fx: Effects::new(&config),
            handshake: Handshake::new(ports.role),
            invitation: Invitation::default(),
            closing: Closing::default(),
            congestion: Congestion::default(),
            ack_vectors: AckVectors::new(iss),
            dropped: DroppedData::new(iss),
            reception: Reception::new(&config),
            resequencer: None,
            freezing: Freezing::new(),
            liveness: Liveness::default(),
            last_arrival: now,
            mtu: Mtu::new(&config),
            known_paths: KnownPaths::default(),
            mobility: Mobility::default(),
            subflow: Subflow::default(),
            cx: Context::new(now, config, ports, state, iss),
        }
    }

    /// Role of this end.
    pub fn role(&self) -> Role {
        self.cx.ports.role
    }
    /// Current state (RFC 4340, Section 8.4).
    pub fn state(&self) -> State {
        self.cx.state
    }
    /// The Service Code that the client requested.
    pub fn service_code(&self) -> ServiceCode {
        self.cx.config.service_code
    }
    /// The DCCP port of this end.
    pub fn source_port(&self) -> u16 {
        self.cx.ports.source
    }
    /// The DCCP port of the other end.
    pub fn destination_port(&self) -> u16 {
        self.cx.ports.destination
    }
    /// `true` once the connection has ended and its last packet is sent: only [`Event`]s remain.
    pub fn is_drained(&self) -> bool {
        self.closing.is_drained()
    }

    /// Feature negotiation: the values in force, and the state of each exchange.
    pub fn negotiation(&self) -> &Negotiation {
        &self.cx.features.negotiation
    }
    /// `true` while the peer accepts data; `false` once it has reported Drop Code 1.
    pub fn is_peer_listening(&self) -> bool {
        !self.dropped.has_peer_stopped()
    }
    /// Number of datagrams in the send queue.
    pub fn queued_datagrams(&self) -> usize {
        self.fx.queue.len()
    }
    /// `true` if [`Connection::poll_event`] would return an event.
    pub fn has_events(&self) -> bool {
        !self.fx.events.is_empty() || self.congestion.has_verdicts()
    }

    /// Sends a Request, and retransmits it until the server answers.
    pub fn connect(&mut self, now: Instant) {
        if self.cx.state == State::Closed && self.cx.ports.role == Role::Client && !self.closing.is_over() {
            self.cx.state = State::Request;
            self.handshake.start_request(now, &self.cx, &mut self.fx);
        }
    }
    /// Invites the client of a server created by [`Connection::inviting`]. RFC 5596 permits it to wait
    /// indefinitely; this one gives up after the connect time ([`crate::config::TimerConfig::connect`]), as a
    /// client does.
    pub fn invite(&mut self, now: Instant) {
        if self.cx.state == State::Closed && self.cx.ports.role == Role::Server && !self.closing.is_over() {
            self.cx.state = State::Invited;
            Invitation::start(now, &self.cx, &mut self.fx);
        }
    }
    /// Queues a datagram. Its outcome is reported by [`Event::DatagramSent`] or [`Event::DatagramDropped`].
    ///
    /// # Errors
    ///
    /// The connection is closing, the peer no longer listens, the datagram is too large, or the queue is full
    /// and its policy is to refuse.
    pub fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        self.make_room(now, datagram.payload.len())?;
        self.fx.queue.push(now, datagram, &mut self.fx.events)
    }
    /// Makes room for a datagram of `size` bytes in the send queue, as [`Connection::send`] does, for a
    /// caller that prepares its data at some cost only if they are accepted.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`].
    pub fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        if self.closing.is_requested() || self.closing.is_over() {
            return Err(SendError::Closed);
        }
        if self.dropped.has_peer_stopped() {
            return Err(SendError::PeerNotListening);
        }
        let limit = self.mtu.max_datagram();
        if size > limit {
            return Err(SendError::TooLarge { size, limit });
        }
        self.fx.queue.make_room(now, size, &mut self.fx.events)
    }
    /// Closes the connection once the send queue is empty. Queued datagrams leave as congestion control
    /// permits; those with a deadline are dropped when it passes. Closing takes at most
    /// [`TimerConfig::close`](crate::config::TimerConfig::close).
    pub fn close(&mut self, now: Instant) {
        if let Some(ending) = self.closing.request(now, &self.cx, &mut self.fx) {
            self.finish(ending);
        }
    }
    /// Resets the connection at once (Reset 2, "Aborted") and discards the send queue.
    pub fn abort(&mut self, now: Instant) {
        let _ = now;
        self.abort_with(ConnectionError::AbortedLocally);
    }
    /// As [`abort`](Self::abort), with Reset 9, "Too Busy": the peer may try again later.
    pub fn abort_as_busy(&mut self, now: Instant) {
        let _ = now;
        self.reset_with(Reset::new(ResetCode::TooBusy));
    }
    /// Holds the probes of path MTU discovery, or releases them. A server that has not authenticated its
    /// client yet should not send it large packets: the size of datagrams stays the configured one.
    pub fn hold_path_probes(&mut self, now: Instant, holds: bool) {
        self.mtu.hold(now, holds, &mut self.fx);
    }

    /// Stops delivering datagrams to the application, for good. Data that still arrive are dropped and
    /// reported to the peer (RFC 4340, Section 11.7.2, Drop Code 1), which should then send no more. Events
    /// and sending continue.
    pub fn stop_receiving(&mut self, now: Instant) {
        let _ = now;
        self.reception.stop();
    }
    /// Sets whether the application cannot keep up. While `slow`, the peer is requested not to increase its
    /// rate (RFC 4340, Section 11.6); a receive queue that is three quarters full has the same effect.
    pub fn set_slow_receiver(&mut self, slow: bool) {
        self.reception.set_slow(slow);
    }
    /// Reports that the data of a datagram delivered by [`Event::Datagram`] did not reach the application, or
    /// were of no use to it: a driver's queue was full ([`DropCode::ReceiveBuffer`]), or the application's
    /// own checksum was wrong ([`DropCode::Corrupt`]). The next acknowledgements report it to the peer, whose
    /// congestion control takes it into account.
    ///
    /// Returns `true` if it will be reported. It is not if the packet did not arrive or is older than 65,536
    /// packets, if the code is undefined, or if the data is already reported as dropped: a code never
    /// becomes less serious (RFC 4340, Section 11.7).
    pub fn datagram_discarded(&mut self, sequence: SeqNo, code: DropCode) -> bool {
        let newest = self.cx.sequence.numbers.gsr();
        let age = newest.distance_from(sequence);
        let has_arrived = (0..1 << 16).contains(&age) && self.cx.sequence.duplicates.may_have_come(sequence);
        let has_meaning = !matches!(code, DropCode::Reserved(_));
        has_arrived && has_meaning && self.dropped.discard(&mut self.fx, sequence, code)
    }
    /// Freezes the connection before the path becomes unavailable. No data is sent in the directions of
    /// `scope` until
    /// [`Connection::unfreeze`]. The peer, if it [takes part](crate::config::FreezeConfig::offer), has to be
    /// notified about a round-trip time before the path breaks.
    pub fn freeze(&mut self, now: Instant, scope: FreezeScope) {
        // Events end with the connection.
        if !self.closing.is_over() {
            let change = self.freezing.freeze(now, &self.cx, &mut self.fx, scope);
            self.on_freeze_change(now, change);
        }
    }
    /// Unfreezes the connection once a path is available. For data that this end sends this also overrides a
    /// freeze that the peer requested.
    pub fn unfreeze(&mut self, now: Instant, scope: FreezeScope) {
        if !self.closing.is_over() {
            let change = self.freezing.unfreeze(now, &self.cx, &mut self.fx, scope);
            self.on_freeze_change(now, change);
        }
    }
    /// Probes for the rate of another path that may carry more, after a change without interruption (make
    /// before break), as after a freeze. Returns `true` if the sender probes: only with CCIDs 3 and 4, and
    /// only if the peer
    /// [takes part](crate::config::FreezeConfig::offer).
    pub fn probe(&mut self, now: Instant) -> bool {
        !self.freezing.is_frozen() && self.congestion.on_probe(now)
    }
    /// Sets the estimated capacity and available bandwidth of the local link, as rates of application data;
    /// `None` when the link changes, until there is an estimate of the new one. A CCID 3 or 4 sender uses it
    /// if
    /// [`FreezeConfig::restart`](crate::config::FreezeConfig::restart) is a rate of the link, or
    /// [`TfrcConfig::link_cap`](crate::config::TfrcConfig::link_cap) is set.
    pub fn set_link_estimate(&mut self, now: Instant, estimate: Option<Estimate>) {
        self.congestion.on_link_estimate(now, estimate);
    }
    /// Enables address changes of the client, before the handshake, by an offer or the acceptance of one, if
    /// the configuration permits them ([`Config::mobility`](crate::Config::mobility)). `number`: an
    /// identifier not used before with this secret. An [`Endpoint`](crate::Endpoint) calls this itself.
    pub fn allow_moves(&mut self, secret: &MobilitySecret, number: u64) {
        let is_early = matches!(self.cx.state, State::Closed | State::Listen | State::Invited);
        if self.cx.config.mobility.is_some() && is_early && !self.closing.is_over() {
            let wish = self.mobility.allow(self.cx.ports.role, secret, number);
            self.cx.features.negotiation.wish(&wish);
        }
    }
    /// `true` if the client may change its address: both ends have agreed, and have a key.
    pub fn may_move(&self) -> bool {
        self.mobility.may_move()
    }
    /// `true` while sent packets announce this end's address, because the server may not know it.
    pub fn is_announcing(&self) -> bool {
        self.mobility.is_announcing()
    }

    /// Processes an ICMP message that reports the destination unreachable. It ends an attempt to connect or
    /// to close; an established connection continues, as the condition may be temporary and the message
    /// forged.
    pub fn handle_unreachable(&mut self, now: Instant) {
        let _ = now;
        if let Some(ending) = self.closing.on_unreachable(&self.cx) {
            self.finish(ending);
        }
    }
    /// `true` if a packet with that number was sent recently. An ICMP message that quotes another number may
    /// be forged (RFC 4340, Section 14.1).
    pub fn has_sent(&self, sequence: SeqNo) -> bool {
        self.cx.sequence.numbers.is_ack_in_window(sequence)
    }
    /// Processes a received packet.
    pub fn handle_packet(&mut self, now: Instant, meta: ReceiveMeta, mut packet: Packet) {
        self.handle_packet_in_place(now, meta, &mut packet);
    }
    /// Processes a received packet, and takes its data and options if it keeps them: for drivers that hold
    /// packets as typed values, and need not move them.
    pub fn handle_packet_in_place(&mut self, now: Instant, meta: ReceiveMeta, packet: &mut Packet) {
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
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        match self.poll(now) {
            Poll::Transmit(transmit) => Some(transmit),
            Poll::Wait(_) => None,
        }
    }
    /// Returns the next packet to send, or the times at which the connection acts next: what
    /// [`Connection::poll_transmit`] and [`Connection::poll_timeout`] return, in one call.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Poll {
        if let Some(transmit) = self.next_transmit(now) {
            return Poll::Transmit(transmit);
        }
        let mut timer = self.next_timer();
        // A timer that expired while the driver was busy may have made another packet due.
        if timer <= now {
            self.run_timers(now);
            if let Some(transmit) = self.next_transmit(now) {
                return Poll::Transmit(transmit);
            }
            timer = self.next_timer();
        }
        Poll::Wait(Wait { timer, transmit: self.next_transmission() })
    }
    /// Time of the next call to [`Connection::handle_timeout`] and [`Connection::poll_transmit`], pacing
    /// included. Valid once `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        Wait { timer: self.next_timer(), transmit: self.next_transmission() }.deadline()
    }
    /// Returns the next event for the application.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(verdict) = self.congestion.take_verdict() {
            return Some(Event::LossClassified(verdict));
        }
        let event = self.fx.events.pop_front()?;
        self.reception.on_taken(&event);
        Some(event)
    }
}
