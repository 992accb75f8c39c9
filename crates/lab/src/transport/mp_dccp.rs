//! MP-DCCP (RFC 9897): the multipath connections of the sockets.
//!
//! A flow has a number of paths. Routes that are spread `by = "sender"` lead the packets of path 0 over the
//! first link of their list, the packets of path 1 over the second, and so on.

mod line;
mod paths;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_netsim::StationId;
use whimbrel_proto::config::TimerConfig;
use whimbrel_proto::multipath::{MultipathConfig, PathPriority, SchedulerKind};
use whimbrel_proto::{Ccid, Config, OverflowPolicy, SendQueueConfig};
use whimbrel_scenario::ScenarioError;
use whimbrel_scenario::quantity::Time;
use whimbrel_scenario::signals::Scope;

pub use line::Several;

use super::dccp::{Attachment, CellNotice, DccpAgent, Following, GREEDY_QUEUE, Station};
use super::layers::Layers;
use super::{Encryption, FlowAgent, FlowSetup, FlowTransport, Transport};
use paths::Paths;

/// The most paths of a flow.
const MAX_PATHS: usize = 8;
/// Bytes of the headers below DCCP: IPv4.
const LOWER_HEADERS: u32 = 20;
/// Bytes of the header of a DCCP-Data packet with a 48-bit sequence number, and of MP_SEQ, in whole words.
const DATA_HEADERS: u32 = 16 + 12;

/// MP-DCCP.
#[derive(Clone, Copy, Debug)]
pub struct MpDccp;

/// The keys of a flow that only MP-DCCP has.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// MP-DCCP only: details.
    #[serde(default)]
    multipath: Details,
}

/// Details of a multipath flow.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Details {
    /// Number of paths.
    paths: usize,
    /// The path of each datagram.
    scheduler: Scheduler,
    /// The congestion control of each path: 2 (TCP-like) or 3 (TFRC).
    ccid: u8,
    /// Encryption: `"none"` or `"dtls"` (DTLS 1.3, RFC 5238) above the paths: one handshake and one session
    /// for all of them. Data waits for the handshake, and each record takes 22 bytes of `packet_size`.
    encryption: Encryption,
    /// D_max: the longest time for which the receiver holds a datagram for those sent before it; without it,
    /// datagrams are delivered as they arrive.
    reorder_delay: Option<Time>,
    /// When the other paths join.
    join: Join,
    /// If true, an end whose path leads over a terminal of a cell declares that path unusable (MP_PRIO) from
    /// `cell_notice` until a cell serves.
    follows_station: bool,
    /// When a handover between cells is noticed: `preparation` or `interruption`.
    cell_notice: CellNotice,
    /// The priorities of the paths, 0 to 15; 3 by default.
    priorities: Vec<u8>,
    /// Shares of the paths under `weighted`; equal by default.
    weights: Vec<u32>,
    /// Costs of the paths under `cheapest-first`; equal by default.
    costs: Vec<u32>,
    /// The most datagrams that wait for a path; beyond that the oldest is dropped.
    send_queue: u32,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            paths: 2,
            scheduler: Scheduler::default(),
            ccid: Ccid::TFRC.0,
            encryption: Encryption::None,
            reorder_delay: None,
            join: Join::default(),
            follows_station: false,
            cell_notice: CellNotice::default(),
            priorities: Vec::new(),
            weights: Vec::new(),
            costs: Vec::new(),
            send_queue: 64,
        }
    }
}

/// The path of each datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The least round-trip time.
    #[default]
    LowestRtt,
    /// Shares in proportion to `weights`.
    Weighted,
    /// A copy on every path.
    Redundant,
    /// The least of `costs` that has room.
    CheapestFirst,
    /// One path at a time, by `priorities`.
    Handover,
}

impl From<Scheduler> for SchedulerKind {
    fn from(scheduler: Scheduler) -> Self {
        match scheduler {
            Scheduler::LowestRtt => Self::LowestRtt,
            Scheduler::Weighted => Self::Weighted,
            Scheduler::Redundant => Self::Redundant,
            Scheduler::CheapestFirst => Self::CheapestFirst,
            Scheduler::Handover => Self::Handover,
        }
    }
}

/// When the other paths join.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// As soon as the first one is established.
    #[default]
    AtOnce,
    /// The next one when the one in use has failed, which is left (break before make).
    OnFailure,
}

