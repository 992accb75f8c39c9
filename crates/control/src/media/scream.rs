//! SCReAM version 2: self-clocked rate adaptation for multimedia.
//!
//! The law of `code/ScreamV2Tx.cpp` in EricssonResearch/scream at commit c8f84c3 (2026-07-31), for one
//! stream. Its frame is RFC 8298's, its equations are from draft-johansson-ccwg-rfc8298bis-screamv2 with the
//! changes of the code since. A *reference window* grows by one segment in each round-trip time, and shrinks
//!
//! - by half the smoothed share of marked packets when packets carry L4S marks,
//! - by half a *virtual* share of marks, which rises from 0 at half the delay target to 1 at the target,
//! - to [`beta_ecn`](ScreamConfig::beta_ecn) on classic marks and to [`beta_loss`](ScreamConfig::beta_loss)
//!   on losses.
//!
//! Growth is slow near the *inflection point*, the window at the last congestion, and long after a congestion
//! it becomes multiplicative. The rate for the encoder is the window over the round-trip time, less a tenth.
//! In the steady state with marks, two packets of each round-trip time are marked: rate = (2 / p) MSS / RTT.
//!
//! Losses are detected by the draft and not by the code's `detectLoss`, which counts most of them 512 packets
//! later, and passes over some (docs/media.md).
//!
//! Of the parts of the code that concern frames and queues of RTP packets, the compensation for frames that
//! wait is there (`rateAdjustFactor`); the adaptive pacing rate and the histogram of frame sizes are left
//! out, and so are several streams and the options that are off by default (shared bottleneck detection,
//! clock drift compensation, the limit for rate policers).

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use self::delay::QueueDelay;
use self::frames::Frames;
use self::window::{Congestion, ReferenceWindow};
use super::missing::MissingPackets;
use super::stall::Stall;
use super::{Allowance, Feedback, MediaController, RateLimits, SentPacket};

mod delay;
mod frames;
mod window;

#[cfg(test)]
mod tests;

/// The use that the flow makes of ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScreamEcn {
    /// Packets are not ECN-capable.
    Off,
    /// ECT(0); a mark is answered by a fixed factor.
    Classic,
    /// ECT(1); marks are answered in proportion to their share.
    L4s,
}

/// The average over time of the share of marked packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAverage {
    /// Rises by an eighth of the difference and falls by a 128th of itself, as in the code: nearer to the
    /// maximum than to the mean when marks come in some of the samples only.
    Envelope,
    /// A weight of a 16th for each sample, as in the draft (`L4S_AVG_G`): the mean.
    Mean,
}

/// Parameters of [`Scream`]. The defaults are taken from `ScreamTx.h` and `ScreamV2Tx.cpp`, with L4S on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScreamConfig {
    /// Limits of the rate. The reference has no default; those are of the evaluation in RFC 8867, Section 5.
    pub limits: RateLimits,
    /// Use of ECN. `isL4s`.
    pub ecn: ScreamEcn,
    /// Average of the share of marked packets (`kL4sGUp`, `kL4sGDown`).
    pub mark_average: MarkAverage,
    /// Factor of the window after a loss event; 1 to ignore losses. `kLossBeta`.
    pub beta_loss: f64,
    /// Factor of the window after a classic mark. `kEcnCeBeta`.
    pub beta_ecn: f64,
    /// Target of the queueing delay. `kQueueDelayTargetMin`.
    pub queue_delay_target: Duration,
    /// Pacing rate over the target rate. `kPacketPacingHeadRoom`.
    pub pacing_headroom: f64,
    /// Reference window over the most bytes in flight, up to which it may grow. `kBytesInFlightHeadRoom`.
    pub in_flight_headroom: f64,
    /// Growth of the window in a round-trip time, long after a congestion.
    /// `kMultiplicativeIncreaseScalefactor`.
    pub multiplicative_increase: f64,
    /// Greatest ratio of bytes in flight to the reference window. `maxWindowHeadroom`.
    pub window_headroom_max: f64,
    /// Time by which packets may be reordered. `kReorderTime`.
    pub reordering: Duration,
}

