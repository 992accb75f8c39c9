//! Address changes of the client: the part that belongs to one connection.
//!
//! The [endpoint](crate::endpoint) selects the destination address. This module holds the key, the client's
//! announcements and the server's confirmation.
//!
//! ```text
//!            path change; silence; Reset 3                   Moved
//! client  SETTLED ---------------------------> ANNOUNCING ----------> SETTLED
//!                                               |      ^
//!                                               '------' every packet has a Move; a Sync, if none leaves
//! ```

mod announcing;
mod following;

use whimbrel_units::Instant;
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::option::mobility::{MobilityKey, MobilityOption};
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, SeqNo};

use super::{Connection, Role, State};
use crate::feature::{Location, Wish};
use crate::mobility::{MobilitySecret, MoveKey};
use announcing::Announcing;

/// Bytes of a [`MobilityOption::Key`].
const KEY_LEN: usize = 42;

/// State of address changes.
#[derive(Debug)]
pub(super) struct Mobility {
    secret: MobilitySecret,
    /// The key shares of this end and, once known, of the peer.
    own: MobilityKey,
    peer: Option<MobilityKey>,
    /// The key, once both ends have agreed on one.
    key: Option<MoveKey>,
    /// At a client: the announcement of its address.
    announcing: Announcing,
    /// At a server: the packet received from the client's current address, until the confirmation is sent.
    moved: Option<SeqNo>,
}

impl Mobility {
    /// The connection identifier chosen by an end.
    fn identifier(&self, role: Role) -> u64 {
        match role {
            Role::Server => self.own.identifier,
            Role::Client => self.peer.map_or(0, |peer| peer.identifier),
        }
    }
}

impl Connection {
    /// Enables address changes of the client, before the handshake, by an offer or the acceptance of one, if the
    /// configuration permits them ([`Config::mobility`](crate::Config::mobility)). `number`: an identifier not used
    /// before with this secret. An [`Endpoint`](crate::Endpoint) calls this itself.
    pub fn allow_moves(&mut self, secret: &MobilitySecret, number: u64) {
        let is_early =
            matches!(self.state, State::Closed | State::Listen | State::Invited) && !self.closing.is_over();
        if self.config.mobility.is_none() || !is_early {
            return;
        }
        let (location, ask) = match self.ports.role {
            Role::Client => (Location::Local, true),
            Role::Server => (Location::Remote, false),
        };
        let values = smallvec::smallvec![1, 0];
        let wish = Wish { feature: FeatureNumber::Mobility, location, values, ask, required: false };
        self.features.negotiation.wish(&wish);
        self.mobility = Some(Box::new(Mobility {
            secret: secret.clone(),
            own: secret.part(number),
            peer: None,
            key: None,
            announcing: Announcing::default(),
            moved: None,
        }));
    }
    /// `true` if the client may change its address: both ends have agreed, and have a key.
    pub fn may_move(&self) -> bool {
        self.mobility.as_ref().is_some_and(|mobility| mobility.key.is_some())
    }
    fn is_mobility_on(&self) -> bool {
        let location = if self.ports.role == Role::Client { Location::Local } else { Location::Remote };
        self.features.negotiation.is_on(FeatureNumber::Mobility, location)
    }

    /// Adds this end's key share to a Request or Response.
    pub(super) fn write_mobility_key(&self, packet_type: PacketType, room: usize, options: &mut Options) {
        let Some(mobility) = &self.mobility else { return };
        let is_wanted =
            packet_type == PacketType::Request || (mobility.peer.is_some() && self.is_mobility_on());
        if is_wanted && super::handshake::options_len(options) + KEY_LEN <= room {
            options.push(MobilityOption::Key(mobility.own).into());
        }
    }
    /// Number of bytes that features leave to the key on a Response, which may be no longer than three times the
    /// Request. Changes of features can be sent later; the key cannot, and without it the client could not move
    /// although its server had agreed.
    pub(super) fn reserved_for_mobility_key(&self, packet_type: PacketType) -> usize {
        let answers = packet_type == PacketType::Response
            && self.mobility.as_ref().is_some_and(|mobility| mobility.peer.is_some());
        if answers { KEY_LEN } else { 0 }
    }
    /// Processes the peer's key share on a Request or Response. The first one counts, as all are equal.
    pub(super) fn on_mobility_key(&mut self, option: &DccpOption) {
        if let Some(mobility) = &mut self.mobility
            && let Some(MobilityOption::Key(key)) = MobilityOption::parse(option)
        {
            mobility.peer.get_or_insert(key);
        }
    }
    /// Derives the key, once: when the handshake is complete at this end, or when a packet from another address names
    /// this server's identifier before. A forged Request does not get that far, as the identifier is only on the
    /// Response.
    pub(super) fn agree_on_mobility(&mut self) {
        let is_on = self.is_mobility_on();
        let role = self.ports.role;
        let Some(mobility) = &mut self.mobility else { return };
        let Some(peer) = mobility.peer.filter(|_| is_on && mobility.key.is_none()) else { return };
        let (client, server) = match role {
            Role::Client => (&mobility.own, &peer),
            Role::Server => (&peer, &mobility.own),
        };
        mobility.key = mobility.secret.agree(client, server, &peer);
        if mobility.key.is_none() {
            // The peer's key share is invalid: another attempt would fail as well.
            mobility.peer = None;
        }
    }

    /// Adds the mobility options to a packet that is about to leave.
    pub(super) fn add_mobility(&mut self, now: Instant, packet: &mut Packet) {
        match self.ports.role {
            Role::Client => self.announce_on(now, packet),
            Role::Server => self.tell_moved_on(packet),
        }
    }
    /// Number of bytes of these options on a packet with data.
    pub(super) fn mobility_len(&self, now: Instant, packet_type: PacketType) -> usize {
        match (&self.mobility, self.ports.role) {
            (None, _) => 0,
            (Some(_), _) if packet_type == PacketType::Request => 0,
            (Some(_), Role::Client) => self.announcement_len(now),
            (Some(_), Role::Server) => self.moved_len(),
        }
    }
    /// Processes a mobility option of a valid packet.
    pub(super) fn on_mobility_option(&mut self, now: Instant, option: &DccpOption, packet: &Packet) {
        match (MobilityOption::parse(option), self.ports.role) {
            (Some(MobilityOption::Key(_)), _) => self.on_mobility_key(option),
            (Some(MobilityOption::Challenge(challenge)), Role::Client) => {
                self.on_challenge(now, packet.sequence, challenge);
            }
            (Some(MobilityOption::Moved(sequence)), Role::Client) => self.on_moved(sequence),
            // Move options are processed by the endpoint.
            _ => {}
        }
    }
}
