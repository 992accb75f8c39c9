//! Scenario keys of 802.11 networks.

pub mod qos;

use schemars::JsonSchema;
use serde::Deserialize;

use self::qos::{Ampdu, Aql, Band, Edca};
use super::controller::ControllerKeys;
use super::discipline::Discipline;
use super::quantity::{Decibels, Frequency, Length, Power, QueueLimit, Rate, Size, Time};

/// An 802.11 medium. Nodes join it by `wifi = "NAME"`.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wifi {
    /// Its name.
    pub name: String,
    /// The physical layer; 802.11b by default.
    #[serde(default)]
    pub standard: Standard,
    /// The band of 802.11n and ax; 5 GHz by default.
    #[serde(default)]
    pub band: Option<Band>,
    /// Width of the channel of 802.11n, ac and ax: `"20 MHz"` to `"160 MHz"`; by default 80 MHz, 40 MHz with
    /// 802.11n, 20 MHz at 2.4 GHz.
    #[serde(default)]
    pub width: Option<Frequency>,
    /// Spatial streams of 802.11n, ac and ax, 1 to 4; 2 by default.
    #[serde(default)]
    pub streams: Option<u8>,
    /// Guard interval of 802.11n, ac and ax; 0.4 us by default, 0.8 us with 802.11ax.
    #[serde(default)]
    pub guard_interval: Option<Time>,
    /// Modulation and coding scheme of unicast data frames of 802.11n, ac and ax, counted for one stream; the
    /// highest by default.
    #[serde(default)]
    pub mcs: Option<u8>,
    /// Limits of A-MPDUs of 802.11n, ac and ax.
    #[serde(default)]
    pub ampdu: Option<Ampdu>,
    /// The largest A-MSDU of 802.11n, ac and ax; none by default: each frame has one packet.
    #[serde(default)]
    pub amsdu: Option<Size>,
    /// Parameters of the access categories of 802.11n, ac and ax.
    #[serde(default)]
    pub edca: Option<Edca>,
    /// If true, receivers of 802.11n, ac and ax share the airtime of a station, otherwise its transmissions.
    /// True by default, without a `queue` or a `discipline`.
    #[serde(default)]
    pub airtime_fairness: Option<bool>,
    /// Airtime that may wait at a MAC of 802.11n, ac and ax.
    #[serde(default)]
    pub aql: Option<Aql>,
    /// If true, access points of 802.11n, ac and ax send beacons, and clients scan, associate and change the
    /// access point; otherwise clients belong to the one access point of their network from the beginning. By
    /// default true if there are several of them or several channels, or if a client has keys for it.
    #[serde(default)]
    pub association: Option<bool>,
    /// Preamble of DSSS frames.
    #[serde(default)]
    pub preamble: Preamble,
    /// The MAC's rules; by default, the standard's.
    #[serde(default)]
    pub mac: MacRules,
    /// Rate of unicast data frames; the highest of the physical layer by default (`ns-2`: 1 Mbit/s,
    /// `802.11p`: 6 Mbit/s).
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Adaptation of the rate of unicast data frames, which begins at `rate`; none by default.
    #[serde(default)]
    pub rate_control: RateControl,
    /// Frames at the lowest basic rate that precede OFDM frames, for 802.11b stations; by default
    /// `cts-to-self` if the medium has such stations, in the network of an access point while one is
    /// associated with it; else none.
    #[serde(default)]
    pub protection: Option<Protection>,
    /// Rate of RTS, CTS and acknowledgements; by default the highest basic rate that is not above the rate of
    /// the data.
    #[serde(default)]
    pub control_rate: Option<Rate>,
    /// Rate of broadcasts; the lowest basic rate by default.
    #[serde(default)]
    pub group_rate: Option<Rate>,
    /// RTS and CTS precede unicast frames that are longer than this, MAC header and frame check sequence
    /// included; by default none does, and with `ns-2` rules all do.
    #[serde(default)]
    pub rts_threshold: Option<Size>,
    /// Attempts for RTS frames and for data frames without RTS; 7 by default.
    #[serde(default)]
    pub short_retries: Option<u16>,
    /// Attempts for data frames after RTS and CTS; 4 by default.
    #[serde(default)]
    pub long_retries: Option<u16>,
    /// `true` if ad hoc stations resolve the addresses of their neighbours by ARP (RFC 826) before they send;
    /// with `ns-2` rules as ns-2 does. By default they know all addresses, as clients and access points
    /// always do.
    #[serde(default)]
    pub arp: bool,
    /// The limit of each station's queue; 50 packets by default. Stations of 802.11n, ac and ax without a
    /// `queue` and a
    /// `discipline` have FQ-CoDel for each receiver and category, as Linux does.
    #[serde(default)]
    pub queue: Option<QueueLimit>,
    /// The discipline of each station's queue; drop-tail by default.
    #[serde(default)]
    pub discipline: Option<Discipline>,
    /// Probe frames of rt-Winf before data in absence of traffic, for networks without RTS and CTS; none by
    /// default. They need a `controller` with estimates.
    #[serde(default)]
    pub probes: Option<Probes>,
    /// Explicit rate control at each station; none by default.
    #[serde(default)]
    pub controller: Option<ControllerKeys>,
    /// Power, antenna and thresholds of all stations; by default ns-2's card, with 250 m and 550 m of range.
    #[serde(default)]
    pub radio: Antenna,
    /// Attenuation over distance.
    #[serde(default)]
    pub propagation: Propagation,
    /// Random gains of the links between stations.
    #[serde(default)]
    pub fading: Fading,
    /// Noise power at the receivers: frames are then lost by their ratio of signal to noise and their rate.
    /// By default noise destroys none. (Thermal noise with a noise figure of 7 dB: -93.6 dBm for DSSS, -94
    /// dBm for OFDM.)
    #[serde(default)]
    pub noise: Option<Power>,
    /// Treatment of frames that overlap; `first-frame` with `ns-2` rules, else `additive`.
    #[serde(default)]
    pub interference: Option<Interference>,
    /// Width and height of the map in metres, from the origin. If given, no station may leave it.
    #[serde(default)]
    pub area: Option<[f64; 2]>,
    /// Time from the association of a client with another access point until packets for it go there; none by
    /// default.
    #[serde(default)]
    pub distribution_delay: Time,
    /// The choice of routes between the stations.
    #[serde(default)]
    pub routing: Routing,
}

