//! Present state, in one sentence.
//!
//! An observer counts what happened in short intervals ([`Interval`]): the ends of a connection, a simulator
//! or a capture. [`Explainer`] names what matters most over the last seconds: an interruption, losses by
//! cause and what repair made of them, a full path. The rules for interruptions are the same as for the
//! report's gaps ([`GapReport`]).

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::flows::gaps::{FULL, GapReport, LEAST, MAX_INSIDE, SPACINGS};

#[cfg(test)]
mod tests;

/// Time over which losses and rates are stated, in seconds.
const WINDOW: f64 = 5.0;
/// Time for which an interruption that has ended is stated.
const REMEMBERED: f64 = 10.0;
/// Shares of losses below this are not mentioned.
const LEAST_SHARE: f64 = 0.0005;
/// Share of the capacity from which a path counts as full.
const FULL_PATH: f64 = 0.9;
/// Maximum number of intervals in a window.
const MAX_INTERVALS: usize = 4096;

/// The cause of a loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Cause {
    /// A queue of the network was full.
    Queue,
    /// The radio, or the medium of a link, destroyed it.
    Radio,
    /// The path lost it; an end does not see where.
    Path,
    /// A link was down, or there was no connection.
    Down,
    /// The datagram arrived, or would have left, too late.
    Late,
    /// The sender dropped it, because the rate was short.
    Choice,
    /// Any other cause.
    Other,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 7] =
        [Self::Queue, Self::Radio, Self::Path, Self::Down, Self::Late, Self::Choice, Self::Other];

    /// The name in tables and charts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Radio => "radio",
            Self::Path => "path",
            Self::Down => "link down",
            Self::Late => "late",
            Self::Choice => "dropped by choice",
            Self::Other => "other",
        }
    }

    fn statement(self, share: &str) -> String {
        match self {
            Self::Queue => format!("a full queue drops {share}"),
            Self::Radio => format!("the radio loses {share}"),
            Self::Path => format!("the path loses {share}"),
            Self::Down => format!("{share} is lost while there is no link"),
            Self::Late => format!("{share} is too late"),
            Self::Choice => format!("the sender drops {share} to stay in time"),
            Self::Other => format!("{share} is lost for other reasons"),
        }
    }
}

/// The reason why nothing is carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// There is no connection.
    Unconnected,
    /// A link on the path is down.
    Down,
    /// A handover stops the sender.
    Frozen,
    /// No cell serves the terminal: a handover, or a link that was lost.
    NoCell,
}

impl Halt {
    fn now(self) -> &'static str {
        match self {
            Self::Unconnected => "there is no connection",
            Self::Down => "the link is down",
            Self::Frozen => "a handover stops the sender",
            Self::NoCell => "no cell serves",
        }
    }

    fn then(self) -> &'static str {
        match self {
            Self::Unconnected => "there was no connection",
            Self::Down => "the link was down",
            Self::Frozen => "a handover stopped the sender",
            Self::NoCell => "no cell served",
        }
    }
}

/// Counts of one direction in an interval, in packets. Unknown values are `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Interval {
    /// Its end, in seconds.
    pub at_s: f64,
    /// Its length.
    pub length_s: f64,
    /// Packets that the application has given to the sender; `None` if only what passes is known.
    pub offered: Option<f64>,
    /// Packets delivered.
    pub delivered: f64,
    /// Packets lost, by [`Cause`]; with repair, those that the path has lost, also if they were repaired.
    pub lost: [f64; Cause::ALL.len()],
    /// Packets among those that were repaired.
    pub repaired: f64,
    /// Bytes sent for repair, as a share of the data's bytes.
    pub overhead: Option<f64>,
    /// Rate delivered, in bit/s.
    pub delivered_bps: Option<f64>,
    /// Rate that congestion control allows.
    pub allowed_bps: Option<f64>,
    /// Rate of the path.
    pub capacity_bps: Option<f64>,
    /// Cause of a stop.
    pub halt: Option<Halt>,
}

impl Interval {
    /// The time that remains of the interval if its packets were delivered at that rate per second.
    fn silence(&self, usual: Option<f64>) -> f64 {
        usual.map_or(0.0, |usual| (self.length_s - self.delivered / usual).max(0.0))
    }
}

/// An interruption.
#[derive(Clone, Copy, Debug)]
struct Interruption {
    from: f64,
    /// End of the last interval without data.
    to: f64,
    rate_before: f64,
    halt: Option<Halt>,
    missing: f64,
    full_at: Option<f64>,
    is_over: bool,
    /// Packets inside, and since its end.
    packets: [f64; 2],
}

