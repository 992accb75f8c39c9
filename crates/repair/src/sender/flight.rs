//! State in flight: the frames that can still be repaired, their packets, and the last report.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use whimbrel_units::{Duration, Instant};

use super::cadence::Cadence;
use super::given_up::GivenUp;
use super::path_rate::Window;
use super::reported::{Echo, Reported};
use super::round_trip::RoundTrip;
use crate::channel::Estimator;
use crate::decision::{Choice, Plan};
use crate::fecframe::Esi;
use crate::lateness::Lateness;
use crate::wire::{AduHeader, Report};

/// A packet's transmissions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) sent: Instant,
    captured: Instant,
    /// Octets that had been sent with it, repair included.
    pub(super) octets: u64,
    again: Option<Again>,
    /// For how long it was missing by the last report.
    overdue: Duration,
}

/// The newest repetition of a packet.
#[derive(Clone, Copy, Debug)]
struct Again {
    at: Instant,
    answer: u8,
    /// The repetition waits for the granted rate.
    is_queued: bool,
}

/// The coded packets of the newest answer for a frame, and those that wait for the granted rate.
#[derive(Clone, Copy, Debug)]
struct Surplus {
    answer: u8,
    at: Instant,
    sent: usize,
    queued: usize,
}

/// A frame that can still be repaired.
#[derive(Debug)]
pub(super) struct Frame {
    /// Its number.
    pub(super) number: u16,
    pub(super) captured: Instant,
    /// The last instant at which a packet is sent that arrives in time.
    pub(super) deadline: Instant,
    pub(super) first: Esi,
    pub(super) packets: u32,
    /// When its last packet was sent; `None` before.
    pub(super) ended: Option<Instant>,
    choice: Option<Arc<Choice>>,
    is_safe: bool,
    surplus: Option<Surplus>,
    /// An answer waits for a sign of life, or for the last instant.
    pub(super) is_held: bool,
}

impl Frame {
    /// When a held answer is sent at the latest.
    pub(super) fn last_instant(&self) -> Instant {
        self.deadline.saturating_sub(NOTICE)
    }
    pub(super) fn plan(&self) -> Option<&Plan> {
        let mix = &self.choice.as_ref()?.rounds;
        Some(if self.is_safe { &mix.safe } else { &mix.cheap })
    }
}

/// Missing packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Missing {
    /// Packets that are needed, beyond those that are under way.
    pub(super) needed: usize,
    /// The first and the last that were lost.
    pub(super) span: Option<(Esi, Esi)>,
    /// The report covers all its packets.
    pub(super) is_observed: bool,
}

/// Frames and packets.
#[derive(Debug)]
pub(super) struct Flight {
    latency: Duration,
    frames: VecDeque<Frame>,
    /// Of the symbols from `first` on.
    packets: VecDeque<Packet>,
    first: Esi,
    round_trip: RoundTrip,
    cadence: Cadence,
    reported: Reported,
    lateness: Lateness,
    /// The first symbol that the estimator has not seen.
    recorded: Esi,
    answer: u8,
    safe_share: f64,
    parity_share: f64,
}

/// Time for which the arrival of other packets is awaited before one counts as lost, besides the jitter.
const TOLERANCE: Duration = Duration::from_micros(500);
/// The longest time for which packets are remembered, even if a peer makes up longer round-trip times.
const MEMORY: Duration = Duration::from_secs(10);
/// From the end of a frame until the receiver notices a loss at its end.
pub(super) const NOTICE: Duration = Duration::from_millis(1);

impl Flight {
    pub(super) fn new(latency: Duration, round_trip: Duration, first: Esi) -> Self {
        Self {
            latency,
            frames: VecDeque::new(),
            packets: VecDeque::new(),
            first,
            round_trip: RoundTrip::new(round_trip),
            cadence: Cadence::default(),
            reported: Reported::default(),
            lateness: Lateness::default(),
            recorded: first,
            answer: 0,
            safe_share: 0.0,
            parity_share: 0.0,
        }
    }

    pub(super) fn round_trip(&self) -> Duration {
        self.round_trip.smoothed
    }

    pub(super) fn reported(&self) -> &Reported {
        &self.reported
    }

