//! A receiver's reaction to its sender's handovers.

use whimbrel_control::freeze::{Marking, ProbeEnd, ReceiverAction, equivalent_interval};
use whimbrel_control::loss_detection::ArrivedPacket;
use whimbrel_control::tfrc::RetransmitTimeout;
use whimbrel_control::tfrc::loss_intervals::INTERVALS;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::tfrc::{ProbeRule, TfrcOption};

use super::Receiver;

impl Receiver {
    /// Processes the sender's freeze options.
    pub(super) fn process_freezing(
        &mut self,
        arrival: &ArrivedPacket,
        options: &[DccpOption],
    ) -> ReceiverAction {
        // A packet older than the newest has outdated options.
        let is_newest = arrival.sequence > self.history.greatest();
        match &mut self.freezing {
            Some(freezing) if arrival.carries_data && is_newest => {
                let action = freezing.on_packet(arrival.at, marking(options));
                if action == ReceiverAction::BeginMeasuring {
                    self.rtt.on_pause();
                }
                if let Some(rtt) = reported_rtt(options) {
                    self.rtt.on_restart(rtt);
                    // With the old path's value, X_recv would cover time before the restart.
                    self.measured_over = self.measured_over.map(|_| rtt);
                }
                action
            }
            _ => ReceiverAction::None,
        }
    }

    /// Creates a synthetic loss history that fits X_recv (`papers/freeze`, Section 4.6).
    pub(super) fn fit_history(&mut self, now: Instant) {
        let (rtt, Some(meter)) = (self.rtt.value(), &self.meter) else { return };
        let segments = self.variant.small_packets.map_or(1.0, |small| small.segments(meter.mean_size()));
        let rate = meter.measure(now, rtt).packets_per_second * segments;
        let timeout = RetransmitTimeout::FourRoundTrips.in_round_trips(rtt);
        let count = self.freezing.map_or(INTERVALS, |freezing| freezing.fitted_intervals());
        self.history.fit(equivalent_interval(rate, rtt, timeout).round(), count);
        self.feedback_due = true;
    }
}

/// The sender's handover state, from a packet's options.
fn marking(options: &[DccpOption]) -> Marking {
    let end = |rule| match rule {
        ProbeRule::Loss => ProbeEnd::Loss,
        ProbeRule::LossOneInterval => ProbeEnd::LossOneInterval,
        ProbeRule::ReceiveRate { .. } | ProbeRule::Settle { .. } => ProbeEnd::ReceiveRate,
    };
    let said = options.iter().find_map(|option| match TfrcOption::parse(option) {
        Some(TfrcOption::Restoring(rule)) => Some(Marking::Restoring(end(rule))),
        Some(TfrcOption::Probing(ProbeRule::Settle { .. })) => Some(Marking::Settle),
        Some(TfrcOption::Probing(rule)) => Some(Marking::Probing(end(rule))),
        _ => None,
    });
    said.unwrap_or_default()
}

/// The round-trip time that the sender reports while it restarts, if any.
fn reported_rtt(options: &[DccpOption]) -> Option<Duration> {
    options.iter().find_map(|option| match TfrcOption::parse(option)? {
        TfrcOption::Restoring(rule) | TfrcOption::Probing(rule) => {
            rule.rtt_micros().map(|micros| Duration::from_micros(u64::from(micros)))
        }
        _ => None,
    })
}