impl Interruption {
    /// Follows an interval with data.
    fn on_data(&mut self, interval: &Interval, usual: Option<f64>) {
        // Losses of the interval that ends it belong to it.
        if !self.is_over {
            self.missing += interval.lost.iter().sum::<f64>();
        }
        self.end(interval, usual);
        self.packets[1] += interval.delivered;
        let is_full = interval.delivered_bps.is_some_and(|rate| rate >= FULL * self.rate_before);
        if self.full_at.is_none() && is_full {
            self.full_at = Some(interval.at_s - interval.length_s);
        }
    }

    /// `true` if another silence after few packets is a part of it, as in the report's gaps.
    fn goes_on(&self) -> bool {
        !self.is_over || self.packets[1] <= MAX_INSIDE as f64
    }

    /// Follows an interval without data.
    fn on_silence(&mut self, interval: &Interval) {
        self.packets = [self.packets[0] + self.packets[1], 0.0];
        (self.to, self.is_over, self.full_at) = (interval.at_s, false, None);
        self.missing += interval.lost.iter().sum::<f64>();
        self.halt = self.halt.or(interval.halt);
    }

    fn report(&self) -> GapReport {
        GapReport {
            from_s: self.from,
            to_s: self.to,
            packets: self.packets[0] as u64,
            missing: (self.missing >= 1.0).then_some(self.missing as u64),
            full_rate_s: self.full_at,
        }
    }

    /// Ends in an interval with data, in the share of it that `usual` packets a second leave.
    fn end(&mut self, interval: &Interval, usual: Option<f64>) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.to += interval.silence(usual);
        }
    }
}

/// Explains a direction of a connection, interval by interval.
#[derive(Clone, Debug, Default)]
pub struct Explainer {
    window: VecDeque<Interval>,
    interruption: Option<Interruption>,
    /// The last one before, if it was long.
    earlier: Option<Interruption>,
    has_begun: bool,
}

impl Explainer {
    /// Processes an interval. Returns the sentence.
    pub fn push(&mut self, interval: &Interval) -> String {
        self.follow(interval);
        if self.window.len() == MAX_INTERVALS {
            self.window.pop_front();
        }
        self.window.push_back(*interval);
        while self.window.front().is_some_and(|first| first.at_s <= interval.at_s - WINDOW) {
            self.window.pop_front();
        }
        self.sentence(interval)
    }

    /// Follows interruptions: intervals without data, in which there should have been some.
    fn follow(&mut self, interval: &Interval) {
        let Interval { at_s, length_s, delivered, .. } = *interval;
        let lost: f64 = interval.lost.iter().sum();
        if delivered > 0.0 {
            self.has_begun = true;
            let usual = self.usual();
            for each in [&mut self.interruption, &mut self.earlier] {
                if let Some(one) = each {
                    one.on_data(interval, usual);
                    if at_s - one.to > REMEMBERED {
                        *each = None;
                    }
                }
            }
            return;
        }
        // Without data to carry there is no interruption.
        let is_wanted = interval.offered.is_none_or(|offered| offered > 0.0) || interval.halt.is_some();
        if !self.has_begun || !is_wanted {
            return;
        }
        if let Some(one) = self.interruption.as_mut().filter(|one| one.goes_on()) {
            return one.on_silence(interval);
        }
        let least = self.least_gap();
        self.earlier = self.interruption.take().filter(|one| one.to - one.from > least).or(self.earlier);
        let carrying = self.window.iter().filter(|each| each.delivered > 0.0);
        let rates: Vec<f64> = carrying.filter_map(|each| each.delivered_bps).collect();
        let last = self.window.back().filter(|last| last.delivered > 0.0);
        let before = last.map_or(0.0, |last| last.silence(self.usual()));
        let lost_before = last.filter(|_| before > 0.0).map_or(0.0, |last| last.lost.iter().sum());
        self.interruption = Some(Interruption {
            from: at_s - length_s - before,
            to: at_s,
            rate_before: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            halt: interval.halt,
            missing: lost + lost_before,
            full_at: None,
            is_over: false,
            packets: [0.0; 2],
        });
    }

    /// Packets a second of late, without the last interval with data: an interruption may have begun in it.
    fn usual(&self) -> Option<f64> {
        let carrying = self.window.iter().filter(|each| each.delivered > 0.0).rev().skip(1);
        let (time, packets) = carrying
            .fold((0.0, 0.0), |(time, packets), each| (time + each.length_s, packets + each.delivered));
        (packets > 0.0).then(|| packets / time)
    }

