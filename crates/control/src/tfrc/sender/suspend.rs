//! Operations of a [`TfrcSender`] for freezing: inspecting a report before the law processes it, suspending,
//! and restoring.

use whimbrel_units::{ByteCount, DataRate, Instant};

use super::{Feedback, RttEstimator, Stage, TfrcSender};
use crate::tfrc::data_limit::DataLimit;
use crate::tfrc::send_rate::{PathEstimate, RateReport, SendRate};

/// Results of the measurements for a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    path: PathEstimate,
    first_sample: bool,
    /// `true` if the sample shows that the round-trip time was much shorter than assumed so far.
    is_corrected: bool,
    /// `true` if the sender was data-limited during all of the time covered by the report.
    data_limited: bool,
}

impl TfrcSender {
    /// Applies a report to the measurements (RFC 5348, Section 4.3, steps 1 and 2). With `keeps_rtt` the
    /// round-trip sample is ignored if R is known.
    pub(crate) fn observe(&mut self, now: Instant, feedback: &Feedback, keeps_rtt: bool) -> Option<Observed> {
        let first_sample = self.round_trip.smoothed().is_none();
        // A delay as long as the elapsed time only shows a coarse clock.
        let sample = (now - feedback.last_data_sent) - feedback.delay;
        if core::mem::take(&mut self.is_silent) {
            self.feedback_resumed = Some(now);
        }
        let is_over_silence =
            self.feedback_resumed.is_some_and(|feedback_resumed| feedback.last_data_sent < feedback_resumed);
        let is_corrected =
            !keeps_rtt && !is_over_silence && !sample.is_zero() && self.round_trip.is_corrected_by(sample);
        if keeps_rtt && !first_sample {
            // The authors' rule: samples taken while the old rate is being restored are no measure of the
            // path.
        } else if is_over_silence {
            self.round_trip.on_sample_over_silence(sample);
        } else if first_sample || !sample.is_zero() {
            self.round_trip.on_sample(sample);
            if let Some(timeout) = &mut self.timeout {
                timeout.on_sample(sample);
            }
        }
        self.sizes.on_round_trip();
        if feedback.new_loss_event || feedback.loss_event_rate > self.rate.loss_event_rate() {
            self.sizes.on_loss_event();
        }
        let path = self.path()?;
        let data_limited = self.data_limit.on_feedback(now, feedback.last_data_sent, path.rtt);
        Some(Observed { path, first_sample, is_corrected, data_limited })
    }

    /// Applies a report to the rate (steps 4, 5, 3 and 6). With `ignores_receive_rate`, X_recv is not
    /// changed.
    pub(crate) fn apply(
        &mut self,
        now: Instant,
        feedback: &Feedback,
        observed: Observed,
        ignores_receive_rate: bool,
    ) {
        let Observed { path, first_sample, is_corrected, data_limited } = observed;
        self.stage = Stage::Answered;
        if let Some(small) = self.config.small_packets {
            self.rate.set_data_share(small.data_share(self.sizes.mean()));
        }
        // Step 4, replaced by the first round-trip sample (Section 4.2) unless there was a loss.
        if first_sample {
            self.rate.on_first_round_trip(now, &path);
        }
        let receive_rate =
            if ignores_receive_rate { self.rate.receive_rate() } else { feedback.receive_rate };
        if !first_sample || !feedback.loss_event_rate.is_zero() {
            let report = RateReport {
                receive_rate,
                loss_event_rate: feedback.loss_event_rate,
                new_loss_event: feedback.new_loss_event,
                // The first feedback has a rate of zero and covers no interval.
                data_limited: data_limited && !receive_rate.is_zero() && !ignores_receive_rate,
            };
            self.rate.on_feedback(now, &report, &path);
        }
        if is_corrected {
            self.rate.on_corrected_round_trip(now, &path);
        }
        self.reported_rate = feedback.receive_rate;
        // Steps 5, 3 and 6.
        self.pace();
        self.set_nofeedback_timer(now);
    }

    pub(crate) fn rate_law(&self) -> &SendRate {
        &self.rate
    }

    pub(crate) fn rate_law_mut(&mut self) -> &mut SendRate {
        &mut self.rate
    }

    /// `true` if a packet was sent since the nofeedback timer was set.
    pub(crate) fn awaits_feedback(&self) -> bool {
        self.active
    }

    /// `true` if the rate cannot grow further: on any path, or because another law bounds it.
    pub(crate) fn is_at_max_rate(&self) -> bool {
        self.rate.allowed() >= self.config.rate.max_rate || self.rate.allowed() < self.rate.unbounded()
    }

    /// Stops the nofeedback timer, as nothing will be sent for a while.
    pub(crate) fn suspend(&mut self) {
        self.nofeedback_deadline = None;
    }

    /// Prepares for a path change: the round-trip time is measured anew.
    pub(crate) fn expect_other_path(&mut self) {
        self.round_trip.expect_other_path();
    }

    /// Sets R to the last sample, from which averaging continues.
    pub(crate) fn trust_latest_round_trip(&mut self) {
        self.round_trip.trust_latest();
    }

    /// The last reported X_recv, without the report being processed.
    pub(crate) fn reported_rate(&self) -> DataRate {
        self.reported_rate
    }

    /// Restores the rate of `saved`, but not above `ceiling`; missed send times are dropped.
    pub(crate) fn restore(&mut self, now: Instant, saved: &SendRate, ceiling: DataRate) {
        let path = self.path();
        self.rate.set_ceiling(ceiling);
        self.rate.restore(now, saved, path.as_ref());
        // The sender would wait for reports that arrived while frozen.
        self.data_limit = DataLimit::default();
        self.pace();
        self.pacer.forget_missed(now);
    }

    /// Continues a restoration at `rate`, which is no measurement of the path.
    pub(crate) fn restore_at(&mut self, now: Instant, rate: DataRate) {
        self.rate.restore_at(now, rate);
        self.pace();
        self.pacer.forget_missed(now);
    }

    /// Average packet size; in TFRC-SP, not the nominal s.
    pub(crate) fn packet_size(&self) -> ByteCount {
        if self.config.small_packets.is_some() { self.sizes.mean() } else { self.sizes.segment_size() }
    }

    pub(crate) fn path(&self) -> Option<PathEstimate> {
        let (segment_size, max_segment_size) = (self.sizes.segment_size(), self.sizes.largest());
        let retransmit_timeout =
            self.timeout.as_ref().filter(|timeout| timeout.latest().is_some()).map(RttEstimator::rto);
        self.rtt().map(|rtt| PathEstimate { rtt, segment_size, max_segment_size, retransmit_timeout })
    }
}
