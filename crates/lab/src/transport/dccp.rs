//! DCCP: the protocol code of the sockets.

mod agent;
mod ccid;
mod classification;
mod classifier;
mod configuration;
mod details;
mod freezing;
pub(super) mod line;
mod packet;
mod reordering;
mod station;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use whimbrel_control::loss_differentiation::Scheme;
use whimbrel_proto::ccid::Mechanism;
use whimbrel_proto::config::{DataChecksumUse, FreezeConfig, RequestSchedule, Restart};
use whimbrel_proto::{Ccid, Config};
use whimbrel_scenario::signals::Scope;
use whimbrel_scenario::transport::Settings;
use whimbrel_scenario::{Note, ScenarioError, idle};
use whimbrel_units::Duration;

pub(super) use agent::GREEDY_QUEUE;
pub use agent::{Attachment, DccpAgent};
pub use classifier::Classifier;
pub use details::Details;
pub use packet::AnnotatedPacket;

use super::layers::{Layers, frames};
use super::repair::{Repair, RepairKind};
use super::{Encryption, FlowAgent, FlowSetup, FlowTransport, Transport};
use ccid::CcidKey;
pub(super) use station::{CellNotice, Following, Station};

/// DCCP.
#[derive(Clone, Copy, Debug)]
pub struct Dccp;

/// The keys of a flow that only DCCP has.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// DCCP only: the congestion control of the data, by its number or name: 2 (TCP-like), 3 (TFRC), 4 (TFRC
    /// for small packets), or an experiment: 250, TFRC that does not slow down for packets reported as
    /// corrupt; `"cubic"` (248), `"veno"` (249), `"westwood"` (253) and `"prague"` (254), CCID 2 with another
    /// window; `"delay-aware"` (252), TFRC with a bounded queueing delay.
    #[serde(default)]
    ccid: Option<CcidKey>,
    /// DCCP only: the scheme by which the receiver distinguishes wireless from congestion losses.
    #[serde(default)]
    classifier: Option<Classifier>,
    /// DCCP only: details.
    #[serde(default)]
    dccp: Option<Details>,
    /// DCCP, UDP and media only: repair of lost datagrams within a latency budget, and the count of the
    /// frames in time.
    #[serde(default)]
    repair: Option<Repair>,
}

impl Transport for Dccp {
    const NAME: &'static str = "dccp";
    const DESCRIPTION: &'static str = "DCCP: the protocol code of the real transport.";
    const KEYS: &'static [&'static str] = &["ccid", "classifier", "dccp", "repair"];
    const TAKES_COMMANDS: bool = true;
    type Keys = Keys;

    fn configure(&self, key: &str, keys: Keys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        let ccid = keys.ccid.map_or(Ccid::TFRC.0, |key| key.0);
        let classifier = keys.classifier.unwrap_or_default();
        let classifies = |mechanism: &dyn Mechanism| mechanism.profile().classifies_losses;
        let mechanisms = configuration::mechanisms();
        if classifier != Classifier::NONE && !mechanisms.mechanism(Ccid(ccid)).is_some_and(classifies) {
            let expected = format!("\"none\", or ccid = {}", mechanisms.describe(classifies));
            let name = Value::from(classifier.name());
            return Err(ScenarioError::invalid(format!("{key}.classifier"), name, expected));
        }
        let details = keys.dccp.unwrap_or_default();
        configuration::check(key, classifier, &details)?;
        let mut flow = configuration::configured(ccid, classifier, &details);
        if let Some(repair) = &keys.repair {
            repair.expect(key, &[RepairKind::Whimbrel, RepairKind::External, RepairKind::None])?;
            configuration::check_repaired(key, &details)?;
            // Frames with a deadline do not wait a second for the second Request: the sockets' schedule.
            flow.config.timers.requests = RequestSchedule::MEDIA;
        }
        Ok(Box::new(DccpFlow { repair: keys.repair, ..flow }))
    }

    fn notes(&self, key: &str, flow: &Settings) -> Vec<Note> {
        let Some(dccp) = flow.get("dccp").and_then(Value::as_object) else { return Vec::new() };
        let mut notes = Vec::new();
        let details = format!("{key}.dccp");
        let ccid = flow.get("ccid").and_then(|value| serde_json::from_value::<CcidKey>(value.clone()).ok());
        let ccid = ccid.map_or(Ccid::TFRC, |key| Ccid(key.0));
        let mechanisms = configuration::mechanisms();
        if !flow.contains_key("classifier") {
            idle(
                &mut notes,
                &details,
                dccp,
                &["guard", "clock_correction"],
                "without a `classifier` it does nothing",
            );
        }
        if !dccp.contains_key("reorder_delay") {
            idle(&mut notes, &details, dccp, &["reorder_size"], "without `reorder_delay` nothing waits");
        }
        if mechanisms.mechanism(ccid).is_some_and(|mechanism| mechanism.profile().needs_ack_vector) {
            let tfrc = [
                "oscillation_damping",
                "faster_restart",
                "forgive_late",
                "initial_window",
                "loss_detection",
                "rtt_estimate",
            ];
            idle(&mut notes, &details, dccp, &tfrc, &format!("{ccid} has no such thing"));
        }
        notes
    }
}

