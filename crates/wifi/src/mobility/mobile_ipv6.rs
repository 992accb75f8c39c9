//! The timing of a Mobile IPv6 handover.
//!
//! Two models. [`handover_time`] is the formula that paper `freeze` (section 3.5) uses for its predictions.
//! [`Timing::handover`] composes the steps of the specifications: movement detection by router advertisements, duplicate
//! address detection, binding update. It gives the distribution that the constants of the RFCs imply, with their random
//! delays.

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use crate::Random;

/// The time in which a handover is complete, and no packets reach the mobile node: 2.5 s plus one round-trip time to the
/// home agent over the new network.
///
/// J. S. Lee, S. J. Koh, S. H. Kim, "Analysis of handoff delay for Mobile IPv6", VTC 2004-Fall, as cited by O. Mehani et
/// al., "Rate control adaptation for heterogeneous handovers", section 3.5.
pub fn handover_time(round_trip_time: Duration) -> Duration {
    Duration::from_millis(2_500) + round_trip_time
}

/// The constants and configuration that decide over the time of a handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Shortest and longest interval between unsolicited router advertisements; the intervals are uniform between them.
    pub advertisement_interval: (Duration, Duration),
    /// `true` if the node sends a router solicitation when its link comes up, which it does after a random delay.
    pub solicits: bool,
    /// Upper bound of the random delay before a router solicitation (MAX_RTR_SOLICITATION_DELAY, RFC 4861 section 10).
    pub solicitation_delay: Duration,
    /// Upper bound of the random delay before a solicited router advertisement (MAX_RA_DELAY_TIME, RFC 4861 section 10).
    pub advertisement_delay: Duration,
    /// Upper bound of the random delay before the first neighbour solicitation of duplicate address detection
    /// (RFC 4862 section 5.4.2).
    pub detection_delay: Duration,
    /// Number of neighbour solicitations of duplicate address detection; 0 switches it off (DupAddrDetectTransmits,
    /// RFC 4862 section 5.1).
    pub detection_transmissions: u32,
    /// Time after each of them without an answer (RetransTimer, RFC 4861 section 10).
    pub retransmission_time: Duration,
    /// Time until the first binding update to the home agent is repeated (INITIAL_BINDACK_TIMEOUT, RFC 6275 section 12);
    /// it doubles with each repetition up to `binding_timeout_limit`.
    pub binding_timeout: Duration,
    /// Upper bound of that time (MAX_BINDACK_TIMEOUT, RFC 6275 section 12).
    pub binding_timeout_limit: Duration,
}

impl Timing {
    /// Routers configured for mobile nodes: advertisements every 30 to 70 ms (MinRtrAdvInterval and MaxRtrAdvInterval of
    /// RFC 6275 section 7.5), everything else by default. The node waits for an advertisement.
    pub const RFC6275: Self = Self {
        advertisement_interval: (Duration::from_millis(30), Duration::from_millis(70)),
        solicits: false,
        ..Self::RFC4861
    };

    /// Routers with the defaults of RFC 4861: advertisements every 200 to 600 s, so that the node solicits one.
    pub const RFC4861: Self = Self {
        advertisement_interval: (Duration::from_secs(200), Duration::from_secs(600)),
        solicits: true,
        solicitation_delay: Duration::from_secs(1),
        advertisement_delay: Duration::from_millis(500),
        detection_delay: Duration::from_secs(1),
        detection_transmissions: 1,
        retransmission_time: Duration::from_secs(1),
        binding_timeout: Duration::from_secs(1),
        binding_timeout_limit: Duration::from_secs(32),
    };

    /// Draws the times of a handover whose link comes up at `attached`. `round_trip_time` is that to the home agent,
    /// `lost` the number of binding updates or acknowledgements that are lost before an acknowledgement arrives.
    pub fn handover(
        &self,
        attached: Instant,
        round_trip_time: Duration,
        lost: u32,
        random: &mut (impl Random + ?Sized),
    ) -> Handover {
        let router_found = attached + self.router_discovery(random);
        let mut address_usable = router_found;
        if self.detection_transmissions > 0 {
            address_usable += random.duration_below(self.detection_delay);
            address_usable += self.retransmission_time * u64::from(self.detection_transmissions);
        }
        let mut binding_updates = SmallVec::new();
        let (mut sent, mut timeout) = (address_usable, self.binding_timeout);
        binding_updates.push(sent);
        for _ in 0..lost {
            sent += timeout;
            binding_updates.push(sent);
            timeout = (timeout * 2).min(self.binding_timeout_limit);
        }
        Handover { attached, router_found, address_usable, bound: sent + round_trip_time, binding_updates }
    }

    /// The time until a router advertisement arrives.
    fn router_discovery(&self, random: &mut (impl Random + ?Sized)) -> Duration {
        // The rest of the interval that the moment of attachment falls into: a uniform part of an interval drawn with a
        // probability proportional to its length.
        let (shortest, longest) =
            (self.advertisement_interval.0.as_secs_f64(), self.advertisement_interval.1.as_secs_f64());
        let (low, high) = (shortest * shortest, longest * longest);
        let interval = libm::sqrt(low + (high - low) * random.uniform());
        let unsolicited = Duration::from_secs_f64(interval * random.uniform());
        if !self.solicits {
            return unsolicited;
        }
        let solicitation = random.duration_below(self.solicitation_delay);
        let answer = random.duration_below(self.advertisement_delay);
        unsolicited.min(solicitation + answer)
    }
}

/// The times of a handover.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handover {
    /// The link to the new network comes up.
    pub attached: Instant,
    /// A router advertisement arrives: the node has detected that it moved and has a tentative care-of address.
    pub router_found: Instant,
    /// Duplicate address detection is over; the care-of address may be used.
    pub address_usable: Instant,
    /// Transmissions of the binding update.
    pub binding_updates: SmallVec<[Instant; 2]>,
    /// The binding acknowledgement arrives: packets reach the node by the new network.
    pub bound: Instant,
}

#[cfg(test)]
mod tests;