impl ScreamConfig {
    /// The defaults with other limits.
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Default for ScreamConfig {
    fn default() -> Self {
        let min = DataRate::from_kilobits_per_second(150.0);
        Self {
            limits: RateLimits { min, start: min, max: DataRate::from_megabits_per_second(1.5) },
            ecn: ScreamEcn::L4s,
            mark_average: MarkAverage::Envelope,
            beta_loss: 0.7,
            beta_ecn: 0.9,
            queue_delay_target: Duration::from_millis(100),
            pacing_headroom: 1.5,
            in_flight_headroom: 2.0,
            multiplicative_increase: 0.05,
            window_headroom_max: 3.0,
            reordering: Duration::from_millis(30),
        }
    }
}

/// Round-trip time before the first sample (`sRtt`).
const INITIAL_RTT: f64 = 0.05;
/// Segment size before the first packet (`kInitMss`).
const INITIAL_MSS: f64 = 100.0;
/// Period over which the segment size is the largest packet (`kMssUpdateInterval_ntp`).
const MSS_PERIOD: Duration = Duration::from_secs(1);
/// Longest time between reactions to congestion, and between updates of the window
/// (`kMinCongestionBackOffInterval_ntp`).
const REACTION_INTERVAL: f64 = 0.03;
/// Longest time between updates of the smoothed share of marks (`updateAlpha`, 10 ms).
const ALPHA_INTERVAL: f64 = 0.01;
/// Gains of [`MarkAverage::Envelope`], when it rises and when it falls.
const ENVELOPE_GAINS: (f64, f64) = (1.0 / 8.0, 1.0 / 128.0);
/// Gain of [`MarkAverage::Mean`].
const MEAN_GAIN: f64 = 1.0 / 16.0;
/// Share of lost packets above which a loss is congestion (`kLossRateThreshold`).
const LOSS_RATE_THRESHOLD: f64 = 0.01;
/// Period of the measured rates (`kRateUpdateInterval_ntp`).
const RATE_PERIOD: f64 = 0.1;
/// Period of the record of bytes in flight (`kSlowUpdateInterval_ntp`), and records kept
/// (`kMaxBytesInFlightHistSize`).
const IN_FLIGHT_PERIOD: f64 = 0.05;
const IN_FLIGHT_RECORDS: usize = 20;
/// Round-trip time beyond which the rate is not lowered further for the same window.
const RTT_OF_RATE_MAX: f64 = 0.2;
/// Time without sending or reports after which packets in flight are taken as lost (the time-out of
/// `isOkToTransmit`).
const STALL: Duration = Duration::from_millis(500);
/// Least pacing rate, in bit/s.
const PACING_MIN: f64 = 50e3;

/// Time from `earlier` to `now`, in seconds.
fn since(now: Instant, earlier: Instant) -> f64 {
    now.saturating_since(earlier).as_secs_f64()
}

/// The times of periodic work.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Clocks {
    start: Instant,
    alpha: Instant,
    window: Instant,
    rate: Instant,
    in_flight: Instant,
    srtt: Instant,
    /// The last reaction to congestion, or its detection.
    congestion: Instant,
}

/// SCReAM version 2.
#[derive(Clone, PartialEq, Debug)]
pub struct Scream {
    config: ScreamConfig,
    clocks: Option<Clocks>,
    window: ReferenceWindow,
    delay: QueueDelay,
    frames: Frames,
    missing: MissingPackets,
    loss_rate: f64,
    mss: f64,
    previous_mss: f64,
    mss_since: Instant,
    /// Smoothed round-trip times: the fast one is updated by each report, the slow one once in a round-trip
    /// time.
    srtt_fast: f64,
    srtt: f64,
    rtt_falls: bool,
    /// Packets delivered and marked since the last update of `alpha`.
    delivered: u64,
    marked: u64,
    fraction_marked: f64,
    /// Smoothed share of marks.
    alpha: f64,
    acknowledged: f64,
    acknowledged_marked: f64,
    rate_bits: f64,
    acknowledged_rate: f64,
    stall: Stall,
    in_flight_max: f64,
    in_flight_max_previous: f64,
    in_flight_records: [f64; IN_FLIGHT_RECORDS],
    next_record: usize,
    target: f64,
}

