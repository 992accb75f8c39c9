//! Gaps of a stream: times without data, what is missing after them, and when the rate is back.

use std::collections::VecDeque;

use serde::Serialize;
use whimbrel_units::{Duration, Instant};

use crate::names::seconds;

#[cfg(test)]
mod tests;

/// The shortest gap, and the shortest one as a multiple of the usual spacing.
pub(crate) const LEAST: Duration = Duration::from_millis(250);
pub(crate) const SPACINGS: u32 = 10;
/// Weight of a new spacing in the average.
const WEIGHT: f64 = 1.0 / 16.0;
/// Packets from which a spacing is usual.
const USUAL_FROM: u64 = 10;
/// Silences separated by no more than this number of packets are one gap.
pub(crate) const MAX_INSIDE: u64 = 3;
/// Time over which a rate is measured, and the share of the rate before a gap that is the full rate.
const RATE_OVER: Duration = Duration::from_millis(500);
pub(crate) const FULL: f64 = 0.9;
/// Maximum number of packets over which a rate is measured.
const MAX_RECENT: usize = 4096;
/// Maximum number of gaps kept; the shortest are forgotten.
const MAX_GAPS: usize = 64;

/// A gap.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Gap {
    from: Instant,
    to: Instant,
    inside: u64,
    missing: u64,
    rate_before: f64,
    full_at: Option<Instant>,
}

/// A gap, in the units of the report.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct GapReport {
    /// The last packet before it, in seconds since the capture's first frame.
    pub from_s: f64,
    /// The first packet after it.
    pub to_s: f64,
    /// Packets inside.
    pub packets: u64,
    /// Packets missing by their numbers; `None` without numbers.
    pub missing: Option<u64>,
    /// Time from which the rate is 90 % of that before the gap, in seconds since the capture's first frame;
    /// `None` if it does not return.
    pub full_rate_s: Option<f64>,
}

impl GapReport {
    /// Length of the gap, in seconds.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// The gap in a sentence:
    /// `no data from 8.00 to 12.60 s but one packet; 155 packets missing; full rate at 14.1 s`.
    pub fn sentence(&self) -> String {
        self.explained(None, false)
    }

    /// The same with the reason, and while the stream goes on (`is_live`):
    /// `no data from 8.0 to 12.6 s: the link was down; full rate since 14.1 s`.
    pub(crate) fn explained(&self, reason: Option<&str>, is_live: bool) -> String {
        let packets = |count: u64| match count {
            1 => "one packet".to_owned(),
            count => format!("{count} packets"),
        };
        // An observer of a live stream knows the packets of intervals, not the time of each.
        let digits = if is_live { 1 } else { 2 };
        let mut text = format!("no data from {:.digits$} to {:.digits$} s", self.from_s, self.to_s);
        if self.packets > 0 {
            text += &format!(" but {}", packets(self.packets));
        }
        if let Some(reason) = reason {
            text += &format!(": {reason}");
        }
        if let Some(missing) = self.missing.filter(|missing| *missing > 0) {
            text += &format!("; {} missing", packets(missing));
        }
        match self.full_rate_s {
            // The rate is back with the first packet.
            Some(at) if at - self.to_s < 0.1 => {}
            Some(at) => text += &format!("; full rate {} {at:.1} s", if is_live { "since" } else { "at" }),
            None if is_live => text += "; the full rate is not back yet",
            None => text += "; the full rate did not return",
        }
        text
    }
}

/// Finds the gaps of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    last: Option<Instant>,
    packets: u64,
    /// Usual time between two packets, in seconds.
    spacing: f64,
    /// Latest packets: time and bytes.
    recent: VecDeque<(Instant, u32)>,
    recent_bytes: u64,
    gaps: Vec<Gap>,
    /// Packets since the end of the last gap.
    since: u64,
    /// Packets missing since the last packet with data, as the numbers of packets without data show.
    pending: u64,
    count: u64,
    total: Duration,
}