impl Wifi {
    /// The default queue of a station.
    pub const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(50);
}

/// Parameters of a station's MAC that differ from its medium's.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Station {
    /// Rate of the unicast data frames that it sends, without adaptation. The rate of an access point
    /// precedes it in that cell.
    pub rate: Option<Rate>,
    /// Its smallest contention window in slots, a power of two minus one: a backoff is uniform from 0 to the
    /// window.
    pub cw_min: Option<u16>,
    /// Its largest contention window, a power of two minus one.
    pub cw_max: Option<u16>,
    /// Slots between SIFS and its backoff; 2 by default, which is DIFS.
    pub aifsn: Option<u8>,
    /// Its attempts for RTS frames and for data frames without RTS.
    pub short_retries: Option<u16>,
    /// Its attempts for data frames after RTS and CTS.
    pub long_retries: Option<u16>,
    /// Its parameters of the access categories of 802.11n, ac and ax.
    pub edca: Option<Edca>,
    /// Its share of the airtime of the stations of 802.11n, ac and ax that send to it; 256 by default.
    pub airtime_weight: Option<u16>,
}

/// Probe frames of rt-Winf: data frames of the reserved subtype 1001, which their receiver acknowledges and
/// discards.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Probes {
    /// Length of the payload; 1500 bytes by default.
    pub size: Option<Size>,
    /// Time without frames, other than management frames, after which a station sends a probe before its next
    /// data; 100 ms by default.
    pub quiet: Option<Time>,
}

/// A physical layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum Standard {
    /// DSSS: 1 and 2 Mbit/s.
    #[serde(rename = "802.11")]
    Dsss,
    /// HR/DSSS: up to 11 Mbit/s.
    #[default]
    #[serde(rename = "802.11b")]
    HrDsss,
    /// OFDM at 5 GHz: 6 to 54 Mbit/s.
    #[serde(rename = "802.11a")]
    Ofdm,
    /// ERP-OFDM at 2.4 GHz without 802.11b stations: 6 to 54 Mbit/s, short slots.
    #[serde(rename = "802.11g")]
    ErpOfdm,
    /// ERP-OFDM with 802.11b stations: all rates, long slots.
    #[serde(rename = "802.11bg")]
    ErpMixed,
    /// OFDM at 5.9 GHz in channels of 10 MHz, for vehicles: 3 to 27 Mbit/s, EDCA, no association.
    #[serde(rename = "802.11p")]
    Ocb,
    /// HT: up to four streams of 72 or 150 Mbit/s, aggregation.
    #[serde(rename = "802.11n")]
    Ht,
    /// VHT at 5 GHz: channels of up to 160 MHz.
    #[serde(rename = "802.11ac")]
    Vht,
    /// HE: up to 1201 Mbit/s a stream.
    #[serde(rename = "802.11ax")]
    He,
}

/// The preamble of DSSS frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preamble {
    /// 192 us with the header.
    #[default]
    Long,
    /// 96 us with the header, from 2 Mbit/s upwards.
    Short,
}