impl Scream {
    /// SCReAM with `config`, before any report.
    pub fn new(config: ScreamConfig) -> Self {
        let start = config.limits.start.as_bits_per_second();
        Self {
            config,
            clocks: None,
            // The constructor's `cwnd` for a starting rate, such that the rate computed from it is that rate.
            window: ReferenceWindow::new(1.1 * start / 8.0 * INITIAL_RTT, config.window_headroom_max),
            delay: QueueDelay::new(config.queue_delay_target.as_secs_f64()),
            frames: Frames::new(),
            missing: MissingPackets::default(),
            loss_rate: 0.0,
            mss: INITIAL_MSS,
            previous_mss: INITIAL_MSS,
            mss_since: Instant::ZERO,
            srtt_fast: INITIAL_RTT,
            srtt: INITIAL_RTT,
            rtt_falls: false,
            delivered: 0,
            marked: 0,
            fraction_marked: 0.0,
            alpha: 0.1,
            acknowledged: 0.0,
            acknowledged_marked: 0.0,
            rate_bits: 0.0,
            acknowledged_rate: 0.0,
            stall: Stall::default(),
            in_flight_max: 0.0,
            in_flight_max_previous: 0.0,
            in_flight_records: [0.0; IN_FLIGHT_RECORDS],
            next_record: 0,
            target: start,
        }
    }

    /// The smoothed share of marked packets.
    pub const fn mark_share(&self) -> f64 {
        self.alpha
    }

