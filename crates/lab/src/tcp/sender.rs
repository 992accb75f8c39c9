//! The sending end: windows, recovery, timer.
//!
//! The public methods are here. The effect of an acknowledgement on recovery is in one file for each recovery
//! method: [`duplicates`] counts duplicate acknowledgements (Tahoe, Reno, NewReno), [`selective`] keeps RFC
//! 6675's scoreboard, [`counter`] is the recovery of ns-2's SACK, [`rack`] is RFC 8985's, [`at_the_end`] that
//! of RCP's agent. [`transmit`] selects the next segment; all of them share [`window`]. [`paced`] is BBR's.

use whimbrel_control::window::rto::RttEstimator;
use whimbrel_control::window::{Window, WindowLaw};
use whimbrel_units::{Duration, Instant};

use super::config::{EcnMode, LossDetection, SackRecovery, TcpConfig, Variant};
use super::ranges::ByteRange;
use super::scoreboard::Scoreboard;
use super::segment::{Flags, Segment};
use super::transmissions::Transmissions;

mod acknowledge;
mod at_the_end;
mod counter;
mod duplicates;
mod external;
mod opening;
mod paced;
mod rack;
mod rate_reduction;
mod selective;
mod spurious;
mod stream;
mod timeout;
mod transmit;
mod window;

use acknowledge::CongestionEcho;
use at_the_end::AtTheEnd;
pub use external::{ExternalWindow, SenderProgress};
use opening::Opening;
pub use paced::ModelSnapshot;
use paced::Paced;
use rack::LossProbe;
use rate_reduction::RateReduction;
use spurious::Spurious;
use stream::Stream;
use timeout::Timers;

/// The state of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SenderPhase {
    /// Nothing is known to be lost.
    Open,
    /// A loss was noticed by duplicate or selective acknowledgements and is being repaired.
    FastRecovery,
    /// The timer expired and the data outstanding then is being retransmitted.
    Timeout,
}

/// The state and the statistics of a sender.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct SenderSnapshot {
    /// `cwnd` in segments, without what duplicate acknowledgements add to it during recovery.
    pub cwnd: f64,
    /// `ssthresh` in segments; infinite before the first loss unless configured.
    pub ssthresh: f64,
    /// Inflation of `cwnd` by duplicate acknowledgements, in segments (RFC 5681, Section 3.2, step 4).
    pub inflation: f64,
    /// The state of loss recovery.
    pub phase: SenderPhase,
    /// SRTT, once measured.
    pub smoothed_rtt: Option<Duration>,
    /// RTTVAR, once measured.
    pub rtt_variation: Option<Duration>,
    /// The last round-trip time measured.
    pub latest_rtt: Option<Duration>,
    /// RTO, backed off if it is.
    pub rto: Duration,
    /// FlightSize in bytes: sent and not cumulatively acknowledged. After a timeout without SACK only what
    /// was sent since counts.
    pub flight: u64,
    /// Estimate of the bytes in the network: RFC 6675's pipe if there is a scoreboard, otherwise FlightSize.
    pub pipe: u64,
    /// Bytes cumulatively acknowledged.
    pub acknowledged: u64,
    /// The end of the data ever sent.
    pub highest_sent: u64,
    /// Segments with data sent, retransmissions included.
    pub segments: u64,
    /// Of these, retransmissions.
    pub retransmits: u64,
    /// Expirations of the timer for lost data.
    pub timeouts: u64,
    /// Losses detected by duplicate or selective acknowledgements.
    pub fast_retransmits: u64,
    /// Reductions of the window by congestion marks.
    pub congestion_marks: u64,
    /// Reductions that were undone, because the losses were reordering.
    pub undone: u64,
    /// The state of BBR, with [`TcpConfig::with_bbr`].
    pub model: Option<ModelSnapshot>,
}

/// The method of loss detection and repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Duplicates,
    Selective,
    Counter,
    Rack,
    AtTheEnd,
}

