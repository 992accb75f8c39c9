//! Parameters of BBR.

use whimbrel_units::Duration;

/// Parameters of a [`Model`](super::Model). The defaults are the draft's (Section 2), except where it has
/// none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Pacing gains of Startup, Drain, ProbeBW_DOWN and ProbeBW_UP.
    pub startup_gain: f64,
    /// See [`startup_gain`](Self::startup_gain).
    pub drain_gain: f64,
    /// See [`startup_gain`](Self::startup_gain).
    pub down_gain: f64,
    /// See [`startup_gain`](Self::startup_gain).
    pub up_gain: f64,
    /// Window over the product of bandwidth and delay: in general, in ProbeBW_UP and in ProbeRTT.
    pub window_gain: f64,
    /// See [`window_gain`](Self::window_gain).
    pub up_window_gain: f64,
    /// See [`window_gain`](Self::window_gain).
    pub probe_rtt_gain: f64,
    /// Share by which the rate is below the estimated bandwidth (PacingMarginPercent).
    pub pacing_margin: f64,
    /// Share of lost bytes above which a probe was too high (LossThresh).
    pub loss_threshold: f64,
    /// Separate ranges of lost packets in a round-trip time that end Startup (BBRStartupFullLossCnt).
    pub startup_loss_ranges: u32,
    /// Least factor of a reduction (Beta).
    pub beta: f64,
    /// Share of the long-term bound that is left free in cruise (Headroom).
    pub headroom: f64,
    /// Least time between probes for bandwidth; up to a second is added at random (PickProbeWait).
    pub probe_wait: Duration,
    /// Period of the minimum round-trip time (MinRTTFilterLen).
    pub min_rtt_period: Duration,
    /// Time without a lower round-trip time after which it is probed (ProbeRTTInterval).
    pub probe_rtt_interval: Duration,
    /// Time for which the bytes in flight are kept low (ProbeRTTDuration).
    pub probe_rtt_duration: Duration,
    /// Round-trip times over which aggregation is the maximum, after Startup (ExtraAckedFilterLen).
    pub extra_acked_rounds: u64,
    /// `true` if packets leave in quanta, for three of which there is room in flight (Sections 5.5.8 and
    /// 5.6.3).
    pub quanta: bool,
    /// Seed of the random times between probes.
    pub seed: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            startup_gain: 2.77,
            drain_gain: 0.5,
            down_gain: 0.9,
            up_gain: 1.25,
            window_gain: 2.0,
            up_window_gain: 2.25,
            probe_rtt_gain: 0.5,
            pacing_margin: 0.01,
            loss_threshold: 0.02,
            startup_loss_ranges: 6,
            beta: 0.7,
            headroom: 0.15,
            probe_wait: Duration::from_secs(2),
            min_rtt_period: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt_duration: Duration::from_millis(200),
            extra_acked_rounds: 10,
            quanta: false,
            seed: 1,
        }
    }
}
