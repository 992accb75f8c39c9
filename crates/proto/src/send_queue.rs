//! Datagrams that wait until the congestion control lets them go.

use whimbrel_units::Instant;
use whimbrel_wire::Payload;

/// A datagram to send.
#[derive(Clone, PartialEq, Debug)]
pub struct Datagram {
    /// Its data.
    pub payload: Payload,
    /// When it is no longer worth sending.
    pub deadline: Option<Instant>,
}

impl Datagram {
    /// A datagram that never gets stale.
    pub fn new(payload: impl Into<Payload>) -> Self {
        Self { payload: payload.into(), deadline: None }
    }
    /// The same with a deadline.
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
    }
}

/// Whom a full queue disappoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OverflowPolicy {
    /// The oldest datagram in the queue, after all stale ones: live media.
    #[default]
    DropOldest,
    /// The new one: its `send` fails with `QueueFull`.
    Refuse,
}

/// The send queue's bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendQueueConfig {
    /// Datagrams it holds at most.
    pub max_datagrams: usize,
    /// Bytes of application data it holds at most.
    pub max_bytes: usize,
    /// Whom a full queue disappoints.
    pub overflow: OverflowPolicy,
}

impl Default for SendQueueConfig {
    fn default() -> Self {
        Self { max_datagrams: 64, max_bytes: 1 << 20, overflow: OverflowPolicy::DropOldest }
    }
}
