//! A simulated TCP.

mod agent;
mod details;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::window::{InitialWindow, NewReno, WindowLaw};
use whimbrel_scenario::ScenarioError;
use whimbrel_units::Duration;

pub use agent::{TcpContent, TcpReceiverAgent, TcpSenderAgent};
pub use details::{Details, TcpCongestion, TcpPreset, TcpVariant};

use super::{FlowAgent, FlowSetup, FlowTransport, Transport};
use crate::tcp::{
    DelayedAck, EcnMode, LossDetection, RecoveryConfig, Segment, TcpConfig, Timestamps, Variant,
};

/// The simulated TCP.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

/// The keys of a flow that only TCP has.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// TCP only: details.
    #[serde(default)]
    tcp: Option<Details>,
}

impl Transport for Tcp {
    const NAME: &'static str = "tcp";
    const DESCRIPTION: &'static str = "A simulated TCP.";
    const KEYS: &'static [&'static str] = &["tcp"];
    type Keys = Keys;

    fn configure(&self, key: &str, keys: Keys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        Ok(Box::new(TcpFlow(tcp(key, &keys.tcp.unwrap_or_default())?)))
    }
}

/// The TCP connection of a flow.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpFlow(pub TcpConfig);

impl FlowTransport for TcpFlow {
    fn scheme(&self) -> String {
        let variant = format!("{:?}", self.0.variant);
        let law = if self.0.window.bbr.is_some() { "BBR" } else { self.0.window.law.law().name() };
        let law = if law == NewReno::rfc5681().name() { String::new() } else { format!("-{law}") };
        format!("tcp-{variant}{law}").to_lowercase()
    }

    fn delivers_packets(&self) -> bool {
        false
    }

    fn headers(&self) -> u32 {
        let timestamps = self.0.timestamps.then(Timestamps::default);
        self.0.headers.size(&Segment { timestamps, ..Segment::default() })
    }

    fn fit(&mut self, _: &str, payload: u32, _: bool) -> Result<(), ScenarioError> {
        self.0.segment_size = payload;
        Ok(())
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        let mut random = flow.random("tcp");
        let mut config = self.0.clone();
        config.rto.tick_phase = config.rto.tick.mul_f64(random.uniform());
        config.sending.jitter_seed = random.next_u64();
        if let Some(bbr) = &mut config.window.bbr {
            bbr.seed = random.next_u64();
        }
        [
            TcpSenderAgent::new(flow.to, flow.id, &config, flow.source(), flow.meter()).into(),
            TcpReceiverAgent::new(flow.from, flow.id, &config, flow.meter()).into(),
        ]
    }

    /// The phase of a coarse clock, the times by which packets are held back, and those between the probes of
    /// BBR are drawn.
    fn is_random(&self) -> bool {
        let has_tick = self.0.rto.tick > Duration::from_nanos(1);
        has_tick || !self.0.sending.jitter.is_zero() || self.0.window.bbr.is_some()
    }
}

/// The keys of loss recovery, and the others that they need.
fn recovery(
    key: &str,
    options: &Details,
    variant: Variant,
    recovery: &mut RecoveryConfig,
) -> Result<(), ScenarioError> {
    let mut has_rack = recovery.detection == LossDetection::Rack;
    if let Some(rack) = options.rack {
        if rack && (variant != Variant::Sack || options.preset == TcpPreset::Ns2) {
            let expected = "false, or `variant = \"sack\"` with another preset than ns2";
            return Err(ScenarioError::invalid(format!("{key}.rack"), rack, expected));
        }
        has_rack = rack;
        recovery.detection = if rack { LossDetection::Rack } else { LossDetection::Sequence };
    }
    for (name, value, field) in [
        ("loss_probe", options.loss_probe, &mut recovery.loss_probe),
        ("rate_reduction", options.rate_reduction, &mut recovery.rate_reduction),
        ("undo", options.undo, &mut recovery.undo),
    ] {
        if value == Some(true) && !has_rack {
            return Err(ScenarioError::invalid(format!("{key}.{name}"), true, "false without `rack`"));
        }
        *field = value.unwrap_or(*field) && has_rack;
    }
    Ok(())
}