    /// The least time without data that counts, with the spacing of late.
    fn least_gap(&self) -> f64 {
        let carrying: Vec<_> = self.window.iter().filter(|each| each.delivered > 0.0).collect();
        let (time, packets) = carrying
            .iter()
            .fold((0.0, 0.0), |(time, packets), each| (time + each.length_s, packets + each.delivered));
        let spacing = if packets > 0.0 { time / packets } else { 0.0 };
        LEAST.as_secs_f64().max(f64::from(SPACINGS) * spacing)
    }

    fn sentence(&self, now: &Interval) -> String {
        let least = self.least_gap();
        for one in [&self.interruption, &self.earlier].into_iter().flatten() {
            if one.to - one.from <= least {
                continue;
            }
            if !one.is_over {
                let why = one.halt.map_or("nothing arrives", Halt::now);
                return format!("no data since {:.1} s: {why}", one.from);
            }
            return one.report().explained(one.halt.map(Halt::then), true);
        }
        if let Some(halt) = now.halt.filter(|_| now.delivered == 0.0) {
            return halt.now().to_owned();
        }
        self.over_window()
    }

    fn over_window(&self) -> String {
        let sum = |value: &dyn Fn(&Interval) -> f64| self.window.iter().map(value).sum::<f64>();
        let mean = |value: &dyn Fn(&Interval) -> Option<f64>| {
            let (mut total, mut time) = (0.0, 0.0);
            for each in &self.window {
                if let Some(value) = value(each).filter(|value| value.is_finite()) {
                    total += value * each.length_s;
                    time += each.length_s;
                }
            }
            (time > 0.0).then_some(total / time)
        };
        let delivered = sum(&|each| each.delivered);
        let repaired = sum(&|each| each.repaired);
        let mut lost: Vec<(Cause, f64)> =
            Cause::ALL.iter().map(|&cause| (cause, sum(&|each| each.lost[cause as usize]))).collect();
        let total = lost.iter().map(|(_, count)| count).sum::<f64>() - repaired + delivered;
        if total <= 0.0 {
            return "nothing is sent".to_owned();
        }
        lost.retain(|(_, count)| *count / total.max(1.0) >= LEAST_SHARE);
        // A stable sort: equal shares stay in the order of the causes.
        lost.sort_by(|one, other| other.1.total_cmp(&one.1));
        let rate = mean(&|each| each.delivered_bps);
        let (allowed, capacity) = (mean(&|each| each.allowed_bps), mean(&|each| each.capacity_bps));
        let mut text = String::new();
        for (cause, count) in lost.iter().take(2) {
            let joint = if text.is_empty() { "" } else { ", " };
            text += &format!("{joint}{}", cause.statement(&percent(count / total)));
            if matches!(cause, Cause::Radio | Cause::Path) && repaired > 0.0 {
                text += &match repaired / count {
                    share if share >= 0.999 => ", all repaired".to_owned(),
                    share => format!(", {} of it repaired", percent(share)),
                };
            }
        }
        if text.is_empty() {
            text += "everything arrives";
        }
        if let Some(overhead) = mean(&|each| each.overhead).filter(|share| *share >= LEAST_SHARE) {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {} overhead", percent(overhead));
        }
        let Some(rate) = rate else { return text };
        let _ = write!(text, "; {} delivered", rate_text(rate));
        match (capacity, allowed) {
            (Some(capacity), _) if capacity > 0.0 && rate >= FULL_PATH * capacity => {
                let _ = write!(text, ": the path of {} is full", rate_text(capacity));
            }
            (Some(capacity), None) if capacity > 0.0 => {
                let _ = write!(text, " of {} capacity", rate_text(capacity));
            }
            (_, Some(allowed)) => {
                let _ = write!(text, " of {} allowed", rate_text(allowed));
            }
            _ => {}
        }
        text
    }
}

/// A share with at most two digits: `4 %`, `4.2 %`, `12 %`, `0.23 %`.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    let digits = if value >= 9.95 { 0 } else { usize::from(value < 0.995) + 1 };
    let text = format!("{value:.digits$}");
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A rate with three digits: `1.31 Mbit/s`.
fn rate_text(rate: f64) -> String {
    let (scaled, unit) = match rate {
        rate if rate >= 999_500_000.0 => (rate / 1e9, "Gbit/s"),
        rate if rate >= 999_500.0 => (rate / 1e6, "Mbit/s"),
        rate if rate >= 999.5 => (rate / 1e3, "kbit/s"),
        rate => (rate, "bit/s"),
    };
    let digits = if scaled >= 99.95 { 0 } else { usize::from(scaled < 9.995) + 1 };
    format!("{scaled:.digits$} {unit}")
}
