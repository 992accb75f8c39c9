//! The configuration of the protocol code, from a scenario's keys.

use whimbrel_control::loss_differentiation::{Differentiation, GuardConfig};
use whimbrel_control::tfrc::faster_restart::DECAY_TIME;
use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout};
use whimbrel_proto::ccid::{Registry, ccid250};
use whimbrel_proto::config::{DataChecksumUse, IntegrityConfig, TimerConfig};
use whimbrel_proto::{Ccid, Config, ConfigError, OverflowPolicy, SendQueueConfig};
use whimbrel_scenario::ScenarioError;

use super::freezing::Freeze;
use super::{Classifier, DccpFlow, Details};
use crate::transport::Encryption;

/// Bytes of the header of a UDP datagram.
const UDP_HEADER: u32 = 8;

/// The congestion control mechanisms of simulated connections.
pub(super) fn mechanisms() -> Registry {
    Registry::default().with(ccid250::mechanism()).with_delay_aware().with_window_laws()
}

/// Converts an error of the protocol code into one with the scenario's key.
pub(super) fn refused(key: &str, error: &ConfigError) -> ScenarioError {
    match error {
        ConfigError::Invalid { field, value, expected } => {
            let (name, expected) = match *field {
                "sender_ccids" | "receiver_ccids" => ("ccid".to_owned(), mechanisms().describe(|_| true)),
                "integrity.checksum_coverage" | "integrity.minimum_coverage" => {
                    ("dccp.checksum_coverage".to_owned(), (*expected).to_owned())
                }
                "send_queue.max_datagrams" => ("dccp.send_queue".to_owned(), (*expected).to_owned()),
                other => (format!("dccp.{other}"), (*expected).to_owned()),
            };
            ScenarioError::invalid(format!("{key}.{name}"), value, expected)
        }
        other => ScenarioError::invalid(format!("{key}.dccp"), "{...}", other.to_string()),
    }
}

/// Checks what the protocol code does not.
pub(super) fn check(key: &str, classifier: Classifier, details: &Details) -> Result<(), ScenarioError> {
    if details.udp_encapsulation && details.checksum_coverage != 0 {
        return Err(ScenarioError::invalid(
            format!("{key}.dccp.checksum_coverage"),
            details.checksum_coverage,
            "0 with `udp_encapsulation`: UDP's checksum covers everything (RFC 6773, Section 3.3.1)",
        ));
    }
    if details.encryption != Encryption::None && details.checksum_coverage != 0 {
        return Err(ScenarioError::invalid(
            format!("{key}.dccp.checksum_coverage"),
            details.checksum_coverage,
            "0 with `encryption`: a damaged record is not authentic",
        ));
    }
    if let Some(freeze) = &details.freeze {
        let key = format!("{key}.dccp.freeze");
        if freeze.restore_share.is_some() && freeze.restore_rate.is_some() {
            let expected = "either `restore_share` or `restore_rate`, not both";
            return Err(ScenarioError::invalid(format!("{key}.restore_share"), "...", expected));
        }
        if freeze.silence.is_some() && freeze.silence_in_rtt.is_some() {
            let expected = "either `silence` or `silence_in_rtt`, not both";
            return Err(ScenarioError::invalid(format!("{key}.silence"), "...", expected));
        }
    }
    let drift = details.clock_drift_ppm;
    if !(-1e4..=1e4).contains(&drift) {
        let expected = "parts per million, from -10000 to 10000";
        return Err(ScenarioError::invalid(format!("{key}.dccp.clock_drift_ppm"), drift, expected));
    }
    if let Some(tick) = details.timeout_tick.filter(|tick| tick.0.is_zero()) {
        let expected = "a time above zero";
        return Err(ScenarioError::invalid(
            format!("{key}.dccp.timeout_tick"),
            format!("\"{}\"", tick.0),
            expected,
        ));
    }
    if !details.classification.parameters().is_valid() {
        let expected = "mbiaz_upper from 1 to 2, and 0 <= spike_end <= spike_start <= 1";
        return Err(ScenarioError::invalid(format!("{key}.dccp.classification"), "{...}", expected));
    }
    if details.trial && classifier == Classifier::NONE {
        let expected = "false, or a `classifier` to try";
        return Err(ScenarioError::invalid(format!("{key}.dccp.trial"), true, expected));
    }
    Ok(())
}

