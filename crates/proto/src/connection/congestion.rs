//! Congestion control of the two half-connections, and the Ack Vectors that it needs.

use whimbrel_control::capacity::Estimate;
use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, Ecn, Options, PacketType, Reset, SeqNo};

use super::State;
use super::context::Context;
use crate::ccid::{
    CcidProfile, FeatureRequest, Feedback, HalfConnection, HcReceiver, HcSender, PathFollower,
    ReceivedPacket, Resume, SenderMarks, SentPacket,
};
use crate::event::LossVerdict;
use crate::feature::Location;
use crate::{Ccid, ReceiverSnapshot, SendVerdict, SenderSnapshot};

/// Congestion control of the two half-connections.
#[derive(Debug)]
pub(super) struct Congestion {
    started: bool,
    sender: Half<dyn HcSender>,
    receiver: Half<dyn HcReceiver>,
    /// Time at which the HC-sender permits the next datagram, if known.
    send_at: Instant,
}

/// States of both halves with which a path was left.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct PathResume {
    sender: Resume,
    receiver: Resume,
}

/// This end of one half-connection. It has no congestion control before the handshake, nor while the CCID in
/// force is not acceptable to this end and another is being negotiated.
#[derive(Debug)]
struct Half<T: ?Sized> {
    ccid: Ccid,
    profile: CcidProfile,
    control: Option<Box<T>>,
}

impl<T: ?Sized> Half<T> {
    fn new(ccid: Ccid, profile: CcidProfile, control: Option<Box<T>>) -> Self {
        Self { ccid, profile, control }
    }
}

impl<T: ?Sized> Default for Half<T> {
    fn default() -> Self {
        // RFC 4340, Section 10: connections start with CCID 2.
        Self::new(Ccid::TCP_LIKE, CcidProfile::PLAIN, None)
    }
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            started: false,
            sender: Half::default(),
            receiver: Half::default(),
            send_at: Instant::FAR_FUTURE,
        }
    }
}

impl Congestion {
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// `true` if congestion control starts with that packet, which shows that the peer exists: the Response
    /// at the client, the first packet after the Request at the server. By then the CCIDs are agreed and a
    /// round-trip time is measured.
    #[inline]
    pub(super) fn starts_with(&self, cx: &Context, packet_type: PacketType) -> bool {
        !self.started
            && match cx.state {
                State::Request => packet_type == PacketType::Response,
                State::Respond => packet_type != PacketType::Request,
                _ => false,
            }
    }

    pub(super) fn sender_ccid(&self) -> Ccid {
        self.sender.ccid
    }

    pub(super) fn receiver_ccid(&self) -> Ccid {
        self.receiver.ccid
    }

    pub(super) fn sender_snapshot(&self) -> SenderSnapshot {
        self.sender.control.as_ref().map(|sender| sender.snapshot()).unwrap_or_default()
    }

    pub(super) fn receiver_snapshot(&self) -> ReceiverSnapshot {
        self.receiver.control.as_ref().map(|receiver| receiver.snapshot()).unwrap_or_default()
    }

    /// Round-trip time of the HC-sender.
    pub(super) fn sender_rtt(&self) -> Option<Duration> {
        self.sender.control.as_ref()?.rtt()
    }

    /// Starts, or restarts under another CCID, the half-connection on which this end sends data.
    /// `packet_size`: the expected size of datagrams.
    pub(super) fn start_sender(
        &mut self,
        now: Instant,
        cx: &Context,
        ccid: Ccid,
        packet_size: usize,
        is_frozen: bool,
    ) {
        self.started = true;
        let half = half_connection(now, cx, packet_size, cx.sequence.numbers.gss().next());
        let mechanism = cx.config.ccids.mechanism(ccid);
        let acceptable = mechanism.filter(|_| cx.config.sender_ccids.contains(&ccid));
        let profile = acceptable.map_or(CcidProfile::PLAIN, |mechanism| mechanism.profile());
        let control = acceptable.map(|mechanism| mechanism.sender(&half));
        self.sender = Half::new(ccid, profile, control);
        self.announce_features(now, cx, true);
        if is_frozen {
            self.on_freeze(now);
        }
    }

