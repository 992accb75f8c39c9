//! Effects of the features' values in force on the connection (RFC 4340, Section 6).

use whimbrel_units::Instant;
use whimbrel_wire::option::FeatureNumber;

use super::Connection;
use crate::feature::{FeatureChange, Location};
use crate::{Ccid, Event};

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
            (FeatureNumber::Ccid, _) if self.congestion.is_started() => {
                let ccid = Ccid(value as u8);
                // A peer that asks again for the CCID in use does not reset a sender to its initial rate.
                match location {
                    Location::Local if ccid != self.congestion.sender_ccid() => self.start_sender(now, ccid),
                    Location::Remote if ccid != self.congestion.receiver_ccid() => {
                        self.start_receiver(now, ccid);
                    }
                    _ => {}
                }
                self.cx.hold_ccid(now, &mut self.fx.timers, location, ccid);
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

    /// Requests the changes that the HC-sender wants (the Ack Ratio, by CCID 2).
    pub(super) fn adopt_feature_requests(&mut self, now: Instant) {
        while let Some(request) = self.congestion.poll_feature_request(now) {
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
        let (packet_size, is_frozen) = (self.mtu.expected_size(&self.fx.queue), self.freezing.is_frozen());
        self.congestion.start_sender(now, &self.cx, ccid, packet_size, is_frozen);
    }

    fn start_receiver(&mut self, now: Instant, ccid: Ccid) {
        let packet_size = self.mtu.expected_size(&self.fx.queue);
        self.congestion.start_receiver(now, &self.cx, ccid, packet_size);
        self.choose_ack_vectors();
    }

    fn choose_ack_vectors(&mut self) {
        self.ack_vectors.set_sending(self.congestion.uses_ack_vectors(&self.cx));
    }
}