/// Refuses keys that the repair layer does not support.
pub(super) fn check_repaired(key: &str, details: &Details) -> Result<(), ScenarioError> {
    let expected = "not together with `repair`";
    let refuse = |name: &str, value: String| {
        Err(ScenarioError::invalid(format!("{key}.dccp.{name}"), value, expected))
    };
    if details.checksum_coverage != 0 {
        return refuse("checksum_coverage", details.checksum_coverage.to_string());
    }
    if details.reorder_delay.is_some() {
        return refuse("reorder_delay", "\"...\"".to_owned());
    }
    Ok(())
}

/// The configuration of a flow with these keys.
pub(super) fn configured(ccid: u8, classifier: Classifier, details: &Details) -> DccpFlow {
    let mut config = Config::default()
        .sender_ccids([Ccid(ccid)])
        .receiver_ccids([Ccid(ccid)])
        .ccids(mechanisms())
        .integrity(
            IntegrityConfig::default()
                .checksum_coverage(details.checksum_coverage)
                .minimum_coverage(details.checksum_coverage)
                .data_checksum(if details.data_checksum {
                    DataChecksumUse::Require
                } else {
                    DataChecksumUse::Off
                }),
        )
        .ecn(details.ecn)
        .sequence_window(details.sequence_window)
        .send_queue(
            SendQueueConfig::default()
                .max_datagrams(details.send_queue as usize)
                .max_bytes(usize::MAX)
                .overflow(OverflowPolicy::DropOldest),
        )
        .timers(TimerConfig::rfc4340());
    config.receive.loss_detection = details.loss_detection.into();
    config.receive.reorder_delay = details.reorder_delay.map(|time| time.0);
    config.receive.reorder_size = details.reorder_size.0;
    config.receive.reorder_adapts = details.reorder_adapts;
    config.receive.late = details.late.into();
    config.freeze = details.freeze.as_ref().map(Freeze::config).unwrap_or_default();
    config.receive.deliver_corrupt = details.deliver_corrupt;
    let differentiation = classifier.0.map(|scheme| Differentiation {
        scheme,
        parameters: details.classification.parameters(),
        guard: details.guard.then(|| GuardConfig::of(scheme)),
        corrects_skew: details.clock_correction,
        on_trial: details.trial,
    });
    config.tune_tfrc(|tfrc| {
        tfrc.oscillation_damping = details.oscillation_damping;
        tfrc.faster_restart = details.faster_restart.then_some(DECAY_TIME);
        tfrc.forgive_late = details.forgive_late;
        tfrc.history_discounting = details.history_discounting;
        tfrc.feedback_timer = details.feedback_timer;
        tfrc.least_loss_event_rate = LossEventRate::new(details.least_loss_event_rate.0);
        tfrc.initial_window = details.initial_window.into();
        tfrc.send_rtt_estimate = details.rtt_estimate;
        tfrc.differentiation = differentiation;
        tfrc.link_cap = details.link_cap;
        if let Some(tick) = details.timeout_tick {
            tfrc.retransmit_timeout = RetransmitTimeout::Measured { tick: tick.0 };
        }
    });
    let encapsulation = if details.udp_encapsulation { UDP_HEADER } else { 0 };
    DccpFlow {
        ccid,
        classifier,
        encryption: details.encryption,
        lower_headers: details.network_header + encapsulation,
        encapsulated: details.udp_encapsulation,
        follows_station: details
            .freeze
            .as_ref()
            .and_then(|freeze| freeze.follows_station.then_some(freeze.cell_notice)),
        repair: None,
        clock_drift: (details.clock_drift_ppm * 1e3).round() as i64,
        config,
    }
}