/// The DCCP connection of a flow.
#[derive(Clone, PartialEq, Debug)]
pub struct DccpFlow {
    /// The CCID of the data.
    pub ccid: u8,
    /// The scheme by which the receiver distinguishes wireless from congestion losses.
    pub classifier: Classifier,
    /// Bytes of the headers below DCCP.
    pub lower_headers: u32,
    /// `true` if packets travel in UDP datagrams (RFC 6773).
    pub encapsulated: bool,
    /// The encryption of the data.
    pub encryption: Encryption,
    /// When a handover between cells is noticed, if the sender is frozen while a station at its end, or the
    /// receiver's terminal, is not served.
    pub follows_station: Option<CellNotice>,
    /// Drift of the sender's clock against simulated time, in nanoseconds per second.
    pub clock_drift: i64,
    /// Repair above the connection.
    pub repair: Option<Repair>,
    /// The configuration of both ends.
    pub config: Config,
}

/// Bytes of the header of a DCCP-Data packet with a 48-bit sequence number (RFC 4340, Section 5.1).
const DCCP_DATA_HEADER: u32 = 16;
/// Bytes of a Timestamp or Data Checksum option (RFC 4340, Sections 13.1 and 9.3).
const OPTION: u32 = 6;

impl DccpFlow {
    /// `true` if the sender uses rt-Winf's estimates of its station.
    fn uses_estimates(&self) -> bool {
        let restart = self.config.freeze.restart;
        matches!(restart, Restart::LinkCapacity | Restart::LinkAvailable)
            || self.config.ccids.tfrc().is_some_and(|tfrc| tfrc.link_cap)
    }

    /// The station that an end follows.
    fn following(&self, delay: Option<Duration>, scope: Scope) -> Option<Following> {
        self.follows_station.map(|notice| Following { delay, notice, scope, terminals: Vec::new() })
    }

    /// The station of the sender; `None` if the sender uses neither its estimates nor its changes.
    fn station(&self, flow: &FlowSetup<'_>) -> Option<Station> {
        let following = self.following(Some(flow.distribution_delay()), Scope::Local);
        let estimates = self.uses_estimates().then(|| (flow.estimate(flow.from), flow.data_share()));
        (following.is_some() || estimates.is_some()).then(|| Station::new(estimates, following))
    }

    /// The station of the receiver, which stops the sender. An 802.11 client that has left its access point
    /// cannot notify its peer, so that the receiver follows cells only.
    fn station_of_receiver(&self) -> Option<Station> {
        self.following(None, Scope::Remote).map(|following| Station::new(None, Some(following)))
    }
}

impl FlowTransport for DccpFlow {
    fn scheme(&self) -> String {
        format!("ccid{}", self.ccid)
    }

    fn headers(&self) -> u32 {
        let timestamped = self.classifier.0.is_some_and(Scheme::needs_send_times);
        let checked = self.config.integrity.data_checksum != DataChecksumUse::Off;
        // Padded to whole words (Section 5.1).
        let options = (OPTION * (u32::from(timestamped) + u32::from(checked))).next_multiple_of(4);
        self.lower_headers
            + DCCP_DATA_HEADER
            + options
            + self.encryption.overhead()
            + self.repair.as_ref().map_or(0, frames::overhead)
    }

    fn fit(&mut self, key: &str, payload: u32, greedy: bool) -> Result<(), ScenarioError> {
        self.config.max_datagram = self.encryption.max_datagram(payload);
        if self.repair.is_some() {
            if greedy || payload < frames::LEAST {
                let expected = "frames: traffic with times of its own, and datagrams of at least 16 bytes";
                return Err(ScenarioError::invalid(format!("{key}.repair"), "{...}", expected));
            }
            self.config.max_datagram += frames::MOST_OVERHEAD as usize;
        }
        if greedy {
            self.config.send_queue.max_datagrams = GREEDY_QUEUE as usize;
        }
        self.config.validate().map_err(|error| configuration::refused(key, &error))
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        let mut random = flow.random("dccp");
        let at = |peer| Attachment { peer, flow: flow.id, lower_headers: self.lower_headers };
        let seeds = [random.next_u64(), random.next_u64()];
        let receiver_meter = match self.classifier.0 {
            Some(_) => flow.meter().with_verdicts(),
            None => flow.meter(),
        };
        let repair = self.repair.as_ref();
        let repairs = repair.is_some_and(|repair| repair.kind != RepairKind::None);
        let (mut config, source) = (self.config.clone().repair(repairs), flow.source());
        config.tune_tfrc(|tfrc| tfrc.follow_fades |= repairs);
        let [of_client, of_server] = Layers::pair(flow, self.encryption, repair, seeds);
        let client =
            DccpAgent::client(at(flow.to), config.clone(), seeds[0], flow.start, source, flow.meter())
                .with_clock_drift(self.clock_drift)
                .with_station(self.station(flow))
                .with_layers(of_client);
        let server = DccpAgent::server(at(flow.from), config, seeds[1], receiver_meter)
            .with_station(self.station_of_receiver())
            .with_layers(of_server);
        [client.into(), server.into()]
    }

    fn classifier(&self) -> &'static str {
        self.classifier.name()
    }

    fn is_encapsulated(&self) -> bool {
        self.encapsulated
    }

    fn observes_station(&self) -> bool {
        self.follows_station.is_some() || self.uses_estimates()
    }

    fn records_frames(&self) -> bool {
        self.repair.is_some()
    }

    fn records_freezing(&self) -> bool {
        self.config.freeze != FreezeConfig::default()
    }

    fn records_reordering(&self) -> bool {
        self.config.orders_arrivals()
    }
}
