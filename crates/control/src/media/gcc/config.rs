//! Parameters of GCC. The defaults are libwebrtc's at the commit that [`gcc`](super) names, by its constants'
//! names in parentheses where they differ.

use whimbrel_units::{DataRate, Duration};

use crate::media::RateLimits;

/// Parameters of [`Gcc`](super::Gcc).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GccConfig {
    /// Limits of the target.
    pub limits: RateLimits,
    /// The delay-based part.
    pub delay: DelayConfig,
    /// Estimation of the acknowledged rate.
    pub throughput: ThroughputRule,
    /// The rule for losses.
    pub loss: LossRule,
    /// Estimation of the inherent loss.
    pub inherent_loss: LossBasedConfig,
    /// Probes.
    pub probing: ProbingConfig,
    /// Detection of application-limited regions.
    pub alr: AlrConfig,
    /// Response to high round-trip times.
    pub rtt_backoff: RttBackoffConfig,
    /// Congestion window pushback; `None` disables it.
    pub pushback: Option<PushbackConfig>,
    /// Rate after a change of the path.
    pub reset: RouteReset,
    /// Interval of the timer, 25 ms (`kUpdateInterval`).
    pub interval: Duration,
    /// Rate of the pacer relative to the target: 1.1 (`kDefaultPaceMultiplierWithSendSideBwe`).
    pub pacing: f64,
    /// Rate of the pacer relative to the target before the first report: 2.5 (`kDefaultPaceMultiplier`).
    pub initial_pacing: f64,
}

impl GccConfig {
    /// The defaults with other limits.
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Default for GccConfig {
    /// libwebrtc's defaults. The limits are taken from its scenarios of bandwidth estimation, 10 to 1500
    /// kbit/s from 300.
    fn default() -> Self {
        Self {
            limits: RateLimits {
                min: DataRate::from_kilobits_per_second(10.0),
                start: DataRate::from_kilobits_per_second(300.0),
                max: DataRate::from_kilobits_per_second(1500.0),
            },
            delay: DelayConfig::default(),
            throughput: ThroughputRule::default(),
            loss: LossRule::default(),
            inherent_loss: LossBasedConfig::default(),
            probing: ProbingConfig::default(),
            alr: AlrConfig::default(),
            rtt_backoff: RttBackoffConfig::default(),
            pushback: Some(PushbackConfig::default()),
            reset: RouteReset::default(),
            interval: Duration::from_millis(25),
            pacing: 1.1,
            initial_pacing: 2.5,
        }
    }
}

/// The delay-based part (`inter_arrival_delta.cc`, `trendline_estimator.cc`, `aimd_rate_control.cc`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayConfig {
    /// Sending time that a group of packets spans: 5 ms (`kSendTimeGroupLength`).
    pub group_length: Duration,
    /// Groups through which the line is fitted: 20.
    pub window: usize,
    /// Smoothing of the accumulated delay: 0.9.
    pub smoothing: f64,
    /// Gain of the trend: 4.
    pub threshold_gain: f64,
    /// Rate at which the threshold rises to a trend above it, per ms: 0.0087.
    pub k_up: f64,
    /// Rate at which it falls to a trend below it, per ms: 0.039.
    pub k_down: f64,
    /// The threshold at the beginning: 12.5 ms.
    pub initial_threshold: Duration,
    /// Sending time of overuse before it is detected: 10 ms (`kOverUsingTimeThreshold`).
    pub overuse_time: Duration,
    /// Share of the acknowledged rate after a decrease: 0.85.
    pub beta: f64,
    /// Rate before anything is known: 30 Mbit/s.
    pub initial_rate: DataRate,
    /// Round-trip time before one is measured: 200 ms.
    pub initial_rtt: Duration,
}

impl Default for DelayConfig {
    fn default() -> Self {
        Self {
            group_length: Duration::from_millis(5),
            window: 20,
            smoothing: 0.9,
            threshold_gain: 4.0,
            k_up: 0.0087,
            k_down: 0.039,
            initial_threshold: Duration::from_micros(12_500),
            overuse_time: Duration::from_millis(10),
            beta: 0.85,
            initial_rate: DataRate::from_megabits_per_second(30.0),
            initial_rtt: Duration::from_millis(200),
        }
    }
}

