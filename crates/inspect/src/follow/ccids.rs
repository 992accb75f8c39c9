//! The CCIDs that captures are explained for, a line for each.

use whimbrel_wire::option::tfrc;

/// Properties of a CCID.
struct Entry {
    ccid: u64,
    /// Name of an experiment of this implementation.
    name: Option<&'static str>,
    /// `true` if it is based on TFRC.
    is_tfrc: bool,
    /// Options of its feedback by which it can be inferred. More specific CCIDs come first.
    marks: &'static [u8],
}

impl Entry {
    /// An experiment with the mechanics of CCID 2.
    const fn window_law(ccid: u64, name: &'static str) -> Self {
        Self { ccid, name: Some(name), is_tfrc: false, marks: &[] }
    }
}

/// The CCIDs; those from 248 on are experiments of this implementation.
const CCIDS: [Entry; 9] = [
    Entry { ccid: 252, name: Some("delay-aware"), is_tfrc: true, marks: &[tfrc::ECN_COUNTS] },
    Entry { ccid: 4, name: None, is_tfrc: true, marks: &[tfrc::DROPPED_PACKETS] },
    Entry {
        ccid: 3,
        name: None,
        is_tfrc: true,
        marks: &[tfrc::LOSS_EVENT_RATE, tfrc::LOSS_INTERVALS, tfrc::RECEIVE_RATE],
    },
    // Ack Vectors.
    Entry { ccid: 2, name: None, is_tfrc: false, marks: &[38, 39] },
    Entry { ccid: 250, name: Some("TFRC that spares corruption"), is_tfrc: true, marks: &[] },
    Entry::window_law(248, "CUBIC"),
    Entry::window_law(249, "Veno"),
    Entry::window_law(253, "Westwood"),
    Entry::window_law(254, "Prague"),
];

/// The CCID whose feedback has options for which `has` returns `true`.
pub(super) fn infer(has: impl Fn(u8) -> bool) -> Option<u64> {
    CCIDS.iter().find(|entry| entry.marks.iter().any(|kind| has(*kind))).map(|entry| entry.ccid)
}

/// Name of the experiment for which this implementation uses that CCID (RFC 4340, Section 19.5); others may
/// use it for another one.
pub fn experiment(ccid: u64) -> Option<&'static str> {
    CCIDS.iter().find(|entry| entry.ccid == ccid)?.name
}

/// `true` if the CCID is based on TFRC.
pub(super) fn is_tfrc(ccid: u64) -> bool {
    CCIDS.iter().any(|entry| entry.ccid == ccid && entry.is_tfrc)
}
