//! Without the feature `dtls`: types that nobody can make, so that no connection has a layer.

use std::fmt;
use std::marker::PhantomData;

use thiserror::Error;
use whimbrel_proto::layer::Transport;
use whimbrel_proto::multipath::{MultipathConnection, MultipathSnapshot};
use whimbrel_proto::{Connection, ConnectionSnapshot, Datagram, DatagramId, Event, Role, SendError};
use whimbrel_units::Instant;

/// Security of connections: there is none without the feature `dtls`.
#[derive(Clone, Debug)]
pub enum Security {}

/// The fingerprint of a key: there is none without the feature `dtls`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fingerprint {}

impl fmt::Display for Fingerprint {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// A failure of security: there is none without the feature `dtls`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SecurityError {}

/// A shared secret.
#[derive(Clone, Debug)]
pub enum SharedSecret {}

impl SharedSecret {
    pub(crate) fn security(&self, _: Role) -> Security {
        match *self {}
    }
}

/// An event of a connection for its application.
#[derive(Debug)]
pub(crate) enum LayerEvent<E = Event> {
    /// All of them.
    Event(E),
    /// None.
    #[allow(dead_code, reason = "as `whimbrel_dtls::LayerEvent`")]
    Failed(SecurityError),
}

/// The layer of a connection, which has none.
#[derive(Debug)]
pub(crate) struct Layer<C: Transport = Connection> {
    none: Security,
    transport: PhantomData<fn(&C)>,
}

impl<C: Transport> Layer<C> {
    pub(crate) fn new(none: Security) -> Self {
        Self { none, transport: PhantomData }
    }

    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        match self.none {}
    }

    pub(crate) fn is_shaking_hands(&self) -> bool {
        match self.none {}
    }

    pub(crate) fn ignored(&self) -> u64 {
        match self.none {}
    }

    pub(crate) fn take_acted(&mut self) -> bool {
        match self.none {}
    }

    pub(crate) fn handle_event(&mut self, _: Instant, _: &mut C, _: C::Event) {
        match self.none {}
    }

    pub(crate) fn handle_timeout(&mut self, _: Instant, _: &mut C) {
        match self.none {}
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.none {}
    }

    pub(crate) fn poll_event(&mut self) -> Option<LayerEvent<C::Event>> {
        match self.none {}
    }

    pub(crate) fn send(&mut self, _: Instant, _: &mut C, _: Datagram) -> Result<DatagramId, SendError> {
        match self.none {}
    }

    pub(crate) fn make_room(&self, _: Instant, _: &mut C, _: usize) -> Result<(), SendError> {
        match self.none {}
    }

    pub(crate) fn close(&mut self, _: Instant, _: &mut C) {
        match self.none {}
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        match self.none {}
    }

    pub(crate) fn evict(&mut self, _: Instant, _: &mut C) {
        match self.none {}
    }
}

impl Layer<Connection> {
    pub(crate) fn seen(&self, _: ConnectionSnapshot) -> ConnectionSnapshot {
        match self.none {}
    }
}

impl Layer<MultipathConnection> {
    pub(crate) fn seen(&self, _: MultipathSnapshot) -> MultipathSnapshot {
        match self.none {}
    }
}
