//! Scenario keys of LTE and NR cells.

use schemars::JsonSchema;
use serde::Deserialize;

use super::discipline::Discipline;
use super::quantity::{Decibels, Frequency, Length, Power, Probability, Rate, Size, Speed, Time};

/// A base station. Terminals join it by `cell = "NAME"`; other base stations of the same gateway are its
/// neighbours.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// The node behind which it stands: packets for its terminals come from there, and theirs go there.
    pub gateway: String,
    /// Its position in metres.
    pub position: [f64; 2],
    /// The parameters that are not given.
    #[serde(default)]
    pub preset: Preset,
    /// Frequency of the carrier; 2 GHz with `lte`, 2.1 GHz with `nr`, 3.5 GHz with `nr-fr1-tdd` by
    /// default. Cells of one frequency disturb each other.
    #[serde(default)]
    pub carrier: Option<Frequency>,
    /// Bandwidth of the carrier, one of the standard's: 10 MHz with `lte`, 20 MHz with `nr`, 40 MHz with
    /// `nr-fr1-tdd` by default.
    #[serde(default)]
    pub bandwidth: Option<Frequency>,
    /// Spacing of the subcarriers: 15, 30 or 60 kHz, and 15 kHz alone with `lte`; 30 kHz with
    /// `nr-fr1-tdd` by default.
    #[serde(default)]
    pub subcarrier_spacing: Option<Frequency>,
    /// Slots of time division, such as `"DDDSU"`; `"FDD"` for a carrier in each direction. `"DDDSU"` with
    /// `nr-fr1-tdd`, else `"FDD"` by default.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Layers of the downlink of NR, 1 to 4; 2 by default.
    #[serde(default)]
    pub layers: Option<u32>,
    /// The scheduler of both directions; proportional fairness down and turns up by default.
    #[serde(default)]
    pub scheduler: Option<Scheduler>,
    /// Slots over which proportional fairness averages; 100 by default.
    #[serde(default)]
    pub pf_time: Option<u32>,
    /// The choice of schemes by the signal-to-noise ratio.
    #[serde(default)]
    pub amc: Amc,
    /// Power, antenna, noise and propagation.
    #[serde(default)]
    pub radio: CellRadio,
    /// The mode of RLC, and its timers.
    #[serde(default)]
    pub rlc: Rlc,
    /// The queue of each bearer: a terminal has one in each direction.
    #[serde(default)]
    pub queue: BearerQueue,
    /// The most transmissions of a block, 1 to 8; 4 by default.
    #[serde(default)]
    pub transmissions: Option<u8>,
    /// Time between two occasions of a terminal to ask for a grant; 20 ms by default.
    #[serde(default)]
    pub sr_period: Option<Time>,
    /// A grant for each terminal that needs no request; none by default.
    #[serde(default)]
    pub configured_grant: Option<ConfiguredGrant>,
    /// When terminals sleep and are released.
    #[serde(default)]
    pub idle: Idle,
    /// Share of the resource blocks that users outside the scenario have; none by default.
    #[serde(default)]
    pub load: Option<Probability>,
    /// Users that download in the cell; none by default.
    #[serde(default)]
    pub background: Option<Background>,
}

/// Parameters of a cell that are not given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// LTE of 10 MHz at 2 GHz.
    #[default]
    Lte,
    /// NR of 20 MHz at 2.1 GHz, with a carrier in each direction.
    Nr,
    /// NR of 40 MHz at 3.5 GHz, with time division.
    NrFr1Tdd,
}

/// A scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Resource blocks go to the terminal whose rate is greatest in proportion to its mean rate.
    Pf,
    /// Terminals take turns.
    RoundRobin,
    /// Resource blocks go to the terminal with the greatest rate.
    MaxRate,
}

/// The choice of schemes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum Amc {
    /// The greatest of which 10 % of the blocks fail in noise, corrected by acknowledgements.
    #[default]
    #[serde(rename = "ten-percent")]
    TenPercent,
    /// ns-3's rule, without correction.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// Power, antenna, noise and propagation of a cell.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellRadio {
    /// Transmit power of the base station; 46 dBm, 44 dBm with `nr-fr1-tdd` by default.
    pub power: Option<Power>,
    /// Gain of its antenna; 14 dB, 8 dB with `nr-fr1-tdd` by default.
    pub gain: Option<Decibels>,
    /// Noise figure of the terminals; 9 dB with `lte`, else 7 dB by default.
    pub noise_figure: Option<Decibels>,
    /// Attenuation over distance; `uma` by default.
    pub propagation: Propagation,
    /// Sight of the base station; by default a share of the places has it, less with the distance.
    pub sight: Option<Sight>,
    /// Loss of walls, or of a car, around the terminals; none by default.
    pub penetration: Option<Decibels>,
    /// Fast fading; `eva` by default.
    pub fading: Option<Fading>,
}

/// Attenuation over distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Propagation {
    /// A town, with antennas above the roofs (TR 38.901).
    #[default]
    Uma,
    /// A town, with antennas in the streets (TR 38.901).
    Umi,
    /// The country (TR 38.901).
    Rma,
    /// 128.1 dB and 37.6 dB for each decade of kilometres (TR 36.942).
    Macro,
}

/// Sight of a base station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sight {
    /// All do.
    Line,
    /// None does.
    Obstructed,
}

/// Fast fading: echoes of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fading {
    /// None.
    None,
    /// One path: all frequencies fade together.
    Flat,
    /// Extended Pedestrian A.
    Epa,
    /// Extended Vehicular A.
    Eva,
    /// Extended Typical Urban.
    Etu,
}