    /// The queueing delay of the newest packet.
    pub fn queueing_delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay.latest)
    }

    /// The smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Duration {
        Duration::from_secs_f64(self.srtt)
    }

    fn segment(&self) -> f64 {
        self.mss.max(self.previous_mss)
    }

    /// Time between reactions: 30 ms, or a round-trip time if that is less.
    fn reaction_interval(&self) -> f64 {
        REACTION_INTERVAL.min(self.srtt)
    }

    fn measure_rtt(&mut self, now: Instant, rtt: f64, clocks: &mut Clocks) {
        let fast = (7.0 * self.srtt_fast + rtt) / 8.0;
        self.rtt_falls = fast < self.srtt_fast;
        self.srtt_fast = fast;
        if since(now, clocks.srtt) > fast {
            // A shorter round-trip time must not raise the rate of an encoder that does not fill the window.
            let weight = if self.window.application_limited && self.srtt > fast { 1024.0 } else { 8.0 };
            self.srtt += (fast - self.srtt) / weight;
            clocks.srtt = now;
        }
    }

    /// Updates the smoothed share of marks.
    fn update_alpha(&mut self, now: Instant, clocks: &mut Clocks) {
        if since(now, clocks.alpha) <= ALPHA_INTERVAL.min(self.srtt) {
            return;
        }
        clocks.alpha = now;
        self.fraction_marked = 0.0;
        if self.delivered > 0 {
            self.fraction_marked = self.marked as f64 / self.delivered as f64;
            let (up, down) = ENVELOPE_GAINS;
            let above = self.fraction_marked - self.alpha;
            self.alpha += match self.config.mark_average {
                MarkAverage::Mean => MEAN_GAIN * above,
                MarkAverage::Envelope if above >= 0.0 => up * above,
                MarkAverage::Envelope => -down * self.alpha,
            };
            (self.delivered, self.marked) = (0, 0);
        }
    }

    fn measure_rate(&mut self, now: Instant, clocks: &mut Clocks) {
        let elapsed = since(now, clocks.rate);
        if elapsed > RATE_PERIOD {
            self.acknowledged_rate = self.rate_bits / elapsed;
            self.rate_bits = 0.0;
            clocks.rate = now;
        }
    }

    /// Loss detection; returns `true` for a loss event.
    fn detect_loss(&mut self, feedback: &Feedback<'_>, clocks: &Clocks) -> bool {
        let gain = (LOSS_RATE_THRESHOLD / 4.0).min(self.segment() / self.window.size / 2.0);
        let mut lost = 0;
        self.missing.on_report(feedback.packets, self.config.reordering, |_| lost += 1);
        let (mut rate, mut event) = (self.loss_rate, false);
        for _ in 0..lost {
            // The event is judged by the rate before its own packet is counted.
            event |= rate > LOSS_RATE_THRESHOLD || self.delay.average > self.delay.target / 4.0;
            rate += gain * (1.0 - rate);
        }
        let arrived = feedback.packets.iter().filter(|packet| packet.arrival().is_some()).count();
        self.loss_rate = (0..arrived).fold(rate, |rate, _| rate * (1.0 - gain));
        event && self.config.beta_loss < 1.0 && since(feedback.now, clocks.congestion) > self.srtt
    }

    fn record_in_flight(&mut self, now: Instant, clocks: &mut Clocks) {
        if since(now, clocks.in_flight) <= IN_FLIGHT_PERIOD {
            return;
        }
        clocks.in_flight = now;
        if let Some(record) = self.in_flight_records.get_mut(self.next_record) {
            *record = self.in_flight_max;
        }
        self.next_record = (self.next_record + 1) % IN_FLIGHT_RECORDS;
        let limit = self.config.limits.max.as_bits_per_second();
        if self.target > 0.95 * limit {
            // Near the greatest rate the window follows the bytes in flight, for a prompt answer to
            // congestion.
            let most =
                self.in_flight_records.iter().fold(self.in_flight_max, |most, record| most.max(*record));
            let needed = self.config.pacing_headroom * limit / 8.0 * (self.srtt + 0.001);
            self.window.size = self.window.size.min(most.max(needed));
        }
        if since(now, clocks.start) > 2.0 {
            self.in_flight_max_previous = self.in_flight_max;
            self.in_flight_max = 0.0;
        }
    }

    /// The media rate that the window allows.
    fn media_rate(&self) -> f64 {
        let window = self.window.size;
        // A millisecond is added for the granularity of clocks.
        let rtt = (self.srtt + 0.001).clamp(0.001, RTT_OF_RATE_MAX);
        let few_segments = (self.segment() / window - 0.1).clamp(0.0, 0.2);
        8.0 * window / rtt * (1.0 - few_segments) / 1.1
    }

    fn update_window(&mut self, now: Instant, loss: bool, marked: bool, virtually: Option<f64>) {
        let sharing = self.srtt / REACTION_INTERVAL;
        let limit = self.config.limits.max.as_bits_per_second();
        let segment = self.segment();
        self.window.update(
            &Congestion {
                now,
                loss: loss.then_some(self.config.beta_loss),
                marked: marked.then_some(match self.config.ecn {
                    ScreamEcn::L4s => Err(self.alpha / 2.0),
                    _ => Ok(self.config.beta_ecn),
                }),
                virtually: virtually.map(|share| share / 2.0),
                reactions_in_rtt: sharing.max(1.0),
                overshoot: self.target < 0.8 * self.acknowledged_rate,
                short_queue: self.delay.latest < self.delay.target / 4.0,
                steadiness: self.delay.steadiness(),
                srtt: self.srtt,
                segment,
                acknowledged: self.acknowledged - self.acknowledged_marked,
                in_flight: self.in_flight_max.max(self.in_flight_max_previous),
                in_flight_before: self.in_flight_max_previous,
                at_greatest_rate: self.target >= limit,
            },
            &self.config,
        );
        (self.acknowledged, self.acknowledged_marked) = (0.0, 0.0);
        let least = self.config.limits.min.as_bits_per_second();
        self.target = (self.media_rate() / self.frames.divisor()).min(limit).max(least.min(limit));
    }
}

