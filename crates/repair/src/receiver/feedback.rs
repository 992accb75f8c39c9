//! When reports are sent.
//!
//! - At the first arrival after a loss in an earlier frame, and at the end of a frame that lost packets; after the time by which the path was
//!   seen to reorder packets.
//! - By time: when the rest of a frame, or the next frame, should have arrived.
//! - When an answer is complete and more is missing, or when it should be: one round trip after the report.
//! - Otherwise rarely, for the sender's estimates.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::fecframe::Esi;
use crate::wire::{AduHeader, Answer, Report};

/// What expected packets may be late without a report, besides the jitter.
const MARGIN: Duration = Duration::from_millis(1);
/// The least time between reports.
const SPACING: Duration = Duration::from_micros(500);
/// Reports without another reason: after this time, or after so many packets.
const RARELY: Duration = Duration::from_millis(100);
const MANY: u32 = 64;
/// Expected frames without any arrival after which nothing is expected any more.
const MOST_SILENT: u32 = 32;
/// Reports whose answers are awaited.
const MOST_AWAITED: usize = 32;

/// The frame that arrives.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    number: u16,
    time: u32,
    /// Estimated arrival of its first packet.
    begun: Instant,
    newest: Esi,
    newest_at: Instant,
}

/// The scheduler of reports.
#[derive(Debug)]
pub(super) struct Feedback {
    round_trip: Duration,
    is_measured: bool,
    newest: Option<(Esi, Instant)>,
    /// Bit i: the symbol `arrivals_end - 1 - i` arrived.
    arrivals: u128,
    arrivals_end: Esi,
    arriving: Option<Arriving>,
    /// Time between packets of a frame and its mean deviation, between frames, and of a whole frame.
    gap: Duration,
    jitter: Duration,
    interval: Duration,
    spread: Duration,
    /// How late overtaken packets are.
    reorder: Duration,
    gap_noticed: Instant,
    now_due: Option<Instant>,
    tail_due: Option<Instant>,
    frame_due: Option<Instant>,
    /// When the answers to the last reports should be complete.
    awaited: VecDeque<Instant>,
    /// A report is due even if nothing is wanted.
    is_needed: bool,
    rare_due: Option<Instant>,
    silent: u32,
    last: Option<Instant>,
    since: u32,
    number: u8,
    /// When the last reports were sent, by number.
    sent: [(u8, Instant); 16],
    answer: u8,
    partial: u8,
}

