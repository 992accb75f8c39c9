//! What is known of symbols that arrive, and of those that are missing.

use whimbrel_units::Instant;

use crate::fecframe::Esi;
use crate::wire::AduHeader;

/// Symbols that were asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    /// When the answer should be complete.
    pub(super) due: Instant,
    /// When they were asked for first, and last.
    pub(super) asked: Instant,
    pub(super) reported: Instant,
    pub(super) first: Esi,
    pub(super) last: Esi,
    /// Number of requests for these symbols since no arrival has shown that they were sent.
    pub(super) guesses: u8,
}

/// Symbols to be asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) at: Instant,
    pub(super) first: Esi,
    pub(super) last: Esi,
}

/// Originals that were missing when a later one arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) first: Esi,
    /// The one that arrived.
    pub(super) end: Esi,
    pub(super) noticed: Instant,
}

/// An original that arrives.
#[derive(Clone, Copy, Debug)]
pub(in crate::receiver) struct Original<'a> {
    pub(in crate::receiver) esi: Esi,
    /// `false` if the path has damaged it.
    pub(in crate::receiver) is_whole: bool,
    pub(in crate::receiver) header: &'a AduHeader,
    /// The end of the window before it.
    pub(in crate::receiver) before: Esi,
}

/// The frame that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arriving {
    pub(super) number: u16,
    pub(super) time: u32,
    /// Estimated arrival of its first packet.
    pub(super) begun: Instant,
    pub(super) newest: Esi,
    pub(super) newest_at: Instant,
}
