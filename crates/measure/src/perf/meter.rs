//! Measurements of one stream at its receiver.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use whimbrel_control::reordering::{LatenessMeter, LatenessSummary};
use whimbrel_net::{ConnectionSnapshot, ReceiverCounts};
use whimbrel_units::{Duration, Instant};

use super::datagram::{Head, Place};
use super::frames::FrameMeter;

/// Number of sequence numbers back within which a late datagram is distinguished from a duplicate.
const WINDOW: usize = 4096;

/// Figures of one stream at its receiver, over an interval or the whole test.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ReceiverFigures {
    /// Datagrams that arrived.
    pub datagrams: u64,
    /// Their application data.
    pub bytes: u64,
    /// Datagrams missing below the highest sequence number seen (a late one is taken off again).
    pub lost: i64,
    /// Datagrams that arrived after later ones.
    pub out_of_order: u64,
    /// Datagrams that arrived more than once.
    pub duplicates: u64,
    /// Datagrams that the network had marked as having met congestion.
    pub ecn_marked: u64,
    /// Packets that DCCP detected as lost (CCIDs 3 and 4); late ones included.
    #[serde(default)]
    pub packets_lost: u64,
    /// Lost packets that loss differentiation classified as losses on a radio.
    #[serde(default)]
    pub packets_lost_wireless: u64,
    /// With a reorder buffer: packets that waited for earlier ones.
    #[serde(default)]
    pub packets_held: u64,
    /// Missing packets that were given up.
    #[serde(default)]
    pub packets_given_up: u64,
    /// Datagrams that arrived after that and were discarded.
    #[serde(default)]
    pub datagrams_too_late: u64,
    /// With repair: datagrams that repeats brought.
    #[serde(default)]
    pub repeated: u64,
    /// Datagrams that the code restored.
    #[serde(default)]
    pub restored: u64,
    /// Datagrams that were not repaired in time.
    #[serde(default)]
    pub unrepaired: u64,
    /// Datagrams that arrived within the latency after the fastest one so far.
    #[serde(default)]
    pub in_time: u64,
    /// Frames of a schedule that arrived as they were sent.
    #[serde(default)]
    pub frames_whole: u64,
    /// Frames that arrived because datagrams that the path had lost were repaired.
    #[serde(default)]
    pub frames_repaired: u64,
    /// Frames of which a datagram is missing.
    #[serde(default)]
    pub frames_given_up: u64,
    /// Lateness of overtaken packets since the start of the test (RFC 4737, Section 4.3): the delay of
    /// `--reorder` needed by half of them, by 95 %, by 99 %, and by all. Zero if there were none.
    #[serde(default)]
    pub lateness_p50_s: f64,
    #[serde(default)]
    /// Exceeded by one in 20.
    pub lateness_p95_s: f64,
    #[serde(default)]
    /// Exceeded by one in 100.
    pub lateness_p99_s: f64,
    #[serde(default)]
    /// The longest.
    pub lateness_max_s: f64,
    /// Interarrival jitter (RFC 3550, Section 6.4.1), in seconds, at the end of the span.
    pub jitter_s: f64,
    /// One-way delay above the least of the whole test: median and 99th percentile over the span, in seconds.
    pub delay_variation_p50_s: f64,
    /// The same, exceeded by one datagram in 100.
    pub delay_variation_p99_s: f64,
    /// Length of the span in seconds.
    pub seconds: f64,
}

