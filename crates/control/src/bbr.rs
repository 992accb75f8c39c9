//! BBR version 3: a model of the path that bounds pace and window.
//!
//! The law of draft-ietf-ccwg-bbr (editors' copy at commit 4ce5e87 of ietf-wg-ccwg/draft-ietf-ccwg-bbr,
//! 2026-08-03), in its terms: a model of the path (bandwidth, minimum round-trip time, bytes in flight that
//! are safe), and a state machine that probes for each of them. ECN is not used: the draft leaves it out.
//!
//! A transport numbers its transmissions. It reports which of them are sent, acknowledged or lost, and the
//! model returns the pacing rate, the window and the send quantum. [`media::Bbr`](crate::media::Bbr) applies
//! the model to encoders; the simulated TCP enables it by `TcpConfig::with_bbr`.
//!
//! ```
//! use whimbrel_control::bbr::{Model, Parameters};
//! use whimbrel_units::{Duration, Instant};
//!
//! let (start, rtt) = (Instant::ZERO, Duration::from_millis(40));
//! let mut model = Model::for_transport(Parameters::default(), 14_600.0, 1460.0);
//! model.start_pacing(start, Some(rtt));
//! for sequence in 0..10 {
//!     model.on_sent(start, sequence, 1460.0);
//! }
//! let now = start + rtt;
//! for sequence in 0..10 {
//!     model.on_delivered(sequence, now);
//! }
//! model.set_in_flight(0.0);
//! model.on_ack(now, Some(rtt));
//! assert_eq!(model.window(), 29_200.0); // Startup doubles the window in a round trip.
//! assert_eq!(model.bandwidth().as_bytes_per_second(), 14_600.0 / 0.04);
//! ```

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use self::delivery::{Delivery, RateSample};
use self::full_pipe::FullPipe;
pub use self::parameters::Parameters;
use self::probe_rtt::MinRtt;
use self::random::Random;
use self::recovery::Undo;

mod delivery;
mod full_pipe;
mod loss;
mod model;
mod parameters;
mod probe_bw;
mod probe_rtt;
mod random;
mod recovery;

#[cfg(test)]
mod tests;

/// Least window, in packets (MinPipeCwnd).
const LEAST_PACKETS: f64 = 4.0;
/// Round-trip times after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;
/// Packets of the initial window (RFC 6928), unless the transport has another.
const INITIAL_PACKETS: f64 = 10.0;
/// Round-trip time for the first pace, in seconds, before one is measured (InitPacingRate).
const INITIAL_RTT: f64 = 1e-3;
/// Quanta with room in flight (UpdateOffloadBudget).
const QUANTA_IN_FLIGHT: f64 = 3.0;
/// Time of sending at the pacing rate that a quantum lasts, in seconds, and its greatest and least size, in
/// bytes and in packets (SetSendQuantum).
const QUANTUM_TIME: f64 = 1e-3;
const MOST_QUANTUM: f64 = 65_536.0;
const LEAST_QUANTUM_PACKETS: f64 = 2.0;

/// The states of BBR, with the four phases of ProbeBW.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// The relation of the samples to the last probe for bandwidth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The model of a path and the state machine of BBR version 3.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    parameters: Parameters,
    state: State,
    delivery: Delivery,
    random: Random,
    /// Bytes in flight, as the transport counts them (C.inflight).
    in_flight: f64,
    segment: f64,
    /// The transport's initial window in bytes; `None` for [`INITIAL_PACKETS`].
    initial_window: Option<f64>,
    /// Window in bytes, and the one to be restored.
    window: f64,
    saved_window: f64,
    /// Pacing rate in bytes per second.
    pacing: f64,
    /// Maximum rate of this cycle and the one before, in bytes per second.
    max_bw: [f64; 2],
    /// Short-term bounds: bandwidth and bytes in flight.
    bw_short_term: f64,
    in_flight_short_term: f64,
    /// Long-term bound of the bytes in flight.
    long_term: f64,
    bw_latest: f64,
    in_flight_latest: f64,
    full_pipe: FullPipe,
    min_rtt: MinRtt,
    /// Round-trip times counted by packets.
    round: u64,
    round_start: bool,
    next_round_delivered: f64,
    drain_start: u64,
    loss_in_round: bool,
    loss_round_start: bool,
    loss_round_delivered: f64,
    loss_ranges: u32,
    last_lost: u64,
    /// The transport is in loss recovery; `None` if it has none: a round trip with losses stands for one.
    in_recovery: Option<bool>,
    undo: Undo,
    ack_phase: AckPhase,
    cycle_start: Instant,
    probe_wait: Duration,
    rounds_since_probe: u32,
    is_probe_sample: bool,
    last_probe_was_too_high: bool,
    last_probe_was_precautionary: bool,
    growth_exponent: u32,
    probe_acked: f64,
    acked_per_increment: f64,
    /// Bytes acknowledged beyond the expected, their maximum of two periods, and the start of the period.
    extra_start: Instant,
    extra_delivered: f64,
    extra: [f64; 2],
    extra_round: u64,
    window_limited: bool,
    idle_restart: bool,
}

