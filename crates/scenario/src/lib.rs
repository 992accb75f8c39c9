//! Experiments as data: scenario files, read strictly.
//!
//! A scenario is a TOML document, or the same tables as JSON:
//!
//! ```toml
//! [simulation]
//! duration = "60 s"
//!
//! [[node]]
//! name = "camera"
//! [[node]]
//! name = "viewer"
//!
//! [[link]]
//! between = ["camera", "viewer"]
//! rate = "2 Mbit/s"
//! delay = "30 ms"
//! queue = "20 packets"
//! loss = { model = "bernoulli", rate = "1 %" }
//!
//! [[flow]]
//! name = "video"
//! from = "camera"
//! to = "viewer"
//! transport = "dccp"
//! ccid = 3
//! ```
//!
//! Every mistake is reported with the key at fault, the value found and the value
//! expected ([`ScenarioError`]). A [`Document`] is the text with overrides applied; decoded it is a
//! [`Scenario`]; with its names resolved, its copies made and its files read it is a [`Plan`], which
//! any number of runs may share, and from which a [`Network`] is built. Transports are the caller's
//! ([`transport`]).
//!
//! # Design
//!
//! - The `scenario` crate contains no transport: its types are generic over `Transports`, which supplies
//!   names, keys, checks and configurations. The laboratory's transports are a table of one line each (Add a
//!   transport), from which a macro generates the enums of ends and contents, so that calls are static.

pub mod cell;
pub mod controller;
mod decode;
pub mod delay_variation;
mod discipline;
mod document;
mod error;
mod files;
pub mod flow;
pub mod handover;
pub mod host;
mod idle;
pub mod infrastructure;
pub mod link;
mod netem;
pub mod network;
pub mod networks;
pub mod place;
pub mod places;
mod plan;
pub mod positions;
pub mod quantity;
pub mod radio;
pub mod recorded_delay;
mod route;
pub mod schedule;
mod schema;
pub mod signals;
mod sweep;
pub mod text;
pub mod transport;
pub mod wifi;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use decode::decode;
pub use document::Document;
pub use error::{Problem, ScenarioError};
pub use files::{FILE_KEYS, Files};
pub use flow::Flow;
pub use handover::Handover;
use host::Host;
pub use idle::idle;
use infrastructure::{AccessPoint, Client};
pub use link::{Event, Link};
pub use network::Network;
use place::{Layout, Mobility};
pub use plan::{
    CellularPlan, EventPlan, FlowEventPlan, FlowPlan, FreezePlan, Gap, HandoverPlan, HostPlan, LinkCapacity,
    LinkPlan, Movement, Note, Plan, RandomStart, RoutePlan, RoutingPlan, StationPlan, TerminalPlan,
    TrafficPlan, WifiPlan,
};
use quantity::Time;
pub use route::Route;
pub use schedule::{Schedule, ScheduleError};
pub use schema::schema;
pub use transport::{NoTransports, TransportKind, TransportPlan, Transports};
use wifi::Wifi;

/// A scenario as it is written.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A one-line title.
    #[serde(default)]
    pub title: String,
    /// Values used more than once: a string `"$NAME"` anywhere else stands for the value of `NAME`.
    #[serde(default)]
    pub variables: BTreeMap<String, serde_json::Value>,
    /// Duration and seed.
    pub simulation: Simulation,
    /// The nodes.
    pub node: Vec<Node>,
    /// The links between them.
    #[serde(default)]
    pub link: Vec<Link>,
    /// The 802.11 media that nodes have stations on.
    #[serde(default)]
    pub wifi: Vec<Wifi>,
    /// The base stations of LTE and NR that nodes are terminals of.
    #[serde(default)]
    pub cell: Vec<cell::Cell>,
    /// The flows over them.
    pub flow: Vec<Flow>,
    /// Changes of links and flows at given times.
    #[serde(default)]
    pub event: Vec<Event>,
    /// Handovers of links to other networks.
    #[serde(default)]
    pub handover: Vec<Handover>,
    /// Routes that packets take instead of the shortest path.
    #[serde(default)]
    pub route: Vec<Route>,
    /// Records besides the totals.
    #[serde(default)]
    pub record: Record,
    /// The parameters of a campaign, for `whimbrel sweep`: lists of values by key.
    #[serde(default)]
    pub sweep: BTreeMap<String, serde_json::Value>,
}

/// Duration and seed of a simulation.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Simulated time from the start to the end.
    pub duration: Time,
    /// Simulated time at the beginning that the totals leave out.
    #[serde(default)]
    pub warm_up: Time,
    /// The seed if the caller gives none.
    #[serde(default = "Simulation::default_seed")]
    pub seed: u64,
}

impl Simulation {
    fn default_seed() -> u64 {
        1
    }
}

/// A node: a host or a router.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Makes that many nodes of this one; `{i}` in its name stands for 0, 1, ...
    #[serde(default)]
    pub count: Option<u32>,
    /// The 802.11 medium on which the node has a station.
    #[serde(default)]
    pub wifi: Option<String>,
    /// The `[[cell]]` that serves the node first.
    #[serde(default)]
    pub cell: Option<String>,
    /// Changes of its cell at given times.
    #[serde(default)]
    pub cell_changes: Vec<cell::CellChange>,
    /// Properties of the cells that name the node as their gateway.
    #[serde(default)]
    pub gateway: Option<cell::Gateway>,
    /// The station's position in metres, if it stands still.
    #[serde(default)]
    pub position: Option<[f64; 2]>,
    /// The positions of the copies of the node.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// The movement of the station, or of the copies'.
    #[serde(default)]
    pub mobility: Option<Mobility>,
    /// The physical layer of the station, if it is not the medium's: `802.11b` or `802.11` among `802.11bg`
    /// stations.
    #[serde(default)]
    pub standard: Option<wifi::Standard>,
    /// Parameters of the station's MAC, where they differ from the medium's.
    #[serde(default)]
    pub station: Option<wifi::Station>,
    /// Makes the station an access point.
    #[serde(default)]
    pub access_point: Option<AccessPoint>,
    /// Makes the station a client of access points.
    #[serde(default)]
    pub client: Option<Client>,
    /// Intervals in which the station is off: start and end of each.
    #[serde(default)]
    pub off: Vec<[Time; 2]>,
    /// Limits the processor of the node; by default sending takes no time.
    #[serde(default)]
    pub host: Option<Host>,
}

/// Records besides the totals.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Totals per interval of that length; none by default.
    pub interval: Option<Time>,
    /// With `interval`: the delay of the last packet delivered in each interval, and the jitter (RFC 3550) at
    /// its end.
    pub delays: bool,
    /// Each packet of the flows (not of background flows); takes memory in proportion.
    pub packets: bool,
    /// Each loss, with its true cause and the verdict of the flow's classifier.
    pub losses: bool,
}

#[cfg(test)]
mod tests;
