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

use super::Role;
use super::context::{Context, Effects};
use super::room::options_len;
use crate::feature::{Location, Wish};
use crate::mobility::{MobilitySecret, MoveKey};
use announcing::Announcing;

/// Bytes of a [`MobilityOption::Key`].
const KEY_LEN: usize = 42;

/// State of address changes; `None` unless they were offered or may be accepted.
#[derive(Debug, Default)]
pub(super) struct Mobility(Option<Box<Agreement>>);

#[derive(Debug)]
struct Agreement {
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

impl Agreement {
    /// The connection identifier chosen by an end.
    fn identifier(&self, role: Role) -> u64 {
        match role {
            Role::Server => self.own.identifier,
            Role::Client => self.peer.map_or(0, |peer| peer.identifier),
        }
    }
}

/// The location of the feature, which belongs to the client.
fn location(role: Role) -> Location {
    if role == Role::Client { Location::Local } else { Location::Remote }
}

impl Mobility {
    /// Offers address changes to the server, or accepts the client's offer. Returns the preference for
    /// negotiation.
    pub(super) fn allow(&mut self, role: Role, secret: &MobilitySecret, number: u64) -> Wish {
        self.0 = Some(Box::new(Agreement {
            secret: secret.clone(),
            own: secret.part(number),
            peer: None,
            key: None,
            announcing: Announcing::default(),
            moved: None,
        }));
        Wish {
            feature: FeatureNumber::Mobility,
            location: location(role),
            values: smallvec::smallvec![1, 0],
            ask: role == Role::Client,
            required: false,
        }
    }

    /// `true` if address changes were offered or may be accepted.
    #[inline]
    pub(super) fn is_allowed(&self) -> bool {
        self.0.is_some()
    }

    /// `true` if the client may change its address: both ends have agreed, and have a key.
    pub(super) fn may_move(&self) -> bool {
        self.0.as_ref().is_some_and(|agreement| agreement.key.is_some())
    }

    /// Adds this end's key share to a Request or Response.
    pub(super) fn write_key(
        &self,
        cx: &Context,
        packet_type: PacketType,
        room: usize,
        options: &mut Options,
    ) {
        let Some(agreement) = &self.0 else { return };
        let is_wanted = packet_type == PacketType::Request || (agreement.peer.is_some() && is_on(cx));
        if is_wanted && options_len(options) + KEY_LEN <= room {
            options.push(MobilityOption::Key(agreement.own).into());
        }
    }

    /// Number of bytes that features leave to the key on a Response, which may be no longer than three times
    /// the Request. Changes of features can be sent later; the key cannot, and without it the client could
    /// not move although its server had agreed.
    pub(super) fn reserved_for_key(&self, packet_type: PacketType) -> usize {
        let answers = packet_type == PacketType::Response
            && self.0.as_ref().is_some_and(|agreement| agreement.peer.is_some());
        if answers { KEY_LEN } else { 0 }
    }

    /// Processes the peer's key share on a Request or Response. The first one counts, as all are equal.
    fn on_key(&mut self, key: MobilityKey) {
        if let Some(agreement) = &mut self.0 {
            agreement.peer.get_or_insert(key);
        }
    }

    /// Derives the key, once: when the handshake is complete at this end, or when a packet from another
    /// address names this server's identifier before. A forged Request does not get that far, as the
    /// identifier is only on the Response.
    pub(super) fn agree(&mut self, cx: &Context) {
        let Some(agreement) = &mut self.0 else { return };
        let Some(peer) = agreement.peer.filter(|_| is_on(cx) && agreement.key.is_none()) else { return };
        let (client, server) = match cx.ports.role {
            Role::Client => (&agreement.own, &peer),
            Role::Server => (&peer, &agreement.own),
        };
        agreement.key = agreement.secret.agree(client, server, &peer);
        if agreement.key.is_none() {
            // The peer's key share is invalid: another attempt would fail as well.
            agreement.peer = None;
        }
    }

    /// Adds the mobility options to a packet that is about to leave.
    pub(super) fn write(&mut self, now: Instant, cx: &Context, fx: &mut Effects, packet: &mut Packet) {
        match cx.ports.role {
            Role::Client => self.announce_on(now, cx, fx, packet),
            Role::Server => self.write_moved(packet),
        }
    }

    /// Number of bytes of these options on a packet with data.
    #[inline]
    pub(super) fn encoded_len(&self, now: Instant, cx: &Context, packet_type: PacketType) -> usize {
        match (&self.0, cx.ports.role) {
            (None, _) => 0,
            (Some(_), _) if packet_type == PacketType::Request => 0,
            (Some(_), Role::Client) => self.announcement_len(now, cx),
            (Some(_), Role::Server) => self.moved_len(),
        }
    }

    /// Processes a mobility option of a valid packet. Returns `true` if the peer now uses a new path.
    #[must_use]
    pub(super) fn on_option(
        &mut self,
        cx: &Context,
        fx: &mut Effects,
        option: &DccpOption,
        packet: &Packet,
    ) -> bool {
        match (MobilityOption::parse(option), cx.ports.role) {
            (Some(MobilityOption::Key(key)), _) => self.on_key(key),
            (Some(MobilityOption::Challenge(challenge)), Role::Client) => {
                return self.on_challenge(packet.sequence, challenge);
            }
            (Some(MobilityOption::Moved(sequence)), Role::Client) => self.on_moved(cx, fx, sequence),
            // Move options are processed by the endpoint.
            _ => {}
        }
        false
    }
}

/// `true` if both ends have agreed on address changes.
fn is_on(cx: &Context) -> bool {
    cx.features.negotiation.is_on(FeatureNumber::Mobility, location(cx.ports.role))
}