/// The keys that exclude BBR.
fn check_bbr(key: &str, options: &Details) -> Result<(), ScenarioError> {
    let invalid = |name: &str, found: &str, expected: &str| {
        let expected = format!("{expected} with `congestion = \"bbr\"`");
        Err(ScenarioError::invalid(format!("{key}.{name}"), found, &expected))
    };
    if options.preset == TcpPreset::Ns2 {
        return invalid("preset", "\"ns2\"", "another");
    }
    if options.variant != TcpVariant::Sack {
        return invalid("variant", &format!("\"{}\"", options.variant.name()), "\"sack\"");
    }
    for (name, value, needed) in [
        ("rack", options.rack, true),
        ("rate_reduction", options.rate_reduction, false),
        ("ecn", options.ecn, false),
    ] {
        if value == Some(!needed) {
            return invalid(name, &(!needed).to_string(), &needed.to_string());
        }
    }
    Ok(())
}

fn tcp(key: &str, options: &Details) -> Result<TcpConfig, ScenarioError> {
    let key = format!("{key}.tcp");
    let variant = match options.variant {
        TcpVariant::Tahoe => Variant::Tahoe,
        TcpVariant::Reno => Variant::Reno,
        TcpVariant::NewReno => Variant::NewReno,
        TcpVariant::Sack => Variant::Sack,
    };
    let mut config = match options.preset {
        TcpPreset::Rfc => TcpConfig::rfc(variant),
        TcpPreset::Ns2 => TcpConfig::ns2(variant),
        TcpPreset::Linux if variant == Variant::Sack => TcpConfig::linux(),
        TcpPreset::Linux => {
            let found = format!("\"{}\"", options.variant.name());
            return Err(ScenarioError::invalid(
                format!("{key}.variant"),
                found,
                "\"sack\" with `preset = \"linux\"`",
            ));
        }
    };
    if let (Some(hystart), true) = (options.hystart, options.congestion != TcpCongestion::Cubic) {
        let expected = "nothing: only `congestion = \"cubic\"` has it";
        return Err(ScenarioError::invalid(format!("{key}.hystart"), hystart, expected));
    }
    let is_prague = options.congestion == TcpCongestion::Prague;
    if let (Some(time), false) = (options.virtual_rtt, is_prague) {
        let expected = "nothing: only `congestion = \"prague\"` has it";
        return Err(ScenarioError::invalid(
            format!("{key}.virtual_rtt"),
            format!("\"{}\"", time.0),
            expected,
        ));
    }
    let virtual_rtt = options.virtual_rtt.map_or(Duration::ZERO, |time| time.0);
    if let Some(law) = options.congestion.law(options.preset, options.hystart.unwrap_or(true), virtual_rtt) {
        config.window.law = law;
    }
    if options.congestion == TcpCongestion::Bbr {
        check_bbr(&key, options)?;
        config = config.with_bbr();
    }
    if let Some(limit) = options.window_limit {
        if !(1.0..1e9).contains(&limit) {
            return Err(ScenarioError::invalid(format!("{key}.window_limit"), limit, "at least one segment"));
        }
        match options.preset {
            TcpPreset::Rfc | TcpPreset::Linux => config.window.limit = Some(limit),
            TcpPreset::Ns2 => config = config.with_window(limit),
        }
    }
    if let Some(segments) = options.initial_window {
        if segments == 0 {
            return Err(ScenarioError::invalid(format!("{key}.initial_window"), 0, "at least one segment"));
        }
        config.window.initial = InitialWindow::Segments(segments);
    }
    recovery(&key, options, variant, &mut config.recovery)?;
    config.receiver.duplicate_sack = config.recovery.undo;
    config.handshake = options.handshake.unwrap_or(config.handshake);
    config.ecn = match options.ecn.unwrap_or(is_prague) {
        false => EcnMode::Off,
        true if is_prague => EcnMode::Accurate,
        true => EcnMode::Classic,
    };
    config.timestamps = options.timestamps.unwrap_or(config.timestamps);
    if let Some(delayed) = options.delayed_acks {
        let standard = match options.preset {
            TcpPreset::Rfc => DelayedAck::STANDARD,
            TcpPreset::Linux => DelayedAck::LINUX,
            TcpPreset::Ns2 => DelayedAck::NS2,
        };
        config.receiver.delayed_ack = delayed.then_some(standard);
    }
    if let Some(minimum) = options.min_rto {
        config.rto.minimum = minimum.0;
    }
    if let Some(jitter) = options.jitter {
        config.sending.jitter = jitter.0;
    }
    if let Some(tick) = options.clock_tick {
        config.rto.tick = tick.0;
    }
    Ok(config)
}
