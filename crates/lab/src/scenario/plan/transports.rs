//! Transports of flows, resolved: configurations of the transports' own types.

use whimbrel_control::loss_differentiation::{Differentiation, GuardConfig, Scheme};
use whimbrel_control::tfrc::faster_restart::DECAY_TIME;
use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout};
use whimbrel_control::window::InitialWindow;
use whimbrel_proto::ccid::{Mechanism, Registry, ccid250};
use whimbrel_proto::config::{DataChecksumUse, IntegrityConfig, TimerConfig};
use whimbrel_proto::{Ccid, Config, ConfigError, OverflowPolicy, SendQueueConfig};

use super::quoted;
use crate::dccp_agent::GREEDY_QUEUE;
use crate::scenario::Classifier;
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::{Dccp, Flow, Tcp, TcpPreset, TcpVariant, Transport};
use crate::scenario::freezing::Freeze;
use crate::tcp::{DelayedAck, Segment, TcpConfig, Timestamps, Variant};

/// The transport of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum TransportPlan {
    /// DCCP.
    Dccp(Box<DccpPlan>),
    /// The simulated TCP.
    Tcp(TcpConfig),
    /// Bare datagrams.
    Udp,
}

/// A DCCP connection.
#[derive(Clone, PartialEq, Debug)]
pub struct DccpPlan {
    /// The CCID of the data.
    pub ccid: u8,
    /// The scheme by which the receiver distinguishes wireless from congestion losses.
    pub classifier: Classifier,
    /// Bytes of the headers below DCCP.
    pub lower_headers: u32,
    /// `true` if packets travel in UDP datagrams (RFC 6773).
    pub encapsulated: bool,
    /// Drift of the sender's clock against simulated time, in nanoseconds per second.
    pub clock_drift: i64,
    /// The configuration of both ends.
    pub config: Config,
}

/// Bytes of a UDP datagram's headers over IPv4.
const UDP_HEADERS: u32 = 28;
/// Bytes of the header of a UDP datagram.
const UDP_HEADER: u32 = 8;
/// Bytes of the header of a DCCP-Data packet with a 48-bit sequence number (RFC 4340, Section 5.1).
const DCCP_DATA_HEADER: u32 = 16;
/// Bytes of a Timestamp or Data Checksum option (RFC 4340, Sections 13.1 and 9.3).
const OPTION: u32 = 6;

impl TransportPlan {
    /// Bytes of all headers of a data packet, without options that are not in every packet.
    pub(super) fn headers(&self) -> u32 {
        match self {
            Self::Dccp(dccp) => {
                let timestamped = dccp.classifier.0.is_some_and(Scheme::needs_send_times);
                let checked = dccp.config.integrity.data_checksum != DataChecksumUse::Off;
                // Padded to whole words (Section 5.1).
                let options = (OPTION * (u32::from(timestamped) + u32::from(checked))).next_multiple_of(4);
                dccp.lower_headers + DCCP_DATA_HEADER + options
            }
            Self::Tcp(tcp) => {
                let full =
                    Segment { timestamps: tcp.timestamps.then(Timestamps::default), ..Segment::default() };
                tcp.headers.size(&full)
            }
            Self::Udp => UDP_HEADERS,
        }
    }

    /// Sets the parameters that depend on the traffic: the application data in a full packet, and `greedy` for unlimited data.
    pub(super) fn fit(&mut self, key: &str, payload: u32, greedy: bool) -> Result<(), ScenarioError> {
        match self {
            Self::Udp => Ok(()),
            Self::Tcp(config) => {
                config.segment_size = payload;
                Ok(())
            }
            Self::Dccp(dccp) => {
                dccp.config.max_datagram = payload as usize;
                if greedy {
                    dccp.config.send_queue.max_datagrams = GREEDY_QUEUE as usize;
                }
                dccp.config.validate().map_err(|error| refused(key, &error))
            }
        }
    }
}

/// The congestion control mechanisms of simulated connections.
fn mechanisms() -> Registry {
    Registry::default().with(ccid250::mechanism())
}

