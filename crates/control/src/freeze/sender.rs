//! A TFRC sender that can be frozen.

use alloc::boxed::Box;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::follow::CARRIED;
use super::{
    CarefulResume, Coverage, Follow, FreezeConfig, Marking, Restart, SenderInput, SenderState, at_most,
    has_left_authors_range, has_left_range,
};
use crate::capacity::Estimate;
use crate::tfrc::loss_intervals::INTERVALS;
use crate::tfrc::send_rate::SendRate;
use crate::tfrc::{Feedback, LossEventRate, SenderConfig, TfrcSender};

#[cfg(test)]
mod tests;

/// Reports are timed by the receiver's clock: one that is early by this fraction of a round-trip time still
/// covers one.
const GRACE: u64 = 16;

/// Maximum number of round-trip times that a sender waits to determine if the path carries the application's
/// traffic.
const LONGEST_RESTORATION: u64 = 8;

/// p by equation (4), without history discounting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlainRate {
    /// p.
    pub rate: LossEventRate,
    /// Number of closed loss intervals from which it was computed.
    pub intervals: usize,
}

impl PlainRate {
    /// p of a full history, for receivers that do not report loss intervals.
    fn of_full_history(rate: LossEventRate) -> Self {
        Self { rate, intervals: INTERVALS }
    }
}

/// Contents of a report in addition to [`Feedback`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Signs {
    /// UNFROZEN.
    pub unfrozen: bool,
    /// p by equation (4), if the sender can compute it.
    pub plain_rate: Option<PlainRate>,
    /// Number of packets covered by this report but by none before, if known to the sender.
    pub packets: Option<u64>,
    /// `true` if a packet sent since the [restoration](FreezingSender::restorations) is known to be lost; if
    /// `None`, a rise of p is used instead.
    pub loss: Option<bool>,
}

/// A report with derived values.
struct AssessedReport<'a> {
    feedback: &'a Feedback,
    unfrozen: bool,
    is_loss: bool,
    plain: PlainRate,
    packets: Option<u64>,
    is_data_limited: bool,
}

/// A [`TfrcSender`] with the states of Figure 7a around it. Until it is frozen or made to probe, it behaves
/// as that sender.
#[derive(Clone, Debug)]
pub struct FreezingSender {
    config: FreezeConfig,
    tfrc: TfrcSender,
    state: SenderState,
    /// `true` if the receiver implements freezing.
    assisted: bool,
    /// The rate state before the freeze: X, and X_recv. `None` in the Normal state, as most connections are
    /// never frozen.
    saved: Option<Box<SendRate>>,
    /// The rate state before the receiver fell silent, if it has.
    before_silence: Option<Box<SendRate>>,
    /// Start of the missing reports, if they are missing and silences count.
    silent_since: Instant,
    /// `true` if the receiver has acknowledged a packet after a silence, but not reported yet.
    is_proven: bool,
    /// Arrival time of the last report.
    last_report: Instant,
    /// Data sent since then.
    sent: ByteCount,
    /// Send time of the last packet covered by a report.
    reported: Instant,
    /// p_prev.
    previous: PlainRate,
    /// Start of the phase: Restoring, Settling.
    since: Instant,
    /// Assesses the rates while Restoring and Probing; `None` in the Normal state.
    follow: Option<Box<Follow>>,
    careful: Option<CarefulResume>,
    restorations: u64,
    /// The estimate of the local link.
    link: Option<Estimate>,
    /// `true` if the rate of this restoration is the local link's.
    is_at_link_rate: bool,
}

impl FreezingSender {
    /// A sender that has not sent any packet.
    pub fn new(now: Instant, tfrc: SenderConfig, config: FreezeConfig) -> Self {
        let tfrc = TfrcSender::new(now, tfrc);
        Self {
            config,
            state: SenderState::Normal,
            assisted: false,
            saved: None,
            before_silence: None,
            silent_since: now,
            is_proven: false,
            last_report: now,
            sent: ByteCount::ZERO,
            reported: now,
            previous: PlainRate::of_full_history(LossEventRate::ZERO),
            since: now,
            follow: None,
            careful: None,
            restorations: 0,
            link: None,
            is_at_link_rate: false,
            tfrc,
        }
    }