impl ReceiverFigures {
    /// Application data delivered, in bit/s.
    pub fn goodput(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 * 8.0 / self.seconds } else { 0.0 }
    }

    /// Adds a parallel stream's figures: counts add up, times take the worse.
    pub fn add(&mut self, other: &Self) {
        self.datagrams = self.datagrams.saturating_add(other.datagrams);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.lost = self.lost.saturating_add(other.lost);
        self.out_of_order = self.out_of_order.saturating_add(other.out_of_order);
        self.duplicates = self.duplicates.saturating_add(other.duplicates);
        self.ecn_marked = self.ecn_marked.saturating_add(other.ecn_marked);
        self.packets_lost = self.packets_lost.saturating_add(other.packets_lost);
        self.packets_lost_wireless = self.packets_lost_wireless.saturating_add(other.packets_lost_wireless);
        self.packets_held = self.packets_held.saturating_add(other.packets_held);
        self.packets_given_up = self.packets_given_up.saturating_add(other.packets_given_up);
        self.datagrams_too_late = self.datagrams_too_late.saturating_add(other.datagrams_too_late);
        self.repeated = self.repeated.saturating_add(other.repeated);
        self.restored = self.restored.saturating_add(other.restored);
        self.unrepaired = self.unrepaired.saturating_add(other.unrepaired);
        self.in_time = self.in_time.saturating_add(other.in_time);
        self.frames_whole = self.frames_whole.saturating_add(other.frames_whole);
        self.frames_repaired = self.frames_repaired.saturating_add(other.frames_repaired);
        self.frames_given_up = self.frames_given_up.saturating_add(other.frames_given_up);
        self.lateness_p50_s = self.lateness_p50_s.max(other.lateness_p50_s);
        self.lateness_p95_s = self.lateness_p95_s.max(other.lateness_p95_s);
        self.lateness_p99_s = self.lateness_p99_s.max(other.lateness_p99_s);
        self.lateness_max_s = self.lateness_max_s.max(other.lateness_max_s);
        self.jitter_s = self.jitter_s.max(other.jitter_s);
        self.delay_variation_p50_s = self.delay_variation_p50_s.max(other.delay_variation_p50_s);
        self.delay_variation_p99_s = self.delay_variation_p99_s.max(other.delay_variation_p99_s);
        self.seconds = self.seconds.max(other.seconds);
    }
}

/// Measures one stream as it arrives.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The time within which lost datagrams are repaired.
    latency: Option<Duration>,
    started: Instant,
    interval_started: Instant,
    last_arrival: Instant,
    total: ReceiverFigures,
    interval: ReceiverFigures,
    /// The connection's counts when the measured part began.
    omitted: ReceiverFigures,
    frames: FrameMeter,
    /// One above the highest sequence number seen.
    next: u64,
    seen: Box<[u64; WINDOW / 64]>,
    last_transit: Option<i128>,
    least_transit: Option<i128>,
    jitter_ns: f64,
    /// Lateness of the datagrams that reach the application.
    lateness: LatenessMeter,
    /// Lateness of the packets that reached the connection, which may have put them into order since.
    connection_lateness: Option<LatenessSummary>,
    /// One-way delays: the clocks' offset is unknown.
    delays: Delays,
}

/// One-way delays of the whole test and of the current interval, relative to the first one's.
#[derive(Debug)]
struct Delays {
    origin: Option<i128>,
    total: Differences,
    interval: Differences,
}

/// A distribution of signed times in microseconds, fine near zero: a histogram for each sign.
#[derive(Debug)]
struct Differences {
    below: Histogram<u64>,
    above: Histogram<u64>,
}

/// The longest delay recorded, in microseconds: ten minutes.
const LONGEST_US: u64 = 600_000_000;

impl Differences {
    fn new() -> Self {
        let histogram = || Histogram::new_with_bounds(1, LONGEST_US, 3).expect("constant bounds are valid");
        Self { below: histogram(), above: histogram() }
    }

    fn record(&mut self, microseconds: i64) {
        let side = if microseconds < 0 { &mut self.below } else { &mut self.above };
        side.saturating_record(microseconds.unsigned_abs());
    }

    fn reset(&mut self) {
        self.below.reset();
        self.above.reset();
    }

    /// The value at a quantile between 0 and 1; `None` of nothing.
    fn quantile(&self, quantile: f64) -> Option<i64> {
        let (below, above) = (self.below.len(), self.above.len());
        let rank = ((quantile * (below + above) as f64).ceil() as u64).max(1);
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        if below + above == 0 {
            None
        } else if rank <= below {
            // The greatest distance below comes first.
            Some(-signed(self.below.value_at_quantile((below - rank + 1) as f64 / below as f64)))
        } else {
            Some(signed(self.above.value_at_quantile((rank - below) as f64 / above as f64)))
        }
    }
}

impl Delays {
    fn new() -> Self {
        Self { origin: None, total: Differences::new(), interval: Differences::new() }
    }