    /// Starts, or restarts under another CCID, the half-connection on which this end receives data.
    pub(super) fn start_receiver(&mut self, now: Instant, cx: &Context, ccid: Ccid, packet_size: usize) {
        let half = half_connection(now, cx, packet_size, cx.sequence.numbers.gsr().next());
        let mechanism = cx.config.ccids.mechanism(ccid);
        let acceptable = mechanism.filter(|_| cx.config.receiver_ccids.contains(&ccid));
        let profile = acceptable.map_or(CcidProfile::PLAIN, |mechanism| mechanism.profile());
        let control = acceptable.map(|mechanism| mechanism.receiver(&half));
        self.receiver = Half::new(ccid, profile, control);
        self.announce_features(now, cx, false);
    }

    /// Passes the values in force that are not the initial ones to a new half of the congestion control.
    fn announce_features(&mut self, now: Instant, cx: &Context, to_sender: bool) {
        for (feature, location, value) in cx.features.negotiation.values_in_force() {
            let is_initial = value == feature.initial_value().unwrap_or(0);
            let is_meant =
                feature == FeatureNumber::Freezing || concerns_sender(feature, location) == to_sender;
            if feature != FeatureNumber::Ccid && !is_initial && is_meant {
                self.on_feature(now, feature, location, value);
            }
        }
    }

    /// ECN codepoint of packets with data: ECT(0) (RFC 4340, Section 12.2; RFC 8311, Section 6), or ECT(1) if
    /// the CCID's response to marks is scalable (RFC 9331, Section 4.1).
    #[inline]
    pub(super) fn data_ecn(&self, cx: &Context) -> Ecn {
        match cx.uses_ecn() {
            false => Ecn::NotEct,
            true if self.sender.profile.is_scalable => Ecn::Ect1,
            true => Ecn::Ect0,
        }
    }

