//! CCID 3 and 4: an independent computation of the nominal send times of RFC 5348, Section 4.6.

use whimbrel_proto::{Ccid, SenderSnapshot};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

/// A sender may pace by no less than one packet in that time (RFC 5348, Section 4.3: t_mbi).
const LONGEST: Duration = Duration::from_secs(64);
/// The Min Interval of small packets (RFC 4828, Section 3).
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The segments that small packets are counted in (RFC 4828, Section 3).
const NOMINAL: ByteCount = ByteCount::new(1460);

/// The earliest time of the next data packet.
///
/// Each packet costs s/X; a sender that is late may catch up on a round-trip time's packets. So the
/// packets of any interval cost no more than its length, one round-trip time, and one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The nominal send time of the last packet.
    nominal: Option<Instant>,
    /// The sender may be kept from before: its nominal times are unknown, up to what it may catch up on.
    may_be_behind: bool,
}

impl Pace {
    /// After a change of address. The congestion control begins anew, or is kept where only the port has
    /// changed: the sender may then use the send times that it missed while it waited for proof of the
    /// address.
    pub(crate) fn resumed() -> Self {
        Self { nominal: None, may_be_behind: true }
    }

    /// A data packet left.
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        ccid: Ccid,
        least: ByteCount,
        before: &SenderSnapshot,
        after: &SenderSnapshot,
    ) {
        let rate =
            before.allowed_rate.into_iter().chain(after.allowed_rate).fold(DataRate::ZERO, DataRate::max);
        if rate.is_zero() {
            return;
        }
        let cost = match ccid {
            // The least rate counts nominal segments, of which small packets are a part.
            Ccid::TFRC_SP => (least / rate.max(NOMINAL / LONGEST)).max(MIN_INTERVAL),
            // The least rate is one segment, of the average size, in 64 seconds; a packet costs what its own
            // size does.
            _ => least / rate.max(NOMINAL / LONGEST),
        };
        // Nanoseconds are rounded.
        let cost = Duration::from_nanos(cost.as_nanos().saturating_sub(2));
        let credit = before.rtt.max(after.rtt).unwrap_or(Duration::ZERO);
        let nominal = match self.nominal {
            None if self.may_be_behind => now.saturating_sub(credit),
            None => now,
            Some(last) => last + cost,
        };
        assert!(
            nominal <= now,
            "{ccid}: a packet leaves at {now}, though at {rate:?} ({least:?} at least) the next is due at {nominal}"
        );
        self.nominal = Some(nominal.max(now.saturating_sub(credit)));
    }
}