    fn record(&mut self, transit: i128) {
        let origin = *self.origin.get_or_insert(transit);
        let microseconds = i64::try_from((transit - origin) / 1000).unwrap_or(i64::MAX);
        self.total.record(microseconds);
        self.interval.record(microseconds);
    }

    /// Median and 99th percentile above `least`, in seconds.
    fn variation(&self, differences: &Differences, least: Option<i128>) -> (f64, f64) {
        let (Some(origin), Some(least)) = (self.origin, least) else { return (0.0, 0.0) };
        let base = (least - origin) / 1000;
        let above = |quantile| {
            let value = differences.quantile(quantile).map_or(base, i128::from);
            (value - base).max(0) as f64 * 1e-6
        };
        (above(0.5), above(0.99))
    }
}

impl Meter {
    /// `latency`: the time within which lost datagrams are repaired, if they are.
    pub(crate) fn new(now: Instant, latency: Option<Duration>) -> Self {
        Self {
            latency,
            started: now,
            interval_started: now,
            last_arrival: now,
            total: ReceiverFigures::default(),
            interval: ReceiverFigures::default(),
            omitted: ReceiverFigures::default(),
            frames: FrameMeter::default(),
            next: 0,
            seen: Box::new([0; WINDOW / 64]),
            last_transit: None,
            least_transit: None,
            jitter_ns: 0.0,
            lateness: LatenessMeter::new(),
            connection_lateness: None,
            delays: Delays::new(),
        }
    }

    /// A datagram of `bytes` bytes arrived at `arrival`. `part`: its place in a frame, and whether the path
    /// had lost it.
    pub(crate) fn record(
        &mut self,
        head: Head,
        part: Option<(Place, bool)>,
        bytes: usize,
        arrival: Instant,
        marked: bool,
    ) {
        self.last_arrival = self.last_arrival.max(arrival);
        let mut delta = ReceiverFigures { ecn_marked: u64::from(marked), ..ReceiverFigures::default() };
        if head.sequence >= self.next {
            let gap = head.sequence - self.next;
            if gap >= WINDOW as u64 {
                self.seen.fill(0);
            }
            for missing in head.sequence - gap.min(WINDOW as u64)..head.sequence {
                self.clear(missing);
            }
            delta.lost = i64::try_from(gap).unwrap_or(i64::MAX);
            self.next = head.sequence + 1;
            self.mark(head.sequence);
        } else if self.next - head.sequence > WINDOW as u64 || self.mark(head.sequence) {
            delta.duplicates = 1;
        } else {
            delta.out_of_order = 1;
            delta.lost = -1;
        }
        if delta.duplicates == 0 {
            delta.datagrams = 1;
            delta.bytes = bytes as u64;
            self.lateness.on_packet(arrival, head.sequence);
            delta.in_time = u64::from(self.time(head, arrival));
            if let Some((place, is_repaired)) = part {
                self.frames.record(place, is_repaired, &mut delta);
            }
        }
        self.total.add(&delta);
        self.interval.add(&delta);
    }

    /// Sets DCCP's counts since the start: losses, those on a radio, and reordered packets.
    pub(crate) fn set_losses(&mut self, connection: &ConnectionSnapshot) {
        let (receiver, reordering) = (&connection.receiver, connection.reordering.unwrap_or_default());
        self.connection_lateness = Some(connection.lateness);
        let (total, omitted) = (&self.total, &self.omitted);
        let news = |now: u64, total: u64, omitted: u64| now.saturating_sub(total + omitted);
        let given_up = reordering.expired + reordering.overflowed;
        let news = ReceiverFigures {
            packets_lost: news(receiver.lost, total.packets_lost, omitted.packets_lost),
            packets_lost_wireless: news(
                receiver.lost_wireless,
                total.packets_lost_wireless,
                omitted.packets_lost_wireless,
            ),
            packets_held: news(reordering.reordered, total.packets_held, omitted.packets_held),
            packets_given_up: news(given_up, total.packets_given_up, omitted.packets_given_up),
            datagrams_too_late: news(reordering.late, total.datagrams_too_late, omitted.datagrams_too_late),
            ..ReceiverFigures::default()
        };
        self.total.add(&news);
        self.interval.add(&news);
    }

