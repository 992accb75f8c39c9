//! A client whose address changes, and a server that follows it: what one connection knows of it.
//!
//! Which address packets go to is the [endpoint](crate::endpoint)'s business. Here are the key, what the
//! client says and when it stops, and what the server says to whom.
//!
//! ```text
//!            the driver knows; silence; Reset 3              Moved
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

/// What a connection keeps so that its client may move.
#[derive(Debug)]
pub(super) struct Mobility {
    secret: MobilitySecret,
    /// This end's part of the key, and the other end's once it is known.
    own: MobilityKey,
    peer: Option<MobilityKey>,
    /// The key, once both ends have agreed on having one.
    key: Option<MoveKey>,
    /// At a client: what it tells.
    announcing: Announcing,
    /// At a server: the packet that came from where it sends to, until the client is told.
    moved: Option<SeqNo>,
}

impl Mobility {
    /// The connection's identifier.
    fn identifier(&self, role: Role) -> u64 {
        match role {
            Role::Server => self.own.identifier,
            Role::Client => self.peer.map_or(0, |peer| peer.identifier),
        }
    }
}

impl Connection {
    /// Command: before the handshake, offers that the client's address may change later, or takes such an offer;
    /// nothing, unless the configuration wants it ([`Config::mobility`](crate::Config::mobility)). `number`: one
    /// that was not used before with this secret. An [`Endpoint`](crate::Endpoint) does it by itself.
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
    /// Whether the client may change its address: both ends have agreed, and have a key.
    pub fn may_move(&self) -> bool {
        self.mobility.as_ref().is_some_and(|mobility| mobility.key.is_some())
    }
    fn is_mobility_on(&self) -> bool {
        let location = if self.ports.role == Role::Client { Location::Local } else { Location::Remote };
        self.features.negotiation.is_on(FeatureNumber::Mobility, location)
    }

    /// Adds this end's part of the key to a Request or Response.
    pub(super) fn write_mobility_key(&self, packet_type: PacketType, room: usize, options: &mut Options) {
        let Some(mobility) = &self.mobility else { return };
        let is_wanted =
            packet_type == PacketType::Request || (mobility.peer.is_some() && self.is_mobility_on());
        if is_wanted && super::handshake::options_len(options) + KEY_LEN <= room {
            options.push(MobilityOption::Key(mobility.own).into());
        }
    }
    /// Bytes that features leave to the key on a Response. A Response may be short of room, as it may be no longer than three times the
    /// Request. Changes of features can be sent later; the key cannot, and without it the client could not move although its
    /// server had agreed.
    pub(super) fn reserved_for_mobility_key(&self, packet_type: PacketType) -> usize {
        let answers = packet_type == PacketType::Response
            && self.mobility.as_ref().is_some_and(|mobility| mobility.peer.is_some());
        if answers { KEY_LEN } else { 0 }
    }
    /// The other end's part of the key came on a Request or Response. The first counts: they are all the same.
    pub(super) fn on_mobility_key(&mut self, option: &DccpOption) {
        if let Some(mobility) = &mut self.mobility
            && let Some(MobilityOption::Key(key)) = MobilityOption::parse(option)
        {
            mobility.peer.get_or_insert(key);
        }
    }
    /// The handshake is complete at this end, or a packet from elsewhere names this server's identifier for the connection
    /// before it is: makes the key, once. A forged Request never gets that far, as the identifier is only on the Response.
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
            // It would make none the next time, either.
            mobility.peer = None;
        }
    }

    /// A packet is about to leave: adds what it has to say about addresses.
    pub(super) fn add_mobility(&mut self, now: Instant, packet: &mut Packet) {
        match self.ports.role {
            Role::Client => self.announce_on(now, packet),
            Role::Server => self.tell_moved_on(packet),
        }
    }
    /// How many bytes of options that takes of a packet with data.
    pub(super) fn mobility_len(&self, now: Instant, packet_type: PacketType) -> usize {
        match (&self.mobility, self.ports.role) {
            (None, _) => 0,
            (Some(_), _) if packet_type == PacketType::Request => 0,
            (Some(_), Role::Client) => self.announcement_len(now),
            (Some(_), Role::Server) => self.moved_len(),
        }
    }
    /// A valid packet brought an option of mobility.
    pub(super) fn on_mobility_option(&mut self, now: Instant, option: &DccpOption, packet: &Packet) {
        match (MobilityOption::parse(option), self.ports.role) {
            (Some(MobilityOption::Key(_)), _) => self.on_mobility_key(option),
            (Some(MobilityOption::Challenge(challenge)), Role::Client) => {
                self.on_challenge(now, packet.sequence, challenge);
            }
            (Some(MobilityOption::Moved(sequence)), Role::Client) => self.on_moved(sequence),
            // Moves are the endpoint's business.
            _ => {}
        }
    }
}