impl MediaController for Scream {
    fn name(&self) -> &'static str {
        "SCReAM v2"
    }

    fn ecn(&self) -> Ecn {
        match self.config.ecn {
            ScreamEcn::Off => Ecn::NotEct,
            ScreamEcn::Classic => Ecn::Ect0,
            ScreamEcn::L4s => Ecn::Ect1,
        }
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        let size = packet.size.as_f64();
        if packet.sent_at.saturating_since(self.mss_since) > MSS_PERIOD {
            self.mss_since = packet.sent_at;
            self.previous_mss = core::mem::replace(&mut self.mss, INITIAL_MSS);
        }
        self.mss = self.mss.max(size);
        self.window.least = 2.0 * self.segment();
        self.window.size = self.window.size.max(self.window.least);
        self.frames.on_sent(packet);
        self.stall.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        let mut clocks = self.clocks.unwrap_or(Clocks {
            start: now,
            alpha: now,
            window: now,
            rate: now,
            in_flight: now,
            srtt: now,
            congestion: now,
        });
        self.in_flight_max = self.in_flight_max.max(self.stall.in_flight());
        self.stall.on_feedback(feedback);
        let mut any_mark = false;
        for packet in feedback.packets {
            let size = packet.sent.size.as_f64();
            self.acknowledged += size;
            self.rate_bits += 8.0 * size;
            if let Some(arrival) = packet.arrival() {
                self.delivered += 1;
                if packet.is_marked() {
                    any_mark = true;
                    self.marked += 1;
                    self.acknowledged_marked += size;
                }
                self.delay.on_arrival(now, packet.sent.sent_at, arrival);
            }
        }
        if let Some(rtt) = feedback.rtt {
            self.measure_rtt(now, rtt.as_secs_f64(), &mut clocks);
        }
        let loss = self.detect_loss(feedback, &clocks);
        let interval = self.reaction_interval();
        let mut marked = any_mark && since(now, clocks.congestion) > interval;
        self.measure_rate(now, &mut clocks);
        self.update_alpha(now, &mut clocks);
        self.delay.update(now, self.srtt, interval);
        // The code stamps the loss and the mark before it tests for a virtual mark: one of the three per
        // interval.
        if loss || marked {
            clocks.congestion = now;
        }
        let virtually = (!loss && !marked && since(now, clocks.congestion) > interval)
            .then(|| self.delay.virtual_share(self.srtt / REACTION_INTERVAL))
            .flatten();
        if self.rtt_falls && self.fraction_marked >= 1.0 {
            // All packets are marked although the queue already shortens: the marks are late.
            marked = false;
        }
        if loss || marked || virtually.is_some() {
            clocks.congestion = now;
        }
        if since(now, clocks.window) > interval || loss || marked || virtually.is_some() {
            self.record_in_flight(now, &mut clocks);
            self.update_window(now, loss, marked, virtually);
            clocks.window = now;
        }
        self.clocks = Some(clocks);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.stall.deadline(STALL)
    }

    fn on_timer(&mut self, now: Instant) {
        self.stall.on_timer(now, STALL);
    }

    fn allowance(&self) -> Allowance {
        let target = self.target * self.delay.refresh_factor();
        let most = self.config.limits.max.as_bits_per_second().max(target) * self.config.pacing_headroom;
        let pacing = (self.config.pacing_headroom * target).max(PACING_MIN.max(target)).min(most);
        let window = self.window.size * self.window.headroom + self.segment() + self.stall.written_off();
        Allowance {
            target: DataRate::from_bits_per_second(target),
            pacing: DataRate::from_bits_per_second(pacing),
            window: Some(ByteCount::new(window as u64)),
        }
    }

    fn on_path_change(&mut self, _now: Instant) {
        self.delay = QueueDelay::new(self.delay.target);
        self.window.forget_inflection();
        self.loss_rate = 0.0;
    }
}
