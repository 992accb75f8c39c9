//! Effects of the features' values in force on the connection (RFC 4340, Section 6).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;

use super::Connection;
use super::timer::Timer;
use crate::feature::{FeatureChange, Location};
use crate::{Ccid, Event};

/// Minimum time between changes of a CCID (RFC 4340, Section 10.5).
const CCID_HOLD: Duration = Duration::from_secs(60);

impl Connection {
    /// Applies the values that have come into force.
    pub(super) fn adopt_features(&mut self, now: Instant) {
        let mut any = false;
        while let Some(change) = self.cx.features.negotiation.poll_event() {
            any = true;
            if change.changed {
                self.adopt_feature(now, change);
            }
        }
        if any {
            self.cx.features.refresh();
        }
    }
    fn adopt_feature(&mut self, now: Instant, change: FeatureChange) {
        let FeatureChange { feature, location, value, .. } = change;
        match (feature, location) {
            (FeatureNumber::SequenceWindow, Location::Local) => {
                self.cx.sequence.numbers.set_local_window(value);
            }
            (FeatureNumber::SequenceWindow, Location::Remote) => {
                self.cx.sequence.numbers.set_remote_window(value);
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
        self.fx.report_latest(Event::FeatureChanged {
            feature: feature.into(),
            local: location == Location::Local,
            value,
        });
    }
    /// Holds a CCID after a change on an established connection. Each change restarts congestion control, so repeated
    /// renegotiation would evade it: the next change has to wait (RFC 4340, Section 10.5).
    fn hold_ccid(&mut self, now: Instant, location: Location, ccid: Ccid) {
        let acceptable = match location {
            Location::Local => &self.cx.config.sender_ccids,
            Location::Remote => &self.cx.config.receiver_ccids,
        };
        // A CCID that this end does not accept is already being renegotiated.
        if acceptable.len() > 1 && acceptable.contains(&ccid) {
            self.cx.features.negotiation.hold_ccid(location);
            self.fx.timers.set(Timer::CcidHold, now + CCID_HOLD);
        }
    }
    /// Requests the changes that the HC-sender wants (the Ack Ratio, by CCID 2).
    pub(super) fn adopt_feature_requests(&mut self, now: Instant) {
        while let Some(request) = self.congestion.poll_feature_request() {
            let negotiation = &mut self.cx.features.negotiation;
            // An invalid request is an error of the CCID, and is ignored.
            if negotiation.request_change(request.feature, Location::Local, &[request.value], false).is_ok() {
                self.adopt_features(now);
            }
        }
    }

    /// Starts both half-connections under the CCIDs in force, or restarts them.
    pub(super) fn start_congestion(&mut self, now: Instant) {
        self.start_sender(now, self.cx.features.negotiation.ccid(Location::Local));
        self.start_receiver(now, self.cx.features.negotiation.ccid(Location::Remote));
    }
    fn start_sender(&mut self, now: Instant, ccid: Ccid) {
        let (packet_size, is_frozen) = (self.expected_size(), self.freezing.is_frozen());
        self.congestion.start_sender(now, &self.cx, ccid, packet_size, is_frozen);
    }
    fn start_receiver(&mut self, now: Instant, ccid: Ccid) {
        let packet_size = self.expected_size();
        self.congestion.start_receiver(now, &self.cx, ccid, packet_size);
        self.choose_ack_vectors();
    }
    fn expected_size(&self) -> usize {
        self.fx.queue.front_len().unwrap_or(self.mtu.max_datagram())
    }
    fn choose_ack_vectors(&mut self) {
        self.ack_vectors.set_sending(self.congestion.uses_ack_vectors(&self.cx));
    }
}
