//! When reports are sent.
//!
//! - At the first arrival after a loss in an earlier frame, and at the end of a frame that lost packets;
//!   after the time by which the path was seen to reorder packets.
//! - By time: when the rest of a frame, or the next frame, should have arrived; not where packets that were
//!   overdue have turned out to be late rather than lost, as where the rate of the path falls.
//! - When an answer is complete and more is missing, or when it should be: one round trip after the report.
//! - At the beginning of a frame if the delay has grown: encoders have to send less.
//! - Otherwise rarely, for the sender's estimates, and a few times after the last arrival.
//!
//! A sender that pauses gets no reports. Data that was asked for is expected for the latency, and further
//! frames for two seconds.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::channel::Cause;
use crate::fecframe::Esi;
use crate::lateness::Lateness;
use crate::wire::{AduHeader, Report};

mod answers;
mod copies;
mod growth;
mod silence;
mod symbols;
mod timers;

use copies::Copies;
use growth::Growth;
use silence::Silence;
pub(super) use symbols::Original;
use symbols::{Arriving, Asking, Awaited, Gap, MOST_AWAITED};

/// Lateness of expected packets that causes no report, besides the jitter.
const MARGIN: Duration = Duration::from_millis(1);
/// The least time between reports.
const SPACING: Duration = Duration::from_micros(500);
/// Reports without another reason: after this time, or after so many packets.
const RARELY: Duration = Duration::from_millis(100);
const MANY: u32 = 64;
/// A delay that has grown by this part of the latency, and more than arrivals vary, is reported.
const GROWTH: u64 = 8;
/// Rare reports after the last arrival.
const RARE: u8 = 4;
/// Lost packets in a row after which the first arrival is reported at once, if more is missing.
const LONG_GAP: i32 = 3;
/// Frames after which a long time between frames has lost most of its weight.
const FORGOTTEN_AFTER: u64 = 128;
/// Symbols that the end of a frame may be ahead of the newest arrival.
const MOST_TAIL: i32 = 255;
/// Gaps that are remembered.
const MOST_GAPS: usize = 32;

/// The scheduler of reports.
#[derive(Debug)]
pub(super) struct Feedback {
    round_trip: Duration,
    is_measured: bool,
    latency: Duration,
    /// The classifier's verdict on the newest losses.
    cause: Cause,
    newest: Option<(Esi, Instant)>,
    /// The timestamp of the newest original.
    newest_time: u32,
    growth: Growth,
    /// Bit i: the symbol `arrivals_end - 1 - i` arrived.
    arrivals: u128,
    arrivals_end: Esi,
    arriving: Option<Arriving>,
    /// Time between packets of a frame and its mean deviation, between frames, and of a whole frame.
    gap: Duration,
    jitter: Duration,
    pub(super) interval: Duration,
    spread: Duration,
    /// The longest time between frames of late, which bursts of frames have in between.
    pause: Duration,
    /// Lateness of overtaken packets.
    lateness: Lateness,
    /// By how much frames are sent later than expected.
    irregularity: Lateness,
    /// The newest gaps.
    gaps: VecDeque<Gap>,
    now_due: Option<Instant>,
    /// The report that is due is caused by an arrival that did not happen.
    is_overdue: bool,
    tail_due: Option<Instant>,
    frame_due: Option<Instant>,
    awaited: VecDeque<Awaited>,
    /// Symbols that the report that is due asks for, and the end of all that were asked for.
    asking: VecDeque<Asking>,
    asked: Esi,
    /// The symbols of the rest of the frame.
    tail: (Esi, Esi),
    /// When the rest of an answer should have arrived.
    answer_due: Option<Instant>,
    rare_due: Option<Instant>,
    rare_left: u8,
    copies: Copies,
    silence: Silence,
    last: Option<Instant>,
    since: u32,
    number: u8,
    /// When the last reports were sent, by number.
    sent: [(u8, Instant); 16],
    answer: u8,
    partial: u8,
}

