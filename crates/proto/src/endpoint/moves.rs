//! Address changes of clients: a connection is found by its identifier, the new address is challenged, and
//! the server follows.
//!
//! ```text
//!          Move from a new address               echo from the new address
//! SETTLED ------------------------> CHALLENGING --------------------------> SETTLED, new address
//!                                       |
//!    a new Move, or the echo, from the  '--> SETTLED, old address
//!    old address
//! ```
//!
//! While a challenge is pending everything else goes to the old address. A packet from an unchallenged
//! address causes one challenge, which is smaller than the packet was: there is no amplification, and no
//! timer is needed.

use core::net::SocketAddr;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::{self, MobilityOption, Move};
use whimbrel_wire::{DccpOption, Packet, PacketType};

use super::initial_sequence::{FourTuple, Secret};
use super::table::{Entry, SlotState, Table};
use super::{ConnectionHandle, Endpoint};
use crate::PathChange;
use crate::connection::PathId;
use crate::mobility::MobilitySecret;
use crate::{Config, Connection, ReceiveMeta, Transmit};

/// Separates the numbers of this purpose from others derived from the endpoint's secret.
const PURPOSE: u64 = 0x4d6f_6269_6c69_7479;
/// Time for which packets from the old address, sent before the move, are accepted, in round-trip times.
const STRAGGLE_IN_RTT: u64 = 3;
const MIN_STRAGGLE: Duration = Duration::from_secs(1);
/// A challenge is repeated when a packet arrives that many round-trip times later without the answer.
const REPEAT_IN_RTT: u64 = 1;

/// State for address changes, shared by an endpoint's connections.
#[derive(Debug, Default)]
pub struct Mobility {
    /// Secret from which the mobility keys of connections derive; `None` before the first such connection.
    secret: Option<MobilitySecret>,
    /// Number of path challenges sent so far.
    challenges: u64,
}

/// State of a server connection whose client may move.
#[derive(Debug, Default)]
pub struct Moves {
    /// The address to which the client may have moved.
    candidate: Option<Candidate>,
    /// The previous address, and the time until which packets from there are accepted.
    pub(super) previous: Option<(FourTuple<SocketAddr>, Instant)>,
    /// The address last reported to the application, if it is not the current one.
    pub(super) unreported: Option<SocketAddr>,
}

/// An address to which a client may have moved.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    remote: SocketAddr,
    /// The challenges to that address, and to the current one.
    candidate_challenge: Challenge,
    here: Challenge,
}

/// A challenge to one address.
#[derive(Clone, Copy, Debug)]
struct Challenge {
    challenge: u64,
    /// The challenge waits to be sent.
    is_due: bool,
    asked: Option<Instant>,
}

impl Challenge {
    fn new(challenge: u64) -> Self {
        Self { challenge, is_due: true, asked: None }
    }

    fn take_due(&mut self, now: Instant) -> Option<u64> {
        let is_due = core::mem::take(&mut self.is_due);
        is_due.then(|| {
            self.asked = Some(now);
            self.challenge
        })
    }
}

impl Moves {
    /// The next challenge to send, and its destination; `here`: the connection's address.
    pub(super) fn poll_challenge(
        &mut self,
        now: Instant,
        connection: &mut Connection,
        here: SocketAddr,
    ) -> Option<(SocketAddr, Transmit)> {
        if !connection.can_challenge() {
            self.candidate = None;
            return None;
        }
        let candidate = self.candidate.as_mut()?;
        let due = candidate.candidate_challenge.take_due(now).map(|challenge| (candidate.remote, challenge));
        let (remote, challenge) =
            due.or_else(|| candidate.here.take_due(now).map(|challenge| (here, challenge)))?;
        Some((remote, connection.challenge(now, challenge)))
    }
}

/// Classification of an authentic packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PacketClass {
    /// The packet does not affect the address.
    Irrelevant,
    /// The client is at its current address.
    FromCurrent,
    /// The client may have moved.
    NewAddress,
    /// The client has answered the challenge to its new address.
    FromCandidate,
}

