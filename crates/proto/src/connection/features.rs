//! Effects of feature negotiation on the connection (RFC 4340, Section 6).
//!
//! [`Negotiation`] holds the values; this module requests changes, passes new values to the modules that they concern,
//! and finds packets for the options.

use smallvec::smallvec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{ChecksumCoverage, Options, PacketType, SeqNo};

use super::timer::Timer;
use super::{Connection, Role, State};
use crate::feature::{FeatureChange, Location, Negotiation, Preferences, SendContext, Wish};
use crate::{Ccid, Config, Event};

/// The most bytes of feature negotiation options in one packet: more than a whole handshake needs, and few enough to
/// share a small packet with data.
const ROOM: usize = 256;

/// Minimum time between changes of a CCID (RFC 4340, Section 10.5).
const CCID_HOLD: Duration = Duration::from_secs(60);

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
}

/// Prefers the value 1 of a Boolean feature. `ask`: opens the negotiation.
fn wish(feature: FeatureNumber, location: Location, ask: bool) -> Wish {
    Wish { feature, location, values: smallvec![1, 0], ask, required: false }
}

impl Features {
    pub(super) fn new(role: Role, config: &Config) -> Self {
        let mut preferences = Preferences::new(config);
        let finds_losses = |ccid| config.ccids.mechanism(ccid).is_some_and(|m| !m.profile().needs_ack_vector);
        // A receiver that detects losses itself, from gaps in the sequence numbers, needs to know which of them may
        // have been data (RFC 4340, Section 7.7).
        for choice in preferences.receiver_ccids.iter_mut().filter(|choice| finds_losses(choice.ccid)) {
            choice.wishes.push(wish(FeatureNumber::SendNdpCount, Location::Remote, true));
        }
        for choice in preferences.sender_ccids.iter_mut().filter(|choice| finds_losses(choice.ccid)) {
            choice.wishes.push(wish(FeatureNumber::SendNdpCount, Location::Local, false));
        }
        let coverage = config.integrity.checksum_coverage;
        Self { negotiation: Negotiation::new(role, preferences), in_force: InForce::default(), coverage }
    }
    fn refresh(&mut self) {
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
    /// The Checksum Coverage that the application requested, if the peer accepts it (RFC 4340, Section 9.2.1).
    fn coverage_sent(&self) -> ChecksumCoverage {
        let minimum = self.negotiation.value(FeatureNumber::MinimumChecksumCoverage, Location::Remote);
        let is_accepted = minimum > 0 && u64::from(self.coverage) >= minimum;
        if is_accepted { ChecksumCoverage::from_field(self.coverage) } else { ChecksumCoverage::ALL }
    }
    /// The peer has refused data because of a protocol constraint: if it may have been their Checksum Coverage, returns
    /// to full coverage.
    pub(super) fn refuse_partial_coverage(&mut self) {
        self.coverage = 0;
        self.in_force.coverage_sent = ChecksumCoverage::ALL;
    }
}

impl Connection {
    /// Adds feature negotiation options to a packet that is about to leave.
    pub(super) fn write_features(&mut self, now: Instant, packet_type: PacketType, options: &mut Options) {
        if self.features.negotiation.is_quiet() {
            return;
        }
        let context = SendContext {
            packet_type,
            sequence: self.sequence.numbers.gss().next(),
            rtt: self.rtt.best(),
            room: ROOM
                .min(self.handshake.validation.room(packet_type))
                .saturating_sub(self.reserved_for_mobility_key(packet_type)),
        };
        let before = options.len();
        self.features.negotiation.write_options(now, context, options);
        if self.state == State::PartOpen {
            self.handshake.keep_answers(&options[before..]);
        }
    }
    /// `true` if a packet should be sent for pending options.
    pub(super) fn needs_feature_packet(&self, now: Instant) -> bool {
        self.next_feature_deadline() <= now
    }
    /// Time at which a packet should be sent for pending options.
    pub(super) fn next_feature_deadline(&self) -> Instant {
        if self.features.negotiation.is_quiet() || self.freezing.is_quiet() {
            return Instant::FAR_FUTURE;
        }
        self.features.negotiation.poll_timeout().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Applies the values that have come into force.
    pub(super) fn adopt_features(&mut self, now: Instant) {
        let mut any = false;
        while let Some(change) = self.features.negotiation.poll_event() {
            any = true;
            if change.changed {
                self.adopt_feature(now, change);
            }
        }
        if any {
            self.features.refresh();
        }
    }
    fn adopt_feature(&mut self, now: Instant, change: FeatureChange) {
        let FeatureChange { feature, location, value, .. } = change;
        match (feature, location) {
            (FeatureNumber::SequenceWindow, Location::Local) => {
                self.sequence.numbers.set_local_window(value);
            }
            (FeatureNumber::SequenceWindow, Location::Remote) => {
                self.sequence.numbers.set_remote_window(value);
            }
            (FeatureNumber::Ccid, Location::Local) if self.congestion.is_started() => {
                self.start_sender(now, Ccid(value as u8));
                self.hold_ccid(now, location, Ccid(value as u8));
            }
            (FeatureNumber::Ccid, Location::Remote) if self.congestion.is_started() => {
                self.start_receiver(now, Ccid(value as u8));
                self.hold_ccid(now, location, Ccid(value as u8));
            }
            (FeatureNumber::SendAckVector, Location::Local) => self.choose_ack_vectors(),
            _ => {}
        }
        self.congestion.on_feature(now, feature, location, value);
        self.report_latest(Event::FeatureChanged {
            feature: feature.into(),
            local: location == Location::Local,
            value,
        });
    }

    /// Holds a CCID after a change on an established connection. Each change restarts congestion control, so repeated
    /// renegotiation would evade it: the next change has to wait (RFC 4340, Section 10.5).
    fn hold_ccid(&mut self, now: Instant, location: Location, ccid: Ccid) {
        let acceptable = match location {
            Location::Local => &self.config.sender_ccids,
            Location::Remote => &self.config.receiver_ccids,
        };
        // A CCID that this end does not accept is already being renegotiated.
        if acceptable.len() > 1 && acceptable.contains(&ccid) {
            self.features.negotiation.hold_ccid(location);
            self.timers.set(Timer::CcidHold, now + CCID_HOLD);
        }
    }

    /// Requests the changes that the HC-sender wants (the Ack Ratio, by CCID 2).
    pub(super) fn adopt_feature_requests(&mut self, now: Instant) {
        while let Some(request) = self.congestion.poll_feature_request() {
            let negotiation = &mut self.features.negotiation;
            // An invalid request is an error of the CCID, and is ignored.
            if negotiation.request_change(request.feature, Location::Local, &[request.value], false).is_ok() {
                self.adopt_features(now);
            }
        }
    }

    /// Called for each packet sent: requests a larger Sequence Window if the rate has outgrown it, one change at a time
    /// (RFC 4340, Section 7.5.2).
    pub(super) fn watch_window(&mut self, now: Instant, sequence: SeqNo, has_data: bool) {
        let rtt = self.rtt.or_default();
        let Some(wanted) = self.sequence.on_sent(now, sequence, has_data, rtt) else {
            return;
        };
        let negotiation = &mut self.features.negotiation;
        if negotiation.is_settled(FeatureNumber::SequenceWindow, Location::Local) {
            // The value is within bounds and the feature is located here, so it cannot be refused.
            let _ =
                negotiation.request_change(FeatureNumber::SequenceWindow, Location::Local, &[wanted], false);
        }
    }
}
