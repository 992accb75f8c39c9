//! The CCIDs that captures are explained for, a line for each.

use whimbrel_wire::option::tfrc;

/// Properties of a CCID.
struct Entry {
    ccid: u64,
    /// `true` if it is based on TFRC.
    is_tfrc: bool,
    /// Options of its feedback by which it can be inferred. More specific CCIDs come first.
    marks: &'static [u8],
}

/// The CCIDs; 250 is an experiment of this implementation, a variant of CCID 3.
const CCIDS: [Entry; 4] = [
    Entry { ccid: 4, is_tfrc: true, marks: &[tfrc::DROPPED_PACKETS] },
    Entry {
        ccid: 3,
        is_tfrc: true,
        marks: &[tfrc::LOSS_EVENT_RATE, tfrc::LOSS_INTERVALS, tfrc::RECEIVE_RATE],
    },
    // Ack Vectors.
    Entry { ccid: 2, is_tfrc: false, marks: &[38, 39] },
    Entry { ccid: 250, is_tfrc: true, marks: &[] },
];

/// The CCID whose feedback has options for which `has` returns `true`.
pub(super) fn infer(has: impl Fn(u8) -> bool) -> Option<u64> {
    CCIDS.iter().find(|entry| entry.marks.iter().any(|kind| has(*kind))).map(|entry| entry.ccid)
}

/// `true` if the CCID is based on TFRC.
pub(super) fn is_tfrc(ccid: u64) -> bool {
    CCIDS.iter().any(|entry| entry.ccid == ccid && entry.is_tfrc)
}