impl Model {
    /// A model that sends at `start` before the first acknowledgement. Its segment is the largest packet, its
    /// initial window 10 of them.
    pub fn new(parameters: Parameters, start: DataRate) -> Self {
        Self {
            parameters,
            state: State::Startup,
            delivery: Delivery::default(),
            random: Random(parameters.seed | 1),
            in_flight: 0.0,
            segment: 0.0,
            initial_window: None,
            window: 0.0,
            saved_window: 0.0,
            pacing: start.as_bytes_per_second(),
            max_bw: [0.0; 2],
            bw_short_term: f64::INFINITY,
            in_flight_short_term: f64::INFINITY,
            long_term: f64::INFINITY,
            bw_latest: 0.0,
            in_flight_latest: 0.0,
            full_pipe: FullPipe::default(),
            min_rtt: MinRtt::default(),
            round: 0,
            round_start: false,
            next_round_delivered: 0.0,
            drain_start: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0.0,
            loss_ranges: 0,
            last_lost: u64::MAX - 1,
            in_recovery: None,
            undo: Undo::default(),
            ack_phase: AckPhase::Init,
            cycle_start: Instant::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            is_probe_sample: false,
            last_probe_was_too_high: false,
            last_probe_was_precautionary: false,
            growth_exponent: 0,
            probe_acked: 0.0,
            acked_per_increment: f64::INFINITY,
            extra_start: Instant::ZERO,
            extra_delivered: 0.0,
            extra: [0.0; 2],
            extra_round: 0,
            window_limited: false,
            idle_restart: false,
        }
    }

    /// A model for a transport with loss recovery, with an initial window and full packets of that many bytes
    /// ([`start_pacing`](Self::start_pacing) sets the first pace).
    pub fn for_transport(parameters: Parameters, initial_window: f64, segment: f64) -> Self {
        Self {
            segment,
            initial_window: Some(initial_window),
            window: initial_window,
            in_recovery: Some(false),
            ..Self::new(parameters, DataRate::ZERO)
        }
    }

    /// The pace before the first acknowledgement, from a smoothed round-trip time if there is one
    /// (InitPacingRate), which is also the first estimate of the minimum (OnInit).
    pub fn start_pacing(&mut self, now: Instant, smoothed_rtt: Option<Duration>) {
        let rtt = smoothed_rtt.filter(|rtt| !rtt.is_zero());
        let nominal = self.initial_window() / rtt.map_or(INITIAL_RTT, Duration::as_secs_f64);
        self.pacing = self.parameters.startup_gain * nominal;
        if self.min_rtt.estimate.is_none() {
            self.min_rtt.begin(now, rtt);
        }
    }

    /// The estimated bandwidth.
    pub fn bandwidth(&self) -> DataRate {
        DataRate::from_bytes_per_second(self.bw())
    }

    /// The pacing rate.
    pub fn pacing_rate(&self) -> DataRate {
        DataRate::from_bytes_per_second(self.pacing)
    }

    /// The window in bytes; zero before the first packet without an initial window.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// The most bytes that leave at once (SetSendQuantum); a packet without
    /// [`quanta`](Parameters::quanta).
    pub fn send_quantum(&self) -> f64 {
        if !self.parameters.quanta {
            return self.segment;
        }
        (self.pacing * QUANTUM_TIME).min(MOST_QUANTUM).max(LEAST_QUANTUM_PACKETS * self.segment)
    }