impl Entry<Connection> {
    fn classify(&self, tuple: &FourTuple<SocketAddr>, moved: &Move, is_news: bool) -> PacketClass {
        let Some(moves) = &self.extra else { return PacketClass::Irrelevant };
        let answers = |challenge: &Challenge| moved.echo == Some(challenge.challenge);
        match &moves.candidate {
            _ if self.tuple == *tuple => {
                let answered = moves.candidate.as_ref().is_some_and(|it| answers(&it.here));
                if answered || is_news { PacketClass::FromCurrent } else { PacketClass::Irrelevant }
            }
            Some(candidate)
                if candidate.remote == tuple.address && answers(&candidate.candidate_challenge) =>
            {
                PacketClass::FromCandidate
            }
            _ if is_news => PacketClass::NewAddress,
            _ => PacketClass::Irrelevant,
        }
    }
}

/// The Move option of a packet, if it has a valid one.
fn read_move(packet: &Packet) -> Option<Move> {
    let is_move = |option: &&DccpOption| option.kind() == mobility::MOVE;
    let option = packet.options.iter().find(is_move)?;
    match MobilityOption::parse(option)? {
        MobilityOption::Move(moved) if option.counts_on(packet.packet_type()) => Some(moved),
        _ => None,
    }
}

impl Endpoint<Connection> {
    /// Sets the secret from which the keys of moved clients derive. Without this call, before the first
    /// connection, it derives from the endpoint's seed of 64 bits; `entropy` has 256.
    pub fn set_mobility_secret(&mut self, entropy: [u8; 32]) {
        self.common.secret = Some(MobilitySecret::new(entropy));
    }

    /// Creates the mobility secret for connections with that configuration, if necessary.
    pub(super) fn prepare_for(&mut self, config: &Config) {
        if config.mobility.is_some() && self.common.secret.is_none() {
            let half = |half: u64| self.secret.derive(PURPOSE, half).authenticate(&[half], &[]).to_be_bytes();
            let mut entropy = [0; 32];
            entropy[..16].copy_from_slice(&half(0));
            entropy[16..].copy_from_slice(&half(1));
            self.set_mobility_secret(entropy);
        }
    }