impl Gaps {
    /// Processes a packet with data.
    pub(crate) fn on_packet(&mut self, at: Instant, bytes: u32) {
        let Some(last) = self.last.replace(at.max(self.last.unwrap_or(at))) else {
            self.packets = 1;
            return self.remember(at, bytes);
        };
        let spacing = at.saturating_since(last);
        let usual = Duration::from_secs_f64(self.spacing) * u64::from(SPACINGS);
        if self.packets >= USUAL_FROM && spacing > LEAST.max(usual) {
            self.on_silence(last, at);
        } else {
            let weight = if self.packets <= USUAL_FROM { 1.0 / self.packets as f64 } else { WEIGHT };
            self.spacing += (spacing.as_secs_f64() - self.spacing) * weight;
            self.since += 1;
        }
        self.packets += 1;
        let pending = std::mem::take(&mut self.pending);
        self.on_missing(pending, true);
        self.remember(at, bytes);
        self.check_rate(at);
    }

    /// The numbers show that packets are missing. Those before the latest packet with data (`is_data`) belong
    /// to a gap that it has ended, or that has ended just before; those before a packet without data, to the
    /// gap that the next one with data may end.
    pub(crate) fn on_missing(&mut self, missing: u64, is_data: bool) {
        if !is_data {
            self.pending += missing;
        } else if let Some(gap) = self.gaps.last_mut().filter(|_| self.since < MAX_INSIDE) {
            gap.missing += missing;
        }
    }

    fn on_silence(&mut self, last: Instant, at: Instant) {
        self.count += 1;
        self.total += at.saturating_since(last);
        let (rate_before, since) = (self.rate(last), std::mem::take(&mut self.since));
        // Rates before and after are measured apart.
        self.recent.clear();
        self.recent_bytes = 0;
        if let Some(gap) = self.gaps.last_mut()
            && since < MAX_INSIDE
            && gap.full_at.is_none()
        {
            self.count -= 1;
            self.total += last.saturating_since(gap.to);
            gap.to = at;
            gap.inside += since + 1;
            return;
        }
        if self.gaps.len() == MAX_GAPS {
            let shortest = (0..MAX_GAPS).min_by_key(|index| {
                let gap = &self.gaps[*index];
                gap.to.saturating_since(gap.from)
            });
            self.gaps.remove(shortest.unwrap_or(0));
        }
        self.gaps.push(Gap { from: last, to: at, inside: 0, missing: 0, rate_before, full_at: None });
    }

    fn remember(&mut self, at: Instant, bytes: u32) {
        self.recent.push_back((at, bytes));
        self.recent_bytes += u64::from(bytes);
        while self.recent.len() > MAX_RECENT
            || self.recent.front().is_some_and(|(first, _)| at.saturating_since(*first) > RATE_OVER)
        {
            let Some((_, bytes)) = self.recent.pop_front() else { return };
            self.recent_bytes -= u64::from(bytes);
        }
    }

    /// The rate up to `at`, in bytes per second: each packet takes the time from the one before.
    fn rate(&self, at: Instant) -> f64 {
        let Some((first, bytes)) = self.recent.front() else { return 0.0 };
        let time = at.saturating_since(*first).as_secs_f64();
        if time > 0.0 { (self.recent_bytes - u64::from(*bytes)) as f64 / time } else { 0.0 }
    }

    fn check_rate(&mut self, at: Instant) {
        let rate = self.rate(at);
        let Some(gap) = self.gaps.last_mut().filter(|gap| gap.full_at.is_none()) else { return };
        let Some((first, _)) = self.recent.front() else { return };
        // A burst that has waited is no rate.
        let is_long = at.saturating_since(*first) >= RATE_OVER / 2 || self.recent.len() == MAX_RECENT;
        if is_long && rate >= FULL * gap.rate_before {
            gap.full_at = Some(*first);
        }
    }

    /// Number of gaps, and their time together.
    pub(crate) fn total(&self) -> (u64, Duration) {
        (self.count, self.total)
    }

    /// The gaps in order of time; with `has_numbers`, missing packets are known.
    pub(crate) fn report(&self, zero: Instant, has_numbers: bool) -> Vec<GapReport> {
        let since = |at: Instant| seconds(at.saturating_since(zero));
        let report = |gap: &Gap| GapReport {
            from_s: since(gap.from),
            to_s: since(gap.to),
            packets: gap.inside,
            missing: has_numbers.then_some(gap.missing),
            full_rate_s: gap.full_at.map(since),
        };
        self.gaps.iter().map(report).collect()
    }
}