/// Estimation of the acknowledged rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThroughputRule {
    /// Rate of the packets of the last second, without the largest gap (`RobustThroughputEstimator`).
    #[default]
    Robust,
    /// A Bayesian estimate from windows of 150 ms (`AcknowledgedBitrateEstimator`), the default of earlier
    /// versions.
    Bayesian,
}

/// The rule for losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LossRule {
    /// Estimation of the bandwidth together with the inherent loss (`LossBasedBweV2`).
    #[default]
    InherentLoss,
    /// Increase below 2 % of loss, decrease above 10 %: libwebrtc's rule where packets are not reported.
    Thresholds,
}

/// Estimation of the inherent loss (`loss_based_bwe_v2.cc`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossBasedConfig {
    /// Factors of the present bandwidth among the candidates: 1.02, 1 and 0.95.
    pub candidate_factors: [f64; 3],
    /// Bound of an increase relative to the acknowledged rate: 1.5 (`BwRampupUpperBoundFactor`).
    pub ramp_up: f64,
    /// The same while the acknowledged rate is near the rate that is held: 1.2
    /// (`BwRampupUpperBoundInHoldFactor`).
    pub ramp_up_in_hold: f64,
    /// Ratio of the acknowledged rate to the held rate that is near it: 1.3
    /// (`BwRampupUpperBoundHoldThreshold`).
    pub hold_threshold: f64,
    /// Preference of high bandwidths, per kbit/s: 0.0002 (`HigherBwBiasFactor`).
    pub preference: f64,
    /// Preference of high bandwidths, per logarithm of kbit/s: 0.02 (`HigherLogBwBiasFactor`).
    pub log_preference: f64,
    /// Average loss up to which high bandwidths are preferred: 0.2.
    pub preference_loss_threshold: f64,
    /// Smoothing of the change of preference at that loss: 0.002.
    pub preference_smoothing: f64,
    /// Lower bound of the inherent loss: 0.001.
    pub least_inherent_loss: f64,
    /// Constant part of its upper bound: 0.05.
    pub inherent_loss_offset: f64,
    /// Bandwidth at which the other part of the upper bound is one: 100 kbit/s.
    pub inherent_balance: DataRate,
    /// Inherent loss at the beginning: 0.01.
    pub initial_inherent_loss: f64,
    /// Size of a step of Newton's method: 0.75.
    pub newton_step: f64,
    /// Least sending time of an observation: 250 ms.
    pub observation: Duration,
    /// Observations that are kept: 15.
    pub window: usize,
    /// Observations before the estimate is used: 3.
    pub least_observations: u32,
    /// Weight of an observation relative to the one after it: 0.9.
    pub temporal_weight: f64,
    /// Average loss from which the estimate has an upper bound: 0.05.
    pub instant_loss_offset: f64,
    /// The bound, multiplied by the loss above the offset: 100 kbit/s.
    pub instant_balance: DataRate,
    /// Increase of the bandwidth in a window of delayed increase: 1.3.
    pub max_increase: f64,
    /// Length of that window: 300 ms.
    pub delayed_increase: Duration,
    /// Lower bound of the estimate, relative to the acknowledged rate: 1.
    pub acknowledged_factor: f64,
    /// Growth of the time for which the estimate is held after a fall: 2.
    pub hold_factor: f64,
    /// Time of padding while the estimate grows: 2 s; zero for none.
    pub padding: Duration,
    /// Sending rate, relative to the median, from which the observation of the greatest loss is no outlier:
    /// 2.
    pub median_factor: f64,
}

