//! Scenario keys of media flows.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::media::{
    Bbr, BbrConfig, Constant, Copa, CopaConfig, DelayAwareTfrc, DelayAwareTfrcConfig, External, Gcc,
    GccConfig, MediaController, Nada, NadaConfig, RateLimits, Scream, ScreamConfig, ScreamEcn,
};
use whimbrel_scenario::ScenarioError;
use whimbrel_scenario::quantity::{Frequency, Rate, Time};
use whimbrel_units::{DataRate, Duration};

use crate::transport::Repair;

/// The keys of a flow that only media have.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaKeys {
    /// Media only: details.
    #[serde(default)]
    media: Option<Details>,
    /// DCCP, UDP and media only: repair of lost datagrams within a latency budget, and the count of the
    /// frames in time.
    #[serde(default)]
    pub(super) repair: Option<Repair>,
}

/// Details of a media flow.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "MediaDetails")]
pub struct Details {
    /// The congestion control law.
    pub controller: Controller,
    /// Least rate of the encoder, with headers.
    pub min_rate: Rate,
    /// Rate of the encoder at the start.
    pub start_rate: Rate,
    /// Greatest rate of the encoder.
    pub max_rate: Rate,
    /// Frames of the encoder per second, for `traffic = "bulk"`.
    pub frame_rate: Frequency,
    /// Time for which data may wait at the sender: the encoder skips frames, and data of other traffic
    /// expires.
    pub send_delay: Time,
    /// Time between reports of the receiver.
    pub report_interval: Time,
}

impl Default for Details {
    /// RFC 8867, Section 4.4: 150 kbit/s at least, 300 kbit/s at the start, 30 frames per second. The
    /// greatest rate there, 1.5 Mbit/s, belongs to its scenarios and is not a property of media.
    fn default() -> Self {
        Self {
            controller: Controller::default(),
            min_rate: Rate(DataRate::from_kilobits_per_second(150.0)),
            start_rate: Rate(DataRate::from_kilobits_per_second(300.0)),
            max_rate: Rate(DataRate::from_megabits_per_second(50.0)),
            frame_rate: Frequency(30.0),
            send_delay: Time(Duration::from_millis(200)),
            report_interval: Time(Duration::from_millis(50)),
        }
    }
}

/// A congestion control law for media.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Controller {
    /// None: always `start_rate`.
    #[default]
    Constant,
    /// A program sets the rate during the run: see `whimbrel.Environment`. Otherwise it stays at
    /// `start_rate`.
    External,
    /// Google Congestion Control, as in libwebrtc.
    Gcc,
    /// Network-Assisted Dynamic Adaptation (RFC 8698).
    Nada,
    /// SCReAM v2 without ECN.
    Scream,
    /// SCReAM v2 for L4S: packets are ECT(1).
    ScreamL4s,
    /// Copa.
    Copa,
    /// BBRv3.
    Bbr,
    /// TFRC with a bounded queueing delay, without ECN.
    DelayAware,
    /// TFRC with a bounded queueing delay, for L4S: packets are ECT(1).
    DelayAwareL4s,
}

impl Controller {
    /// Name in records: the key's value.
    const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::External => "external",
            Self::Gcc => "gcc",
            Self::Nada => "nada",
            Self::Scream => "scream",
            Self::ScreamL4s => "scream-l4s",
            Self::Copa => "copa",
            Self::Bbr => "bbr",
            Self::DelayAware => "delay-aware",
            Self::DelayAwareL4s => "delay-aware-l4s",
        }
    }

    fn law(self, limits: RateLimits) -> Box<dyn MediaController> {
        let scream = |ecn| Box::new(Scream::new(ScreamConfig { ecn, ..ScreamConfig::new(limits) }));
        let delay_aware = |l4s| {
            let config = DelayAwareTfrcConfig { l4s, ..DelayAwareTfrcConfig::new(limits) };
            Box::new(DelayAwareTfrc::new(config))
        };
        match self {
            Self::Constant => Box::new(Constant::new(limits.start)),
            Self::External => Box::new(External::new(limits)),
            Self::Gcc => Box::new(Gcc::new(GccConfig::new(limits))),
            Self::Nada => Box::new(Nada::new(NadaConfig::new(limits))),
            Self::Scream => scream(ScreamEcn::Off),
            Self::ScreamL4s => scream(ScreamEcn::L4s),
            Self::Copa => Box::new(Copa::new(CopaConfig::new(limits))),
            Self::Bbr => Box::new(Bbr::new(BbrConfig::new(limits))),
            Self::DelayAware => delay_aware(false),
            Self::DelayAwareL4s => delay_aware(true),
        }
    }
}

/// A media flow, configured.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Name of the law in records.
    pub(super) name: &'static str,
    pub(super) controller: Box<dyn MediaController>,
    /// Time between frames.
    pub(super) frame_interval: Duration,
    pub(super) send_delay: Duration,
    pub(super) report_interval: Duration,
}

impl MediaKeys {
    /// The settings of a flow whose table has the key `key`.
    pub(super) fn settings(self, key: &str) -> Result<Settings, ScenarioError> {
        let details = self.media.unwrap_or_default();
        let limits =
            RateLimits { min: details.min_rate.0, start: details.start_rate.0, max: details.max_rate.0 };
        let invalid = |name: &str, value: String, expected: &str| {
            Err(ScenarioError::invalid(format!("{key}.media.{name}"), value, expected))
        };
        let rate = |rate: DataRate| format!("{} bit/s", rate.as_bits_per_second());
        if limits.min.is_zero() {
            return invalid("min_rate", rate(limits.min), "a rate above 0");
        }
        if limits.start < limits.min || limits.start > limits.max {
            return invalid("start_rate", rate(limits.start), "a rate from `min_rate` to `max_rate`");
        }
        let frames = details.frame_rate.0;
        if !(1.0..=1000.0).contains(&frames) {
            return invalid("frame_rate", format!("{frames} Hz"), "1 to 1000 frames per second");
        }
        let interval = details.report_interval.0;
        if interval < Duration::from_millis(1) {
            return invalid("report_interval", format!("{} s", interval.as_secs_f64()), "at least 1 ms");
        }
        Ok(Settings {
            name: details.controller.name(),
            controller: details.controller.law(limits),
            frame_interval: Duration::from_secs_f64(1.0 / details.frame_rate.0),
            send_delay: details.send_delay.0,
            report_interval: details.report_interval.0,
        })
    }
}