    /// ECN codepoint of packets that only acknowledge: ECT(0) under a CCID whose Ack Ratio reacts to their
    /// marks (RFC 4341, Sections 3.2 and 6.1.1). The other CCIDs do not react to them.
    pub(super) fn ack_ecn(&self, cx: &Context) -> Ecn {
        if cx.uses_ecn() && self.receiver.profile.uses_ack_ratio { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// `true` if this end sends Ack Vectors: the feature is on, or the CCID cannot work without them (RFC
    /// 4340, Section 11.5 permits it).
    pub(super) fn uses_ack_vectors(&self, cx: &Context) -> bool {
        let is_on = cx.features.negotiation.is_on(FeatureNumber::SendAckVector, Location::Local);
        is_on || self.receiver.profile.needs_ack_vector
    }

    /// RFC 4341, Section 4: no data is sent before the peer has agreed to send Ack Vectors, if the sender's
    /// CCID cannot work without them.
    #[inline]
    pub(super) fn awaits_ack_vectors(&self, cx: &Context) -> bool {
        self.sender.profile.needs_ack_vector
            && !cx.features.negotiation.is_on(FeatureNumber::SendAckVector, Location::Remote)
    }

    /// `true` if an option after a Mandatory is understood (RFC 4340, Section 5.8.2).
    pub(super) fn understands(&self, option: &DccpOption, packet_type: PacketType) -> bool {
        match option {
            // Section 10.3: types below 192 come from the HC-sender, so they concern this HC-receiver.
            DccpOption::CcidSpecific { kind: kind @ ..192, .. } => {
                self.receiver.profile.options.contains(kind)
            }
            DccpOption::CcidSpecific { kind, .. } => self.sender.profile.options.contains(kind),
            option => option.counts_on(packet_type) && crate::feature::is_understood(option),
        }
    }

    /// `true` if the next datagram, of `size` bytes, may leave now. Otherwise stores the time at which it
    /// may.
    pub(super) fn may_send(&mut self, now: Instant, size: Option<usize>) -> bool {
        self.send_at = Instant::FAR_FUTURE;
        let (Some(size), Some(sender)) = (size, &mut self.sender.control) else {
            return false;
        };
        match sender.poll_send(now, size) {
            SendVerdict::Now => true,
            SendVerdict::At(instant) => {
                // Avoids an immediate wake-up caused by the CCID's rounding.
                self.send_at = instant.max(now + Duration::from_nanos(1));
                false
            }
            SendVerdict::Blocked => false,
        }
    }

    /// Passes the start of a freeze to the HC-sender.
    pub(super) fn on_freeze(&mut self, now: Instant) {
        if let Some(freezing) = self.sender.control.as_mut().and_then(|sender| sender.freezing()) {
            freezing.on_freeze(now);
        }
    }

    /// Passes the end of a freeze to the HC-sender.
    pub(super) fn on_unfreeze(&mut self, now: Instant) {
        if let Some(freezing) = self.sender.control.as_mut().and_then(|sender| sender.freezing()) {
            freezing.on_unfreeze(now);
        }
    }

    /// Passes a change to a path that may carry more to the HC-sender.
    pub(super) fn on_probe(&mut self, now: Instant) -> bool {
        let freezing = self.sender.control.as_mut().and_then(|sender| sender.freezing());
        freezing.is_some_and(|freezing| freezing.on_probe(now))
    }

    pub(super) fn send_at(&self) -> Instant {
        self.send_at
    }

    /// Adds the HC-sender's CCVal and options to a packet that is about to leave.
    pub(super) fn on_sent(&mut self, now: Instant, packet: SentPacket, options: &mut Options) -> u8 {
        let mut ccval = 0;
        if let Some(sender) = &mut self.sender.control {
            sender.on_sent(now, packet, SenderMarks { ccval: &mut ccval, options });
        }
        ccval
    }

    /// The most bytes of options that [`Congestion::on_sent`] adds to a packet of that type.
    pub(super) fn marks_len(&self, packet_type: PacketType) -> usize {
        self.sender.control.as_ref().map_or(0, |sender| sender.marks_len(packet_type))
    }

    pub(super) fn needs_ack_of_ack(&self, now: Instant) -> bool {
        self.sender.control.as_ref().is_some_and(|sender| sender.needs_ack_of_ack(now))
    }

    pub(super) fn feedback_due(&self, now: Instant) -> bool {
        self.receiver.control.as_ref().is_some_and(|receiver| receiver.feedback_due(now))
    }

    /// `true` if an acknowledgement is worth adding to a datagram that leaves anyway.
    pub(super) fn has_news(&self) -> bool {
        self.receiver.control.as_ref().is_some_and(|receiver| receiver.has_news())
    }

    /// Adds the HC-receiver's options to a packet that acknowledges `ack`.
    pub(super) fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options) {
        if let Some(receiver) = &mut self.receiver.control {
            receiver.write_feedback(now, ack, options);
        }
    }

    /// Passes an acknowledgement to the HC-sender.
    pub(super) fn on_acknowledgement(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if let Some(sender) = &mut self.sender.control {
            sender.on_feedback(now, feedback);
        }
    }

    /// Passes a Slow Receiver option to the HC-sender.
    pub(super) fn on_slow_receiver(&mut self, now: Instant) {
        if let Some(sender) = &mut self.sender.control {
            sender.on_slow_receiver(now);
        }
    }

    /// Returns the Reset for a protocol violation that the HC-receiver found in the packet just processed.
    pub(super) fn take_violation(&mut self) -> Option<Reset> {
        self.receiver.control.as_mut()?.take_violation()
    }

    /// Passes a received packet to both halves.
    pub(super) fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        if let Some(sender) = &mut self.sender.control {
            sender.on_received(now, &packet);
        }
        if let Some(receiver) = &mut self.receiver.control {
            receiver.on_received(now, packet);
        }
    }

    /// Passes a received packet that may have to wait for preceding ones.
    pub(super) fn on_arrival(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        if let Some(sender) = &mut self.sender.control {
            sender.on_received(now, packet);
        }
        if let Some(receiver) = &mut self.receiver.control {
            match receiver.ordered() {
                Some(ordered) => ordered.on_arrival(now, packet),
                None => receiver.on_received(now, *packet),
            }
        }
    }

    /// Passes that packet again, in order.
    pub(super) fn on_received_in_order(
        &mut self,
        now: Instant,
        arrived: Instant,
        packet: &ReceivedPacket<'_>,
    ) {
        if let Some(ordered) = self.receiver.control.as_mut().and_then(|receiver| receiver.ordered()) {
            ordered.on_received_in_order(now, arrived, packet);
        }
    }

