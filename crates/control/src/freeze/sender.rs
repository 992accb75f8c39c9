//! A TFRC sender that can be frozen.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::follow::CARRIED;
use super::{
    CarefulResume, Coverage, Follow, FreezeConfig, ProbeEnd, Restart, SenderInput, SenderState, at_most,
    has_left_authors_range, has_left_range,
};
use crate::tfrc::loss_intervals::INTERVALS;
use crate::tfrc::send_rate::SendRate;
use crate::tfrc::{Feedback, LossEventRate, SenderConfig, TfrcSender};

#[cfg(test)]
mod tests;

/// Reports come by the receiver's clock: one that is early by this part of a round-trip time covers one all the same.
const GRACE: u64 = 16;

/// How many round-trip times a sender waits for certainty whether the path carries what the application sends.
const LONGEST_RESTORATION: u64 = 8;

/// What a sender puts on its packets for the receiver to know its state (Section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Marking {
    /// Nothing.
    #[default]
    None,
    /// RESTORING, and what will end the probing that follows.
    Restoring(ProbeEnd),
    /// PROBING, and what will end it.
    Probing(ProbeEnd),
    /// PROBING, with the request to fit the loss history to the receive rate.
    Settle,
}

/// p by equation (4), without history discounting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlainRate {
    /// p.
    pub rate: LossEventRate,
    /// How many closed loss intervals it was computed from.
    pub intervals: usize,
}

impl PlainRate {
    /// p of a full history, where the receiver does not report its intervals.
    fn of_full_history(rate: LossEventRate) -> Self {
        Self { rate, intervals: INTERVALS }
    }
}

/// What a report says besides a [`Feedback`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Signs {
    /// UNFROZEN.
    pub unfrozen: bool,
    /// p by equation (4), where the sender can compute that.
    pub plain_rate: Option<PlainRate>,
    /// How many packets the report covers that no report before it covered, where the sender knows that.
    pub packets: Option<u64>,
    /// Whether a packet sent since the [restoration](FreezingSender::restorations) is known to be lost; without, a rise of p
    /// is taken for that.
    pub loss: Option<bool>,
}

/// A report, with what it means.
struct AssessedReport<'a> {
    feedback: &'a Feedback,
    unfrozen: bool,
    is_loss: bool,
    plain: PlainRate,
    packets: Option<u64>,
    wants_less: bool,
}

/// A [`TfrcSender`] with the states of Figure 7a around it. As long as nobody freezes it or has it probe it is that sender.
#[derive(Clone, Debug)]
pub struct FreezingSender {
    config: FreezeConfig,
    tfrc: TfrcSender,
    state: SenderState,
    /// Whether the receiver understands all this.
    assisted: bool,
    /// The rate before the freeze: X, and X_recv.
    saved: SendRate,
    /// The rate before the receiver fell silent, if it has.
    before_silence: Option<SendRate>,
    /// Since when reports are missing, if they are and silences count.
    silent_since: Instant,
    /// The receiver has been heard again after a silence, and has not reported yet.
    is_proven: bool,
    /// When the last report came.
    last_report: Instant,
    /// Data sent since then.
    sent: ByteCount,
    /// When the last packet was sent that a report has covered.
    reported: Instant,
    /// p_prev.
    previous: PlainRate,
    /// When the phase began: Restoring, Settling.
    since: Instant,
    follow: Follow,
    careful: Option<CarefulResume>,
    restorations: u64,
}

impl FreezingSender {
    /// A sender that has sent nothing yet.
    pub fn new(now: Instant, tfrc: SenderConfig, config: FreezeConfig) -> Self {
        let tfrc = TfrcSender::new(now, tfrc);
        Self {
            config,
            state: SenderState::Normal,
            assisted: false,
            saved: *tfrc.rate_law(),
            before_silence: None,
            silent_since: now,
            is_proven: false,
            last_report: now,
            sent: ByteCount::ZERO,
            reported: now,
            previous: PlainRate::of_full_history(LossEventRate::ZERO),
            since: now,
            follow: Follow::new(now, tfrc.allowed_rate()),
            careful: None,
            restorations: 0,
            tfrc,
        }
    }

    /// Whether the receiver understands RESTORING and PROBING. Without, a freeze saves and restores the rate, but nothing is
    /// marked and nothing probed: restoring ends with the first report that covers a round-trip time.
    pub fn set_assisted(&mut self, assisted: bool) {
        self.assisted = assisted;
    }

    /// The sender inside, to look at.
    pub fn tfrc(&self) -> &TfrcSender {
        &self.tfrc
    }

    /// The sender inside, for all that freezing does not change. Its packets, its feedback and its nofeedback timer
    /// belong to [`on_sent`](Self::on_sent), [`on_feedback`](Self::on_feedback) and [`on_nofeedback_timeout`](Self::on_nofeedback_timeout).
    pub fn tfrc_mut(&mut self) -> &mut TfrcSender {
        &mut self.tfrc
    }

    /// What it is about.
    pub fn state(&self) -> SenderState {
        self.state
    }

