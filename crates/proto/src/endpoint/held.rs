//! Connections of an endpoint, over one path or over several.

use core::fmt::Debug;
use core::hash::Hash;
use core::net::SocketAddr;

use whimbrel_units::Instant;
use whimbrel_wire::{Packet, Reset, SeqNo, ServiceCode};

use super::Endpoint;
use super::initial_sequence::{FourTuple, Secret};
use crate::{ReceiveMeta, Transmit};

/// Source or destination of packets.
pub trait Address: Copy + Eq + Hash + Debug {
    /// The peer's address.
    fn remote(&self) -> SocketAddr;
    /// This end's address, if it has several.
    fn local(&self) -> Option<SocketAddr>;
}

impl Address for SocketAddr {
    fn remote(&self) -> SocketAddr {
        *self
    }

    fn local(&self) -> Option<SocketAddr> {
        None
    }
}

/// Progress of a connection, as far as the limits of its endpoint depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// A server waits for its client to complete the handshake.
    HalfOpen,
    /// The connection is open, or a client opens it.
    Open,
    /// The connection is being closed: its UDP ports may have another one (RFC 6773, Section 3.8).
    Closing,
    /// Nothing but TIMEWAIT is left.
    Over,
}

/// A connection that an [`Endpoint`] can hold: a [`Connection`](crate::Connection) or a
/// [`MultipathConnection`](crate::multipath::MultipathConnection).
pub trait Held: Sized + Debug {
    /// Source or destination of its packets.
    type Address: Address;
    /// Its reports.
    type Event: Clone + PartialEq + Debug;
    /// Configuration of the connections that a port accepts.
    type Service: Debug;
    /// State shared by an endpoint's connections.
    type Common: Debug;
    /// Data the endpoint stores with each connection.
    type Extra: Debug;
    /// The last event.
    const DRAINED: Self::Event;
    /// A connection is of no use without an identifier that no other connection has.
    const NEEDS_IDENTIFIER: bool;

    /// Its progress.
    fn standing(&self) -> Standing;
    /// `true` once the connection has ended and all packets are sent.
    fn is_drained(&self) -> bool;
    /// The end of TIMEWAIT, if nothing else is left.
    fn time_wait(&self) -> Option<Instant>;
    /// The number by which packets from elsewhere name the connection.
    fn identifier(&self) -> Option<u64>;
    /// Its Service Code.
    fn service_code(&self) -> ServiceCode;
    /// Data the endpoint stores with it.
    fn extra(&self) -> Self::Extra;

    /// Processes a packet.
    fn handle_packet(&mut self, now: Instant, address: Self::Address, meta: ReceiveMeta, packet: Packet);
    /// Runs the timers that are due.
    fn handle_timeout(&mut self, now: Instant);
    /// Returns the next packet to send. `home`: the address from which the connection was opened, or the
    /// current one.
    fn poll_transmit(
        &mut self,
        now: Instant,
        extra: &mut Self::Extra,
        home: Self::Address,
    ) -> Option<(Self::Address, Transmit)>;
    /// Time of the next call to `handle_timeout` and `poll_transmit`.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Returns the next event.
    fn poll_event(&mut self, extra: &mut Self::Extra, home: Self::Address) -> Option<Self::Event>;
    /// `true` if `poll_event` would return an event.
    fn has_events(&self) -> bool;
    /// Ends a half-open connection without a packet, because another one takes its place.
    fn evict(&mut self);
    /// Reserves `bytes` on the Response, before a server processes its Request.
    fn reserve_on_response(&mut self, bytes: usize);
    /// Marks a server that was established by an Init Cookie.
    fn release_from_cookies(&mut self);

    /// The Reset that answers a Request instead of a connection, if any.
    fn objection(service: &Self::Service, request: &Packet) -> Option<Reset>;
    /// Creates the connection of a Request, which is then passed to it: the same at each call.
    fn answer(
        endpoint: (&Self::Common, &Secret),
        service: &Self::Service,
        at: Instant,
        tuple: &FourTuple<Self::Address>,
        request: &Packet,
        iss: SeqNo,
    ) -> Option<Self>;
    /// Processes a packet that names its connection by an identifier. Returns `false` for any other packet.
    fn claim(
        endpoint: &mut Endpoint<Self>,
        now: Instant,
        tuple: &FourTuple<Self::Address>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> bool;
    /// `true` if a packet belongs to the connection that is found by its addresses and ports.
    fn owns(
        endpoint: &mut Endpoint<Self>,
        now: Instant,
        index: usize,
        tuple: &FourTuple<Self::Address>,
        packet: &Packet,
    ) -> bool;
    /// Removes and returns the addresses and ports by which the connection is found besides its first.
    fn take_others(extra: &mut Self::Extra) -> impl Iterator<Item = FourTuple<Self::Address>>;
}