    /// Processes a packet that authentically names its connection. Returns `false` for any other packet.
    pub(super) fn follow(
        &mut self,
        now: Instant,
        tuple: &FourTuple<SocketAddr>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> bool {
        let Some(moved) = read_move(packet) else { return false };
        let Some(index) = self.table.find_identifier(moved.identifier) else { return false };
        let Some(entry) = self.table.get_mut(index) else { return false };
        let SlotState::Live(connection) = &mut entry.state else { return false };
        if !connection.is_genuine(packet, &moved) {
            return false;
        }
        let class = entry.classify(tuple, &moved, connection_is_news(&entry.state, packet));
        let is_elsewhere = entry.tuple.address != tuple.address;
        if is_elsewhere && self.table.is_taken(&tuple.address) {
            // The first method of RFC 6773, Section 3.8: those ports are another connection's.
            return false;
        }
        let Some(entry) = self.table.get_mut(index) else { return false };
        if let SlotState::Live(connection) = &mut entry.state {
            connection.handle_genuine(now, meta, packet.clone());
            if class == PacketClass::FromCurrent || class == PacketClass::FromCandidate {
                connection.confirm_move(packet.sequence);
            }
        }
        match class {
            PacketClass::Irrelevant => {}
            PacketClass::FromCurrent => self.keep_current(index),
            PacketClass::NewAddress => self.challenge(now, index, tuple.address),
            PacketClass::FromCandidate => self.move_to(now, index, tuple),
        }
        self.wake(ConnectionHandle(index));
        true
    }

    /// The client is at its old address, or there again: its earlier announcement of another address, and an
    /// answer from there still in flight, are out of date.
    fn keep_current(&mut self, index: usize) {
        if let Some(moves) = self.table.get_mut(index).and_then(|entry| entry.extra.as_mut()) {
            moves.candidate = None;
        }
    }

    /// The client may be at that address: sends challenges there, and to its current address.
    fn challenge(&mut self, now: Instant, index: usize, remote: SocketAddr) {
        self.common.challenges += 1;
        let numbers = [0, 1].map(|side| self.secret.challenge(PURPOSE, self.common.challenges, side));
        let Some(entry) = self.table.get_mut(index) else { return };
        let (Some(moves), SlotState::Live(connection)) = (&mut entry.extra, &entry.state) else { return };
        let patience = connection.round_trip_time() * REPEAT_IN_RTT;
        match &mut moves.candidate {
            Some(candidate) if candidate.remote == remote => {
                let is_over = |asked: Instant| now - asked >= patience;
                candidate.candidate_challenge.is_due |=
                    candidate.candidate_challenge.asked.is_some_and(is_over);
            }
            candidate => {
                let [candidate_challenge, here] = numbers.map(Challenge::new);
                *candidate = Some(Candidate { remote, candidate_challenge, here });
            }
        }
    }

    /// The client is at that address: sends packets there from now on.
    fn move_to(&mut self, now: Instant, index: usize, tuple: &FourTuple<SocketAddr>) {
        let Some(entry) = self.table.get_mut(index) else { return };
        let (Some(moves), SlotState::Live(connection)) = (&mut entry.extra, &mut entry.state) else {
            return;
        };
        let (old, new) = (entry.tuple.address, tuple.address);
        moves.candidate = None;
        moves.unreported.get_or_insert(old);
        let straggle = (connection.round_trip_time() * STRAGGLE_IN_RTT).max(MIN_STRAGGLE);
        let change = if old.ip() == new.ip() { PathChange::Keep } else { connection.change_on_move() };
        let names = [old, new].map(|address| PathId(self.secret.address_hash(address.ip())));
        connection.change_path(now, change, Some((names[0], names[1])));
        // Another connection that used that address no longer does.
        if let Some(other) = self.table.find(tuple).filter(|other| *other != index) {
            self.command(ConnectionHandle(other), Connection::replace);
            self.table.release_address(other);
        }
        self.table.relocate(index, *tuple, now + straggle);
    }

    /// `true` if a packet from the client's previous address still counts. Requests never do: they come from
    /// another client.
    pub(super) fn is_straggler(&mut self, now: Instant, index: usize, packet: &Packet) -> bool {
        let Some(entry) = self.table.get(index) else { return false };
        let previous = entry.extra.as_ref().and_then(|moves| moves.previous);
        let counts =
            previous.is_some_and(|(_, until)| now <= until) && packet.packet_type() != PacketType::Request;
        if !counts {
            self.table.forget_others(index);
        }
        counts
    }
}

/// Offers address changes to the peer of a new connection, or accepts the offer of a `request`, if its
/// configuration enables them.
///
/// All copies of a client's Request have the same key, and a server answers all of them with the same part of
/// the connection's key. A server under pressure may answer one copy without keeping state and the next one
/// with state: the connection may then be established by the one Response and the other's numbers.
pub(super) fn allow(
    mobility: &Mobility,
    secret: &Secret,
    tuple: &FourTuple<SocketAddr>,
    request: Option<&Packet>,
    connection: &mut Connection,
) {
    let Some(mobility) = &mobility.secret else { return };
    let offered = request.and_then(|request| {
        request.options.iter().find_map(|option| match MobilityOption::parse(option) {
            Some(MobilityOption::Key(key)) => Some(key),
            _ => None,
        })
    });
    let number = match offered {
        Some(key) => secret.number_for_key(PURPOSE, tuple, &key.public),
        None => secret.number(PURPOSE, tuple, connection.initial_sequence()),
    };
    connection.allow_moves(mobility, number);
}

fn connection_is_news(state: &SlotState<Connection>, packet: &Packet) -> bool {
    matches!(state, SlotState::Live(connection) if connection.is_news(packet))
}

impl Table<Connection> {
    /// Moves the connection to another address. Packets from the previous one count until `until`.
    fn relocate(&mut self, index: usize, tuple: FourTuple<SocketAddr>, until: Instant) {
        self.forget_others(index);
        let Some(entry) = self.get_mut(index) else { return };
        let old = core::mem::replace(&mut entry.tuple, tuple);
        if let Some(moves) = &mut entry.extra {
            moves.previous = Some((old, until));
        }
        self.release_ports(&old.address, index);
        self.link(&tuple, index);
    }
}