/// Converts an error of the protocol code into one with the scenario's key.
fn refused(key: &str, error: &ConfigError) -> ScenarioError {
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

pub(super) fn plan(key: &str, flow: &Flow) -> Result<TransportPlan, ScenarioError> {
    let only = |present: bool, name: &str, transport: &str| {
        if present {
            let expected = format!("nothing: only flows with transport = \"{transport}\" have it");
            return Err(ScenarioError::invalid(format!("{key}.{name}"), "...", expected));
        }
        Ok(())
    };
    if flow.transport != Transport::Dccp {
        only(flow.ccid.is_some(), "ccid", "dccp")?;
        only(flow.classifier.is_some(), "classifier", "dccp")?;
        only(flow.dccp.is_some(), "dccp", "dccp")?;
    }
    if flow.transport != Transport::Tcp {
        only(flow.tcp.is_some(), "tcp", "tcp")?;
    }
    Ok(match flow.transport {
        Transport::Udp => TransportPlan::Udp,
        Transport::Tcp => TransportPlan::Tcp(tcp(key, &flow.tcp.clone().unwrap_or_default())?),
        Transport::Dccp => {
            let ccid = flow.ccid.unwrap_or(3);
            let classifier = flow.classifier.unwrap_or_default();
            let classifies = |mechanism: &dyn Mechanism| mechanism.profile().classifies_losses;
            let mechanisms = mechanisms();
            if classifier != Classifier::NONE && !mechanisms.mechanism(Ccid(ccid)).is_some_and(classifies) {
                let name = quoted(classifier.name());
                let expected = format!("\"none\", or ccid = {}", mechanisms.describe(classifies));
                return Err(ScenarioError::invalid(format!("{key}.classifier"), name, expected));
            }
            let details = flow.dccp.clone().unwrap_or_default();
            check(key, classifier, &details)?;
            TransportPlan::Dccp(Box::new(dccp(ccid, classifier, &details)))
        }
    })
}

fn tcp(key: &str, options: &Tcp) -> Result<TcpConfig, ScenarioError> {
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
    };
    if let Some(limit) = options.window_limit {
        if !(1.0..1e9).contains(&limit) {
            return Err(ScenarioError::invalid(format!("{key}.window_limit"), limit, "at least one segment"));
        }
        match options.preset {
            TcpPreset::Rfc => config.window.limit = Some(limit),
            TcpPreset::Ns2 => config = config.with_window(limit),
        }
    }
    if let Some(segments) = options.initial_window {
        if segments == 0 {
            return Err(ScenarioError::invalid(format!("{key}.initial_window"), 0, "at least one segment"));
        }
        config.window.initial = InitialWindow::Segments(segments);
    }
    config.handshake = options.handshake.unwrap_or(config.handshake);
    config.ecn = options.ecn.unwrap_or(config.ecn);
    config.timestamps = options.timestamps.unwrap_or(config.timestamps);
    if let Some(delayed) = options.delayed_acks {
        let standard = match options.preset {
            TcpPreset::Rfc => DelayedAck::STANDARD,
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

/// Checks what the protocol code does not.
fn check(key: &str, classifier: Classifier, details: &Dccp) -> Result<(), ScenarioError> {
    if details.udp_encapsulation && details.checksum_coverage != 0 {
        return Err(ScenarioError::invalid(
            format!("{key}.dccp.checksum_coverage"),
            details.checksum_coverage,
            "0 with `udp_encapsulation`: UDP's checksum covers everything (RFC 6773, Section 3.3.1)",
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
            quoted(&tick.0.to_string()),
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

fn dccp(ccid: u8, classifier: Classifier, details: &Dccp) -> DccpPlan {
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
    config.tfrc.oscillation_damping = details.oscillation_damping;
    config.tfrc.faster_restart = details.faster_restart.then_some(DECAY_TIME);
    config.tfrc.forgive_late = details.forgive_late;
    config.tfrc.history_discounting = details.history_discounting;
    config.tfrc.feedback_timer = details.feedback_timer;
    config.tfrc.least_loss_event_rate = LossEventRate::new(details.least_loss_event_rate.0);
    if let Some(tick) = details.timeout_tick {
        config.tfrc.retransmit_timeout = RetransmitTimeout::Measured { tick: tick.0 };
    }
    config.tfrc.loss_detection = details.loss_detection.into();
    config.receive.reorder_delay = details.reorder_delay.map(|time| time.0);
    config.receive.reorder_size = details.reorder_size.0;
    config.receive.reorder_adapts = details.reorder_adapts;
    config.receive.late = details.late.into();
    config.tfrc.send_rtt_estimate = details.rtt_estimate;
    config.freeze = details.freeze.as_ref().map(Freeze::config).unwrap_or_default();
    config.receive.deliver_corrupt = details.deliver_corrupt;
    config.tfrc.differentiation = classifier.0.map(|scheme| Differentiation {
        scheme,
        parameters: details.classification.parameters(),
        guard: details.guard.then(GuardConfig::default),
        corrects_skew: details.clock_correction,
        on_trial: details.trial,
    });
    let encapsulation = if details.udp_encapsulation { UDP_HEADER } else { 0 };
    DccpPlan {
        ccid,
        classifier,
        lower_headers: details.network_header + encapsulation,
        encapsulated: details.udp_encapsulation,
        clock_drift: (details.clock_drift_ppm * 1e3).round() as i64,
        config,
    }
}
