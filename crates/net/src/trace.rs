//! Spans and events of connections for the `tracing` crate.

use std::net::SocketAddr;

use whimbrel_proto::Event;
use whimbrel_proto::multipath::MultipathEvent;

use crate::dtls::SecurityError;

/// The span of a connection; nothing without the feature `tracing`.
#[derive(Debug)]
pub(crate) struct Trace(#[cfg(feature = "tracing")] tracing::Span);

#[cfg(not(feature = "tracing"))]
impl Trace {
    pub(crate) fn new(_: SocketAddr, _: bool) -> Self {
        Self()
    }

    pub(crate) fn event(&self, _: &Event) {}
    pub(crate) fn multipath(&self, _: &MultipathEvent) {}
    pub(crate) fn insecure(&self, _: &SecurityError) {}
}

#[cfg(feature = "tracing")]
impl Trace {
    pub(crate) fn new(remote: SocketAddr, is_server: bool) -> Self {
        let role = if is_server { "server" } else { "client" };
        Self(tracing::debug_span!(target: TARGET, "connection", %remote, role))
    }

    pub(crate) fn event(&self, event: &Event) {
        let parent = &self.0;
        match event {
            Event::Connected { sender_ccid, receiver_ccid } => {
                tracing::debug!(target: TARGET, parent: parent, %sender_ccid, %receiver_ccid, "connected");
            }
            Event::Closed(why) => tracing::debug!(target: TARGET, parent: parent, %why, "closed"),
            Event::PeerMoved { from, to } => {
                tracing::debug!(target: TARGET, parent: parent, %from, %to, "the peer moved");
            }
            Event::Frozen { .. } | Event::Unfrozen { .. } | Event::MoveConfirmed => {
                tracing::debug!(target: TARGET, parent: parent, ?event);
            }
            Event::ErrorText { text } => tracing::debug!(target: TARGET, parent: parent, text, "error text"),
            Event::Datagram { payload, sequence, .. } => {
                let bytes = payload.len();
                tracing::trace!(target: TARGET, parent: parent, ?sequence, bytes, "datagram received");
            }
            _ => tracing::trace!(target: TARGET, parent: parent, ?event),
        }
    }

    pub(crate) fn multipath(&self, event: &MultipathEvent) {
        let parent = &self.0;
        match event {
            MultipathEvent::Subflow { event, .. } => self.event(event),
            MultipathEvent::Closed(why) => tracing::debug!(target: TARGET, parent: parent, %why, "closed"),
            MultipathEvent::Datagram { payload, sequence, .. } => {
                let bytes = payload.len();
                tracing::trace!(target: TARGET, parent: parent, ?sequence, bytes, "datagram received");
            }
            MultipathEvent::DatagramSent { .. } => tracing::trace!(target: TARGET, parent: parent, ?event),
            _ => tracing::debug!(target: TARGET, parent: parent, ?event),
        }
    }

    pub(crate) fn insecure(&self, error: &SecurityError) {
        tracing::warn!(target: TARGET, parent: &self.0, %error, "not secured");
    }
}

/// The target of all records, which filters name.
#[cfg(feature = "tracing")]
const TARGET: &str = "whimbrel_net::connection";
