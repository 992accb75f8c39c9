//! Feature negotiation of one connection (RFC 4340, Section 6), and the values in force.

use whimbrel_units::Instant;
use whimbrel_wire::ChecksumCoverage;
use whimbrel_wire::option::FeatureNumber;

use super::Role;
use super::profile::Profile;
use crate::feature::{Location, Negotiation};

/// Feature negotiation, and cached values that every packet needs.
#[derive(Debug)]
pub(super) struct Features {
    pub(super) negotiation: Negotiation,
    pub(super) in_force: InForce,
    /// The Checksum Coverage that the application requested.
    coverage: u8,
}

/// Values in force that every packet needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct InForce {
    /// `true` if this end may send 24-bit sequence numbers.
    pub(super) short_sent: bool,
    /// `true` if the peer may send them.
    pub(super) short_received: bool,
    /// `true` if the peer cannot read ECN marks.
    pub(super) ecn_incapable: bool,
    /// `true` if the peer has confirmed that this end cannot read them.
    pub(super) ecn_refused: bool,
    /// `true` if this end sends NDP Count options.
    pub(super) ndp_count: bool,
    /// Checksum Coverage of sent data.
    pub(super) coverage_sent: ChecksumCoverage,
    /// The value of Minimum Checksum Coverage at this end.
    min_coverage: u8,
}

impl InForce {
    /// `true` if this end accepts data with that Checksum Coverage (RFC 4340, Section 9.2.1).
    #[inline]
    pub(super) fn accepts_coverage(&self, coverage: ChecksumCoverage) -> bool {
        let is_full = coverage == ChecksumCoverage::ALL;
        is_full || (self.min_coverage > 0 && coverage.field() >= self.min_coverage)
    }

    /// The Checksum Coverage of a packet with `size` bytes of data (RFC 4340, Section 9.2).
    #[inline]
    pub(super) fn coverage_of(&self, size: usize) -> ChecksumCoverage {
        let wanted = self.coverage_sent;
        if wanted.covered(size).is_some() { wanted } else { ChecksumCoverage::ALL }
    }
}

impl Features {
    pub(super) fn new(role: Role, profile: &Profile) -> Self {
        let coverage = profile.integrity.checksum_coverage;
        let negotiation = Negotiation::new(role, profile.preferences());
        Self { negotiation, in_force: InForce::default(), coverage }
    }

    /// Updates the cached values.
    pub(super) fn refresh(&mut self) {
        use FeatureNumber::{AllowShortSequenceNumbers, EcnIncapable, MinimumChecksumCoverage, SendNdpCount};
        self.in_force = InForce {
            short_sent: self.negotiation.is_on(AllowShortSequenceNumbers, Location::Local),
            short_received: self.negotiation.is_on(AllowShortSequenceNumbers, Location::Remote),
            ecn_incapable: self.negotiation.is_on(EcnIncapable, Location::Remote),
            ecn_refused: self.negotiation.is_on(EcnIncapable, Location::Local),
            ndp_count: self.negotiation.is_on(SendNdpCount, Location::Local),
            coverage_sent: self.coverage_sent(),
            // The feature's values are bytes.
            min_coverage: self.negotiation.value(MinimumChecksumCoverage, Location::Local) as u8,
        };
    }

    /// The Checksum Coverage that the application requested, if the peer accepts it (RFC 4340, Section
    /// 9.2.1).
    fn coverage_sent(&self) -> ChecksumCoverage {
        let minimum = self.negotiation.value(FeatureNumber::MinimumChecksumCoverage, Location::Remote);
        let is_accepted = minimum > 0 && u64::from(self.coverage) >= minimum;
        if is_accepted { ChecksumCoverage::from_field(self.coverage) } else { ChecksumCoverage::ALL }
    }

    /// The peer has refused data because of a protocol constraint: if it may have been their Checksum
    /// Coverage, returns to full coverage.
    pub(super) fn refuse_partial_coverage(&mut self) {
        self.coverage = 0;
        self.in_force.coverage_sent = ChecksumCoverage::ALL;
    }

    /// Time at which a packet should be sent for pending options. `is_quiet`: this end sends nothing
    /// unsolicited.
    #[inline]
    pub(super) fn next_deadline(&self, is_quiet: bool) -> Instant {
        if self.negotiation.is_quiet() || is_quiet {
            return Instant::FAR_FUTURE;
        }
        self.negotiation.poll_timeout().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Requests a larger Sequence Window, one change at a time (RFC 4340, Section 7.5.2).
    pub(super) fn request_window(&mut self, wanted: u64) {
        let (feature, location) = (FeatureNumber::SequenceWindow, Location::Local);
        if self.negotiation.is_settled(feature, location) {
            // The value is within bounds and the feature is located here, so it cannot be refused.
            let _ = self.negotiation.request_change(feature, location, &[wanted], false);
        }
    }
}