impl Default for LossBasedConfig {
    fn default() -> Self {
        Self {
            candidate_factors: [1.02, 1.0, 0.95],
            ramp_up: 1.5,
            ramp_up_in_hold: 1.2,
            hold_threshold: 1.3,
            preference: 0.0002,
            log_preference: 0.02,
            preference_loss_threshold: 0.2,
            preference_smoothing: 0.002,
            least_inherent_loss: 1e-3,
            inherent_loss_offset: 0.05,
            inherent_balance: DataRate::from_kilobits_per_second(100.0),
            initial_inherent_loss: 0.01,
            newton_step: 0.75,
            observation: Duration::from_millis(250),
            window: 15,
            least_observations: 3,
            temporal_weight: 0.9,
            instant_loss_offset: 0.05,
            instant_balance: DataRate::from_kilobits_per_second(100.0),
            max_increase: 1.3,
            delayed_increase: Duration::from_millis(300),
            acknowledged_factor: 1.0,
            hold_factor: 2.0,
            padding: Duration::from_secs(2),
            median_factor: 2.0,
        }
    }
}

/// Probes (`probe_controller.cc`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProbingConfig {
    /// Rate of the first probe, relative to the start rate: 3.
    pub first_scale: f64,
    /// Rate of the second probe, relative to the start rate: 6.
    pub second_scale: f64,
    /// Rate of a further probe, relative to the estimate: 2.
    pub further_scale: f64,
    /// Share of a probe's rate that its result must exceed for a further probe: 0.7.
    pub further_threshold: f64,
    /// Probes in application-limited regions. libwebrtc leaves the choice to the stream; the default is
    /// `true`.
    pub while_limited: bool,
    /// Interval of probes in application-limited regions: 5 s.
    pub limited_interval: Duration,
    /// Rate of such a probe, relative to the estimate: 2.
    pub limited_scale: f64,
    /// Bound of a probe's rate, relative to the estimate, while losses limit it: 1.5.
    pub loss_limited_scale: f64,
    /// Least number of packets of a probe: 5.
    pub packets: u32,
    /// Least duration of a probe: 15 ms.
    pub duration: Duration,
}

impl Default for ProbingConfig {
    fn default() -> Self {
        Self {
            first_scale: 3.0,
            second_scale: 6.0,
            further_scale: 2.0,
            further_threshold: 0.7,
            while_limited: true,
            limited_interval: Duration::from_secs(5),
            limited_scale: 2.0,
            loss_limited_scale: 1.5,
            packets: 5,
            duration: Duration::from_millis(15),
        }
    }
}

/// Detection of application-limited regions (`alr_detector.cc`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AlrConfig {
    /// Share of the target at which the budget grows: 0.65.
    pub usage: f64,
    /// Filling of the budget at which a region begins: 0.8.
    pub start: f64,
    /// Filling of the budget at which it ends: 0.5.
    pub stop: f64,
}

impl Default for AlrConfig {
    fn default() -> Self {
        Self { usage: 0.65, start: 0.8, stop: 0.5 }
    }
}

/// Response to high round-trip times (`RttBasedBackoff`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RttBackoffConfig {
    /// Round-trip time, with the time without reports, above which the target decreases: 3 s.
    pub limit: Duration,
    /// Factor of a decrease: 0.8.
    pub factor: f64,
    /// Interval of decreases: 1 s.
    pub interval: Duration,
    /// Rate below which it does not decrease: 5 kbit/s.
    pub floor: DataRate,
}

impl Default for RttBackoffConfig {
    fn default() -> Self {
        Self {
            limit: Duration::from_secs(3),
            factor: 0.8,
            interval: Duration::from_secs(1),
            floor: DataRate::from_kilobits_per_second(5.0),
        }
    }
}

/// Congestion window pushback (`congestion_window_pushback_controller.cc`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PushbackConfig {
    /// Queueing time that the window allows for: 350 ms.
    pub queue: Duration,
    /// Least rate that pushback leaves: 30 kbit/s.
    pub least: DataRate,
}

impl Default for PushbackConfig {
    fn default() -> Self {
        Self { queue: Duration::from_millis(350), least: DataRate::from_kilobits_per_second(30.0) }
    }
}

/// Rate after a change of the path (`WebRTC-Bwe-SafeResetOnRouteChange`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RouteReset {
    /// The start rate, libwebrtc's default.
    Start,
    /// The lower of the start rate and the target; the default here.
    #[default]
    Target,
    /// The lower of the start rate and the acknowledged rate.
    Acknowledged,
}