/// Loss recovery: the state that all methods share.
#[derive(Clone, Debug)]
struct Recovery {
    method: Method,
    phase: SenderPhase,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// Of these, those that came too early for a fast retransmit and allow limited transmit.
    early_duplicates: u32,
    /// FlightSize when the first of them arrived: before limited transmit added to it.
    flight_before: u64,
    /// RFC 6582's `recover`, RFC 6675's RecoveryPoint: the end of the data sent when the loss was noticed.
    point: u64,
    /// No fast retransmit until more than this is acknowledged.
    not_before: Option<u64>,
    /// Segments by which duplicate acknowledgements inflate the window.
    inflation: f64,
    /// The next partial acknowledgement is the first of this recovery.
    first_partial: bool,
    /// Bytes that duplicate acknowledgements have counted, and cumulative ones will count again.
    counted_before: u64,
    /// RFC 6675's RescueRxt.
    rescued_to: Option<u64>,
    /// The first unacknowledged segment is to be sent again, regardless of the window.
    resend: bool,
    /// ns-2's pipe counter, in segments.
    counter: i64,
    /// More segments that the last event may release.
    burst_left: u32,
}

/// Counts of events.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    segments: u64,
    retransmits: u64,
    timeouts: u64,
    fast_retransmits: u64,
    congestion_marks: u64,
    undone: u64,
}

/// The sending end of a connection, without I/O and without a clock of its own.
///
/// - *Commands*: [`send`](Self::send), [`send_forever`](Self::send_forever), [`close`](Self::close). They
///   queue and emit nothing.
/// - *In*: [`handle_segment`](Self::handle_segment), [`handle_timeout`](Self::handle_timeout).
/// - *Out*: [`poll_transmit`](Self::poll_transmit) until it returns `None`, then
///   [`poll_timeout`](Self::poll_timeout).
/// - *State*: [`snapshot`](Self::snapshot), [`is_finished`](Self::is_finished).
#[derive(Debug)]
pub struct TcpSender {
    config: TcpConfig,
    law: Box<dyn WindowLaw>,
    /// ECN codepoint of new data, as a flag.
    ect: Flags,
    window: Window,
    rtt: RttEstimator,
    stream: Stream,
    opening: Opening,
    /// SND.UNA.
    unacknowledged: u64,
    /// SND.NXT: falls back to SND.UNA on a timeout without SACK.
    next: u64,
    /// SND.MAX: the end of the data ever sent.
    high: u64,
    /// SND.WND, in bytes.
    offered: u64,
    recovery: Recovery,
    scoreboard: Scoreboard,
    transmissions: Transmissions,
    probe: LossProbe,
    at_the_end: AtTheEnd,
    spurious: Spurious,
    /// The model of the path instead of the law.
    paced: Paced,
    /// The rate reduction of the present recovery.
    rate_reduction: Option<RateReduction>,
    congestion_echo: CongestionEcho,
    timers: Timers,
    /// The window was the limit on sending, not the application or the receiver.
    window_used: bool,
    echo_timestamp: u32,
    counts: Counts,
}

impl TcpSender {
    /// A sender with nothing to send.
    pub fn new(config: &TcpConfig) -> Self {
        let method = match (config.variant, config.recovery.sack) {
            // Without SACK blocks to read, SACK is NewReno (RFC 6582, Section 1).
            (Variant::Sack, _) if config.receiver.sack_blocks == 0 => Method::Duplicates,
            (Variant::Sack, SackRecovery::Pipe) => match config.recovery.detection {
                LossDetection::Sequence => Method::Selective,
                LossDetection::Rack => Method::Rack,
                LossDetection::AtTheEnd => Method::AtTheEnd,
            },
            (Variant::Sack, SackRecovery::Counter) => Method::Counter,
            _ => Method::Duplicates,
        };
        let mut window = Window::new(config.window.initial.segments(config.segment_size));
        window.ssthresh = config.window.initial_threshold.unwrap_or(f64::INFINITY);
        let paced = Paced::new(config, method, &window);
        let law = if paced.is_on() { Box::new(ExternalWindow) } else { config.window.law.build() };
        let ect = match config.ecn {
            EcnMode::Off => Flags::NONE,
            EcnMode::Accurate if law.is_scalable() => Flags::ECT1,
            EcnMode::Classic | EcnMode::Accurate => Flags::ECT,
        };
        Self {
            law,
            ect,
            window,
            rtt: RttEstimator::new(config.rto),
            stream: Stream::default(),
            opening: if config.handshake { Opening::Waiting } else { Opening::Done },
            unacknowledged: 0,
            next: 0,
            high: 0,
            offered: u64::from(config.receiver.window),
            recovery: Recovery {
                method,
                phase: SenderPhase::Open,
                duplicates: 0,
                early_duplicates: 0,
                flight_before: 0,
                point: 0,
                not_before: None,
                inflation: 0.0,
                first_partial: true,
                counted_before: 0,
                rescued_to: None,
                resend: false,
                counter: 0,
                burst_left: config.sending.max_burst,
            },
            scoreboard: Scoreboard::new(config.segment_size, config.recovery.duplicate_threshold),
            transmissions: Transmissions::new(paced.is_on()),
            paced,
            probe: LossProbe::default(),
            at_the_end: AtTheEnd::default(),
            spurious: Spurious::new(config.recovery.duplicate_threshold),
            rate_reduction: None,
            congestion_echo: CongestionEcho::default(),
            timers: Timers::new(&config.sending),
            window_used: true,
            echo_timestamp: 0,
            counts: Counts::default(),
            config: config.clone(),
        }
    }