/// RLC of a cell.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rlc {
    /// The mode.
    pub mode: RlcMode,
    /// Time for which a receiver waits for a missing part: t-Reordering of LTE (50 ms), t-Reassembly of
    /// NR (40 ms).
    pub reassembly: Option<Time>,
    /// The least time between two statuses; 10 ms by default.
    pub status_prohibit: Option<Time>,
    /// Time after which a poll without status is repeated; 80 ms by default.
    pub poll_retransmit: Option<Time>,
}

/// The mode of RLC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RlcMode {
    /// AM: what HARQ has given up is sent again.
    #[default]
    Am,
    /// UM: what HARQ has given up is lost.
    Um,
}

/// The queue of a bearer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BearerQueue {
    /// The most bytes; 6.17 MB by default, as in srsRAN.
    pub limit: Option<Size>,
    /// Time after which a packet that waits is discarded; never by default.
    pub discard: Option<Time>,
    /// Marks of packets of L4S (ECT(1)) by their wait; none by default.
    pub marks: Option<Marks>,
    /// The discipline of the bearers of the terminals that the cell serves first; first in, first out by
    /// default. With another one there is neither `discard` nor `marks`.
    pub discipline: Option<Discipline>,
}

/// Marks by the wait in a queue.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// The wait up to which no packet is marked, such as 4 ms.
    pub from: Time,
    /// The wait from which on all packets are marked, such as 14 ms; a share in between.
    pub to: Time,
}

/// A grant that needs no request.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfiguredGrant {
    /// Time between two grants.
    pub period: Time,
    /// Size of a grant.
    pub size: Size,
}

/// Times of discontinuous reception and of connections.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Idle {
    /// `true` for terminals that neither sleep nor are released.
    pub always_on: bool,
    /// Cycle of discontinuous reception; 320 ms with `lte`, else 40 ms by default.
    pub cycle: Option<Time>,
    /// Time for which a terminal listens in each cycle; 10 ms by default.
    pub on: Option<Time>,
    /// Time without traffic after which a terminal sleeps; 100 ms by default.
    pub sleep_after: Option<Time>,
    /// Time without traffic after which a terminal is released; 10.2 s by default.
    pub release_after: Option<Time>,
    /// Time until a released terminal is connected; 290 ms by default.
    pub promotion: Option<Time>,
    /// Cycle of the pages; 1.28 s by default.
    pub paging: Option<Time>,
}

/// Background users, which generate load.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Number, at rest and evenly distributed around the base station.
    pub users: u32,
    /// Mean download rate of each.
    pub rate: Rate,
    /// Mean size of a download; 200 kB by default. Sizes and times between downloads are exponential.
    #[serde(default)]
    pub size: Option<Size>,
    /// Radius around the base station; 250 m by default.
    #[serde(default)]
    pub radius: Option<Length>,
}

/// Properties shared by a gateway's base stations.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gateway {
    /// Shadows of houses and hills.
    pub shadowing: Shadowing,
    /// Changes between cells.
    pub handover: HandoverRules,
    /// Detection that a cell is lost.
    pub failure: Failure,
    /// Reports of the channel by the terminals.
    pub reports: Reports,
    /// The speed with which a channel changes at least, by what moves around a terminal at rest; 1 km/h
    /// by default.
    pub least_speed: Option<Speed>,
}

/// Shadows.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Shadowing {
    /// The standard deviation; 6 dB by default, 0 dB for no shadows.
    pub deviation: Option<Decibels>,
    /// The distance over which the correlation falls to 1/e; 50 m by default.
    pub distance: Option<Length>,
}

/// Changes between cells.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HandoverRules {
    /// `false` for changes at given times only; by default a terminal changes to a cell that is better
    /// (event A3).
    pub by_level: Option<bool>,
    /// By how much a neighbour must be better; 3 dB by default.
    pub hysteresis: Option<Decibels>,
    /// For how long; 256 ms by default.
    pub time_to_trigger: Option<Time>,
    /// Time between measurements; 200 ms by default.
    pub period: Option<Time>,
    /// The coefficient k of the filter of layer 3: a new level counts 2^(-k/4); 4 by default, 0 for no
    /// filter.
    pub filter: Option<u8>,
    /// Time from the report to the command; 52 ms with `lte`, else 45 ms by default.
    pub preparation: Option<Time>,
    /// Time from the command until data flow again; 34 ms with `lte`, else 66 ms by default.
    pub gap: Option<Time>,
    /// `false` if the old cell loses what it holds; by default it hands it on.
    pub forwarding: Option<bool>,
}

/// Detection that a cell is lost.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Failure {
    /// Indications in a row that start the timer T310; 6 by default.
    pub n310: Option<u32>,
    /// The timer T310; 1 s by default.
    pub t310: Option<Time>,
    /// Time from the failure until another cell serves; 500 ms by default.
    pub reestablishment: Option<Time>,
}

/// Reports of the channel.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reports {
    /// Time between measurements; 5 ms by default.
    pub period: Option<Time>,
    /// Time from a measurement until the base station can use it; 6 ms by default.
    pub delay: Option<Time>,
    /// Standard deviation of a measurement; 1 dB by default.
    pub error: Option<Decibels>,
}

/// A change of the cell at a given time.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellChange {
    /// Time of the command, after which no cell serves for the gap.
    pub time: Time,
    /// The new cell.
    pub to: String,
}