    pub(super) fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossClass) {
        if let Some(classifier) =
            self.receiver.control.as_mut().and_then(|receiver| receiver.classifier_mut())
        {
            classifier.on_loss_cause(sequence, cause);
        }
    }

    fn sender_path(&mut self) -> Option<&mut dyn PathFollower> {
        self.sender.control.as_mut()?.path_follower()
    }

    fn receiver_path(&mut self) -> Option<&mut dyn PathFollower> {
        self.receiver.control.as_mut()?.path_follower()
    }

    /// Packets take another path.
    pub(super) fn on_path_change(&mut self, now: Instant) {
        if let Some(path) = self.sender_path() {
            path.on_path_change(now);
        }
        if let Some(path) = self.receiver_path() {
            path.on_path_change(now);
        }
    }

    /// Passes the estimate of the local link to the HC-sender.
    pub(super) fn on_link_estimate(&mut self, now: Instant, estimate: Option<Estimate>) {
        if let Some(path) = self.sender_path() {
            path.on_link_estimate(now, estimate);
        }
    }

    /// The states of the HC-sender and the HC-receiver with which the path is left.
    pub(super) fn leave_path(&mut self, now: Instant) -> PathResume {
        PathResume {
            sender: self.sender_path().map(|path| path.leave(now)).unwrap_or_default(),
            receiver: self.receiver_path().map(|path| path.leave(now)).unwrap_or_default(),
        }
    }

    /// Resumes from the state in which the path was left.
    pub(super) fn resume(&mut self, now: Instant, left: &PathResume) {
        if let Some(path) = self.sender_path() {
            path.resume(now, &left.sender);
        }
        if let Some(path) = self.receiver_path() {
            path.resume(now, &left.receiver);
        }
    }

    pub(super) fn has_verdicts(&self) -> bool {
        let classifier = self.receiver.control.as_ref().and_then(|receiver| receiver.classifier());
        classifier.is_some_and(|classifier| classifier.has_verdicts())
    }

    /// Returns the HC-receiver's next verdict on lost packets.
    pub(super) fn take_verdict(&mut self) -> Option<LossVerdict> {
        self.receiver.control.as_mut()?.classifier_mut()?.take_verdict()
    }

    pub(super) fn on_packet_size(&mut self, now: Instant, size: usize) {
        if let Some(path) = self.sender_path() {
            path.on_packet_size(now, size);
        }
    }

    pub(super) fn poll_feature_request(&mut self, now: Instant) -> Option<FeatureRequest> {
        self.sender.control.as_mut()?.poll_feature_request(now)
    }

    /// Passes the new value of a feature to the half-connection that it concerns.
    pub(super) fn on_feature(
        &mut self,
        now: Instant,
        feature: FeatureNumber,
        location: Location,
        value: u64,
    ) {
        if feature == FeatureNumber::Freezing {
            return self.on_freezing_agreed(now, location, value);
        }
        if concerns_sender(feature, location) {
            if let Some(sender) = &mut self.sender.control {
                sender.on_feature(now, feature, value);
            }
        } else if let Some(receiver) = &mut self.receiver.control {
            receiver.on_feature(now, feature, value);
        }
    }

    /// The feature Freezing concerns both half-connections.
    fn on_freezing_agreed(&mut self, now: Instant, location: Location, value: u64) {
        if location == Location::Local {
            return;
        }
        if let Some(sender) = &mut self.sender.control {
            sender.on_feature(now, FeatureNumber::Freezing, value);
        }
        if let Some(receiver) = &mut self.receiver.control {
            receiver.on_feature(now, FeatureNumber::Freezing, value);
        }
    }

    /// Runs the CCIDs' timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some(sender) = &mut self.sender.control {
            sender.handle_timeout(now);
        }
        if let Some(receiver) = &mut self.receiver.control {
            receiver.handle_timeout(now);
        }
    }

    /// Expiration of the CCIDs' next timer.
    pub(super) fn next_timer(&self) -> Instant {
        let sender = self.sender.control.as_ref().and_then(|sender| sender.poll_timeout());
        let receiver = self.receiver.control.as_ref().and_then(|receiver| receiver.poll_timeout());
        sender.unwrap_or(Instant::FAR_FUTURE).min(receiver.unwrap_or(Instant::FAR_FUTURE))
    }
}

/// `true` if a feature with that location belongs to the half-connection on which this end sends data.
fn concerns_sender(feature: FeatureNumber, location: Location) -> bool {
    // These are properties of the end that receives the data (RFC 4340, Sections 10.3, 11.5 and 12.1);
    // all others of the end that sends them.
    let at_receiver = matches!(feature, FeatureNumber::SendAckVector | FeatureNumber::EcnIncapable)
        || u8::from(feature) >= 192;
    at_receiver == (location == Location::Remote)
}

fn half_connection(now: Instant, cx: &Context, packet_size: usize, next_sequence: SeqNo) -> HalfConnection {
    cx.config.half_connection(now, packet_size, cx.rtt.best(), next_sequence)
}