    /// The estimated minimum round-trip time; `None` before the first measurement.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.estimate
    }

    /// Name of the state, as in the draft.
    pub const fn state(&self) -> &'static str {
        match self.state {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::Down => "ProbeBW_DOWN",
            State::Cruise => "ProbeBW_CRUISE",
            State::Refill => "ProbeBW_REFILL",
            State::Up => "ProbeBW_UP",
            State::ProbeRtt => "ProbeRTT",
        }
    }

    /// `true` in Startup, ProbeBW_REFILL and ProbeBW_UP (IsProbingBW).
    pub const fn is_probing_bandwidth(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// The long-term bound of the bytes in flight; `None` while no probe has found it.
    pub fn long_term_bound(&self) -> Option<ByteCount> {
        self.long_term.is_finite().then(|| ByteCount::new(self.long_term as u64))
    }

    /// Sets the bytes in flight (C.inflight): sent, and neither acknowledged nor lost.
    pub const fn set_in_flight(&mut self, bytes: f64) {
        self.in_flight = bytes;
    }

    /// Bytes in flight.
    pub const fn in_flight(&self) -> f64 {
        self.in_flight
    }

    /// Processes a packet of `size` bytes that is sent now; it adds to the bytes in flight. `sequence` counts
    /// transmissions, retransmissions included.
    pub fn on_sent(&mut self, now: Instant, sequence: u64, size: f64) {
        self.segment = self.segment.max(size);
        if self.window <= 0.0 {
            self.window = self.initial_window();
        }
        if self.in_flight <= 0.0 && self.delivery.is_limited() {
            self.idle_restart = true;
            self.extra_start = now;
            if self.is_in_probe_bw() {
                self.pacing = self.bw() * (1.0 - self.parameters.pacing_margin);
            } else if self.state == State::ProbeRtt {
                self.end_probe_rtt(now);
            }
        }
        self.delivery.on_sent(now, sequence, size, self.in_flight);
        self.in_flight += size;
        self.window_limited |= self.in_flight + self.segment > self.window;
    }

    /// Counts a packet that the present acknowledgement covers, as acknowledged at `at`. Returns `false` if
    /// the packet was sent too long ago to be remembered.
    pub fn on_delivered(&mut self, sequence: u64, at: Instant) -> bool {
        self.delivery.on_delivered(sequence, at)
    }

    /// Ends the acknowledgement whose packets [`on_delivered`](Self::on_delivered) and
    /// [`on_lost`](Self::on_lost) have named (UpdateOnACK). `rtt` is the least round-trip time that it
    /// measured, `None` if all was retransmitted. Bytes in flight are those after it.
    pub fn on_ack(&mut self, now: Instant, rtt: Option<Duration>) {
        let least = self.min_rtt.estimate.unwrap_or(Duration::ZERO);
        self.on_ack_of_interval(now, rtt, least);
    }

    /// The same with the shortest interval that gives a rate.
    pub(crate) fn on_ack_of_interval(&mut self, now: Instant, rtt: Option<Duration>, least: Duration) {
        if let Some(sample) = self.delivery.sample(rtt, least) {
            self.delivery.forget(now, rtt.or(self.min_rtt.estimate).unwrap_or(Duration::ZERO));
            self.on_sample(now, &sample);
        }
    }

    /// The sender has run out of data, which was not for the window: samples of what is in flight do not show
    /// the bandwidth (MarkConnectionAppLimited).
    pub fn on_application_limited(&mut self) {
        if self.in_flight + self.segment < self.window {
            self.delivery.limit(self.in_flight);
        }
    }

    /// The path is another one: starts again, with the present pace and window.
    pub fn on_path_change(&mut self, now: Instant) {
        self.min_rtt = MinRtt::default();
        self.max_bw = [0.0; 2];
        self.long_term = f64::INFINITY;
        self.reset_short_term_model();
        self.reset_congestion_signals();
        self.full_pipe = FullPipe::default();
        self.state = State::Startup;
        self.cycle_start = now;
    }

    /// UpdateModelAndState and UpdateControlParameters.
    fn on_sample(&mut self, now: Instant, sample: &RateSample) {
        self.update_latest_signals(sample);
        self.update_congestion_signals(sample);
        self.update_aggregation(now, sample.newly_delivered);
        if !self.full_pipe.now && self.round_start && !sample.application_limited {
            self.full_pipe.on_round(sample.rate);
        }
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_start = self.round;
        }
        if self.state == State::Drain
            && (self.in_flight <= self.in_flight_for(self.bw(), 1.0)
                || self.round > self.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(now);
        }
        self.update_phase(now, sample);
        self.update_min_rtt(now, sample);
        self.check_probe_rtt(now);
        self.advance_latest_signals(sample);
        self.set_pacing();
        self.set_window(sample.newly_delivered);
        self.window_limited = false;
    }
}