/// The rules of the MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum MacRules {
    /// IEEE 802.11: immediate access to an idle medium, EIFS after errors.
    #[default]
    #[serde(rename = "standard")]
    Standard,
    /// The rules of ns-2.35, with its defaults for rates, RTS and headers.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Adaptation of the data rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateControl {
    /// None.
    #[default]
    Fixed,
    /// Automatic rate fallback: up after ten acknowledgements or a time, down after two failures.
    Arf,
    /// The rate of the highest measured throughput, with a tenth of the frames at other rates. With 802.11n,
    /// ac and ax that is Minstrel-HT of Linux, with its probes and chains of rates.
    Minstrel,
}

/// Protection of OFDM frames in networks with 802.11b stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// None.
    #[default]
    None,
    /// A CTS to the station itself.
    CtsToSelf,
    /// RTS and CTS.
    RtsCts,
}

/// Power, antenna and thresholds of a station's radio.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Antenna {
    /// The distance up to which frames are received, instead of `receive_threshold`. Without fading.
    pub range: Option<Length>,
    /// The distance up to which transmissions make the medium busy, instead of `carrier_sense_threshold`.
    /// Without fading.
    pub carrier_sense_range: Option<Length>,
    /// Transmit power; 24.5 dBm by default.
    pub power: Option<Power>,
    /// Carrier frequency; 914 MHz by default.
    pub frequency: Option<Frequency>,
    /// Gain of the antenna; 0 dB by default.
    pub gain: Option<Decibels>,
    /// Height of the antenna above ground; 1.5 m by default.
    pub height: Option<Length>,
    /// The least power of a frame that is received; -64.4 dBm by default.
    pub receive_threshold: Option<Power>,
    /// The least power that makes the medium busy; -78.1 dBm by default.
    pub carrier_sense_threshold: Option<Power>,
    /// The least ratio at which a frame survives others that overlap it; 10 dB by default.
    pub capture: Option<Decibels>,
}

/// Attenuation over distance.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Propagation {
    /// Direct path and ground reflection: free space, and beyond the crossover distance the fourth power of
    /// the distance.
    #[default]
    TwoRayGround,
    /// Free space: the square of the distance.
    Friis,
    /// A power of the distance.
    LogDistance {
        /// The path loss exponent: 2 in free space, up to 6 with obstacles.
        exponent: f64,
        /// The distance up to which free space holds; 1 m by default.
        #[serde(default)]
        reference: Option<Length>,
    },
}

/// Random gains. The gain of a link is the same in both directions.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Fading {
    /// None.
    #[default]
    None,
    /// Log-normal shadowing.
    Shadowing {
        /// The standard deviation.
        deviation: Decibels,
        /// The time after which a link's gain is drawn again; by default never.
        #[serde(default)]
        coherence: Option<Time>,
    },
    /// Many paths, none of them dominant.
    Rayleigh {
        /// The time after which a link's gain is drawn again.
        coherence: Time,
    },
    /// A dominant path and many weaker ones.
    Rician {
        /// The power of the dominant path relative to the others (the factor K).
        ratio: Decibels,
        /// The time after which a link's gain is drawn again.
        coherence: Time,
    },
}

/// Treatment of frames that overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interference {
    /// A frame is received if it exceeds the sum of all others by `capture`, over its whole length.
    Additive,
    /// The same, and a receiver leaves a frame for a later one that exceeds everything else by `capture`.
    Switching,
    /// ns-2: the first frame survives each later one that is weaker by `capture`. Interference does not add
    /// up.
    FirstFrame,
}

/// The choice of routes between the stations.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Routing {
    /// The fewest hops between stations in range of each other. No messages are sent: the simulator knows the
    /// positions.
    ShortestPath {
        /// The time between two computations of the routes; 100 ms by default. If nothing moves, fades or is
        /// switched off, they are computed once.
        #[serde(default)]
        interval: Option<Time>,
    },
    /// Destination-sequenced distance vectors: each station runs the protocol over the air.
    Dsdv {
        /// The timing: `sane` by default, or ns-2's.
        #[serde(default)]
        timing: RoutingTiming,
    },
    /// On-demand distance vectors (RFC 3561): each station runs the protocol over the air.
    Aodv {
        /// The rules: RFC 3561's by default, or ns-2's.
        #[serde(default)]
        rules: AodvRules,
    },
}

/// The rules of AODV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum AodvRules {
    /// RFC 3561, with the MAC's reports instead of hellos.
    #[default]
    #[serde(rename = "rfc-3561")]
    Rfc3561,
    /// Parameters and rules of ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// The timing of DSDV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum RoutingTiming {
    /// New and broken routes are advertised at once, though no station sends more than one such update per
    /// second; a full update follows every 15 s, and links are lost when the MAC gives a packet up.
    #[default]
    #[serde(rename = "sane")]
    Sane,
    /// The timing of ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
}

impl Default for Routing {
    fn default() -> Self {
        Self::ShortestPath { interval: None }
    }
}