    /// Sets `assisted` to `true` if the receiver implements RESTORING and PROBING. Otherwise a freeze saves
    /// and restores the rate, but nothing is marked and there is no probing: restoring ends with the first
    /// report that covers a round-trip time.
    pub fn set_assisted(&mut self, assisted: bool) {
        self.assisted = assisted;
    }

    /// The underlying TFRC sender.
    pub fn tfrc(&self) -> &TfrcSender {
        &self.tfrc
    }

    /// The underlying sender, for operations that freezing does not change. Sent packets, feedback and the
    /// nofeedback timer must go through [`on_sent`](Self::on_sent), [`on_feedback`](Self::on_feedback) and
    /// [`on_nofeedback_timeout`](Self::on_nofeedback_timeout).
    pub fn tfrc_mut(&mut self) -> &mut TfrcSender {
        &mut self.tfrc
    }

    /// The current freeze state.
    pub fn state(&self) -> SenderState {
        self.state
    }

    /// Number of restorations: [`Signs::loss`] starts anew with each.
    pub fn restorations(&self) -> u64 {
        self.restorations
    }

    /// Processes the sending of a packet with `size` of application data.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, size: ByteCount) {
        self.sent += size;
        if matches!(self.state, SenderState::Restoring | SenderState::Probing)
            && let Some(follow) = &mut self.follow
        {
            follow.on_sent(now, size);
        }
        self.tfrc.on_sent(now, size);
    }

    /// The earliest instant at which the next packet may be sent; `None` while frozen.
    #[inline]
    pub fn next_send_time(&self) -> Option<Instant> {
        (self.state != SenderState::Frozen).then(|| self.tfrc.next_send_time())
    }

    /// The marking of data packets in the current state.
    #[inline]
    pub fn marking(&self) -> Marking {
        let end = self.config.restart.probe_end();
        match self.state {
            _ if !self.assisted || self.careful.is_some() => Marking::None,
            SenderState::Normal | SenderState::Frozen => Marking::None,
            SenderState::Restoring => Marking::Restoring(end),
            SenderState::Probing => Marking::Probing(end),
            SenderState::Settling => Marking::Settle,
        }
    }

    /// Stops sending.
    pub fn freeze(&mut self, now: Instant) {
        self.step(now, SenderInput::Freeze);
    }

    /// Resumes sending.
    pub fn unfreeze(&mut self, now: Instant) {
        self.step(now, SenderInput::Unfreeze);
    }

    /// Starts probing without a preceding freeze. Returns `false` if the receiver does not assist.
    pub fn probe(&mut self, now: Instant) -> bool {
        if self.assisted {
            self.step(now, SenderInput::Probe);
        }
        self.state == SenderState::Probing
    }

    /// Sets the estimate of the capacity and the available bandwidth of the local link, as rates of
    /// application data; `None` if there is none for the present link. [`Restart::LinkCapacity`] and
    /// [`Restart::LinkAvailable`] restart at it: the first estimate that is known at the end of a freeze or
    /// before the restored rate is assessed counts.
    pub fn set_link_estimate(&mut self, now: Instant, estimate: Option<Estimate>) {
        self.link = estimate;
        if self.state == SenderState::Restoring && !self.is_at_link_rate && self.restore_at_link_rate(now) {
            // Reports on packets sent at the rate before do not assess this one.
            self.since = now;
            self.start_following(now);
        }
    }

    /// Processes a report.
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback, mut signs: Signs) {
        // Section 4.4: "while in the Frozen state, the sender ignores all feedback messages".
        if self.state == SenderState::Frozen {
            return;
        }
        let plain = signs.plain_rate.unwrap_or(PlainRate::of_full_history(feedback.loss_event_rate));
        if self.ends_silence(now) {
            if !core::mem::take(&mut self.is_proven) {
                self.undo_silence(now);
            }
            // Losses during the freeze are no evidence about the new path.
            self.previous = plain;
            signs.loss = Some(false);
        }
        self.before_silence = None;
        let is_data_limited = self.is_data_limited(now);
        (self.last_report, self.sent) = (now, ByteCount::ZERO);
        let before = self.state;
        let keeps_rtt = before == SenderState::Restoring && self.config.restart == Restart::AuthorsCode;
        let Some(observed) = self.tfrc.observe(now, feedback, keeps_rtt) else { return };
        let is_new = feedback.last_data_sent > self.reported || before == SenderState::Normal;
        let is_loss = signs.loss.unwrap_or(plain.rate > self.previous.rate);
        let (unfrozen, packets) = (signs.unfrozen, signs.packets);
        let assessed = AssessedReport { feedback, unfrozen, is_loss, plain, packets, is_data_limited };
        if is_new && let Some(input) = self.assess(now, &assessed) {
            if input == SenderInput::Lagging {
                let least = self.tfrc.packet_size() / self.tfrc.rtt().unwrap_or(Duration::MAX);
                // The receive rate in a report of few packets may be short by one packet.
                let carried = feedback.receive_rate.max(self.tfrc.reported_rate());
                self.tfrc.rate_law_mut().set_ceiling(carried.max(least));
                // The synthetic history is computed for the round-trip time of the full path.
                self.tfrc.trust_latest_round_trip();
            }
            self.step(now, input);
        }
        if self.is_at_link_rate && self.state != SenderState::Restoring {
            // The rate of the link was no measurement of the path.
            self.is_at_link_rate = false;
            if self.state != SenderState::Normal || self.has_measured(feedback, signs.unfrozen) {
                self.tfrc.rate_law_mut().replace_receive_rate(now, feedback.receive_rate);
            }
        }
        let still = matches!(self.state, SenderState::Restoring | SenderState::Normal);
        let ignores =
            before == SenderState::Restoring && still && !self.has_measured(feedback, signs.unfrozen);
        self.tfrc.apply(now, feedback, observed, ignores);
        self.reported = self.reported.max(feedback.last_data_sent);
        self.previous = plain;
        if let Some(follow) = &mut self.follow {
            follow.on_rate(now, self.tfrc.allowed_rate());
        }
    }

    /// `true` if X_recv is meaningful in the report that ends a restoration.
    fn has_measured(&self, feedback: &Feedback, unfrozen: bool) -> bool {
        let unhelped = !self.assisted || self.careful.is_some();
        let is_over = self.state == SenderState::Normal;
        is_over && (unfrozen || unhelped && self.covers_round_trip(feedback))
    }

    /// Input to the state table that a report causes in the current state.
    fn assess(&mut self, now: Instant, report: &AssessedReport<'_>) -> Option<SenderInput> {
        let AssessedReport { feedback, unfrozen, is_loss, is_data_limited, .. } = *report;
        let rtt = self.tfrc.rtt()?;
        let packet = self.tfrc.packet_size();
        let covers_phase = feedback.last_data_sent >= self.since;
        let carried = match self.state {
            SenderState::Restoring | SenderState::Probing => {
                let follow = self.follow.as_mut()?;
                follow.on_report(now, feedback.last_data_sent, feedback.receive_rate, rtt, packet)
            }
            _ => None,
        };
        let by_rate = self.config.restart.is_by_receive_rate();
        match self.state {
            SenderState::Normal | SenderState::Frozen => None,
            SenderState::Restoring if self.careful.is_some() => self.resume_carefully(now, feedback, is_loss),
            SenderState::Restoring if !self.assisted => {
                let over = is_loss || self.covers_round_trip(feedback);
                over.then_some(SenderInput::Ended)
            }
            SenderState::Restoring if by_rate => match carried {
                _ if !unfrozen || !covers_phase => None,
                // Also for an application that sends less than the rate, and more than the path carries.
                Some(Coverage::Part) => Some(SenderInput::Lagging),
                // Only later reports show a path slightly too narrow for the application. Waiting costs
                // nothing.
                Some(Coverage::Most) if is_data_limited && !self.has_waited(now, rtt) => None,
                Some(_) if is_data_limited => Some(SenderInput::Ended),
                // The path carries the rate of the link: there is nothing to probe for.
                Some(_) if self.is_at_link_rate => Some(SenderInput::Lagging),
                Some(_) => Some(SenderInput::Carried),
                None => None,
            },
            SenderState::Restoring if is_loss => Some(SenderInput::Ended),
            SenderState::Restoring => (unfrozen && covers_phase).then_some(SenderInput::Carried),
            SenderState::Probing if by_rate => {
                let over = carried == Some(Coverage::Part) || is_data_limited || self.tfrc.is_at_max_rate();
                over.then_some(SenderInput::Lagging)
            }
            SenderState::Probing if self.config.restart == Restart::AuthorsCode => {
                has_left_authors_range(self.previous.rate, report.plain.rate).then_some(SenderInput::Ended)
            }
            SenderState::Probing => {
                // X R, or more if a report was lost or late: the packets that arrived are no evidence of
                // loss.
                let rate = self.tfrc.allowed_rate().as_bytes_per_second() / packet.as_f64();
                let covered = report.packets.unwrap_or(0) as f64;
                let packets = covered.max(rate * rtt.as_secs_f64());
                has_left_range(packets, self.previous, report.plain.rate).then_some(SenderInput::Ended)
            }
            SenderState::Settling => covers_phase.then_some(SenderInput::Ended),
        }
    }

    fn resume_carefully(&mut self, now: Instant, feedback: &Feedback, is_loss: bool) -> Option<SenderInput> {
        let careful = self.careful.as_mut()?;
        let sample = (now - feedback.last_data_sent) - feedback.delay;
        careful.on_report(now, feedback.last_data_sent, is_loss, sample, feedback.receive_rate);
        let limit = careful.limit();
        self.tfrc.rate_law_mut().set_ceiling(limit);
        (limit == DataRate::INFINITE).then_some(SenderInput::Ended)
    }

    /// `true` if a restoration has lasted so long that a path too narrow for the application would have been
    /// detected.
    fn has_waited(&self, now: Instant, rtt: Duration) -> bool {
        now - self.since >= rtt * LONGEST_RESTORATION
    }

    /// `true` if the application has sent so much less than allowed since the last report that probing is
    /// pointless. The rate only decreases between reports.
    fn is_data_limited(&self, now: Instant) -> bool {
        let allowed = self.tfrc.allowed_rate() * (now - self.last_report);
        (self.sent + self.tfrc.packet_size()).as_f64() < allowed.as_f64() * CARRIED
    }

    /// `true` if a report covers a round-trip time since the start of the phase.
    fn covers_round_trip(&self, feedback: &Feedback) -> bool {
        let rtt = self.tfrc.rtt().unwrap_or(Duration::ZERO);
        feedback.last_data_sent + rtt / GRACE >= self.since + rtt
    }

    /// Handles the expiration of the nofeedback timer. Early calls have no effect.
    pub fn on_nofeedback_timeout(&mut self, now: Instant) {
        if self.tfrc.nofeedback_deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        self.step(now, SenderInput::Silent);
        // An idle sender expects no feedback.
        let counts = self.config.silence.is_some() && self.tfrc.awaits_feedback();
        if counts && self.before_silence.is_none() {
            let settled = Box::new(self.tfrc.rate_law().settled());
            (self.before_silence, self.silent_since) = (Some(settled), now);
        }
        self.tfrc.on_nofeedback_timeout(now);
    }

    /// Processes the acknowledgement, in any form, of a packet sent at `sent`: packets without data cause no
    /// report. During a silence that counts as a freeze, it shows that the path carries packets again, and
    /// the sender need not wait for a report on packets sent at a rate that was halved many times.
    pub fn on_proof(&mut self, now: Instant, sent: Instant) {
        let is_news = !self.is_proven && sent >= self.silent_since && self.state != SenderState::Frozen;
        if is_news && self.ends_silence(now) {
            self.undo_silence(now);
            (self.before_silence, self.is_proven) = (None, true);
        }
    }

    /// `true` if a report that arrives at `now` is the first after a silence that counts as a freeze.
    pub fn ends_silence(&self, now: Instant) -> bool {
        if self.is_proven {
            return true;
        }
        let (Some(silence), Some(_), Some(rtt)) =
            (self.config.silence, &self.before_silence, self.tfrc.rtt())
        else {
            return false;
        };
        now - self.last_report >= silence.duration(rtt)
    }

    /// Restores the state as if the sender had been frozen since the last report.
    fn undo_silence(&mut self, now: Instant) {
        self.step(now, SenderInput::Freeze);
        if let Some(rate) = self.before_silence.take() {
            self.saved = Some(rate);
        }
        self.step(now, SenderInput::Unfreeze);
    }

    /// Performs a transition of the state table and its actions.
    fn step(&mut self, now: Instant, input: SenderInput) {
        let before = self.state;
        self.state = before.after(input);
        if before == self.state {
            return;
        }
        let law = self.tfrc.rate_law_mut();
        law.set_probing(matches!(self.state, SenderState::Probing | SenderState::Settling));
        if self.state != SenderState::Settling {
            law.set_ceiling(DataRate::INFINITE);
        }
        self.since = now;
        match self.state {
            SenderState::Normal => (self.careful, self.saved, self.follow) = (None, None, None),
            SenderState::Frozen => self.save(before),
            SenderState::Restoring => self.restore(now),
            SenderState::Probing if before == SenderState::Normal => self.start_following(now),
            SenderState::Probing | SenderState::Settling => {}
        }
    }

    /// Section 4.4: "when entering this state, it also saves the value of Xrecv". An interrupted restoration
    /// has measured no better value.
    fn save(&mut self, before: SenderState) {
        if before != SenderState::Restoring {
            self.saved = Some(Box::new(self.tfrc.rate_law().settled()));
        }
        self.tfrc.suspend();
    }

    /// Section 4.5.
    fn restore(&mut self, now: Instant) {
        self.restorations += 1;
        (self.last_report, self.sent) = (now, ByteCount::ZERO);
        let saved = *self.saved();
        let old = saved.allowed();
        let careful = self.config.restart == Restart::CarefulResume;
        self.careful = self
            .tfrc
            .path()
            .filter(|_| careful)
            .map(|path| CarefulResume::new(now, old, path.rtt, path.initial_rate().min(old)));
        let mut limit = self.config.restore_at_most.of(old);
        if self.config.restart.is_by_receive_rate() {
            // The round-trip time of the old path is no estimate for the new one. The restored rate is
            // kept, regardless of what the equation yields for another round-trip time.
            self.tfrc.expect_other_path();
            limit = limit.min(old);
        }
        let initial = self.tfrc.path().filter(|_| self.config.restart.uses_link());
        let reconnaissance = initial.map(|path| path.initial_rate().min(old));
        let ceiling = at_most(limit, self.careful.map(|careful| careful.limit()).or(reconnaissance));
        self.tfrc.restore(now, &saved, ceiling);
        self.is_at_link_rate = false;
        self.restore_at_link_rate(now);
        self.start_following(now);
    }

    /// The rate state before the freeze.
    fn saved(&self) -> &SendRate {
        self.saved.as_deref().unwrap_or(self.tfrc.rate_law())
    }

    fn start_following(&mut self, now: Instant) {
        self.follow = Some(Box::new(Follow::new(now, self.tfrc.allowed_rate())));
    }

    /// Restores the rate of the local link, if the rule uses it and there is an estimate.
    fn restore_at_link_rate(&mut self, now: Instant) -> bool {
        let rate = self.link.and_then(|link| self.config.restart.link_rate(link));
        let Some(rate) = rate.filter(|rate| !rate.is_zero()) else { return false };
        let limit = self.config.restore_at_most.of(self.saved().allowed());
        self.tfrc.restore_at(now, rate.min(limit));
        self.is_at_link_rate = true;
        true
    }
}