impl Feedback {
    pub(super) fn new(round_trip: Duration, latency: Duration, first: Esi) -> Self {
        Self {
            round_trip,
            is_measured: false,
            latency,
            cause: Cause::Unknown,
            newest: None,
            newest_time: 0,
            growth: Growth::default(),
            arrivals: 0,
            arrivals_end: first,
            arriving: None,
            gap: Duration::ZERO,
            jitter: Duration::ZERO,
            interval: Duration::ZERO,
            spread: Duration::ZERO,
            pause: Duration::ZERO,
            lateness: Lateness::default(),
            irregularity: Lateness::default(),
            gaps: VecDeque::with_capacity(MOST_GAPS),
            now_due: None,
            is_overdue: false,
            tail_due: None,
            frame_due: None,
            awaited: VecDeque::new(),
            asking: VecDeque::new(),
            asked: first,
            tail: (first, first),
            answer_due: None,
            rare_due: None,
            rare_left: 0,
            copies: Copies::default(),
            silence: Silence::default(),
            last: None,
            since: 0,
            number: 0,
            sent: [(0, Instant::ZERO); 16],
            answer: 0,
            partial: 0,
        }
    }

    pub(super) fn round_trip(&self) -> Duration {
        if self.is_measured { self.round_trip } else { Duration::ZERO }
    }