impl Feedback {
    pub(super) fn new(round_trip: Duration) -> Self {
        Self {
            round_trip,
            is_measured: false,
            newest: None,
            arrivals: 0,
            arrivals_end: Esi(0),
            arriving: None,
            gap: Duration::ZERO,
            jitter: Duration::ZERO,
            interval: Duration::ZERO,
            spread: Duration::ZERO,
            reorder: Duration::ZERO,
            gap_noticed: Instant::ZERO,
            now_due: None,
            tail_due: None,
            frame_due: None,
            awaited: VecDeque::new(),
            is_needed: false,
            rare_due: None,
            silent: 0,
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
    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
        self.is_measured = true;
    }
    fn margin(&self) -> Duration {
        MARGIN + self.jitter * 2 + self.reorder
    }

    /// An original arrived. `before` is the end of the window before it; `misses_older` and `misses_in_frame` tell whether symbols of older
    /// frames and of this one are unknown.
    pub(super) fn on_original(
        &mut self,
        now: Instant,
        esi: Esi,
        header: &AduHeader,
        before: Esi,
        misses_older: bool,
        misses_in_frame: bool,
    ) {
        self.note_arrival(now, esi, before);
        self.since += 1;
        self.silent = 0;
        self.note_frame(now, esi, header);
        let is_gap = esi.since(before) > 0;
        if is_gap {
            self.gap_noticed = now;
        }
        let first = esi.plus(u32::from(header.index).wrapping_neg());
        let shows_older = is_gap && before.since(first) < 0 && misses_older;
        let is_end = header.is_last || header.count.is_some_and(|count| header.index + 1 == count);
        if shows_older || is_end && (misses_in_frame || misses_older && self.awaited.is_empty()) {
            self.report_at(now + self.reorder);
        }
        self.tail_due = if is_end { None } else { self.tail(header) };
        if self.rare_due.is_none() {
            self.rare_due = Some(now + RARELY);
        }
        if self.since >= MANY {
            self.rare_due = Some(now);
        }
    }

    fn note_arrival(&mut self, now: Instant, esi: Esi, before: Esi) {
        let ahead = esi.plus(1).since(self.arrivals_end);
        if ahead > 0 {
            self.arrivals = if ahead < 128 { self.arrivals << ahead } else { 0 };
            self.arrivals_end = esi.plus(1);
        }
        let back = self.arrivals_end.since(esi) - 1;
        if (0..128).contains(&back) {
            self.arrivals |= 1 << back;
        }
        match self.newest {
            Some((newest, _)) if esi.since(newest) < 0 => {
                // Overtaken: it fills a gap that was noticed before.
                if before.since(esi) > 0 {
                    let late = now.saturating_since(self.gap_noticed).min(self.round_trip / 4);
                    self.reorder = self.reorder.max(late);
                }
            }
            _ => self.newest = Some((esi, now)),
        }
    }

    fn note_frame(&mut self, now: Instant, esi: Esi, header: &AduHeader) {
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
                    self.interval = Duration::from_nanos(step) / frames;
                }
                // What the path reorders is forgotten slowly.
                self.reorder = self.reorder.saturating_sub(self.reorder / 64);
            }
            let arriving =
                Arriving { number: header.frame, time: header.time, begun, newest: esi, newest_at: now };
            self.arriving = Some(arriving);
        }
        if let Some(count) = header.count {
            self.spread = self.gap * u64::from(count - 1);
        }
        self.frame_due = self
            .arriving
            .filter(|_| !self.interval.is_zero())
            .map(|arriving| arriving.begun + self.interval + self.spread + self.margin());
    }

    /// When the rest of the frame should have arrived.
    fn tail(&self, header: &AduHeader) -> Option<Instant> {
        let arriving = self.arriving?;
        let left = header.count.map_or(1, |count| count.saturating_sub(header.index + 1).max(1));
        Some(arriving.newest_at + self.gap * u64::from(left) + self.margin())
    }

    /// A packet of an answer arrived.
    pub(super) fn on_answer(&mut self, now: Instant, answer: Answer) {
        let is_newer = |than: u8| answer.number.wrapping_sub(than) as i8 > 0 || than == 0;
        if is_newer(self.partial) {
            // A later answer: the one before is complete.
            self.answer = self.partial;
            self.partial = answer.number;
            self.measure(now, answer.report);
        }
        if answer.number == self.partial && answer.is_last {
            self.answer = answer.number;
            if !self.awaited.is_empty() {
                self.report_at(now);
            }
        }
    }

    fn measure(&mut self, now: Instant, report: u8) {
        let (number, at) = self.sent[usize::from(report) % 16];
        if report == 0 || number != report {
            return;
        }
        let sample = now - at;
        self.round_trip = if self.is_measured { (self.round_trip * 7 + sample) / 8 } else { sample };
        self.is_measured = true;
    }

    /// Datagrams were given up: the sender is told with the next report, at once.
    pub(super) fn on_lost(&mut self) {
        self.rare_due = Some(Instant::ZERO);
    }

    fn report_at(&mut self, at: Instant) {
        self.now_due = Some(self.now_due.map_or(at, |due| due.min(at)));
    }

    /// Timers that have passed become reports.
    pub(super) fn on_time(&mut self, now: Instant) {
        let is_over = |due: &mut Option<Instant>| due.take_if(|due| *due <= now).is_some();
        let tail = is_over(&mut self.tail_due);
        let frame = self.frame_due.is_some_and(|due| due <= now);
        if frame {
            self.silent += 1;
            // The next one is expected an interval later.
            self.frame_due = (self.silent < MOST_SILENT && !self.interval.is_zero()).then(|| {
                self.frame_due.unwrap_or(now).max(now.saturating_sub(self.interval)) + self.interval
            });
        }
        let rare = is_over(&mut self.rare_due);
        let mut retry = false;
        while self.awaited.pop_front_if(|due| *due <= now).is_some() {
            retry = true;
        }
        self.is_needed |= tail || frame || rare;
        if tail || frame || retry || rare {
            self.report_at(now);
        }
    }

    pub(super) fn is_ready(&self, now: Instant) -> bool {
        let is_spaced = self.last.is_none_or(|last| last + SPACING <= now);
        self.now_due.is_some_and(|due| due <= now) && is_spaced
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let spaced = self.last.map_or(Instant::ZERO, |last| last + SPACING);
        let awaited = self.awaited.front().copied();
        let timers = [self.now_due, self.tail_due, self.frame_due, awaited, self.rare_due];
        timers.into_iter().flatten().min().map(|due| due.max(spaced))
    }

    /// `true` if the report that is due is of use if nothing is wanted.
    pub(super) fn is_needed(&self) -> bool {
        self.is_needed
    }
    /// The report that was due has become superfluous.
    pub(super) fn cancel(&mut self) {
        self.now_due = None;
    }

    /// A report without its wanted symbols.
    pub(super) fn begin(&mut self, now: Instant, next: Esi) -> Report {
        self.number = if self.number == u8::MAX { 1 } else { self.number + 1 };
        self.sent[usize::from(self.number) % 16] = (self.number, now);
        let mut report = Report::new(self.number, next);
        if let Some((newest, at)) = self.newest {
            (report.echo, report.hold) = (Some(newest), now - at);
        }
        report.answer = self.answer;
        // Symbols that only repair packets told of did not arrive.
        let ahead = next.since(self.arrivals_end).max(0);
        report.arrivals = if ahead < 128 { self.arrivals << ahead } else { 0 };
        report
    }

    pub(super) fn on_report(&mut self, now: Instant, wants: bool) {
        self.last = Some(now);
        self.since = 0;
        self.now_due = None;
        self.rare_due = Some(now + RARELY);
        self.is_needed = false;
        if (wants || self.silent > 0) && self.awaited.len() < MOST_AWAITED {
            self.awaited.push_back(now + self.round_trip + self.margin() + MARGIN);
        }
    }
}
