//! In place of [`whep`](super::whep) without the feature of that name: nothing is shown.

use bytes::Bytes;
use whimbrel_live::server::{Asked, Changed};
use whimbrel_units::Instant;

use super::Options;
use crate::edge::flow::Flow;

/// The path of the page.
pub(super) const PATH: &str = "/whep";

/// There is none.
#[derive(Clone, Debug)]
pub(super) enum Screen {}

impl Screen {
    pub(super) fn of(_: &Options) -> Option<Self> {
        None
    }

    pub(super) fn change(&self, _: &Asked) -> Changed {
        match *self {}
    }
}

/// A connection's part.
#[derive(Debug)]
pub(super) struct Viewing;

impl Viewing {
    pub(super) fn new(_: Option<Screen>, _: u64) -> Self {
        Self
    }

    pub(super) fn pass(&self, _: Instant, _: Flow, _: &Bytes) {}
    pub(super) async fn request(&self) {
        std::future::pending().await
    }

    pub(super) fn messages(&mut self, _: Instant) -> Vec<(Flow, Vec<u8>)> {
        Vec::new()
    }
}