    pub(super) fn set_verdict(&mut self, verdict: Cause) {
        self.cause = verdict;
    }

    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
        self.is_measured = true;
    }

    fn margin(&self) -> Duration {
        MARGIN + self.jitter * 2 + self.lateness.wait()
    }

    /// An original arrived. `misses_older` and `misses_in_frame` say whether symbols of older frames and of
    /// this one are unknown.
    pub(super) fn on_original(
        &mut self,
        now: Instant,
        original: Original<'_>,
        misses_older: bool,
        misses_in_frame: bool,
    ) {
        let Original { esi, is_whole, header, before } = original;
        let was_loss = self.silence.is_loss();
        let silent = self.silence.end(esi == self.arrivals_end);
        if silent > 0 && esi == self.arrivals_end {
            self.note_irregularity(now, header.time);
        }
        self.note_arrival(now, esi, is_whole, before);
        if self.newest == Some((esi, now)) {
            self.newest_time = header.time;
        }
        self.since += 1;
        let is_end = header.is_last || header.count.is_some_and(|count| header.index == count - 1);
        self.note_frame(now, esi, header, is_end);
        let is_gap = esi.since(before) > 0;
        if is_gap {
            if self.gaps.len() == MOST_GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back(Gap { first: before, end: esi, noticed: now });
            let (from, interval, wait) =
                (self.silence.from(), self.expected_interval(), self.round_trip + self.margin());
            let silent = if was_loss { silent } else { 0 };
            let asked = (1..silent).map(|frame| from + interval * u64::from(frame));
            Awaited::remember_frames(&mut self.awaited, (before, esi), asked.map(|at| (at, at + wait)), now);
        }
        let first = esi.plus(u32::from(header.index).wrapping_neg());
        // The beginning of the frame shows that what came before is lost, and what arrives after a longer
        // gap, that the path is alive.
        if is_gap && misses_older {
            if first.since(self.asked) > 0 && before.since(first) < 0 {
                self.ask(before, first.plus(u32::MAX), now + self.lateness.wait());
            } else if esi.since(before) >= LONG_GAP {
                self.report_at(now + self.lateness.wait());
            }
        }
        // Also within a frame: with the rate of the path, the sender knows a large frame from a slower path.
        if self.growth.is_news(now, header.time, self.latency / GROWTH + self.margin()) {
            self.report_at(now);
        }
        if is_end && misses_in_frame && !header.has_parity {
            self.ask(first, esi, now + self.lateness.wait());
        }
        // A header may claim a place behind the frame's end.
        let after = |count: u8| count.saturating_sub(header.index).saturating_sub(1);
        let left = if is_end { 0 } else { header.count.map_or(1, |count| after(count).max(1)) };
        self.tail = (first, if is_end { esi } else { esi.plus(u32::from(left)) });
        // The parity is the rest, too.
        self.tail_due =
            if is_end && !(header.has_parity && misses_in_frame) { None } else { self.tail(left) };
        self.rare_left = RARE;
        let due = self.rare_due.unwrap_or(now + RARELY);
        // One that will soon be due travels with the acknowledgement of this arrival.
        let is_soon = is_end && due <= now + RARELY / 8 || self.since >= MANY;
        self.rare_due = Some(if is_soon { now } else { due });
    }

    /// A frame was expected too early, and nothing was lost: later frames are taken for lost later. The wait
    /// is long for a late sender, and for a late path so short that a repeat still arrives in time.
    fn note_irregularity(&mut self, now: Instant, time: u32) {
        let step = self.arriving.map_or(0, |before| AduHeader::difference(time, before.time));
        let step = Duration::from_nanos(u64::try_from(step).unwrap_or(0));
        let late = step.saturating_sub(self.expected_interval());
        let on_path = self.irregularity.wait() + (now - self.silence.from());
        let left = self.latency.saturating_sub(self.round_trip);
        self.irregularity.raise((late + late / 4).min(self.latency * 2));
        self.irregularity.raise((on_path + on_path / 4).min(self.round_trip.min(left) / 4));
    }

    fn note_arrival(&mut self, now: Instant, esi: Esi, is_whole: bool, before: Esi) {
        let ahead = esi.plus(1).since(self.arrivals_end);
        if ahead > 0 {
            self.arrivals = if ahead < 128 { self.arrivals << ahead } else { 0 };
            self.arrivals_end = esi.plus(1);
        }
        let back = self.arrivals_end.plus(u32::MAX).since(esi);
        // A damaged one is an erasure for the estimate of the channel.
        if (0..128).contains(&back) && is_whole {
            self.arrivals |= 1 << back;
        }
        match self.newest {
            Some((newest, _)) if esi.since(newest) < 0 => {
                // Overtaken: it fills a gap that was noticed before.
                let of = self.gaps.iter().find(|gap| gap.end.since(esi) > 0);
                if let Some(gap) = of.filter(|_| before.since(esi) > 0) {
                    self.lateness.on_late(now - gap.noticed, self.latency, self.round_trip);
                }
            }
            _ => self.newest = Some((esi, now)),
        }
    }

    fn note_frame(&mut self, now: Instant, esi: Esi, header: &AduHeader, is_end: bool) {
        let follow = self.arriving.filter(|arriving| arriving.number == header.frame);
        if let Some(mut arriving) = follow {
            let steps = esi.since(arriving.newest);
            if steps > 0 {
                let sample = (now - arriving.newest_at) / steps as u64;
                let deviation = sample.saturating_sub(self.gap) + self.gap.saturating_sub(sample);
                let is_first = self.gap.is_zero();
                self.jitter = if is_first { Duration::ZERO } else { (self.jitter * 7 + deviation) / 8 };
                self.gap = if is_first { sample } else { (self.gap * 7 + sample) / 8 };
                (arriving.newest, arriving.newest_at) = (esi, now);
                self.arriving = Some(arriving);
            }
        } else if self.arriving.is_none_or(|arriving| (header.frame.wrapping_sub(arriving.number) as i16) > 0)
        {
            let begun = now.saturating_sub(self.gap * u64::from(header.index));
            if let Some(before) = self.arriving {
                let frames = u64::from(header.frame.wrapping_sub(before.number));
                let step = AduHeader::difference(header.time, before.time);
                if let Ok(step) = u64::try_from(step) {
                    let sample = Duration::from_nanos(step) / frames;
                    let is_first = self.interval.is_zero();
                    self.interval = if is_first { sample } else { (self.interval * 7 + sample) / 8 };
                    self.pause = sample.min(self.latency).max(self.pause - self.pause / FORGOTTEN_AFTER);
                }
                self.lateness.on_frame();
                self.irregularity.on_frame();
            }
            let arriving =
                Arriving { number: header.frame, time: header.time, begun, newest: esi, newest_at: now };
            self.arriving = Some(arriving);
        }
        if let Some(count) = header.count {
            self.spread = self.gap * u64::from(count - 1);
        }
        // A frame of many packets takes longer than the time to the next one, which then follows it.
        let left =
            if is_end { 0 } else { header.count.map_or(1, |count| count.saturating_sub(header.index)) };
        let wait = self.irregularity.wait();
        // A request that comes later than the latency is of no use.
        let is_expected = !self.interval.is_zero() && wait < self.latency;
        self.frame_due = self.arriving.filter(|_| is_expected).map(|arriving| {
            let after = arriving.newest_at + self.gap * u64::from(left + 1);
            (arriving.begun + self.expected_interval() + self.spread).max(after) + self.margin() + wait
        });
    }

    /// Time within which the next frame is expected. Frames that come in bursts, such as datagrams without
    /// marks, are expected after a pause, unless the budget is too short to wait for that.
    fn expected_interval(&self) -> Duration {
        self.interval.max(self.pause.min(self.latency / 4))
    }

    /// When the rest of the frame should have arrived.
    fn tail(&self, left: u8) -> Option<Instant> {
        let arriving = self.arriving?;
        Some(arriving.newest_at + self.gap * u64::from(left) + self.margin())
    }

    /// Parity arrived, and symbols of its window are unknown. `end` is the end of its frame.
    pub(super) fn on_parity(&mut self, now: Instant, end: Esi, is_last: bool) {
        if end.since(self.tail.0) <= 0 {
            return;
        }
        let last = end.plus(u32::MAX);
        if is_last {
            let first = if end.since(self.arrivals_end) > MOST_TAIL { last } else { self.tail.0 };
            self.tail_due = None;
            self.ask(first, last, now + self.lateness.wait());
        } else {
            self.tail = (self.tail.0, last);
            self.tail_due = Some(now + self.margin());
        }
    }

    /// Parity arrived and all of its window is known.
    pub(super) fn on_whole(&mut self, end: Esi) {
        if self.tail.1.plus(1) == end {
            self.tail_due = None;
        }
    }

    /// A report is due that asks for the symbols from the first to the last.
    fn ask(&mut self, first: Esi, last: Esi, at: Instant) {
        if self.asking.len() < MOST_AWAITED {
            self.asking.push_back(Asking { at, first, last });
        }
        if last.plus(1).since(self.asked) > 0 {
            self.asked = last.plus(1);
        }
        self.report_at(at);
    }

    /// Datagrams were given up: the sender is told with the next report, at once.
    pub(super) fn on_lost(&mut self) {
        (self.rare_due, self.rare_left) = (Some(Instant::ZERO), RARE);
    }

    /// `true` if an original is missing for less time than by which the path was seen to reorder: it may only
    /// be late.
    pub(super) fn may_be_overtaken(&self, now: Instant, esi: Esi) -> bool {
        let holds = |gap: &Gap| gap.first.since(esi) <= 0 && gap.end.since(esi) > 0;
        self.gaps.iter().rev().take_while(|gap| gap.noticed + self.lateness.wait() > now).any(holds)
    }

    fn report_at(&mut self, at: Instant) {
        self.now_due = Some(self.now_due.map_or(at, |due| due.min(at)));
    }

    /// A datagram of that many bytes arrived.
    pub(super) fn on_bytes(&mut self, bytes: usize) {
        self.copies.on_arrival(bytes);
    }

    pub(super) fn is_ready(&self, now: Instant) -> bool {
        let is_spaced = self.last.is_none_or(|last| last + SPACING <= now);
        self.now_due.is_some_and(|due| due <= now) && is_spaced
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let spaced = self.last.map_or(Instant::ZERO, |last| last + SPACING);
        let awaited = self.awaited.iter().map(|awaited| awaited.due).min();
        let timers =
            [self.now_due, self.tail_due, self.frame_due, self.answer_due, self.rare_due, self.copies.due()];
        timers.into_iter().chain([awaited]).flatten().min().map(|due| due.max(spaced))
    }

    /// A report without its wanted symbols.
    pub(super) fn begin(&mut self, now: Instant, next: Esi, due: impl Fn(u32) -> Option<Instant>) -> Report {
        self.number = if self.number == u8::MAX { 1 } else { self.number + 1 };
        self.sent[usize::from(self.number) % 16] = (self.number, now);
        let mut report = Report::new(self.number, next);
        if let Some((newest, at)) = self.newest {
            (report.echo, report.hold) = (Some(newest), now - at);
            let due = due(self.newest_time).unwrap_or(at);
            self.growth.on_report(at, self.newest_time);
            report.lead = due.as_nanos().wrapping_sub(at.as_nanos()).cast_signed();
        }
        report.is_overdue = core::mem::take(&mut self.is_overdue);
        report.answer = self.answer;
        report.cause = self.cause;
        // Symbols that only repair packets told of did not arrive.
        let ahead = next.since(self.arrivals_end).max(0);
        report.arrivals = if ahead < 128 { self.arrivals << ahead } else { 0 };
        report
    }

    /// The report that was due is sent, in that many bytes.
    pub(super) fn on_report(&mut self, now: Instant, bytes: usize) {
        self.copies.on_report(bytes);
        self.last = Some(now);
        self.since = 0;
        self.now_due = None;
        self.rare_due = (self.rare_left > 0).then_some(now + RARELY);
        let due = now + self.round_trip + self.margin();
        let Self { asking, awaited, .. } = self;
        let mut is_new = false;
        asking.retain(|&Asking { at, first, last }| {
            let waits = at > now;
            if !waits {
                let new = Awaited { due, asked: now, reported: now, first, last, guesses: 0 };
                is_new |= new.remember(awaited);
            }
            waits
        });
        if is_new {
            self.copies.begin(now);
        }
        // Losses noticed later have their own time.
        self.now_due = self.asking.iter().map(|asking| asking.at).min();
    }
}