    /// The application has `bytes` more to send. Ignored after [`close`](Self::close).
    pub fn send(&mut self, bytes: u64) {
        let segment = u64::from(self.config.segment_size);
        let bytes =
            if self.config.sending.whole_segments { bytes.div_ceil(segment) * segment } else { bytes };
        self.stream.write(bytes);
    }

    /// The application never runs out of data.
    pub fn send_forever(&mut self) {
        self.stream.write(u64::MAX);
    }

    /// The application has no more to send: a FIN follows the last byte.
    pub fn close(&mut self) {
        self.stream.close();
    }

    /// An acknowledgement arrived.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if let Some(timestamps) = segment.timestamps {
            self.echo_timestamp = timestamps.value;
        }
        self.recovery.burst_left = self.config.sending.max_burst;
        self.timers.hold_jitter();
        if segment.flags.contains(Flags::SYN) {
            return self.on_syn_ack(now, segment);
        }
        // RFC 9293, Section 3.10.7.4: an acknowledgement of data never sent is ignored.
        if segment.ack > self.high || !self.opening.is_done() {
            return;
        }
        let window_changed = self.offered != u64::from(segment.window);
        self.offered = u64::from(segment.window);
        self.on_congestion_echo(now, segment);
        match self.recovery.method {
            Method::Duplicates => self.on_ack_counting_duplicates(now, segment, window_changed),
            Method::Selective => self.on_ack_with_scoreboard(now, segment),
            Method::Counter => self.on_ack_with_counter(now, segment),
            Method::Rack => self.on_ack_with_rack(now, segment),
            Method::AtTheEnd => {
                self.timers.last_acknowledged = now;
                self.measure(now, segment);
                self.at_the_end.on_acknowledged(ByteRange::new(segment.seq, segment.ack));
                self.unacknowledged = self.at_the_end.without_holes();
                let pause = at_the_end::pause(&self.rtt);
                self.timers.retransmission = (!self.is_finished()).then(|| now + pause);
            }
        }
    }

    /// Deadline of [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.timers.next();
        if self.recovery.method != Method::Rack {
            return next;
        }
        [next, self.probe.deadline, self.timers.reordering, self.paced.deadline()].into_iter().flatten().min()
    }

    /// `true` if all data of the application, and a FIN if it closed, are acknowledged.
    pub fn is_finished(&self) -> bool {
        self.opening.is_done() && self.unacknowledged >= self.stream.end_with_fin()
    }

    /// The state and the statistics of the sender.
    pub fn snapshot(&self) -> SenderSnapshot {
        SenderSnapshot {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            inflation: self.recovery.inflation,
            phase: self.recovery.phase,
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.variation(),
            latest_rtt: self.rtt.latest(),
            rto: self.rtt.rto(),
            flight: self.flight(),
            pipe: match self.recovery.method {
                Method::Selective => self.scoreboard.pipe(self.high),
                Method::Rack => self.transmissions.pipe(),
                Method::Duplicates | Method::Counter => self.flight(),
                Method::AtTheEnd => self.at_the_end.in_network(),
            },
            acknowledged: self.unacknowledged.min(self.stream.end()),
            highest_sent: self.high,
            segments: self.counts.segments,
            retransmits: self.counts.retransmits,
            timeouts: self.counts.timeouts,
            fast_retransmits: self.counts.fast_retransmits,
            congestion_marks: self.counts.congestion_marks,
            undone: self.counts.undone,
            model: self.paced.snapshot(),
        }
    }
}

#[cfg(test)]
mod tests;