impl Transport for MpDccp {
    const NAME: &'static str = "mp-dccp";
    const DESCRIPTION: &'static str =
        "MP-DCCP: one connection over several paths, the protocol code of the real transport.";
    const KEYS: &'static [&'static str] = &["multipath"];
    type Keys = Keys;

    fn configure(&self, key: &str, keys: Keys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        let details = keys.multipath;
        let invalid = |name: &str, value: String, expected: &str| {
            Err(ScenarioError::invalid(format!("{key}.multipath.{name}"), value, expected))
        };
        if !(1..=MAX_PATHS).contains(&details.paths) {
            return invalid("paths", details.paths.to_string(), "1 to 8");
        }
        if ![Ccid::TCP_LIKE.0, Ccid::TFRC.0].contains(&details.ccid) {
            return invalid("ccid", details.ccid.to_string(), "2 or 3");
        }
        let expected = format!("{} numbers, one for each path", details.paths);
        let lists = [
            ("priorities", details.priorities.len()),
            ("weights", details.weights.len()),
            ("costs", details.costs.len()),
        ];
        for (name, length) in lists {
            if length != 0 && length != details.paths {
                return invalid(name, format!("{length} numbers"), &expected);
            }
        }
        if let Some(priority) = details.priorities.iter().find(|priority| **priority > 15) {
            return invalid("priorities", priority.to_string(), "numbers from 0 to 15");
        }
        let mut config = Config::default()
            .sender_ccids([Ccid(details.ccid)])
            .receiver_ccids([Ccid(details.ccid)])
            .send_queue(
                SendQueueConfig::default()
                    .max_datagrams(details.send_queue as usize)
                    .max_bytes(usize::MAX)
                    .overflow(OverflowPolicy::DropOldest),
            )
            .timers(TimerConfig::rfc4340());
        config.receive.reorder_delay = details.reorder_delay.map(|time| time.0);
        config.validate().map_err(|error| {
            ScenarioError::invalid(format!("{key}.multipath"), "{...}", error.to_string())
        })?;
        let settings =
            MultipathConfig::default().scheduler(details.scheduler.into()).max_subflows(2 * MAX_PATHS);
        Ok(Box::new(MpDccpFlow { details, config, settings }))
    }
}

/// The multipath connection of a flow.
#[derive(Clone, PartialEq, Debug)]
pub struct MpDccpFlow {
    details: Details,
    config: Config,
    settings: MultipathConfig,
}

impl MpDccpFlow {
    /// The terminals of an end's paths, if it follows them.
    fn station(&self, terminals: Vec<(StationId, usize)>) -> Option<Station> {
        let Details { follows_station, cell_notice: notice, .. } = self.details;
        let following = Following { delay: None, notice, scope: Scope::Local, terminals };
        follows_station.then(|| Station::new(None, Some(following)))
    }
}

impl FlowTransport for MpDccpFlow {
    fn observes_station(&self) -> bool {
        self.details.follows_station
    }

    fn scheme(&self) -> String {
        let scheduler = SchedulerKind::from(self.details.scheduler);
        format!("mp-ccid{}-{}", self.details.ccid, scheduler.name())
    }

    fn headers(&self) -> u32 {
        LOWER_HEADERS + DATA_HEADERS + self.details.encryption.overhead()
    }

    fn fit(&mut self, key: &str, payload: u32, greedy: bool) -> Result<(), ScenarioError> {
        self.config.max_datagram = self.details.encryption.max_datagram(payload);
        if greedy {
            self.config.send_queue.max_datagrams = GREEDY_QUEUE as usize;
        }
        let refused = |error: whimbrel_proto::ConfigError| {
            ScenarioError::invalid(format!("{key}.packet_size"), payload, error.to_string())
        };
        self.config.validate().map_err(refused)
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        let mut random = flow.random("mp-dccp");
        let mut secret = || {
            let mut bytes = [0; 32];
            for word in bytes.chunks_exact_mut(8) {
                word.copy_from_slice(&random.next_u64().to_be_bytes());
            }
            bytes
        };
        let secrets = [secret(), secret()];
        let details = &self.details;
        let paths = Paths {
            count: details.paths,
            join: details.join,
            priorities: details.priorities.iter().map(|number| PathPriority::new(*number)).collect(),
            weights: details.weights.clone(),
            costs: details.costs.clone(),
        };
        let end = |peer, secret, is_client: bool| {
            let attachment = Attachment { peer, flow: flow.id, lower_headers: LOWER_HEADERS };
            let (config, settings) = (self.config.clone(), self.settings.clone());
            let line = Several::new(config, settings, secret, paths.clone(), is_client);
            let [of_client, of_server] = flow.terminals();
            let station = self.station(if is_client { of_client } else { of_server });
            DccpAgent::new(attachment, line, flow.meter()).with_station(station)
        };
        let [of_client, of_server] =
            Layers::pair(flow, details.encryption, None, [random.next_u64(), random.next_u64()]);
        let server = end(flow.from, secrets[1], false).with_layers(of_server);
        let client = end(flow.to, secrets[0], true).with_layers(of_client);
        let client = client.with_source(flow.start, flow.source());
        [client.into(), server.into()]
    }

    fn is_random(&self) -> bool {
        false
    }
}
