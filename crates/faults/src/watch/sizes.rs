//! Path MTU discovery: a size that is too large is detected within the time given by RFC 8899, and nearly all
//! of the path MTU is found.

use whimbrel_proto::ConnectionSnapshot;
use whimbrel_proto::config::PathMtuDiscovery;
use whimbrel_units::{DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// Bytes of a packet besides its datagram: the longest header, and room for options.
pub(crate) const OVERHEAD: usize = 52;
/// BASE_PLPMTU (RFC 8899, Section 5.1.2), and the size that every host accepts over UDP and IPv4
/// (MIN_PLPMTU).
const BASE: usize = 1_200;
const MIN: usize = 548;
/// Searches end where less could be gained.
const RESOLUTION: usize = 16;
/// Time for which a confirmed size is trusted, and round-trip times for which it is at least: those in which
/// the answer to its probe counts as under way.
const TRUST: Duration = Duration::from_secs(5);
const TRUST_IN_RTT: u64 = 4;
/// Probes without an answer until a size counts as too large (RFC 8899, Section 5.1.2), of the size in use
/// and of the base size, one of the least, and what a timer may have left of one before.
const PROBES: u64 = 3 + 3 + 1 + 1;
/// Time after which a search is complete without a change of the path, at round-trip times of up to a quarter
/// of a second: ten sizes, three probes each, a second for each.
const SEARCH: Duration = Duration::from_secs(40);

/// One direction of a connection that discovers sizes, on a path that does nothing else to packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    /// Time at which the first data packet was lost for its size since the path last changed, and the first
    /// one after the size was no longer trusted: with that one, probing begins.
    vanishing_since: Option<Instant>,
    doubtful_since: Option<Instant>,
    /// Time since which the connection is open, and the path unchanged.
    open_since: Option<Instant>,
    /// Time since which data packets larger than the size that every host accepts have left: others confirm
    /// no size.
    used_since: Option<Instant>,
}

impl Sizes {
    /// The connection is open.
    pub(crate) fn on_open(&mut self, now: Instant) {
        self.open_since = Some(now);
    }

    /// The path carries other sizes now.
    pub(crate) fn on_change(&mut self) {
        *self = Self::default();
    }

    /// A data packet was too large. `rtt` is the time of an answer.
    pub(crate) fn on_vanished(&mut self, now: Instant, rtt: Duration) {
        let since = *self.vanishing_since.get_or_insert(now);
        // Until a round-trip time after the change of the path, a probe from before it may be confirmed.
        if now - since < TRUST.max(rtt * TRUST_IN_RTT) + rtt {
            return;
        }
        let since = *self.doubtful_since.get_or_insert(now);
        let patience = (rtt * 4).max(Duration::from_secs(1)) * PROBES;
        assert!(
            now - since <= patience,
            "data packets vanish for their size at {since}, and still at {now}; probes take {patience}"
        );
    }

    /// No packets leave: no size is probed meanwhile, and a search continues only afterwards.
    pub(crate) fn on_pause(&mut self, now: Instant) {
        (self.vanishing_since, self.doubtful_since) = (None, None);
        self.open_since = self.open_since.map(|_| now);
        self.used_since = self.used_since.map(|_| now);
    }

    /// A data packet of `size` bytes left.
    pub(crate) fn on_sent(&mut self, now: Instant, size: usize) {
        if size > MIN {
            self.used_since.get_or_insert(now);
        }
    }

    /// `true` if a search that began at `since` is complete by now.
    fn has_had_time(now: Instant, since: Option<Instant>) -> bool {
        since.is_some_and(|since| now - since >= SEARCH)
    }

    /// Checks the size found before the connections close. `mtu` is the path's MTU.
    pub(crate) fn check(
        &self,
        now: Instant,
        mode: PathMtuDiscovery,
        seen: &ConnectionSnapshot,
        wanted: usize,
        mtu: usize,
    ) -> bool {
        let probes = matches!(mode, PathMtuDiscovery::FromBase | PathMtuDiscovery::FromLargest);
        // Probes are subject to congestion control (RFC 8899, Section 3): a sender that may not send a large
        // packet in a second, because its receiver drops most of them, say, cannot try a size in that time
        // either.
        let largest = (wanted + OVERHEAD) as f64;
        let is_fast_enough = |rate: DataRate| rate.as_bytes_per_second() >= largest;
        if !Self::has_had_time(now, self.open_since)
            || !probes
            || !seen.sender.allowed_rate.is_none_or(is_fast_enough)
        {
            return false;
        }
        let found = seen.max_datagram + OVERHEAD;
        let best = (wanted + OVERHEAD).min(mtu);
        let least = if best == wanted + OVERHEAD {
            best
        } else if best >= BASE {
            (best - RESOLUTION).max(BASE)
        } else {
            MIN
        };
        let is_confirmed = Self::has_had_time(now, self.used_since);
        let most = if is_confirmed { best } else { wanted + OVERHEAD };
        assert!(
            (least..=most).contains(&found),
            "packets of {found} bytes ({:?}), where the path carries {mtu} and {} are wanted",
            seen.path_mtu,
            wanted + OVERHEAD
        );
        true
    }
}
