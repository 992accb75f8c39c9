//! CCID 3: TFRC over DCCP (RFC 4342, with RFC 5348 in place of RFC 3448, and RFC 6323).
//!
//! The laws are in [`whimbrel_control::tfrc`]; [`super::tfrc`] maps them to DCCP's sequence numbers and
//! options. The sender puts a *window counter*, quarters of a round-trip time modulo 16, into the CCVal field
//! of its data packets; the receiver uses it to detect loss events, and sends feedback once per round-trip
//! time, and immediately when losses increase: Elapsed Time, Receive Rate, Loss Intervals, and, if
//! negotiated, Loss Event Rate. With the Send RTT Estimate feature on, the sender sends its round-trip time
//! to the receiver, which uses it instead of the counter.
//!
//! Choices where the RFCs leave one or contradict each other:
//!
//! - *Feedback packets.* RFC 4342, Section 6, requires Elapsed Time, Receive Rate and Loss Intervals. Linux
//!   sends no Loss Intervals but a Loss Event Rate, and no Elapsed Time. A packet with Receive Rate and
//!   either of the two loss options is therefore feedback, and a missing Elapsed Time is zero.
//! - *Source of p.* The sender computes it from the Loss Intervals. A Loss Event Rate on the same packet is
//!   used instead if the two differ by more than its rounding, because only the receiver can discount its
//!   history; unless it implies an average longer than the longest interval reported.
//! - *Skip Length* is at most 3 (Section 8.6.1), but a gap of more than two packets makes more packets wait.
//!   The option then has 3, and the rest of the gap counts as received until it is declared lost, one or two
//!   packets later.
//! - *Receive Rate* is measured as in RFC 5348, Section 6.2 (RFC 4342's errata 610 and 611).
//! - *Feedback triggered* by the window counter is backed up by a timer of two round-trip times (Section 10.3
//!   mentions the need). With the Send RTT Estimate feature on, only the timer of RFC 5348, Section 6.2,
//!   applies.
//! - *The window counter* is raised to four ahead of an acknowledged packet's (Section 8.1), but by at most
//!   five between adjacent packets, so that a wrap cannot go undetected.
//! - *Packets on the handshake* belong to no loss interval, and CCVal is set on Data and DataAck only.
//! - *The ECN nonce* is historic (RFC 8311); Nonce Echoes are sent as zero and ignored.
//! - *Drop Code 2 and Slow Receiver* limit the rate for a round-trip time, as Section 5.2 intends, but not by
//!   lowering X_recv: since RFC 5348 the law takes the greatest X_recv of two round-trip times. Drop Codes 3
//!   to 7 of Data Dropped count as marks (RFC 4340, Section 11.7.2).
//! - *Quiescence* (Section 6.4) needs no detection: any acknowledgement also acknowledges the receiver's Ack
//!   Vectors, and none is sent otherwise if the peer has no data (Section 6.3).
//! - *The number of lost packets* cannot be determined from Loss Intervals, which give the lengths of lossy
//!   parts. The sender counts those that are certain: the first and the last packet of each.
//!
//! The two ends are from [`super::tfrc`] with the [`VARIANT`] of this module.

use super::tfrc::{self, Tfrc, Variant};
use super::{Ccid, drop_reaction};

/// CCID 3.
pub const VARIANT: Variant = Variant {
    ccid: Ccid::TFRC,
    name: "TFRC",
    small_packets: None,
    delay_aware: None,
    drop_policy: drop_reaction::standard,
    options: tfrc::OPTIONS,
};

/// CCID 3, for the [`Registry`](super::Registry).
pub fn mechanism() -> Tfrc {
    Tfrc::new(VARIANT)
}

#[cfg(test)]
pub(super) mod tests;