    /// How often it was restored: a new number means that [`Signs::loss`] begins anew.
    pub fn restorations(&self) -> u64 {
        self.restorations
    }

    /// A packet with `size` of application data is being sent.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, size: ByteCount) {
        self.sent += size;
        if matches!(self.state, SenderState::Restoring | SenderState::Probing) {
            self.follow.on_sent(now, size);
        }
        self.tfrc.on_sent(now, size);
    }

    /// The earliest instant at which the next packet may go; never while frozen.
    #[inline]
    pub fn next_send_time(&self) -> Option<Instant> {
        (self.state != SenderState::Frozen).then(|| self.tfrc.next_send_time())
    }

    /// What packets with data carry now.
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

    /// Sends nothing from now on.
    pub fn freeze(&mut self, now: Instant) {
        self.step(now, SenderInput::Freeze);
    }

    /// Goes on.
    pub fn unfreeze(&mut self, now: Instant) {
        self.step(now, SenderInput::Unfreeze);
    }

    /// Probes for more, without a freeze before it. Whether that is possible: not without the receiver's help.
    pub fn probe(&mut self, now: Instant) -> bool {
        if self.assisted {
            self.step(now, SenderInput::Probe);
        }
        self.state == SenderState::Probing
    }

    /// A report arrived.
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
            // What was lost meanwhile is no sign of the new path.
            self.previous = plain;
            signs.loss = Some(false);
        }
        self.before_silence = None;
        let wants_less = self.wants_less(now);
        (self.last_report, self.sent) = (now, ByteCount::ZERO);
        let before = self.state;
        let keeps_rtt = before == SenderState::Restoring && self.config.restart == Restart::AuthorsCode;
        let Some(observed) = self.tfrc.observe(now, feedback, keeps_rtt) else { return };
        let is_new = feedback.last_data_sent > self.reported || before == SenderState::Normal;
        let is_loss = signs.loss.unwrap_or(plain.rate > self.previous.rate);
        let (unfrozen, packets) = (signs.unfrozen, signs.packets);
        let assessed = AssessedReport { feedback, unfrozen, is_loss, plain, packets, wants_less };
        if is_new && let Some(input) = self.assess(now, &assessed) {
            if input == SenderInput::Lagging {
                let least = self.tfrc.packet_size() / self.tfrc.rtt().unwrap_or(Duration::MAX);
                // A report of few packets may be a packet short.
                let carried = feedback.receive_rate.max(self.tfrc.reported_rate());
                self.tfrc.rate_law_mut().set_ceiling(carried.max(least));
                // The history is made up for a round-trip time that the path has while it is full.
                self.tfrc.trust_latest_round_trip();
            }
            self.step(now, input);
        }
        let still = matches!(self.state, SenderState::Restoring | SenderState::Normal);
        let ignores =
            before == SenderState::Restoring && still && !self.has_measured(feedback, signs.unfrozen);
        self.tfrc.apply(now, feedback, observed, ignores);
        self.reported = self.reported.max(feedback.last_data_sent);
        self.previous = plain;
        self.follow.on_rate(now, self.tfrc.allowed_rate());
    }

    /// Whether X_recv can be believed in the report that ends a restoration.
    fn has_measured(&self, feedback: &Feedback, unfrozen: bool) -> bool {
        let unhelped = !self.assisted || self.careful.is_some();
        let is_over = self.state == SenderState::Normal;
        is_over && (unfrozen || unhelped && self.covers_round_trip(feedback))
    }

    /// What a report means in the present state.
    fn assess(&mut self, now: Instant, report: &AssessedReport<'_>) -> Option<SenderInput> {
        let AssessedReport { feedback, unfrozen, is_loss, wants_less, .. } = *report;
        let rtt = self.tfrc.rtt()?;
        let packet = self.tfrc.packet_size();
        let covers_phase = feedback.last_data_sent >= self.since;
        let carried = match self.state {
            SenderState::Restoring | SenderState::Probing => {
                self.follow.on_report(now, feedback.last_data_sent, feedback.receive_rate, rtt, packet)
            }
            _ => None,
        };
        let by_rate = self.config.restart == Restart::Following;
        match self.state {
            SenderState::Normal | SenderState::Frozen => None,
            SenderState::Restoring if self.careful.is_some() => self.resume_carefully(now, feedback, is_loss),
            SenderState::Restoring if !self.assisted => {
                let over = is_loss || self.covers_round_trip(feedback);
                over.then_some(SenderInput::Ended)
            }
            SenderState::Restoring if by_rate => match carried {
                _ if !unfrozen || !covers_phase => None,
                // Also of an application that wants less than the rate, and more than the path carries.
                Some(Coverage::Part) => Some(SenderInput::Lagging),
                // A path a little too narrow for it shows only in time. Nothing is lost by waiting.
                Some(Coverage::Most) if wants_less && !self.has_waited(now, rtt) => None,
                Some(_) if wants_less => Some(SenderInput::Ended),
                Some(_) => Some(SenderInput::Carried),
                None => None,
            },
            SenderState::Restoring if is_loss => Some(SenderInput::Ended),
            SenderState::Restoring => (unfrozen && covers_phase).then_some(SenderInput::Carried),
            SenderState::Probing if by_rate => {
                let over = carried == Some(Coverage::Part) || wants_less || self.tfrc.is_at_max_rate();
                over.then_some(SenderInput::Lagging)
            }
            SenderState::Probing if self.config.restart == Restart::AuthorsCode => {
                has_left_authors_range(self.previous.rate, report.plain.rate).then_some(SenderInput::Ended)
            }
            SenderState::Probing => {
                // X R, or more where a report was lost or came late: of what arrived, nothing speaks for a loss.
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

    /// Whether a restoration has lasted so long that a path that is too narrow for the application would have shown.
    fn has_waited(&self, now: Instant, rtt: Duration) -> bool {
        now - self.since >= rtt * LONGEST_RESTORATION
    }

    /// Whether the application sent so much less than it was allowed to, since the last report, that there is nothing to
    /// probe for. The rate only falls between reports.
    fn wants_less(&self, now: Instant) -> bool {
        let allowed = self.tfrc.allowed_rate() * (now - self.last_report);
        (self.sent + self.tfrc.packet_size()).as_f64() < allowed.as_f64() * CARRIED
    }

    /// Whether a report covers a round-trip time since the phase began.
    fn covers_round_trip(&self, feedback: &Feedback) -> bool {
        let rtt = self.tfrc.rtt().unwrap_or(Duration::ZERO);
        feedback.last_data_sent + rtt / GRACE >= self.since + rtt
    }

    /// The nofeedback timer may have expired. Early calls do nothing.
    pub fn on_nofeedback_timeout(&mut self, now: Instant) {
        if self.tfrc.nofeedback_deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        self.step(now, SenderInput::Silent);
        // An idle sender has no feedback to miss.
        let counts = self.config.silence.is_some() && self.tfrc.awaits_feedback();
        if counts && self.before_silence.is_none() {
            (self.before_silence, self.silent_since) = (Some(*self.tfrc.rate_law()), now);
        }
        self.tfrc.on_nofeedback_timeout(now);
    }

    /// The receiver acknowledged a packet that was sent at `sent`, in whatever way: to a packet without data there is no report.
    /// If that was during a silence that counts as a freeze, the path carries packets again, and the sender need not wait for a
    /// report, to packets that it sends at a rate halved many times.
    pub fn on_proof(&mut self, now: Instant, sent: Instant) {
        let is_news = !self.is_proven && sent >= self.silent_since && self.state != SenderState::Frozen;
        if is_news && self.ends_silence(now) {
            self.undo_silence(now);
            (self.before_silence, self.is_proven) = (None, true);
        }
    }

    /// Whether a report that arrives now is the first after a silence that counts as a freeze.
    pub fn ends_silence(&self, now: Instant) -> bool {
        if self.is_proven {
            return true;
        }
        let (Some(silence), Some(_), Some(rtt)) = (self.config.silence, self.before_silence, self.tfrc.rtt())
        else {
            return false;
        };
        now - self.last_report >= silence.duration(rtt)
    }

    /// As if it had been frozen since the last report.
    fn undo_silence(&mut self, now: Instant) {
        self.step(now, SenderInput::Freeze);
        if let Some(rate) = self.before_silence {
            self.saved = rate;
        }
        self.step(now, SenderInput::Unfreeze);
    }

    /// Takes a step in the state table, with what belongs to it.
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
            SenderState::Normal => self.careful = None,
            SenderState::Frozen => self.save(before),
            SenderState::Restoring => self.restore(now),
            SenderState::Probing if before == SenderState::Normal => {
                self.follow = Follow::new(now, self.tfrc.allowed_rate());
            }
            SenderState::Probing | SenderState::Settling => {}
        }
    }

    /// Section 4.4: "when entering this state, it also saves the value of Xrecv". A restoration that was cut off has
    /// measured nothing better.
    fn save(&mut self, before: SenderState) {
        if before != SenderState::Restoring {
            self.saved = *self.tfrc.rate_law();
        }
        self.tfrc.suspend();
    }

    /// Section 4.5.
    fn restore(&mut self, now: Instant) {
        self.restorations += 1;
        (self.last_report, self.sent) = (now, ByteCount::ZERO);
        let old = self.saved.allowed();
        let careful = self.config.restart == Restart::CarefulResume;
        self.careful = self
            .tfrc
            .path()
            .filter(|_| careful)
            .map(|path| CarefulResume::new(now, old, path.rtt, path.initial_rate().min(old)));
        let mut limit = self.config.restore_at_most.of(old);
        if self.config.restart == Restart::Following {
            // The old path's round-trip time says nothing of the new one's. But the old rate is the old rate, whatever
            // the equation would make of another round-trip time.
            self.tfrc.expect_other_path();
            limit = limit.min(old);
        }
        let ceiling = at_most(limit, self.careful.map(|careful| careful.limit()));
        self.tfrc.restore(now, &self.saved, ceiling);
        self.follow = Follow::new(now, self.tfrc.allowed_rate());
    }
}
