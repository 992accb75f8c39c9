//! Scenario keys of access points and their clients.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Decibels, Power, Rate, Time};

/// The node's station is an access point.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    /// The network's name, of up to 32 bytes.
    pub ssid: String,
    /// The channel; by default 1, and 36 with 802.11n, ac and ax at 5 GHz.
    #[serde(default)]
    pub channel: Option<u8>,
    /// The address, such as `"02:00:00:00:00:01"`; by default one of its own.
    #[serde(default)]
    pub bssid: Option<String>,
    /// The interval between beacons; 102.4 ms by default.
    #[serde(default)]
    pub beacon_interval: Option<Time>,
    /// Beacons from one that precedes group frames to the next, if a client saves power; 2 by default.
    #[serde(default)]
    pub dtim_period: Option<u8>,
    /// Packets that are kept for each dozing client, and for groups, in each access category; 64 by default.
    /// Further ones replace the oldest, which are lost with the cause `power-save`.
    #[serde(default)]
    pub power_save_buffer: Option<u32>,
    /// The time after which a packet that is kept for a dozing client is lost with that cause, unless two of
    /// its listen intervals are longer; 10 s by default.
    #[serde(default)]
    pub power_save_lifetime: Option<Time>,
    /// The largest number of associated clients; 2007 by default.
    #[serde(default)]
    pub max_clients: Option<u32>,
    /// Rate of unicast data frames from and to the clients of this access point, without adaptation; by
    /// default, the medium's rate.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// The node's station searches for an access point, and sends everything through it.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The network's name.
    pub ssid: String,
    /// The channels to be scanned, in this order; by default, the channels of the network's access points.
    #[serde(default)]
    pub channels: Option<Vec<u8>>,
    /// The procedure of scanning.
    #[serde(default)]
    pub scan: Scan,
    /// The time to change the channel; 2 ms by default.
    #[serde(default)]
    pub switch_time: Option<Time>,
    /// The client leaves its access point after that many consecutive beacons that were not received, if no
    /// data or acknowledgements came from it either; 7 by default, 0 to ignore beacons.
    #[serde(default)]
    pub missed_beacons: Option<u32>,
    /// The client leaves its access point after that many consecutive attempts without an acknowledgement; 20
    /// by default, and none with 802.11n, ac and ax; 0 to ignore them.
    #[serde(default)]
    pub failed_attempts: Option<u32>,
    /// The client looks for a stronger access point while its beacons are received with less power; by
    /// default it does not.
    #[serde(default)]
    pub weak_signal: Option<Power>,
    /// The margin by which another access point must be received with more power then; 6 dB by default.
    #[serde(default)]
    pub hysteresis: Option<Decibels>,
    /// If true, the client scans only when it joins and later chooses among the access points found then, as
    /// ns-2's.
    #[serde(default)]
    pub scans_once: bool,
    /// The time of authentication on higher layers and of the exchange of keys, after the association; none
    /// by default. Usual are 50 ms with WPA2-PSK, 80 ms with WPA3 and 250 ms with 802.1X.
    #[serde(default)]
    pub key_exchange: Option<Time>,
    /// The same time after a change of the access point, where it is shorter: with fast transitions
    /// (802.11r), about 10 ms.
    #[serde(default)]
    pub fast_transition: Option<Time>,
    /// Power saving of 802.11n, ac and ax; `{}` for Linux's. By default the client is always awake.
    #[serde(default)]
    pub power_save: Option<PowerSave>,
    /// Time at which the client begins to search.
    #[serde(default)]
    pub joins_at: Time,
}

/// Power saving: a client that had no traffic for a time informs its access point that it dozes, and wakes up
/// for beacons, which name the clients for which packets are kept.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerSave {
    /// The time without traffic after which the client dozes; 100 ms by default.
    pub timeout: Option<Time>,
    /// The client wakes up for every beacon with 1, the default, and for every n-th one with n, as well as
    /// for those before group frames.
    pub listen_interval: Option<u16>,
    /// The access categories in which a frame of the dozing client triggers the delivery of the packets that
    /// are kept in them (U-APSD), after which the client dozes again; none by default, as with Linux. Packets
    /// in them do not keep the client awake.
    pub uapsd: Vec<CategoryName>,
}

/// An access category.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CategoryName {
    /// AC_BK.
    Background,
    /// AC_BE.
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

/// The procedure by which a client finds access points.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Scan {
    /// Probe requests on each channel.
    Active {
        /// The wait for the first answer; 20 ms by default.
        #[serde(default)]
        min_channel_time: Option<Time>,
        /// The wait for all answers on a channel with any; 40 ms by default.
        #[serde(default)]
        max_channel_time: Option<Time>,
    },
    /// Beacons on each channel.
    Passive {
        /// The time on each channel; 120 ms by default.
        #[serde(default)]
        channel_time: Option<Time>,
    },
}

impl Default for Scan {
    fn default() -> Self {
        Self::Active { min_channel_time: None, max_channel_time: None }
    }
}