    /// The time of a round, from one answer to the next. The receiver awaits an answer for as long as its
    /// arrivals vary before it asks again, so that the mean variation is too little, as for a retransmission
    /// timeout (RFC 6298, Section 2). With four variations and four reports instead of one and two, 34
    /// instead of 127 of 22,000 frames are missed where both directions lose 8 % (round-trip time 40 ms, 120
    /// ms), and 6 instead of 9 % is sent more.
    pub(super) fn round(&self) -> Duration {
        self.round_trip.smoothed + self.round_trip.variation * 4 + NOTICE
    }
    fn tolerance(&self) -> Duration {
        TOLERANCE + self.round_trip.variation
    }
    pub(super) fn newest(&self) -> Option<&Frame> {
        self.frames.back()
    }
    pub(super) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter()
    }
    pub(super) fn frame_mut(&mut self, index: usize) -> Option<&mut Frame> {
        self.frames.get_mut(index)
    }
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.packets.len()
    }
    #[cfg(test)]
    pub(super) fn oldest_remembered(&self) -> Option<Esi> {
        (!self.packets.is_empty()).then_some(self.first)
    }
    fn packet_mut(&mut self, esi: Esi) -> Option<&mut Packet> {
        self.packets.get_mut(usize::try_from(esi.since(self.first)).ok()?)
    }
    pub(super) fn packet(&self, esi: Esi) -> Option<&Packet> {
        self.packets.get(usize::try_from(esi.since(self.first)).ok()?)
    }

    /// A packet of the application was sent.
    pub(super) fn on_source(
        &mut self,
        now: Instant,
        esi: Esi,
        header: &AduHeader,
        captured: Instant,
        deadline: Instant,
        octets: u64,
    ) {
        let begins = self.frames.back().is_none_or(|frame| frame.ended.is_some());
        if begins {
            self.lateness.on_frame();
            let before = self.frames.back().map(|frame| frame.captured);
            self.cadence.on_frame(now, captured, before);
            self.frames.push_back(Frame {
                number: header.frame,
                captured,
                deadline,
                first: esi,
                packets: 0,
                ended: None,
                choice: None,
                is_safe: false,
                surplus: None,
                is_held: false,
            });
        }
        if self.packets.is_empty() {
            self.first = esi;
        }
        self.packets.push_back(Packet { sent: now, captured, octets, again: None, overdue: Duration::ZERO });
        if let Some(frame) = self.frames.back_mut() {
            frame.packets += 1;
            frame.ended = header.is_last.then_some(now);
        }
    }

    /// A packet of the application, or its newest repetition, leaves later than it was said to.
    pub(super) fn on_departure(&mut self, now: Instant, esi: Esi, is_repeat: bool) {
        let Some(packet) = self.packet_mut(esi) else { return };
        if is_repeat {
            if let Some(again) = packet.again.as_mut().filter(|again| !again.is_queued) {
                again.at = now;
            }
            return;
        }
        packet.sent = now;
        let of = self.frames.iter_mut().rev().find(|frame| esi.since(frame.first) >= 0);
        if let Some(frame) = of.filter(|frame| esi.since(frame.first) + 1 == frame.packets as i32) {
            frame.ended = frame.ended.map(|_| now);
        }
    }

    /// A packet is about to be sent again (`is_queued`), or was.
    pub(super) fn on_repeat(&mut self, now: Instant, esi: Esi, answer: u8, is_queued: bool) {
        if let Some(packet) = self.packet_mut(esi) {
            packet.again = Some(Again { at: now, answer, is_queued });
        }
    }

    /// The rest of the newest frame is not sent.
    pub(super) fn end_newest(&mut self, now: Instant) {
        if let Some(frame) = self.frames.back_mut() {
            frame.ended.get_or_insert(now);
        }
    }

    /// Rounds that are left for a frame whose end is sent now, and the frames whose parity is in time for it,
    /// itself included.
    pub(super) fn room(&self, now: Instant, frame: &Frame) -> (usize, usize) {
        let slack = frame.deadline.saturating_since(now);
        let rounds = whole(slack.saturating_sub(NOTICE + self.tolerance()), self.round());
        let frames = if self.cadence.interval.is_zero() {
            0
        } else {
            whole(slack.saturating_sub(NOTICE), self.cadence.interval)
        };
        (rounds, frames + 1)
    }

    /// `true` if a queue of the path took the last round from a frame whose end is sent now: without it there
    /// is time for one. The round-trip time varies with the queue, so that its variation does not count.
    pub(super) fn queue_took_rounds(&self, now: Instant, frame: &Frame) -> bool {
        let without = (frame.captured + self.latency).saturating_since(now);
        without >= self.round_trip.least + NOTICE + TOLERANCE && self.room(now, frame).0 == 0
    }

    /// `true` if frames wait for the rate.
    pub(super) fn is_behind(&self) -> bool {
        self.cadence.is_behind()
    }

    /// Answers that can still be given, with one at `at`.
    pub(super) fn rounds_left(&self, frame: &Frame, at: Instant) -> usize {
        if at > frame.deadline {
            return 0;
        }
        1 + whole(frame.deadline - at, self.round())
    }
    /// When the report on the end of a frame is expected.
    pub(super) fn end_report(&self, frame: &Frame) -> Option<Instant> {
        frame.ended.map(|ended| ended + self.round_trip.smoothed + NOTICE)
    }

    /// Notes the plan of the newest frame, and returns the number of its parity packets.
    pub(super) fn plan(&mut self, choice: Arc<Choice>) -> usize {
        let Some(frame) = self.frames.back_mut() else { return 0 };
        let packets = frame.packets as usize;
        let parity = if let Some(window) = choice.window {
            self.parity_share += window.overhead * packets as f64;
            let whole = self.parity_share as usize;
            self.parity_share -= whole as f64;
            whole
        } else {
            self.safe_share += choice.rounds.share;
            frame.is_safe = self.safe_share >= 1.0;
            if frame.is_safe {
                self.safe_share -= 1.0;
            }
            let plan = if frame.is_safe { &choice.rounds.safe } else { &choice.rounds.cheap };
            plan.parity_for(packets)
        };
        frame.choice = Some(choice);
        parity
    }

    /// The first symbol of the oldest frame that parity sent now can complete in time.
    pub(super) fn oldest_in_time(&self, now: Instant) -> Esi {
        let frame = self.frames.iter().find(|frame| frame.deadline >= now);
        frame.map_or(self.first, |frame| frame.first)
    }

    /// Takes in a report. Returns `false` if it covers what was not sent.
    pub(super) fn on_report(&mut self, now: Instant, report: &Report, next: Esi) -> bool {
        if report.next.since(next) > 0 {
            return false;
        }
        self.reported.newest = Some(*report);
        let Some(esi) = report.echo else { return true };
        let Some(&Packet { captured, sent, .. }) = self.packet(esi) else { return true };
        // A round trip is never negative, so that a hold time that is too long is a lie.
        let passed = now.saturating_since(sent).as_nanos();
        let Some(sample) = passed.checked_sub(report.hold.as_nanos()) else { return false };
        self.round_trip.measure(Duration::from_nanos(sample));
        let packets = Window { first: self.first, packets: &self.packets };
        self.reported.on_echo(report, Echo { esi, captured, sent }, self.lateness.wait(), packets);
        self.note_lateness(report, sent);
        true
    }

    /// Packets missing in an earlier report that arrived since were only late.
    fn note_lateness(&mut self, report: &Report, horizon: Instant) {
        let (latency, round_trip) = (self.latency, self.round_trip.smoothed);
        let skip = report.next.since(self.first).max(0) as usize;
        let skip = skip.saturating_sub(u128::BITS as usize);
        for (index, packet) in self.packets.iter_mut().enumerate().skip(skip) {
            let has_arrived = report.arrived(self.first.plus(index as u32)) == Some(true);
            if has_arrived && packet.overdue > TOLERANCE {
                self.lateness.on_late(packet.overdue, latency, round_trip);
            }
            if packet.sent > horizon {
                break;
            }
            packet.overdue = if has_arrived { Duration::ZERO } else { horizon - packet.sent };
        }
    }

    pub(super) fn newest_report(&self) -> Option<Report> {
        self.reported.newest
    }

    /// Hands to the estimator which packets were lost and why, each once, when it is certain.
    pub(super) fn record_losses(&mut self, report: &Report, estimator: &mut Estimator) {
        let Some(horizon) = self.reported.horizon else { return };
        if self.recorded.since(self.first) < 0 {
            self.recorded = self.first;
        }
        while report.next.since(self.recorded) > 0 {
            let esi = self.recorded;
            let is_certain =
                self.packet(esi).is_none_or(|packet| packet.sent + self.tolerance() * 4 <= horizon);
            if !is_certain {
                return;
            }
            if let Some(arrived) = report.arrived(esi) {
                estimator.record((!arrived).then_some(report.cause));
            }
            self.recorded = esi.plus(1);
        }
    }

    /// Packets since the path was last seen, if what must have arrived since is lost. `None` if there is a
    /// newer sign of life.
    pub(super) fn silent_for(&self, report: &Report) -> Option<u32> {
        for (unknown, packet) in self.packets.iter().rev().enumerate() {
            let esi = self.first.plus((self.packets.len() - 1 - unknown) as u32);
            if report.arrived(esi) == Some(true) {
                return None;
            }
            if self.must_have_arrived(packet.sent) {
                return Some(unknown as u32);
            }
        }
        None
    }

    /// Missing packets, by a report.
    pub(super) fn missing(&self, frame: &Frame, report: &Report) -> Missing {
        let (mut lost, mut under_way, mut span) = (0_usize, 0_usize, None);
        let mut is_observed = frame.ended.is_some();
        for i in 0..frame.packets {
            let esi = frame.first.plus(i);
            let Some(packet) = self.packet(esi) else { continue };
            is_observed &= report.next.since(esi) > 0 || self.must_have_arrived(packet.sent);
            if self.is_lost(esi, packet, report) {
                lost += 1;
                under_way += usize::from(self.is_under_way(packet.again, report));
                span = Some((span.map_or(esi, |(first, _)| first), esi));
            }
        }
        if let Some(Surplus { answer, at, sent, queued }) = frame.surplus {
            let last = Again { at, answer, is_queued: false };
            under_way += queued + if self.is_under_way(Some(last), report) { sent } else { 0 };
        }
        Missing { needed: lost.saturating_sub(under_way), span, is_observed }
    }

    /// The receiver awaits an original for as long as its arrivals vary before it reports: its report counts
    /// at once, where packets do not overtake each other.
    fn must_have_arrived(&self, sent: Instant) -> bool {
        self.reported.horizon.is_some_and(|horizon| sent + TOLERANCE <= horizon)
    }
    /// The receiver does not wait for repeats: one may be on its way.
    fn repeat_must_have_arrived(&self, sent: Instant) -> bool {
        self.reported.repeat_horizon.is_some_and(|horizon| sent + self.tolerance() <= horizon)
    }
    fn is_lost(&self, esi: Esi, packet: &Packet, report: &Report) -> bool {
        if report.next.since(esi) > 0 { report.wants(esi) } else { self.must_have_arrived(packet.sent) }
    }
    /// `true` if the report cannot yet cover a packet sent in an answer. A packet that is still queued is
    /// under way for any report, so that reports do not make the queue grow.
    fn is_under_way(&self, again: Option<Again>, report: &Report) -> bool {
        again.is_some_and(|Again { at, answer, is_queued }| {
            let is_complete = report.answer != 0 && report.answer.wrapping_sub(answer) as i8 >= 0;
            is_queued || (!is_complete && !self.repeat_must_have_arrived(at))
        })
    }

    /// `true` if the packet is missing by the report and not under way.
    pub(super) fn is_wanted(&self, esi: Esi, report: &Report) -> bool {
        self.packet(esi).is_some_and(|packet| {
            self.is_lost(esi, packet, report) && !self.is_under_way(packet.again, report)
        })
    }

    /// Begins an answer and returns its number.
    pub(super) fn begin_answer(&mut self) -> u8 {
        self.answer = if self.answer == u8::MAX { 1 } else { self.answer + 1 };
        self.answer
    }

    /// Coded packets for a frame were queued.
    pub(super) fn on_surplus(&mut self, index: usize, count: usize, now: Instant) {
        let answer = self.answer;
        if let Some(frame) = self.frames.get_mut(index) {
            let queued = count + frame.surplus.map_or(0, |surplus| surplus.queued);
            frame.surplus = Some(Surplus { answer, at: now, sent: 0, queued });
        }
    }
    /// A coded packet for the frame that has `esi` has left the queue, and was sent or not.
    pub(super) fn on_surplus_left(&mut self, now: Instant, esi: Esi, is_sent: bool) {
        let mut frames = self.frames.iter_mut();
        let of = frames.find(|frame| (0..frame.packets as i32).contains(&esi.since(frame.first)));
        if let Some(surplus) = of.and_then(|frame| frame.surplus.as_mut()) {
            surplus.queued = surplus.queued.saturating_sub(1);
            surplus.sent += usize::from(is_sent);
            surplus.at = now;
        }
    }

    /// When held answers are due: at the last instant for the first of them.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.frames.iter().filter(|frame| frame.is_held).map(Frame::last_instant).min()
    }

    /// Hands over the frames whose deadline has passed. Returns the first symbol that is kept.
    pub(super) fn expire(&mut self, now: Instant, next: Esi, given_up: &mut GivenUp) -> Esi {
        // Also those that the application does not end.
        while self.frames.front().is_some_and(|frame| frame.deadline < now)
            && let Some(frame) = self.frames.pop_front()
        {
            given_up.push(frame);
        }
        let keep = self.frames.front().map_or(next, |frame| frame.first);
        // Packets are remembered for a while longer: reports still echo them.
        let memory = (self.round_trip.smoothed * 4 + Duration::from_millis(500)).min(MEMORY);
        while self.first != keep && self.packets.front().is_some_and(|packet| packet.sent + memory < now) {
            self.packets.pop_front();
            self.first = self.first.plus(1);
        }
        keep
    }
}

/// Multiples of `unit` in `time`.
fn whole(time: Duration, unit: Duration) -> usize {
    usize::try_from(time.as_nanos() / unit.as_nanos().max(1)).unwrap_or(usize::MAX).min(64)
}