    /// Sets the counts of repair since the start.
    pub(crate) fn set_repair(&mut self, counts: ReceiverCounts) {
        let (total, omitted) = (&self.total, &self.omitted);
        let news = |now: u64, total: u64, omitted: u64| now.saturating_sub(total + omitted);
        let news = ReceiverFigures {
            repeated: news(counts.repeated, total.repeated, omitted.repeated),
            restored: news(counts.restored, total.restored, omitted.restored),
            unrepaired: news(counts.lost, total.unrepaired, omitted.unrepaired),
            ..ReceiverFigures::default()
        };
        self.total.add(&news);
        self.interval.add(&news);
    }

    /// The measured part of the test begins.
    pub(crate) fn begin_measuring(&mut self, now: Instant) {
        (self.started, self.omitted) = (now, self.total);
        self.total = ReceiverFigures::default();
        self.delays.total.reset();
        self.lateness = LatenessMeter::new();
    }

    /// Bytes of a stream without datagrams (TCP).
    pub(crate) fn record_bytes(&mut self, bytes: usize, arrival: Instant) {
        self.last_arrival = self.last_arrival.max(arrival);
        let delta = ReceiverFigures { bytes: bytes as u64, ..ReceiverFigures::default() };
        self.total.add(&delta);
        self.interval.add(&delta);
    }

    /// Takes the times of a datagram. Returns `true` if it came within the latency after the fastest so far.
    fn time(&mut self, head: Head, arrival: Instant) -> bool {
        let transit = i128::from(arrival.as_nanos()) - i128::from(head.sent);
        if let Some(last) = self.last_transit {
            // RFC 3550, Section 6.4.1: J(i) = J(i-1) + (|D(i-1,i)| - J(i-1)) / 16.
            self.jitter_ns += ((transit - last).unsigned_abs() as f64 - self.jitter_ns) / 16.0;
        }
        self.last_transit = Some(transit);
        let least = self.least_transit.map_or(transit, |least| least.min(transit));
        self.least_transit = Some(least);
        self.delays.record(transit);
        self.latency.is_some_and(|latency| transit - least <= i128::from(latency.as_nanos()))
    }

    /// Sets a sequence number's mark; returns `true` if it was set already.
    fn mark(&mut self, sequence: u64) -> bool {
        let (word, bit) = ((sequence as usize % WINDOW) / 64, 1u64 << (sequence % 64));
        let was = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        was
    }

    fn clear(&mut self, sequence: u64) {
        self.seen[(sequence as usize % WINDOW) / 64] &= !(1u64 << (sequence % 64));
    }

    /// The figures since the last call, or since the start. The span lasts until `end`, or until the
    /// last datagram arrived, if that was later.
    pub(crate) fn take_interval(&mut self, end: Instant) -> ReceiverFigures {
        let end = end.max(self.last_arrival);
        let mut figures = std::mem::take(&mut self.interval);
        self.finish(&mut figures, end - self.interval_started, &self.delays.interval);
        self.delays.interval.reset();
        self.interval_started = end;
        figures
    }

    /// The figures of the measured part, whose span ends as an interval's does.
    pub(crate) fn total(&self, end: Instant) -> ReceiverFigures {
        let mut figures = self.total;
        self.finish(&mut figures, end.max(self.last_arrival) - self.started, &self.delays.total);
        figures
    }

    fn finish(&self, figures: &mut ReceiverFigures, span: Duration, delays: &Differences) {
        figures.jitter_s = self.jitter_ns * 1e-9;
        (figures.delay_variation_p50_s, figures.delay_variation_p99_s) =
            self.delays.variation(delays, self.least_transit);
        let lateness = self.connection_lateness.unwrap_or_else(|| self.lateness.summary());
        figures.lateness_p50_s = lateness.median.as_secs_f64();
        figures.lateness_p95_s = lateness.p95.as_secs_f64();
        figures.lateness_p99_s = lateness.p99.as_secs_f64();
        figures.lateness_max_s = lateness.maximum.as_secs_f64();
        figures.seconds = span.as_secs_f64();
    }
}

#[cfg(test)]
mod tests;
