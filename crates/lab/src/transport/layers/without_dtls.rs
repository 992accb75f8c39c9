//! A build without the feature `dtls`: a layer that cannot exist, with the functions of the real one.

use std::convert::Infallible;
use std::marker::PhantomData;

use whimbrel_proto::layer::Transport;
use whimbrel_proto::{Datagram, DatagramId, SendError};
use whimbrel_units::Instant;

/// No record is ever made.
pub(super) const RECORD_OVERHEAD: usize = 0;

#[derive(Debug)]
pub(super) struct Layer<C> {
    never: Infallible,
    connection: PhantomData<fn(C)>,
}

impl<C: Transport> Layer<C> {
    pub(super) fn send(&mut self, _: Instant, _: &mut C, _: Datagram) -> Result<DatagramId, SendError> {
        match self.never {}
    }

    pub(super) fn make_room(&mut self, _: Instant, _: &mut C, _: usize) -> Result<(), SendError> {
        match self.never {}
    }

    pub(super) fn handle_event(&mut self, _: Instant, _: &mut C, _: C::Event) {
        match self.never {}
    }

    pub(super) fn poll_event(&mut self) -> Option<LayerEvent<C::Event>> {
        match self.never {}
    }

    pub(super) fn take_acted(&mut self) -> bool {
        match self.never {}
    }

    pub(super) fn handle_timeout(&mut self, _: Instant, _: &mut C) {
        match self.never {}
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.never {}
    }

    pub(super) fn close(&mut self, _: Instant, _: &mut C) {
        match self.never {}
    }
}

/// The events of the real layer that the layers above match.
#[expect(dead_code, reason = "no layer exists that has events")]
pub(super) enum LayerEvent<E> {
    Event(E),
    Other,
}
